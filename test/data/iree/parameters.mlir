// Weights in an archive: iree-run-module --parameters=model=weights.irpa
util.global private @w = #flow.parameter.named<"model"::"w"> : tensor<96x64xf32>
func.func @main(%a: tensor<64x96xf32>) -> tensor<64x64xf32> {
  %w = util.global.load @w : tensor<96x64xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  %r = linalg.matmul ins(%a, %w : tensor<64x96xf32>, tensor<96x64xf32>) outs(%f : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %r : tensor<64x64xf32>
}
