// relu(A B + bias): a product with an epilogue, 1024 x 1024 x 1024, f32.
// attune tune examples/matmul_bias_relu.mlir --budget=2m
#row = affine_map<(i, j) -> (j)>
#id = affine_map<(i, j) -> (i, j)>
module {
  func.func @main(%a: tensor<1024x1024xf32>, %b: tensor<1024x1024xf32>, %bias: tensor<1024xf32>) -> tensor<1024x1024xf32> {
    %zero = arith.constant 0.0 : f32
    %cze = tensor.empty() : tensor<1024x1024xf32>
    %cz = linalg.fill ins(%zero : f32) outs(%cze : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %c = linalg.matmul ins(%a, %b : tensor<1024x1024xf32>, tensor<1024x1024xf32>)
        outs(%cz : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %rd = tensor.empty() : tensor<1024x1024xf32>
    %r = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
        ins(%c, %bias : tensor<1024x1024xf32>, tensor<1024xf32>) outs(%rd : tensor<1024x1024xf32>) {
    ^bb0(%in: f32, %add: f32, %out: f32):
      %sum = arith.addf %in, %add : f32
      %max = arith.maximumf %sum, %zero : f32
      linalg.yield %max : f32
    } -> tensor<1024x1024xf32>
    return %r : tensor<1024x1024xf32>
  }
}
