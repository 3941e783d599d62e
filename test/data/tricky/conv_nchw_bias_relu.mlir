#m = affine_map<(n, c, h, w) -> (n, c, h, w)>
func.func @main(%x: tensor<1x3x9x9xf32>) -> tensor<1x8x7x7xf32> {
  %k = arith.constant dense<0.05> : tensor<8x3x3x3xf32>
  %b = arith.constant dense<-0.2> : tensor<8xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x8x7x7xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x8x7x7xf32>) -> tensor<1x8x7x7xf32>
  %c = linalg.conv_2d_nchw_fchw ins(%x, %k : tensor<1x3x9x9xf32>, tensor<8x3x3x3xf32>) outs(%f : tensor<1x8x7x7xf32>) -> tensor<1x8x7x7xf32>
  %r = linalg.generic {indexing_maps = [#m, affine_map<(n, c, h, w) -> (c)>, #m], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%c, %b : tensor<1x8x7x7xf32>, tensor<8xf32>) outs(%e : tensor<1x8x7x7xf32>) {
  ^bb0(%v: f32, %bias: f32, %o: f32):
    %s = arith.addf %v, %bias : f32
    %t = arith.maximumf %s, %zero : f32
    linalg.yield %t : f32
  } -> tensor<1x8x7x7xf32>
  return %r : tensor<1x8x7x7xf32>
}
