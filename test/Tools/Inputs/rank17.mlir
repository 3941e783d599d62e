func.func @main(%x: tensor<1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x2xf32>) -> tensor<1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x2xf32> {
  return %x : tensor<1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x2xf32>
}
