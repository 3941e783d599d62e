//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// A direct convolution: with the window tiled to 1, what is left at the register
// tile is a contraction (channels-last: output columns by output channels;
// channels-first: output channels by output columns). Depthwise convolutions
// and pooling have no k, and are otherwise the same.

module attributes {transform.with_named_sequence, attune.priority = 90 : i64} {
  transform.named_sequence @fits(
      %root: !transform.any_op {transform.readonly, attune.bind = "root"},
      %last: !transform.any_op {transform.readonly, attune.bind = "last"}) {
    transform.attune.match %root is ["convolution", "depthwise", "pooling"] : !transform.any_op
    transform.attune.match %last is ["contraction", "convolution", "depthwise", "pooling", "elementwise", "copy"] : !transform.any_op
    transform.yield
  }

  // Short rows of an image, which are no whole vectors or too few for a register
  // tile, are better off as a product of matrices.
  transform.named_sequence @priority(
      %func: !transform.any_op {transform.readonly, attune.bind = "func"},
      %m: !transform.param<i64> {transform.readonly, attune.bind = "m"},
      %n: !transform.param<i64> {transform.readonly, attune.bind = "n"},
      %k: !transform.param<i64> {transform.readonly, attune.bind = "k"}) {
    %short_n = transform.attune.compute affine_map<()[s0, s1] -> ((1 - ((s1 - 1) floordiv 48) ceildiv 1048576) * ((s0 floordiv 32) ceildiv 1048576))>
        (%m, %n) : (!transform.param<i64>, !transform.param<i64>) -> !transform.param<i64>
    %short_m = transform.attune.compute affine_map<()[s0, s1] -> ((1 - ((s0 - 1) floordiv 16) ceildiv 1048576) * ((s1 floordiv 32) ceildiv 1048576))>
        (%m, %n) : (!transform.param<i64>, !transform.param<i64>) -> !transform.param<i64>
    // With few channels the copy would cost more than it gains. (What depends on
    // an unknown size is 0.)
    %priority = transform.attune.compute affine_map<()[s0, s1, s2] -> (90 - 20 * ((s0 + s1) ceildiv 2) * ((s2 floordiv 32) ceildiv 1048576))>
        (%short_n, %short_m, %k) : (!transform.param<i64>, !transform.param<i64>, !transform.param<i64>) -> !transform.param<i64>
    transform.annotate %func "attune.priority" = %priority : !transform.any_op, !transform.param<i64>
    transform.yield
  }

  transform.named_sequence @default(
      %func: !transform.any_op {transform.readonly, attune.bind = "func"},
      %threads: !transform.param<i64> {transform.readonly, attune.bind = "threads"},
      %work: !transform.param<i64> {transform.readonly, attune.bind = "work"},
      %m: !transform.param<i64> {transform.readonly, attune.bind = "m"},
      %n: !transform.param<i64> {transform.readonly, attune.bind = "n"},
      %element_bytes: !transform.param<i64> {transform.readonly, attune.bind = "element_bytes"},
      %vector_bytes: !transform.param<i64> {transform.readonly, attune.bind = "vector_bytes"},
      %vector_registers: !transform.param<i64> {transform.readonly, attune.bind = "vector_registers"}) {
    %mt, %nt = transform.attune.register_tile %m, %n, %element_bytes, %vector_bytes, %vector_registers {whole_tiles}
        : (!transform.param<i64>, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>) -> (!transform.param<i64>, !transform.param<i64>)
    transform.annotate %func "attune.default.m_tile" = %mt : !transform.any_op, !transform.param<i64>
    transform.annotate %func "attune.default.n_tile" = %nt : !transform.any_op, !transform.param<i64>
    // Threads pay from some work on: a team takes microseconds to start and end.
    %parallel = transform.attune.compute affine_map<()[s0, s1] -> (((s0 - 1) ceildiv 1048576) * ((s1 floordiv 100000) ceildiv 1073741824))>
        (%threads, %work) : (!transform.param<i64>, !transform.param<i64>) -> !transform.param<i64>
    transform.annotate %func "attune.default.parallel" = %parallel : !transform.any_op, !transform.param<i64>
    transform.yield
  }

  transform.named_sequence @schedule(
      %func: !transform.any_op {transform.readonly, attune.bind = "func"},
      %last: !transform.any_op {transform.consumed, attune.bind = "last"},
      %threads: !transform.param<i64> {transform.readonly, attune.bind = "threads"},
      %element_bytes: !transform.param<i64> {transform.readonly, attune.bind = "element_bytes"},
      %vector_bytes: !transform.param<i64> {transform.readonly, attune.bind = "vector_bytes"},
      %vector_registers: !transform.param<i64> {transform.readonly, attune.bind = "vector_registers"}) {
    // Rows and columns of a register tile.
    %m_tile = transform.tune.knob<"m_tile"> = 6 from options = #attune.range<1, 16> -> !transform.param<i64>
    %n_tile = transform.tune.knob<"n_tile"> = 16 from options = [1, 2, 4, 8, 16, 32, 64] -> !transform.param<i64>
    // Steps of k at a time.
    %k_unroll = transform.tune.knob<"k_unroll"> = 4 from options = [1, 2, 4, 8] -> !transform.param<i64>
    // [0, 1]: along n outside, m inside.
    %order = transform.tune.knob<"order"> = array<i64: 0, 1> from options = #attune.permutation<2> -> !transform.any_param
    // Whether weights are packed into panels.
    %pack = transform.tune.knob<"pack"> = true from options = [true, false] -> !transform.any_param
    transform.smt.constrain_params(%m_tile, %n_tile, %element_bytes, %vector_bytes, %vector_registers)
        {attune.why = "the register tile needs more registers than there are"}
        : (!transform.param<i64>, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>) -> () {
    ^bb0(%mt: !smt.int, %nt: !smt.int, %eb: !smt.int, %vb: !smt.int, %vr: !smt.int):
      %one = smt.int.constant 1
      %row = smt.int.mul %nt, %eb
      %below = smt.int.sub %vb, %one
      %padded = smt.int.add %row, %below
      %vectors = smt.int.div %padded, %vb
      %accumulators = smt.int.mul %vectors, %mt
      // One row reads its vectors straight into the multiply-adds.
      %fourteen = smt.int.constant 14
      %sixteen = smt.int.constant 16
      %rounded = smt.int.add %mt, %fourteen
      %rows = smt.int.div %rounded, %sixteen
      %held = smt.int.mul %vectors, %rows
      %all = smt.int.add %accumulators, %held, %one
      %fit = smt.int.cmp le %all, %vr
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
    %outer = transform.attune.tile %last loops ["batch"] sizes(%one) threads(%workers)
        {fuse = ["root", "init", "epilogue", "pad"]} : (!transform.any_op, !transform.param<i64>, !transform.param<i64>) -> !transform.any_op
    %tiles = transform.attune.tile %outer loops ["n", "m"] sizes(%n_tile, %m_tile) order(%order)
        {fuse = ["root", "init", "epilogue"]} : (!transform.any_op, !transform.param<i64>, !transform.param<i64>, !transform.any_param) -> !transform.any_op
    %root = transform.structured.match attributes {attune.kind = "root"} in %func : (!transform.any_op) -> !transform.any_op
    transform.attune.pack %root panel "n" lanes(%lanes) when(%pack) : (!transform.any_op, !transform.param<i64>, !transform.any_param) -> ()
    transform.attune.pack %root panel "m" lanes(%lanes) when(%pack) : (!transform.any_op, !transform.param<i64>, !transform.any_param) -> ()
    %steps = transform.attune.tile %root loops ["window", "k"] sizes(%one, %k_unroll)
         : (!transform.any_op, !transform.param<i64>, !transform.param<i64>) -> !transform.any_op
    transform.attune.tile_rest %func lanes(%lanes) : (!transform.any_op, !transform.param<i64>) -> ()
    transform.attune.vectorize %func : !transform.any_op
    transform.yield
  }
}
