// The same dispatch under different names.
func.func @first(%a: tensor<12x16xf32>) -> tensor<12x16xf32> {
  %e = tensor.empty() : tensor<12x16xf32>
  %r = linalg.exp ins(%a : tensor<12x16xf32>) outs(%e : tensor<12x16xf32>) -> tensor<12x16xf32>
  return %r : tensor<12x16xf32>
}
func.func @second(%b: tensor<12x16xf32>) -> tensor<12x16xf32> {
  %e = tensor.empty() : tensor<12x16xf32>
  %r = linalg.exp ins(%b : tensor<12x16xf32>) outs(%e : tensor<12x16xf32>) -> tensor<12x16xf32>
  return %r : tensor<12x16xf32>
}
