// Two products that differ in what their results are clamped at: one matcher
// finds both.
func.func @main(%a: tensor<128x96xf32>, %b: tensor<96x64xf32>, %c: tensor<128x96xf32>) -> (tensor<128x64xf32>, tensor<128x64xf32>) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %six = arith.constant 6.0 : f32
  %e = tensor.empty() : tensor<128x64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<128x64xf32>) -> tensor<128x64xf32>
  %p = linalg.matmul ins(%a, %b : tensor<128x96xf32>, tensor<96x64xf32>) outs(%f : tensor<128x64xf32>) -> tensor<128x64xf32>
  %q = linalg.matmul ins(%c, %b : tensor<128x96xf32>, tensor<96x64xf32>) outs(%f : tensor<128x64xf32>) -> tensor<128x64xf32>
  %x = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%p : tensor<128x64xf32>) outs(%e : tensor<128x64xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.minimumf %in, %one : f32
    linalg.yield %0 : f32
  } -> tensor<128x64xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%q : tensor<128x64xf32>) outs(%e : tensor<128x64xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.minimumf %in, %six : f32
    linalg.yield %0 : f32
  } -> tensor<128x64xf32>
  return %x, %y : tensor<128x64xf32>, tensor<128x64xf32>
}
