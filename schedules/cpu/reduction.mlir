//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Reductions and what surrounds them (norms, softmax): all ops of the chain share
// their rows, and one block of rows at a time goes through all of them. Along a
// contiguous reduction partial results run side by side; otherwise the lanes
// run along the contiguous parallel loop. Also a matrix times a vector.

module attributes {transform.with_named_sequence, attune.priority = 60 : i64} {
  transform.named_sequence @fits(
      %root: !transform.any_op {transform.readonly, attune.bind = "root"},
      %last: !transform.any_op {transform.readonly, attune.bind = "last"}) {
    transform.attune.match %root is ["reduction", "matvec"] : !transform.any_op
    transform.attune.match %last is ["reduction", "matvec", "elementwise", "copy"] : !transform.any_op
    transform.yield
  }

  transform.named_sequence @default(
      %func: !transform.any_op {transform.readonly, attune.bind = "func"},
      %threads: !transform.param<i64> {transform.readonly, attune.bind = "threads"},
      %work: !transform.param<i64> {transform.readonly, attune.bind = "work"}) {
    // Threads pay from some work on: a team takes microseconds to start and end.
    %parallel = transform.attune.compute affine_map<()[s0, s1] -> (((s0 - 1) ceildiv 1048576) * ((s1 floordiv 60000) ceildiv 1073741824))>
        (%threads, %work) : (!transform.param<i64>, !transform.param<i64>) -> !transform.param<i64>
    transform.annotate %func "attune.default.parallel" = %parallel : !transform.any_op, !transform.param<i64>
    transform.yield
  }

  transform.named_sequence @schedule(
      %func: !transform.any_op {transform.readonly, attune.bind = "func"},
      %last: !transform.any_op {transform.consumed, attune.bind = "last"},
      %threads: !transform.param<i64> {transform.readonly, attune.bind = "threads"},
      %element_bytes: !transform.param<i64> {transform.readonly, attune.bind = "element_bytes"},
      %vector_bytes: !transform.param<i64> {transform.readonly, attune.bind = "vector_bytes"}) {
    // Rows that are reduced at once.
    %rows = transform.tune.knob<"rows"> = 1 from options = [1, 2, 4, 8] -> !transform.param<i64>
    // Vectors side by side.
    %vectors = transform.tune.knob<"vectors"> = 4 from options = [1, 2, 4, 8] -> !transform.param<i64>
    transform.smt.constrain_params(%rows, %vectors) {attune.why = "more accumulators than registers"}
        : (!transform.param<i64>, !transform.param<i64>) -> () {
    ^bb0(%r: !smt.int, %v: !smt.int):
      %most = smt.int.constant 16
      %all = smt.int.mul %r, %v
      %fit = smt.int.cmp le %all, %most
      smt.assert %fit
    }
    // Whether all threads share the work, or one does all.
    %parallel = transform.tune.knob<"parallel"> = 1 from options = [0, 1] -> !transform.param<i64>
    transform.smt.constrain_params(%parallel, %threads) {attune.why = "there is one thread"}
        : (!transform.param<i64>, !transform.param<i64>) -> () {
    ^bb0(%p: !smt.int, %t: !smt.int):
      %fit = smt.int.cmp lt %p, %t
      smt.assert %fit
    }
    %workers = transform.attune.compute affine_map<()[s0, s1] -> (1 + s0 * (s1 - 1))> (%parallel, %threads)
        : (!transform.param<i64>, !transform.param<i64>) -> !transform.param<i64>

    %one = transform.param.constant 1 : i64 -> !transform.param<i64>
    %lanes = transform.attune.compute affine_map<()[s0, s1] -> (s0 floordiv s1)> (%vector_bytes, %element_bytes)
        : (!transform.param<i64>, !transform.param<i64>) -> !transform.param<i64>
    %width = transform.attune.compute affine_map<()[s0, s1] -> (s0 * s1)> (%lanes, %vectors)
        : (!transform.param<i64>, !transform.param<i64>) -> !transform.param<i64>
    %outer = transform.attune.tile %last loops ["batch", "m"] sizes(%one, %rows) threads(%workers)
        {fuse = ["all"]} : (!transform.any_op, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>) -> !transform.any_op
    %ops = transform.structured.match interface{LinalgOp} in %func : (!transform.any_op) -> !transform.any_op
    %tiles = transform.attune.tile %ops loops ["batch", "m", "n"] sizes(%one, %rows, %width)
        : (!transform.any_op, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>) -> !transform.any_op
    %reductions = transform.structured.match interface{LinalgOp} in %func : (!transform.any_op) -> !transform.any_op
    transform.attune.tile_reduction %reductions lanes(%width) : (!transform.any_op, !transform.param<i64>) -> ()
    transform.attune.vectorize %func : !transform.any_op
    transform.yield
  }
}
