func.func @main(%a: tensor<150000x64xf32>, %b: tensor<64x8xf32>) -> tensor<150000x8xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<150000x8xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<150000x8xf32>) -> tensor<150000x8xf32>
  %r = linalg.matmul ins(%a, %b : tensor<150000x64xf32>, tensor<64x8xf32>) outs(%f : tensor<150000x8xf32>) -> tensor<150000x8xf32>
  return %r : tensor<150000x8xf32>
}
