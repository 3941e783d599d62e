//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Copies, transpositions, broadcasts and chains of elementwise ops: blocks of
// rows by vectors; m is the loop along which a transposed input is contiguous.

module attributes {transform.with_named_sequence, attune.priority = 60 : i64} {
  transform.named_sequence @fits(
      %root: !transform.any_op {transform.readonly, attune.bind = "root"},
      %last: !transform.any_op {transform.readonly, attune.bind = "last"}) {
    transform.attune.match %root is ["elementwise", "copy", "fill"] : !transform.any_op
    transform.attune.match %last is ["elementwise", "copy", "fill"] : !transform.any_op
    transform.yield
  }

  transform.named_sequence @default(
      %func: !transform.any_op {transform.readonly, attune.bind = "func"},
      %threads: !transform.param<i64> {transform.readonly, attune.bind = "threads"},
      %work: !transform.param<i64> {transform.readonly, attune.bind = "work"}) {
    // Threads pay from some work on: a team takes microseconds to start and end.
    %parallel = transform.attune.compute affine_map<()[s0, s1] -> (((s0 - 1) ceildiv 1048576) * ((s1 floordiv 30000) ceildiv 1073741824))>
        (%threads, %work) : (!transform.param<i64>, !transform.param<i64>) -> !transform.param<i64>
    transform.annotate %func "attune.default.parallel" = %parallel : !transform.any_op, !transform.param<i64>
    transform.yield
  }

  transform.named_sequence @schedule(
      %func: !transform.any_op {transform.readonly, attune.bind = "func"},
      %last: !transform.any_op {transform.consumed, attune.bind = "last"},
      %batch: !transform.param<i64> {transform.readonly, attune.bind = "batch"},
      %m: !transform.param<i64> {transform.readonly, attune.bind = "m"},
      %n: !transform.param<i64> {transform.readonly, attune.bind = "n"},
      %threads: !transform.param<i64> {transform.readonly, attune.bind = "threads"},
      %element_bytes: !transform.param<i64> {transform.readonly, attune.bind = "element_bytes"},
      %vector_bytes: !transform.param<i64> {transform.readonly, attune.bind = "vector_bytes"}) {
    // Rows and vectors of a block.
    %rows = transform.tune.knob<"rows"> = 8 from options = [1, 2, 4, 8, 16] -> !transform.param<i64>
    %vectors = transform.tune.knob<"vectors"> = 1 from options = [1, 2, 4, 8] -> !transform.param<i64>
    transform.smt.constrain_params(%rows, %vectors) {attune.why = "the body of a block gets too long"}
        : (!transform.param<i64>, !transform.param<i64>) -> () {
    ^bb0(%r: !smt.int, %v: !smt.int):
      %most = smt.int.constant 32
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
    // Each worker gets a share of m, or of n where that is the only loop.
    %m_share = transform.attune.compute affine_map<()[s0, s1] -> (((s0 + s1 - 1) floordiv s1) * ((s1 - 1) ceildiv 1048576))>
        (%m, %workers) : (!transform.param<i64>, !transform.param<i64>) -> !transform.param<i64>
    %n_share = transform.attune.compute affine_map<()[s0, s1, s2, s3, s4] -> ((s0 ceildiv (s1 * s2)) * s2 * ((s1 - 1) ceildiv 1048576) * (1 - (s3 * s4 - 1) ceildiv 1073741824))>
        (%n, %workers, %width, %m, %batch) : (!transform.param<i64>, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>) -> !transform.param<i64>
    %outer = transform.attune.tile %last loops ["batch", "m", "n"] sizes(%one, %m_share, %n_share) threads(%workers)
        {fuse = ["all"]} : (!transform.any_op, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>) -> !transform.any_op
    %tiles = transform.attune.tile %outer loops ["m", "n"] sizes(%rows, %width)
        {fuse = ["all"]} : (!transform.any_op, !transform.param<i64>, !transform.param<i64>) -> !transform.any_op
    transform.attune.tile_rest %func lanes(%lanes) : (!transform.any_op, !transform.param<i64>) -> ()
    transform.attune.vectorize %func : !transform.any_op
    transform.yield
  }
}
