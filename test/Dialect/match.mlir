// RUN: attune-opt %s --transform-interpreter --split-input-file --verify-diagnostics -o /dev/null

// Contractions: a remark where it must match, none where it must not.

#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (k, n)>
#result = affine_map<(m, n, k) -> (m, n)>
// The same product with its loops in another order, its operands exchanged.
#rhs_turned = affine_map<(k, n, m) -> (k, n)>
#lhs_turned = affine_map<(k, n, m) -> (m, k)>
#result_turned = affine_map<(k, n, m) -> (m, n)>
#wide = affine_map<(b, m, n, k) -> (b, m, k)>
#deep = affine_map<(b, m, n, k) -> (b, k, n)>
#out = affine_map<(b, m, n, k) -> (b, m, n)>

module attributes {transform.with_named_sequence} {
  func.func @named(%a: tensor<4x784xf32>, %b: tensor<784x10xf32>, %c: tensor<4x10xf32>) -> tensor<4x10xf32> {
    // expected-remark @below {{product}}
    %r = linalg.matmul {some.mark} ins(%a, %b : tensor<4x784xf32>, tensor<784x10xf32>) outs(%c : tensor<4x10xf32>) -> tensor<4x10xf32>
    return %r : tensor<4x10xf32>
  }
  func.func @category(%a: tensor<4x784xf32>, %b: tensor<784x10xf32>, %c: tensor<4x10xf32>) -> tensor<4x10xf32> {
    // expected-remark @below {{product}}
    %r = linalg.contract indexing_maps = [#lhs, #rhs, #result] ins(%a, %b : tensor<4x784xf32>, tensor<784x10xf32>) outs(%c : tensor<4x10xf32>) -> tensor<4x10xf32>
    return %r : tensor<4x10xf32>
  }
  func.func @generic_turned(%a: tensor<4x784xf32>, %b: tensor<784x10xf32>, %c: tensor<4x10xf32>) -> tensor<4x10xf32> {
    // expected-remark @below {{product}}
    %r = linalg.generic {indexing_maps = [#rhs_turned, #lhs_turned, #result_turned],
        iterator_types = ["reduction", "parallel", "parallel"], doc = "words"}
        ins(%b, %a : tensor<784x10xf32>, tensor<4x784xf32>) outs(%c : tensor<4x10xf32>) {
    ^bb0(%x: f32, %y: f32, %acc: f32):
      %p = arith.mulf %y, %x : f32
      %s = arith.addf %p, %acc : f32
      linalg.yield %s : f32
    } -> tensor<4x10xf32>
    return %r : tensor<4x10xf32>
  }
  func.func @unit_batch(%a: tensor<1x4x784xf32>, %b: tensor<1x784x10xf32>, %c: tensor<1x4x10xf32>) -> tensor<1x4x10xf32> {
    // expected-remark @below {{product}}
    %r = linalg.batch_matmul ins(%a, %b : tensor<1x4x784xf32>, tensor<1x784x10xf32>) outs(%c : tensor<1x4x10xf32>) -> tensor<1x4x10xf32>
    return %r : tensor<1x4x10xf32>
  }
  func.func @point_wise_convolution(%a: tensor<1x2x2x784xf32>, %b: tensor<1x1x784x10xf32>, %c: tensor<1x2x2x10xf32>) -> tensor<1x2x2x10xf32> {
    // Two rows of two pixels are not one list of four.
    %r = linalg.conv_2d_nhwc_hwcf ins(%a, %b : tensor<1x2x2x784xf32>, tensor<1x1x784x10xf32>) outs(%c : tensor<1x2x2x10xf32>) -> tensor<1x2x2x10xf32>
    return %r : tensor<1x2x2x10xf32>
  }
  func.func @other_sizes(%a: tensor<65x784xf32>, %b: tensor<784x10xf32>, %c: tensor<65x10xf32>,
                         %d: tensor<4x780xf32>, %e: tensor<780x10xf32>, %f: tensor<4x10xf32>,
                         %g: tensor<?x784xf32>, %h: tensor<?x10xf32>) -> tensor<65x10xf32> {
    %r = linalg.matmul ins(%a, %b : tensor<65x784xf32>, tensor<784x10xf32>) outs(%c : tensor<65x10xf32>) -> tensor<65x10xf32>
    %s = linalg.matmul ins(%d, %e : tensor<4x780xf32>, tensor<780x10xf32>) outs(%f : tensor<4x10xf32>) -> tensor<4x10xf32>
    // A size that nobody knows is in no range.
    %t = linalg.matmul ins(%g, %b : tensor<?x784xf32>, tensor<784x10xf32>) outs(%h : tensor<?x10xf32>) -> tensor<?x10xf32>
    return %r : tensor<65x10xf32>
  }
  func.func @batched(%a: tensor<3x4x784xf32>, %b: tensor<3x784x10xf32>, %c: tensor<3x4x10xf32>) -> tensor<3x4x10xf32> {
    %r = linalg.batch_matmul ins(%a, %b : tensor<3x4x784xf32>, tensor<3x784x10xf32>) outs(%c : tensor<3x4x10xf32>) -> tensor<3x4x10xf32>
    return %r : tensor<3x4x10xf32>
  }
  func.func @other_types(%a: tensor<4x784xf16>, %b: tensor<784x10xf16>, %c: tensor<4x10xf32>) -> tensor<4x10xf32> {
    %r = linalg.matmul ins(%a, %b : tensor<4x784xf16>, tensor<784x10xf16>) outs(%c : tensor<4x10xf32>) -> tensor<4x10xf32>
    return %r : tensor<4x10xf32>
  }
  func.func @more_computed(%a: tensor<4x784xf32>, %b: tensor<784x10xf32>, %c: tensor<4x10xf32>) -> tensor<4x10xf32> {
    %r = linalg.generic {indexing_maps = [#lhs, #rhs, #result], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%a, %b : tensor<4x784xf32>, tensor<784x10xf32>) outs(%c : tensor<4x10xf32>) {
    ^bb0(%x: f32, %y: f32, %acc: f32):
      %n = arith.negf %x : f32
      %p = arith.mulf %n, %y : f32
      %s = arith.addf %acc, %p : f32
      linalg.yield %s : f32
    } -> tensor<4x10xf32>
    return %r : tensor<4x10xf32>
  }
  transform.named_sequence @is_product(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.attune.match.contraction %op {batch = [], m = [#attune.range<1, 64>], n = [unit],
        k = [#attune.multiple<16>], types = [f32, f32, f32]} : (!transform.any_op) -> ()
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @say(%op: !transform.any_op {transform.readonly}) {
    transform.debug.emit_remark_at %op, "product" : !transform.any_op
    transform.yield
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %funcs = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach_match in %funcs @is_product -> @say : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}

// -----

// Layouts, and the sizes that were found.

module attributes {transform.with_named_sequence} {
  func.func @layouts(%a: tensor<4x784xf32>, %b: tensor<784x10xf32>, %t: tensor<10x784xf32>, %c: tensor<4x10xf32>) -> tensor<4x10xf32> {
    %r = linalg.matmul ins(%a, %b : tensor<4x784xf32>, tensor<784x10xf32>) outs(%c : tensor<4x10xf32>) -> tensor<4x10xf32>
    // expected-remark @below {{right operand turned}}
    %s = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
        ins(%a, %t : tensor<4x784xf32>, tensor<10x784xf32>) outs(%r : tensor<4x10xf32>) -> tensor<4x10xf32>
    return %s : tensor<4x10xf32>
  }
  transform.named_sequence @is_turned(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %batch, %m, %n, %k = transform.attune.match.contraction %op {indexing_maps = [
        affine_map<(k, m, n) -> (m, k)>, affine_map<(k, m, n) -> (n, k)>, affine_map<(k, m, n) -> (m, n)>]}
        : (!transform.any_op) -> (!transform.param<i64>, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>)
    transform.attune.match_param %k in [784, 784] : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @say(%op: !transform.any_op {transform.readonly}) {
    transform.debug.emit_remark_at %op, "right operand turned" : !transform.any_op
    transform.yield
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %funcs = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach_match in %funcs @is_turned -> @say : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}

// -----

// Convolutions in every layout.

module attributes {transform.with_named_sequence} {
  func.func @nhwc(%a: tensor<1x9x9x8xf32>, %f: tensor<3x3x8x16xf32>, %c: tensor<1x4x4x16xf32>) -> tensor<1x4x4x16xf32> {
    // expected-remark @below {{convolution}}
    %r = linalg.conv_2d_nhwc_hwcf {strides = dense<2> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>}
        ins(%a, %f : tensor<1x9x9x8xf32>, tensor<3x3x8x16xf32>) outs(%c : tensor<1x4x4x16xf32>) -> tensor<1x4x4x16xf32>
    return %r : tensor<1x4x4x16xf32>
  }
  func.func @nchw(%a: tensor<1x8x9x9xf32>, %f: tensor<16x8x3x3xf32>, %c: tensor<1x16x4x4xf32>) -> tensor<1x16x4x4xf32> {
    // expected-remark @below {{convolution}}
    %r = linalg.conv_2d_nchw_fchw {strides = dense<2> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>}
        ins(%a, %f : tensor<1x8x9x9xf32>, tensor<16x8x3x3xf32>) outs(%c : tensor<1x16x4x4xf32>) -> tensor<1x16x4x4xf32>
    return %r : tensor<1x16x4x4xf32>
  }
  func.func @chw_generic(%a: tensor<8x9x9xf32>, %f: tensor<3x3x16x8xf32>, %c: tensor<16x4x4xf32>) -> tensor<16x4x4xf32> {
    // expected-remark @below {{convolution}}
    %r = linalg.generic {indexing_maps = [
          affine_map<(y, x, f, c, p, q) -> (p, q, f, c)>,
          affine_map<(y, x, f, c, p, q) -> (c, y * 2 + p, x * 2 + q)>,
          affine_map<(y, x, f, c, p, q) -> (f, y, x)>],
        iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
        ins(%f, %a : tensor<3x3x16x8xf32>, tensor<8x9x9xf32>) outs(%c : tensor<16x4x4xf32>) {
    ^bb0(%w: f32, %x: f32, %acc: f32):
      %p = arith.mulf %w, %x : f32
      %s = arith.addf %acc, %p : f32
      linalg.yield %s : f32
    } -> tensor<16x4x4xf32>
    return %r : tensor<16x4x4xf32>
  }
  func.func @other_stride(%a: tensor<1x9x9x8xf32>, %f: tensor<3x3x8x16xf32>, %c: tensor<1x7x7x16xf32>) -> tensor<1x7x7x16xf32> {
    %r = linalg.conv_2d_nhwc_hwcf ins(%a, %f : tensor<1x9x9x8xf32>, tensor<3x3x8x16xf32>) outs(%c : tensor<1x7x7x16xf32>) -> tensor<1x7x7x16xf32>
    return %r : tensor<1x7x7x16xf32>
  }
  func.func @other_window(%a: tensor<1x9x9x8xf32>, %f: tensor<5x5x8x16xf32>, %c: tensor<1x3x3x16xf32>) -> tensor<1x3x3x16xf32> {
    %r = linalg.conv_2d_nhwc_hwcf {strides = dense<2> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>}
        ins(%a, %f : tensor<1x9x9x8xf32>, tensor<5x5x8x16xf32>) outs(%c : tensor<1x3x3x16xf32>) -> tensor<1x3x3x16xf32>
    return %r : tensor<1x3x3x16xf32>
  }
  func.func @depthwise(%a: tensor<1x9x9x8xf32>, %f: tensor<3x3x8xf32>, %c: tensor<1x4x4x8xf32>) -> tensor<1x4x4x8xf32> {
    // expected-remark @below {{depthwise}}
    %r = linalg.depthwise_conv_2d_nhwc_hwc {strides = dense<2> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>}
        ins(%a, %f : tensor<1x9x9x8xf32>, tensor<3x3x8xf32>) outs(%c : tensor<1x4x4x8xf32>) -> tensor<1x4x4x8xf32>
    return %r : tensor<1x4x4x8xf32>
  }
  func.func @pooling(%a: tensor<1x9x9x8xf32>, %f: tensor<3x3xf32>, %c: tensor<1x4x4x8xf32>) -> tensor<1x4x4x8xf32> {
    %r = linalg.pooling_nhwc_sum {strides = dense<2> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>}
        ins(%a, %f : tensor<1x9x9x8xf32>, tensor<3x3xf32>) outs(%c : tensor<1x4x4x8xf32>) -> tensor<1x4x4x8xf32>
    return %r : tensor<1x4x4x8xf32>
  }
  transform.named_sequence @is_convolution(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.attune.match.convolution %op {batch = [1], output_image = [4, 4], output_channel = [16], window = [3, 3],
        input_channel = [8], depth = [], strides = [2, 2], dilations = [1, 1], types = [f32, f32, f32]}
        : (!transform.any_op) -> ()
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @is_depthwise(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.attune.match.convolution %op {depth = [8], input_channel = [], strides = [2, 2]} : (!transform.any_op) -> ()
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @say(%op: !transform.any_op {transform.readonly}) {
    transform.debug.emit_remark_at %op, "convolution" : !transform.any_op
    transform.yield
  }
  transform.named_sequence @say_depthwise(%op: !transform.any_op {transform.readonly}) {
    transform.debug.emit_remark_at %op, "depthwise" : !transform.any_op
    transform.yield
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %funcs = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach_match in %funcs @is_convolution -> @say, @is_depthwise -> @say_depthwise
        : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}

// -----

// Reductions.

#in = affine_map<(i, j) -> (i, j)>
#rows = affine_map<(i, j) -> (i)>

module attributes {transform.with_named_sequence} {
  func.func @sums(%a: tensor<8x1001xf32>, %b: tensor<8xf32>) -> tensor<8xf32> {
    // expected-remark @below {{sum of rows}}
    %r = linalg.reduce ins(%a : tensor<8x1001xf32>) outs(%b : tensor<8xf32>) dimensions = [1]
        (%x: f32, %acc: f32) { %s = arith.addf %x, %acc : f32  linalg.yield %s : f32 }
    // expected-remark @below {{sum of rows}}
    %g = linalg.generic {indexing_maps = [#in, #rows], iterator_types = ["parallel", "reduction"]}
        ins(%a : tensor<8x1001xf32>) outs(%r : tensor<8xf32>) {
    ^bb0(%x: f32, %acc: f32):
      %s = arith.addf %acc, %x : f32
      linalg.yield %s : f32
    } -> tensor<8xf32>
    %squares = linalg.generic {indexing_maps = [#in, #rows], iterator_types = ["parallel", "reduction"]}
        ins(%a : tensor<8x1001xf32>) outs(%g : tensor<8xf32>) {
    ^bb0(%x: f32, %acc: f32):
      %q = arith.mulf %x, %x : f32
      %s = arith.addf %acc, %q : f32
      linalg.yield %s : f32
    } -> tensor<8xf32>
    %max = linalg.reduce { arith.maximumf } ins(%a : tensor<8x1001xf32>) outs(%squares : tensor<8xf32>) dimensions = [1]
    return %max : tensor<8xf32>
  }
  transform.named_sequence @is_sum(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.attune.match.reduction %op {parallel = [#attune.range<1, 8>], reduction = [1001], combiner = "add", plain}
        : (!transform.any_op) -> ()
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @say(%op: !transform.any_op {transform.readonly}) {
    transform.debug.emit_remark_at %op, "sum of rows" : !transform.any_op
    transform.yield
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %funcs = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach_match in %funcs @is_sum -> @say : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
