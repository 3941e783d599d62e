func.func @main(%x: tensor<517x391xf32>) -> tensor<391x517xf32> {
  %e = tensor.empty() : tensor<391x517xf32>
  %r = linalg.transpose ins(%x : tensor<517x391xf32>) outs(%e : tensor<391x517xf32>) permutation = [1, 0]
  return %r : tensor<391x517xf32>
}
