// RUN: attune-opt %s --transform-interpreter --verify-diagnostics -o /dev/null

// Attention as frontends emit it, op by op and with linalg.softmax; and what only looks like it.

#qkd = affine_map<(h, q, k) -> (h, q, k)>
#row = affine_map<(h, q, k) -> (h, q)>

module attributes {transform.with_named_sequence} {
  func.func @eager(%query: tensor<12x128x64xf32>, %key: tensor<12x128x64xf32>, %value: tensor<12x128x64xf32>,
                   %mask: tensor<12x128x128xf32>) -> tensor<12x128x64xf32> {
    %zero = arith.constant 0.0 : f32
    %low = arith.constant 0xFF800000 : f32
    %scale = arith.constant 8.0 : f32
    %te = tensor.empty() : tensor<12x64x128xf32>
    %turned = linalg.transpose ins(%key : tensor<12x128x64xf32>) outs(%te : tensor<12x64x128xf32>) permutation = [0, 2, 1]
    %se = tensor.empty() : tensor<12x128x128xf32>
    %si = linalg.fill ins(%zero : f32) outs(%se : tensor<12x128x128xf32>) -> tensor<12x128x128xf32>
    %scores = linalg.batch_matmul ins(%query, %turned : tensor<12x128x64xf32>, tensor<12x64x128xf32>)
        outs(%si : tensor<12x128x128xf32>) -> tensor<12x128x128xf32>
    %scaled = linalg.generic {indexing_maps = [#qkd, #qkd, #qkd], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%scores, %mask : tensor<12x128x128xf32>, tensor<12x128x128xf32>) outs(%se : tensor<12x128x128xf32>) {
    ^bb0(%x: f32, %m: f32, %o: f32):
      %s = arith.divf %x, %scale : f32
      %t = arith.addf %s, %m : f32
      linalg.yield %t : f32
    } -> tensor<12x128x128xf32>
    %re = tensor.empty() : tensor<12x128xf32>
    %mi = linalg.fill ins(%low : f32) outs(%re : tensor<12x128xf32>) -> tensor<12x128xf32>
    %max = linalg.reduce { arith.maximumf } ins(%scaled : tensor<12x128x128xf32>) outs(%mi : tensor<12x128xf32>) dimensions = [2]
    %exp = linalg.generic {indexing_maps = [#qkd, #row, #qkd], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%scaled, %max : tensor<12x128x128xf32>, tensor<12x128xf32>) outs(%se : tensor<12x128x128xf32>) {
    ^bb0(%x: f32, %m: f32, %o: f32):
      %s = arith.subf %x, %m : f32
      %e = math.exp %s : f32
      linalg.yield %e : f32
    } -> tensor<12x128x128xf32>
    %zi = linalg.fill ins(%zero : f32) outs(%re : tensor<12x128xf32>) -> tensor<12x128xf32>
    %sum = linalg.reduce { arith.addf } ins(%exp : tensor<12x128x128xf32>) outs(%zi : tensor<12x128xf32>) dimensions = [2]
    %weights = linalg.generic {indexing_maps = [#qkd, #row, #qkd], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%exp, %sum : tensor<12x128x128xf32>, tensor<12x128xf32>) outs(%se : tensor<12x128x128xf32>) {
    ^bb0(%x: f32, %m: f32, %o: f32):
      %s = arith.divf %x, %m : f32
      linalg.yield %s : f32
    } -> tensor<12x128x128xf32>
    %oe = tensor.empty() : tensor<12x128x64xf32>
    %oi = linalg.fill ins(%zero : f32) outs(%oe : tensor<12x128x64xf32>) -> tensor<12x128x64xf32>
    // expected-remark @below {{attention}}
    %r = linalg.batch_matmul ins(%weights, %value : tensor<12x128x128xf32>, tensor<12x128x64xf32>)
        outs(%oi : tensor<12x128x64xf32>) -> tensor<12x128x64xf32>
    // Without its softmax it is none.
    %plain = linalg.batch_matmul ins(%scaled, %value : tensor<12x128x128xf32>, tensor<12x128x64xf32>)
        outs(%r : tensor<12x128x64xf32>) -> tensor<12x128x64xf32>
    // Nor with something that is not divided by its sum.
    %raw = linalg.batch_matmul ins(%exp, %value : tensor<12x128x128xf32>, tensor<12x128x64xf32>)
        outs(%plain : tensor<12x128x64xf32>) -> tensor<12x128x64xf32>
    return %raw : tensor<12x128x64xf32>
  }
  func.func @whole(%query: tensor<12x128x64xf32>, %key: tensor<12x64x128xf32>, %value: tensor<12x128x64xf32>,
                   %si: tensor<12x128x128xf32>, %oi: tensor<12x128x64xf32>) -> tensor<12x128x64xf32> {
    %scores = linalg.batch_matmul ins(%query, %key : tensor<12x128x64xf32>, tensor<12x64x128xf32>)
        outs(%si : tensor<12x128x128xf32>) -> tensor<12x128x128xf32>
    %se = tensor.empty() : tensor<12x128x128xf32>
    %weights = linalg.softmax dimension(2) ins(%scores : tensor<12x128x128xf32>) outs(%se : tensor<12x128x128xf32>) -> tensor<12x128x128xf32>
    // expected-remark @below {{attention}}
    %r = linalg.batch_matmul ins(%weights, %value : tensor<12x128x128xf32>, tensor<12x128x64xf32>)
        outs(%oi : tensor<12x128x64xf32>) -> tensor<12x128x64xf32>
    return %r : tensor<12x128x64xf32>
  }
  func.func @other_width(%query: tensor<12x128x32xf32>, %key: tensor<12x32x128xf32>, %value: tensor<12x128x64xf32>,
                   %si: tensor<12x128x128xf32>, %oi: tensor<12x128x64xf32>) -> tensor<12x128x64xf32> {
    %scores = linalg.batch_matmul ins(%query, %key : tensor<12x128x32xf32>, tensor<12x32x128xf32>)
        outs(%si : tensor<12x128x128xf32>) -> tensor<12x128x128xf32>
    %se = tensor.empty() : tensor<12x128x128xf32>
    %weights = linalg.softmax dimension(2) ins(%scores : tensor<12x128x128xf32>) outs(%se : tensor<12x128x128xf32>) -> tensor<12x128x128xf32>
    %r = linalg.batch_matmul ins(%weights, %value : tensor<12x128x128xf32>, tensor<12x128x64xf32>)
        outs(%oi : tensor<12x128x64xf32>) -> tensor<12x128x64xf32>
    return %r : tensor<12x128x64xf32>
  }
  transform.named_sequence @is_attention(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.attune.match.attention %op {batch = [12], m = [#attune.range<1, 512>], n = [64], k1 = [64], k2 = [unit],
        types = [f32, f32, f32, f32]} : (!transform.any_op) -> ()
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @say(%op: !transform.any_op {transform.readonly}) {
    transform.debug.emit_remark_at %op, "attention" : !transform.any_op
    transform.yield
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %funcs = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach_match in %funcs @is_attention -> @say : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
