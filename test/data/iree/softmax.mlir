func.func @main(%a: tensor<256x1536xf32>) -> tensor<256x1536xf32> {
  %e = tensor.empty() : tensor<256x1536xf32>
  %r = linalg.softmax dimension(1) ins(%a : tensor<256x1536xf32>) outs(%e : tensor<256x1536xf32>) -> tensor<256x1536xf32>
  return %r : tensor<256x1536xf32>
}
