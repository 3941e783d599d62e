func.func @main(%x: tensor<3x1001xf32>) -> tensor<3x1001xf32> {
  %e = tensor.empty() : tensor<3x1001xf32>
  %r = linalg.softmax dimension(1) ins(%x : tensor<3x1001xf32>) outs(%e : tensor<3x1001xf32>) -> tensor<3x1001xf32>
  return %r : tensor<3x1001xf32>
}
