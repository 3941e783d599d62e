func.func @main(%x: tensor<4x8xf32>, %y: tensor<6x8xf32>) -> (tensor<4x8xf32>, tensor<6x8xf32>) {
  %w = arith.constant dense<0.3> : tensor<8x8xf32>
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %a = linalg.matmul ins(%x, %w : tensor<4x8xf32>, tensor<8x8xf32>) outs(%f : tensor<4x8xf32>) -> tensor<4x8xf32>
  %g = tensor.empty() : tensor<6x8xf32>
  %h = linalg.fill ins(%z : f32) outs(%g : tensor<6x8xf32>) -> tensor<6x8xf32>
  %b = linalg.matmul ins(%y, %w : tensor<6x8xf32>, tensor<8x8xf32>) outs(%h : tensor<6x8xf32>) -> tensor<6x8xf32>
  return %a, %b : tensor<4x8xf32>, tensor<6x8xf32>
}
