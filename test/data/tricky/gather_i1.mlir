#id = affine_map<(d0) -> (d0)>
func.func @main(%mask: tensor<12xi1>, %idx: tensor<12xi64>, %table: tensor<40xf32>) -> tensor<12xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<12xf32>
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%mask, %idx : tensor<12xi1>, tensor<12xi64>) outs(%e : tensor<12xf32>) {
  ^bb0(%m: i1, %i: i64, %o: f32):
    %j = arith.index_cast %i : i64 to index
    %v = tensor.extract %table[%j] : tensor<40xf32>
    %s = arith.select %m, %v, %zero : f32
    linalg.yield %s : f32
  } -> tensor<12xf32>
  return %r : tensor<12xf32>
}
