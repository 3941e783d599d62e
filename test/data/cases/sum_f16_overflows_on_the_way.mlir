// The sum of 64x64 passes 65504, the greatest f16, and comes back: accumulated in f16 it would be infinite.
#in = affine_map<(i, j, k) -> (i, j, k)>
#first = affine_map<(i, j, k) -> (i)>
func.func @main(%x: tensor<3x64x64xf16>) -> tensor<3xf16> {
  %zero = arith.constant 0.0 : f16
  %e = tensor.empty() : tensor<3xf16>
  %f = linalg.fill ins(%zero : f16) outs(%e : tensor<3xf16>) -> tensor<3xf16>
  %r = linalg.generic {indexing_maps = [#in, #first], iterator_types = ["parallel", "reduction", "reduction"]}
      ins(%x : tensor<3x64x64xf16>) outs(%f : tensor<3xf16>) {
  ^bb0(%v: f16, %acc: f16):
    %s = arith.addf %acc, %v : f16
    linalg.yield %s : f16
  } -> tensor<3xf16>
  return %r : tensor<3xf16>
}
