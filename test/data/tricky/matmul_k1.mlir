func.func @main(%a: tensor<7x1xf32>, %b: tensor<1x9xf32>) -> tensor<7x9xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<7x9xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<7x9xf32>) -> tensor<7x9xf32>
  %r = linalg.matmul ins(%a, %b : tensor<7x1xf32>, tensor<1x9xf32>) outs(%f : tensor<7x9xf32>) -> tensor<7x9xf32>
  return %r : tensor<7x9xf32>
}
