func.func @main(%x: tensor<5x1xf32>) -> tensor<5x1xf32> {
  %e = tensor.empty() : tensor<5x1xf32>
  %r = linalg.softmax dimension(1) ins(%x : tensor<5x1xf32>) outs(%e : tensor<5x1xf32>) -> tensor<5x1xf32>
  return %r : tensor<5x1xf32>
}
