// A product of two matrices: 1024 x 1024 x 1024, f32.
// attune tune examples/matmul.mlir --budget=2m
module {
  func.func @main(%a: tensor<1024x1024xf32>, %b: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
    %zero = arith.constant 0.0 : f32
    %cze = tensor.empty() : tensor<1024x1024xf32>
    %cz = linalg.fill ins(%zero : f32) outs(%cze : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %c = linalg.matmul ins(%a, %b : tensor<1024x1024xf32>, tensor<1024x1024xf32>)
        outs(%cz : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    return %c : tensor<1024x1024xf32>
  }
}
