// A small program with something to gain in several dispatches.
module {
  func.func @main(%a: tensor<67x189xf32>, %b: tensor<189x93xf32>, %image: tensor<1x34x34x9xf32>,
                  %filter: tensor<3x3x9x14xf32>) -> (tensor<67x93xf32>, tensor<1x32x32x14xf32>, tensor<93xf32>) {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<67x93xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<67x93xf32>) -> tensor<67x93xf32>
    %m = linalg.matmul ins(%a, %b : tensor<67x189xf32>, tensor<189x93xf32>)
        outs(%f : tensor<67x93xf32>) -> tensor<67x93xf32>
    %ce = tensor.empty() : tensor<1x32x32x14xf32>
    %cf = linalg.fill ins(%zero : f32) outs(%ce : tensor<1x32x32x14xf32>) -> tensor<1x32x32x14xf32>
    %c = linalg.conv_2d_nhwc_hwcf ins(%image, %filter : tensor<1x34x34x9xf32>, tensor<3x3x9x14xf32>)
        outs(%cf : tensor<1x32x32x14xf32>) -> tensor<1x32x32x14xf32>
    %se = tensor.empty() : tensor<93xf32>
    %sf = linalg.fill ins(%zero : f32) outs(%se : tensor<93xf32>) -> tensor<93xf32>
    %s = linalg.reduce ins(%m : tensor<67x93xf32>) outs(%sf : tensor<93xf32>) dimensions = [0]
      (%in: f32, %out: f32) {
        %sum = arith.addf %in, %out : f32
        linalg.yield %sum : f32
      }
    return %m, %c, %s : tensor<67x93xf32>, tensor<1x32x32x14xf32>, tensor<93xf32>
  }
}
