// RUN: attune-opt %s --split-input-file --attune-apply-schedule="folder=%schedules/cpu cpu=znver3 print-config=true" | FileCheck %s

// One row at a time through all of it, an odd length and all.
// CHECK-LABEL: func.func @softmax
// CHECK-SAME: attune.applied = "reduction rows=1 vectors=4
// CHECK: scf.for
// CHECK-DAG: arith.maxnumf {{.*}} : vector<{{.*}}32xf32>
// CHECK-DAG: math.exp {{.*}} : vector<32xf32>
// CHECK-NOT: linalg.
func.func @softmax(%i: tensor<37x197xf32>, %o: tensor<37x197xf32>) -> tensor<37x197xf32> {
  %r = linalg.softmax dimension(1) ins(%i : tensor<37x197xf32>) outs(%o : tensor<37x197xf32>) -> tensor<37x197xf32>
  return %r : tensor<37x197xf32>
}

// -----

// CHECK-LABEL: func.func @transpose
// CHECK-SAME: attune.applied = "elementwise rows=8 vectors=1
// CHECK: vector.transpose {{.*}} : vector<8x8xf32> to vector<8x8xf32>
func.func @transpose(%i: tensor<64x32xf32>, %o: tensor<32x64xf32>) -> tensor<32x64xf32> {
  %r = linalg.transpose ins(%i : tensor<64x32xf32>) outs(%o : tensor<32x64xf32>) permutation = [1, 0]
  return %r : tensor<32x64xf32>
}

// -----

// A matrix times a vector: lanes run along k.
// CHECK-LABEL: func.func @matvec
// CHECK-SAME: attune.applied = "reduction
// CHECK: vector<{{.*}}32xf32>
func.func @matvec(%a: tensor<64x128xf32>, %x: tensor<128xf32>, %o: tensor<64xf32>) -> tensor<64xf32> {
  %z = arith.constant 0.0 : f32
  %f = linalg.fill ins(%z : f32) outs(%o : tensor<64xf32>) -> tensor<64xf32>
  %r = linalg.matvec ins(%a, %x : tensor<64x128xf32>, tensor<128xf32>) outs(%f : tensor<64xf32>) -> tensor<64xf32>
  return %r : tensor<64xf32>
}

// -----

// Two results of different ops: nothing but loops fits.
// CHECK-LABEL: func.func @two
// CHECK-SAME: attune.applied = "fallback
// CHECK: linalg.generic
func.func @two(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>, %o: tensor<64x64xf32>, %p: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %z = arith.constant 0.0 : f32
  %f = linalg.fill ins(%z : f32) outs(%o : tensor<64x64xf32>) -> tensor<64x64xf32>
  %r = linalg.matmul ins(%a, %b : tensor<64x64xf32>, tensor<64x64xf32>) outs(%f : tensor<64x64xf32>) -> tensor<64x64xf32>
  %s = linalg.exp ins(%r : tensor<64x64xf32>) outs(%p : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %r, %s : tensor<64x64xf32>, tensor<64x64xf32>
}

// -----

// A reduction over 7x7 is one over 49.
// CHECK-LABEL: func.func @average
// CHECK: tensor.collapse_shape {{.*}} : tensor<64x7x7xf32> into tensor<64x49xf32>
// CHECK-NOT: vector<7xf32>
func.func @average(%i: tensor<64x7x7xf32>, %o: tensor<64xf32>) -> tensor<64xf32> {
  %z = arith.constant 0.0 : f32
  %f = linalg.fill ins(%z : f32) outs(%o : tensor<64xf32>) -> tensor<64xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(c, y, x) -> (c, y, x)>, affine_map<(c, y, x) -> (c)>], iterator_types = ["parallel", "reduction", "reduction"]}
      ins(%i : tensor<64x7x7xf32>) outs(%f : tensor<64xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<64xf32>
  return %r : tensor<64xf32>
}
