// Nothing here has tiles to choose.
func.func @main(%a: tensor<4096xf32>, %updates: tensor<16xf32>, %indices: tensor<16x1xi32>) -> (tensor<4096xf32>, tensor<4096xf32>) {
  %s = iree_linalg_ext.sort dimension(0) outs(%a : tensor<4096xf32>) {
  ^bb0(%x: f32, %y: f32):
    %less = arith.cmpf olt, %x, %y : f32
    iree_linalg_ext.yield %less : i1
  } -> tensor<4096xf32>
  %t = iree_linalg_ext.scatter dimension_map = [0] unique_indices(true) ins(%updates, %indices : tensor<16xf32>, tensor<16x1xi32>) outs(%a : tensor<4096xf32>) {
  ^bb0(%new: f32, %old: f32):
    iree_linalg_ext.yield %new : f32
  } -> tensor<4096xf32>
  return %s, %t : tensor<4096xf32>, tensor<4096xf32>
}
