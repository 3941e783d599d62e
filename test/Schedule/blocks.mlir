// RUN: attune-opt %s --attune-apply-schedule="folder=%schedules/cpu cpu=znver3 schedule=contraction_packed config=m_tile=6;n_tile=16;m_block=4;pack_b=true;pack_a=false" | FileCheck %s

// Blocks of m and ragged sizes along both: every panel of B is still packed
// once, before all blocks.
// CHECK-LABEL: func.func @ragged
// CHECK: scf.for {{.*}} iter_args({{.*}}) -> (tensor<1x100x4xf32>)
// CHECK: scf.for {{.*}} iter_args({{.*}}) -> (tensor<6x100x16xf32>)
// CHECK: scf.for {{.*}} step %c24 {{.*}} -> (tensor<96x100xf32>)
// CHECK-NOT: -> (tensor<6x100x16xf32>)
// CHECK-NOT: -> (tensor<1x100x4xf32>)
// CHECK: return
func.func @ragged(%a: tensor<100x100xf32>, %b: tensor<100x100xf32>, %out: tensor<100x100xf32>) -> tensor<100x100xf32> {
  %z = arith.constant 0.0 : f32
  %f = linalg.fill ins(%z : f32) outs(%out : tensor<100x100xf32>) -> tensor<100x100xf32>
  %p = linalg.matmul ins(%a, %b : tensor<100x100xf32>, tensor<100x100xf32>) outs(%f : tensor<100x100xf32>) -> tensor<100x100xf32>
  return %p : tensor<100x100xf32>
}

// Weights times image, the image first: outer products are along the image.
// CHECK-LABEL: func.func @channels_first
// CHECK: vector.contract {{.*}} : vector<6x4xf32>, vector<4x16xf32> into vector<6x16xf32>
func.func @channels_first(%image: tensor<32x3x96xf32>, %weights: tensor<48x32xf32>, %out: tensor<48x3x96xf32>) -> tensor<48x3x96xf32> {
  %z = arith.constant 0.0 : f32
  %f = linalg.fill ins(%z : f32) outs(%out : tensor<48x3x96xf32>) -> tensor<48x3x96xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(o,h,w,i)->(i,h,w)>, affine_map<(o,h,w,i)->(o,i)>, affine_map<(o,h,w,i)->(o,h,w)>], iterator_types = ["parallel","parallel","parallel","reduction"]} ins(%image, %weights : tensor<32x3x96xf32>, tensor<48x32xf32>) outs(%f : tensor<48x3x96xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %m = arith.mulf %x, %y : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<48x3x96xf32>
  return %r : tensor<48x3x96xf32>
}
