// Rows of a table, looked up by number and summed with weights: the indices must be
// valid, whatever else is random.
func.func @main(%rows: tensor<6xi64>, %table: tensor<50x16xf32>, %w: tensor<16x8xf32>) -> tensor<6x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<6x16xf32>
  %picked = linalg.generic {
      indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%rows : tensor<6xi64>) outs(%e : tensor<6x16xf32>) {
  ^bb0(%row: i64, %out: f32):
    %i = arith.index_cast %row : i64 to index
    %j = linalg.index 1 : index
    %v = tensor.extract %table[%i, %j] : tensor<50x16xf32>
    linalg.yield %v : f32
  } -> tensor<6x16xf32>
  %f = tensor.empty() : tensor<6x8xf32>
  %z = linalg.fill ins(%zero : f32) outs(%f : tensor<6x8xf32>) -> tensor<6x8xf32>
  %r = linalg.matmul ins(%picked, %w : tensor<6x16xf32>, tensor<16x8xf32>) outs(%z : tensor<6x8xf32>) -> tensor<6x8xf32>
  return %r : tensor<6x8xf32>
}
