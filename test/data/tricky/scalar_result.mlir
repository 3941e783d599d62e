func.func @main(%x: tensor<33xf32>) -> tensor<f32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %r = linalg.reduce ins(%x : tensor<33xf32>) outs(%f : tensor<f32>) dimensions = [0] (%v: f32, %acc: f32) {
    %s = arith.addf %acc, %v : f32
    linalg.yield %s : f32
  }
  return %r : tensor<f32>
}
