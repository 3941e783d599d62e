// RUN: attune-opt %s --attune-apply-schedule="folder=%schedules/cpu cpu=znver3 schedule=contraction_packed config=m_tile=6;n_tile=16" | FileCheck %s

// 13 = 2 * 6 + 1 rows, 23 = 16 + 4 + 2 + 1 columns, 9 = 2 * 4 + 1 steps: every
// tile is static, every vector a power of two, nothing is masked and no op is
// left as a scalar loop.
// CHECK-LABEL: func.func @ragged
// CHECK-NOT: linalg.
// CHECK-NOT: affine.min
// CHECK-NOT: vector.mask
// CHECK-DAG: vector<6x16xf32>
// CHECK-DAG: vector<6x4xf32>
// CHECK-DAG: vector<6x2xf32>
// CHECK: return
func.func @ragged(%a: tensor<13x9xf32>, %b: tensor<9x23xf32>, %out: tensor<13x23xf32>) -> tensor<13x23xf32> {
  %z = arith.constant 0.0 : f32
  %f = linalg.fill ins(%z : f32) outs(%out : tensor<13x23xf32>) -> tensor<13x23xf32>
  %p = linalg.matmul ins(%a, %b : tensor<13x9xf32>, tensor<9x23xf32>) outs(%f : tensor<13x23xf32>) -> tensor<13x23xf32>
  return %p : tensor<13x23xf32>
}
