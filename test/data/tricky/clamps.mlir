#id = affine_map<(d0) -> (d0)>
func.func @main(%x: tensor<100xf32>) -> (tensor<100xf32>, tensor<100xf32>) {
  %zero = arith.constant 0.0 : f32
  %six = arith.constant 6.0 : f32
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<100xf32>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<100xf32>) outs(%e : tensor<100xf32>) {
  ^bb0(%v: f32, %o: f32):
    %l = arith.maximumf %v, %zero : f32
    %h = arith.minimumf %l, %six : f32
    linalg.yield %h : f32
  } -> tensor<100xf32>
  %b = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<100xf32>) outs(%e : tensor<100xf32>) {
  ^bb0(%v: f32, %o: f32):
    %l = arith.maximumf %v, %zero : f32
    %h = arith.minimumf %l, %one : f32
    linalg.yield %h : f32
  } -> tensor<100xf32>
  return %a, %b : tensor<100xf32>, tensor<100xf32>
}
