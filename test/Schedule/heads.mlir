// RUN: attune-opt %s --attune-apply-schedule="folder=%schedules/cpu cpu=znver3 print-config=true" | FileCheck %s

// Heads in the middle, as attention has them: the reads of the first operand
// are not broadcast along n.
// CHECK-LABEL: func.func @heads
// CHECK-SAME: k_unroll=4
// CHECK-NOT: vector<{{[0-9]+}}x16x4xf32>
// CHECK: vector.contract
func.func @heads(%q: tensor<64x4x64xf32>, %k: tensor<64x4x64xf32>, %o: tensor<4x64x64xf32>) -> tensor<4x64x64xf32> {
  %z = arith.constant 0.0 : f32
  %f = linalg.fill ins(%z : f32) outs(%o : tensor<4x64x64xf32>) -> tensor<4x64x64xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(h, i, j, d) -> (i, h, d)>, affine_map<(h, i, j, d) -> (j, h, d)>, affine_map<(h, i, j, d) -> (h, i, j)>],
                       iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%q, %k : tensor<64x4x64xf32>, tensor<64x4x64xf32>) outs(%f : tensor<4x64x64xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %m, %c : f32
    linalg.yield %s : f32
  } -> tensor<4x64x64xf32>
  return %r : tensor<4x64x64xf32>
}
