func.func @main(%x: tensor<4x3000xf32>) -> tensor<4xf32> {
  %z = arith.constant 0.0 : f32
  %c = arith.constant 0.5 : f32
  %e = tensor.empty() : tensor<4xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x3000xf32>) outs(%f : tensor<4xf32>) {
  ^bb0(%v: f32, %acc: f32):
    %i = linalg.index 1 : index
    %half = arith.constant 1500 : index
    %first = arith.cmpi ult, %i, %half : index
    %neg = arith.constant -0.25 : f32
    %bias = arith.select %first, %c, %neg : f32
    %w = arith.addf %v, %bias : f32
    %s = arith.addf %acc, %w : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  return %r : tensor<4xf32>
}
