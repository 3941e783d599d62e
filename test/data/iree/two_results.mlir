// One reduction gives the greatest value and where it is.
func.func @main(%a: tensor<64x1024xf32>) -> (tensor<64xf32>, tensor<64xi32>) {
  %low = arith.constant 0xFF800000 : f32
  %none = arith.constant 0 : i32
  %v = tensor.empty() : tensor<64xf32>
  %i = tensor.empty() : tensor<64xi32>
  %vf = linalg.fill ins(%low : f32) outs(%v : tensor<64xf32>) -> tensor<64xf32>
  %if = linalg.fill ins(%none : i32) outs(%i : tensor<64xi32>) -> tensor<64xi32>
  %r:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%a : tensor<64x1024xf32>) outs(%vf, %if : tensor<64xf32>, tensor<64xi32>) {
  ^bb0(%in: f32, %value: f32, %index: i32):
    %at = linalg.index 1 : index
    %here = arith.index_cast %at : index to i32
    %more = arith.cmpf ogt, %in, %value : f32
    %nextValue = arith.select %more, %in, %value : f32
    %nextIndex = arith.select %more, %here, %index : i32
    linalg.yield %nextValue, %nextIndex : f32, i32
  } -> (tensor<64xf32>, tensor<64xi32>)
  return %r#0, %r#1 : tensor<64xf32>, tensor<64xi32>
}
