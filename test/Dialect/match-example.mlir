// RUN: attune-opt %s --transform-interpreter --split-input-file --verify-diagnostics -o /dev/null

// A product, its bias and a clamp at 6: in other words it is the same, at 1 it is not.

#rows = affine_map<(i, j) -> (j)>
#turned = affine_map<(j, i) -> (j)>
#all = affine_map<(i, j) -> (i, j)>
#all_turned = affine_map<(j, i) -> (i, j)>

module attributes {transform.with_named_sequence} {
  func.func @same(%x: tensor<4x32xf32>, %w: tensor<32x10xf32>, %bias: tensor<10xf32>) -> tensor<4x10xf32> {
    %zero = arith.constant 0.0 : f32
    %six = arith.constant 6.0 : f32
    %e = tensor.empty() : tensor<4x10xf32>
    %init = linalg.fill ins(%zero : f32) outs(%e : tensor<4x10xf32>) -> tensor<4x10xf32>
    %p = linalg.matmul ins(%x, %w : tensor<4x32xf32>, tensor<32x10xf32>) outs(%init : tensor<4x10xf32>) -> tensor<4x10xf32>
    // expected-remark @below {{clamped product}}
    %r = linalg.generic {indexing_maps = [#turned, #all_turned, #all_turned], iterator_types = ["parallel", "parallel"], doc = "words", some.mark}
        ins(%bias, %p : tensor<10xf32>, tensor<4x10xf32>) outs(%e : tensor<4x10xf32>) {
    ^bb0(%b: f32, %v: f32, %o: f32):
      %s = arith.addf %b, %v : f32
      %m = arith.maximumf %zero, %s : f32
      %c = arith.minimumf %m, %six : f32
      linalg.yield %c : f32
    } -> tensor<4x10xf32>
    return %r : tensor<4x10xf32>
  }
  func.func @one_row(%x: tensor<1x32xf32>, %w: tensor<32x10xf32>, %bias: tensor<10xf32>, %o: tensor<10xf32>) -> tensor<10xf32> {
    %zero = arith.constant 0.0 : f32
    %six = arith.constant 6.0 : f32
    %e = tensor.empty() : tensor<1x10xf32>
    %init = linalg.fill ins(%zero : f32) outs(%e : tensor<1x10xf32>) -> tensor<1x10xf32>
    %p = linalg.matmul ins(%x, %w : tensor<1x32xf32>, tensor<32x10xf32>) outs(%init : tensor<1x10xf32>) -> tensor<1x10xf32>
    // expected-remark @below {{clamped product}}
    %r = linalg.generic {indexing_maps = [#all, #rows, #all], iterator_types = ["parallel", "parallel"]}
        ins(%p, %bias : tensor<1x10xf32>, tensor<10xf32>) outs(%e : tensor<1x10xf32>) {
    ^bb0(%v: f32, %b: f32, %out: f32):
      %s = arith.addf %v, %b : f32
      %m = arith.maximumf %s, %zero : f32
      %c = arith.minimumf %m, %six : f32
      linalg.yield %c : f32
    } -> tensor<1x10xf32>
    %f = tensor.collapse_shape %r [[0, 1]] : tensor<1x10xf32> into tensor<10xf32>
    return %f : tensor<10xf32>
  }
  func.func @other_bound(%x: tensor<4x32xf32>, %w: tensor<32x10xf32>, %bias: tensor<10xf32>) -> tensor<4x10xf32> {
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1.0 : f32
    %e = tensor.empty() : tensor<4x10xf32>
    %init = linalg.fill ins(%zero : f32) outs(%e : tensor<4x10xf32>) -> tensor<4x10xf32>
    %p = linalg.matmul ins(%x, %w : tensor<4x32xf32>, tensor<32x10xf32>) outs(%init : tensor<4x10xf32>) -> tensor<4x10xf32>
    %r = linalg.generic {indexing_maps = [#all, #rows, #all], iterator_types = ["parallel", "parallel"]}
        ins(%p, %bias : tensor<4x10xf32>, tensor<10xf32>) outs(%e : tensor<4x10xf32>) {
    ^bb0(%v: f32, %b: f32, %out: f32):
      %s = arith.addf %v, %b : f32
      %m = arith.maximumf %s, %zero : f32
      %c = arith.minimumf %m, %one : f32
      linalg.yield %c : f32
    } -> tensor<4x10xf32>
    return %r : tensor<4x10xf32>
  }
  func.func @other_start(%x: tensor<4x32xf32>, %w: tensor<32x10xf32>, %bias: tensor<10xf32>) -> tensor<4x10xf32> {
    %zero = arith.constant 0.0 : f32
    %six = arith.constant 6.0 : f32
    %e = tensor.empty() : tensor<4x10xf32>
    %init = linalg.fill ins(%six : f32) outs(%e : tensor<4x10xf32>) -> tensor<4x10xf32>
    %p = linalg.matmul ins(%x, %w : tensor<4x32xf32>, tensor<32x10xf32>) outs(%init : tensor<4x10xf32>) -> tensor<4x10xf32>
    %r = linalg.generic {indexing_maps = [#all, #rows, #all], iterator_types = ["parallel", "parallel"]}
        ins(%p, %bias : tensor<4x10xf32>, tensor<10xf32>) outs(%e : tensor<4x10xf32>) {
    ^bb0(%v: f32, %b: f32, %out: f32):
      %s = arith.addf %v, %b : f32
      %m = arith.maximumf %s, %zero : f32
      %c = arith.minimumf %m, %six : f32
      linalg.yield %c : f32
    } -> tensor<4x10xf32>
    return %r : tensor<4x10xf32>
  }
  func.func @too_many_rows(%x: tensor<128x32xf32>, %w: tensor<32x10xf32>, %bias: tensor<10xf32>) -> tensor<128x10xf32> {
    %zero = arith.constant 0.0 : f32
    %six = arith.constant 6.0 : f32
    %e = tensor.empty() : tensor<128x10xf32>
    %init = linalg.fill ins(%zero : f32) outs(%e : tensor<128x10xf32>) -> tensor<128x10xf32>
    %p = linalg.matmul ins(%x, %w : tensor<128x32xf32>, tensor<32x10xf32>) outs(%init : tensor<128x10xf32>) -> tensor<128x10xf32>
    %r = linalg.generic {indexing_maps = [#all, #rows, #all], iterator_types = ["parallel", "parallel"]}
        ins(%p, %bias : tensor<128x10xf32>, tensor<10xf32>) outs(%e : tensor<128x10xf32>) {
    ^bb0(%v: f32, %b: f32, %out: f32):
      %s = arith.addf %v, %b : f32
      %m = arith.maximumf %s, %zero : f32
      %c = arith.minimumf %m, %six : f32
      linalg.yield %c : f32
    } -> tensor<128x10xf32>
    return %r : tensor<128x10xf32>
  }
  transform.named_sequence @is_clamped(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.attune.match.example %op {sizes = [[#attune.range<1, 64>, unit], [unit, unit], [unit]]} : !transform.any_op {
    ^bb0(%x: tensor<?x32xf32>, %w: tensor<32x10xf32>, %bias: tensor<10xf32>):
      %zero = arith.constant 0.0 : f32
      %six = arith.constant 6.0 : f32
      %i0 = arith.constant 0 : index
      %d = tensor.dim %x, %i0 : tensor<?x32xf32>
      %e = tensor.empty(%d) : tensor<?x10xf32>
      %init = linalg.fill ins(%zero : f32) outs(%e : tensor<?x10xf32>) -> tensor<?x10xf32>
      %p = linalg.matmul ins(%x, %w : tensor<?x32xf32>, tensor<32x10xf32>) outs(%init : tensor<?x10xf32>) -> tensor<?x10xf32>
      %r = linalg.generic {indexing_maps = [#all, #rows, #all], iterator_types = ["parallel", "parallel"]}
          ins(%p, %bias : tensor<?x10xf32>, tensor<10xf32>) outs(%e : tensor<?x10xf32>) {
      ^bb0(%v: f32, %b: f32, %out: f32):
        %s = arith.addf %v, %b : f32
        %m = arith.maximumf %s, %zero : f32
        %c = arith.minimumf %m, %six : f32
        linalg.yield %c : f32
      } -> tensor<?x10xf32>
    }
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @say(%op: !transform.any_op {transform.readonly}) {
    transform.debug.emit_remark_at %op, "clamped product" : !transform.any_op
    transform.yield
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %funcs = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach_match in %funcs @is_clamped -> @say : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}

// -----

// An operand that is used twice is one value; a constant may be written in the body or beside it.

#id = affine_map<(i) -> (i)>
#scalar = affine_map<(i) -> ()>

module attributes {transform.with_named_sequence} {
  func.func @values(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
    %half = arith.constant 0.5 : f32
    %e = tensor.empty() : tensor<8xf32>
    // expected-remark @below {{half a square}}
    %r = linalg.generic {indexing_maps = [#id, #scalar, #id, #id], iterator_types = ["parallel"]}
        ins(%x, %half, %x : tensor<8xf32>, f32, tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%a: f32, %c: f32, %b: f32, %o: f32):
      %s = arith.mulf %b, %a : f32
      %h = arith.mulf %c, %s : f32
      linalg.yield %h : f32
    } -> tensor<8xf32>
    %s = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
        ins(%x, %y : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %s = arith.mulf %a, %b : f32
      %h = arith.mulf %s, %half : f32
      linalg.yield %h : f32
    } -> tensor<8xf32>
    %t = arith.addf %r, %s : tensor<8xf32>
    return %t : tensor<8xf32>
  }
  transform.named_sequence @is_half_square(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.attune.match.example %op : !transform.any_op {
    ^bb0(%x: tensor<8xf32>):
      %e = tensor.empty() : tensor<8xf32>
      %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
          ins(%x, %x : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) {
      ^bb0(%a: f32, %b: f32, %o: f32):
        %half = arith.constant 0.5 : f32
        %s = arith.mulf %a, %b : f32
        %h = arith.mulf %s, %half : f32
        linalg.yield %h : f32
      } -> tensor<8xf32>
    }
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @say(%op: !transform.any_op {transform.readonly}) {
    transform.debug.emit_remark_at %op, "half a square" : !transform.any_op
    transform.yield
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %funcs = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach_match in %funcs @is_half_square -> @say : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
