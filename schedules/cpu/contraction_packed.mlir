//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Matrix multiplication in the manner of Goto and van de Geijn ("Anatomy of
// High-Performance Matrix Multiplication", 2008): blocks of n, k and m, packed
// into panels, register tiles inside. Without blocks of k, all of k runs in the
// registers of one tile: fill and epilogue stay there too, and the result is
// written once. With them the working set is smaller, the result is read and
// written once for each block, and the epilogue goes over it afterwards.

module attributes {transform.with_named_sequence, attune.priority = 100 : i64} {
  transform.named_sequence @fits(
      %root: !transform.any_op {transform.readonly, attune.bind = "root"},
      %m: !transform.param<i64> {transform.readonly, attune.bind = "m"},
      %n: !transform.param<i64> {transform.readonly, attune.bind = "n"},
      %k: !transform.param<i64> {transform.readonly, attune.bind = "k"},
      %last: !transform.any_op {transform.readonly, attune.bind = "last"}) {
    transform.attune.match %root is ["contraction"] : !transform.any_op
    transform.attune.match %last is ["contraction", "elementwise", "copy"] : !transform.any_op
    transform.attune.match_param %m in [4, 1000000000] : !transform.param<i64>
    transform.attune.match_param %n in [8, 1000000000] : !transform.param<i64>
    transform.attune.match_param %k in [8, 1000000000] : !transform.param<i64>
    transform.yield
  }

  transform.named_sequence @default(
      %func: !transform.any_op {transform.readonly, attune.bind = "func"},
      %threads: !transform.param<i64> {transform.readonly, attune.bind = "threads"},
      %work: !transform.param<i64> {transform.readonly, attune.bind = "work"},
      %m_weight: !transform.param<i64> {transform.readonly, attune.bind = "m_weight"},
      %n_weight: !transform.param<i64> {transform.readonly, attune.bind = "n_weight"},
      %m: !transform.param<i64> {transform.readonly, attune.bind = "m"},
      %n: !transform.param<i64> {transform.readonly, attune.bind = "n"},
      %k: !transform.param<i64> {transform.readonly, attune.bind = "k"},
      %l2: !transform.param<i64> {transform.readonly, attune.bind = "l2_bytes"},
      %l3: !transform.param<i64> {transform.readonly, attune.bind = "l3_bytes"},
      %element_bytes: !transform.param<i64> {transform.readonly, attune.bind = "element_bytes"},
      %vector_bytes: !transform.param<i64> {transform.readonly, attune.bind = "vector_bytes"},
      %vector_registers: !transform.param<i64> {transform.readonly, attune.bind = "vector_registers"}) {
    %mt, %nt = transform.attune.register_tile %m, %n, %element_bytes, %vector_bytes, %vector_registers
        : (!transform.param<i64>, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>,
           !transform.param<i64>) -> (!transform.param<i64>, !transform.param<i64>)
    transform.annotate %func "attune.default.m_tile" = %mt : !transform.any_op, !transform.param<i64>
    transform.annotate %func "attune.default.n_tile" = %nt : !transform.any_op, !transform.param<i64>
    // Blocks of k only where the panels of a whole k would not fit the cache: each
    // costs a pass over the result. A block of A takes under half of the second
    // cache, one of B half of the third.
    %long_k = transform.attune.compute affine_map<()[s0] -> (((s0 - 1) floordiv 2048) ceildiv 1048576)>
        (%k) : (!transform.param<i64>) -> !transform.param<i64>
    %k_block = transform.attune.compute affine_map<()[s0] -> (s0 * 512)>
        (%long_k) : (!transform.param<i64>) -> !transform.param<i64>
    %row = transform.attune.compute affine_map<()[s0, s1, s2] -> ((s0 + s1 * (512 - s0)) * s2)>
        (%k, %long_k, %element_bytes) : (!transform.param<i64>, !transform.param<i64>, !transform.param<i64>) -> !transform.param<i64>
    %m_block = transform.attune.compute affine_map<()[s0, s1, s2] -> ((s0 * 2) floordiv (s1 * s2 * 5))>
        (%l2, %row, %mt) : (!transform.param<i64>, !transform.param<i64>, !transform.param<i64>) -> !transform.param<i64>
    %n_block = transform.attune.compute affine_map<()[s0, s1, s2, s3] -> (((((s1 * s2 * 2) floordiv s0) ceildiv 1073741824) * s0) floordiv (s1 * s3 * 2))>
        (%l3, %row, %n, %nt) : (!transform.param<i64>, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>) -> !transform.param<i64>
    // A panel pays when it is read often, and always of a weight, which is packed
    // once.
    %pack_a = transform.attune.compute affine_map<()[s0, s1, s2] -> ((s0 floordiv (s1 * 8) + s2) ceildiv 1048576)>
        (%n, %nt, %m_weight) : (!transform.param<i64>, !transform.param<i64>, !transform.param<i64>) -> !transform.param<i64>
    %pack_b = transform.attune.compute affine_map<()[s0, s1, s2] -> ((s0 floordiv (s1 * 2) + s2) ceildiv 1048576)>
        (%m, %mt, %n_weight) : (!transform.param<i64>, !transform.param<i64>, !transform.param<i64>) -> !transform.param<i64>
    transform.annotate %func "attune.default.k_block" = %k_block : !transform.any_op, !transform.param<i64>
    transform.annotate %func "attune.default.m_block" = %m_block : !transform.any_op, !transform.param<i64>
    transform.annotate %func "attune.default.n_block" = %n_block : !transform.any_op, !transform.param<i64>
    transform.annotate %func "attune.default.pack_a" = %pack_a : !transform.any_op, !transform.param<i64>
    transform.annotate %func "attune.default.pack_b" = %pack_b : !transform.any_op, !transform.param<i64>
    // Threads pay from some work on: a team takes microseconds to start and end.
    %parallel = transform.attune.compute affine_map<()[s0, s1] -> (((s0 - 1) ceildiv 1048576) * ((s1 floordiv 150000) ceildiv 1073741824))>
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
      %vector_registers: !transform.param<i64> {transform.readonly, attune.bind = "vector_registers"},
      %m: !transform.param<i64> {transform.readonly, attune.bind = "m"},
      %n: !transform.param<i64> {transform.readonly, attune.bind = "n"}) {
    // Rows and columns of a register tile.
    %m_tile = transform.tune.knob<"m_tile"> = 6 from options = #attune.range<1, 16> -> !transform.param<i64>
    %n_tile = transform.tune.knob<"n_tile"> = 16 from options = [4, 8, 16, 32, 64] -> !transform.param<i64>
    // Sizes of a block, in register tiles; 0 is no block.
    %m_block = transform.tune.knob<"m_block"> = 0 from options = [0, 2, 4, 8, 12, 16, 20, 24, 32, 48, 64, 96, 128] -> !transform.param<i64>
    %n_block = transform.tune.knob<"n_block"> = 0 from options = [0, 4, 8, 16, 32, 64] -> !transform.param<i64>
    // Steps of k in a block; 0 is no block.
    %k_block = transform.tune.knob<"k_block"> = 0 from options = [0, 64, 128, 192, 256, 320, 384, 512] -> !transform.param<i64>
    // Steps of k at a time.
    %k_unroll = transform.tune.knob<"k_unroll"> = 4 from options = [1, 4, 8] -> !transform.param<i64>
    // [0, 1]: along n outside, m inside.
    %order = transform.tune.knob<"order"> = array<i64: 0, 1> from options = #attune.permutation<2> -> !transform.any_param
    %pack_a = transform.tune.knob<"pack_a"> = false from options = [true, false] -> !transform.any_param
    %pack_b = transform.tune.knob<"pack_b"> = true from options = [true, false] -> !transform.any_param

    transform.smt.constrain_params(%m_tile, %n_tile, %element_bytes, %vector_bytes, %vector_registers)
        {attune.why = "the register tile needs whole vectors that fit the registers"}
        : (!transform.param<i64>, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>) -> () {
    ^bb0(%mt: !smt.int, %nt: !smt.int, %eb: !smt.int, %vb: !smt.int, %vr: !smt.int):
      %zero = smt.int.constant 0
      %one = smt.int.constant 1
      %row = smt.int.mul %nt, %eb
      %part = smt.int.mod %row, %vb
      %whole = smt.eq %part, %zero : !smt.int
      smt.assert %whole
      %vectors = smt.int.div %row, %vb
      %accumulators = smt.int.mul %vectors, %mt
      %all = smt.int.add %accumulators, %vectors, %one
      %fit = smt.int.cmp le %all, %vr
      smt.assert %fit
    }
    transform.smt.constrain_params(%m_tile, %n_tile, %k_unroll, %element_bytes, %vector_bytes)
        {attune.why = "the unrolled body of a register tile gets too long"}
        : (!transform.param<i64>, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>) -> () {
    ^bb0(%mt: !smt.int, %nt: !smt.int, %ku: !smt.int, %eb: !smt.int, %vb: !smt.int):
      %most = smt.int.constant 128
      %limit = smt.int.mul %most, %vb
      %size = smt.int.mul %mt, %nt, %ku, %eb
      %fit = smt.int.cmp le %size, %limit
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
    %m_size = transform.attune.compute affine_map<()[s0, s1] -> (s0 * s1)> (%m_block, %m_tile)
        : (!transform.param<i64>, !transform.param<i64>) -> !transform.param<i64>
    // Blocks of m are inside those of k, or, where there are none, take the
    // epilogue along.
    %m_outer = transform.attune.compute affine_map<()[s0, s1] -> (s0 * (1 - s1 ceildiv 1048576))> (%m_size, %k_block)
        : (!transform.param<i64>, !transform.param<i64>) -> !transform.param<i64>
    %m_inner = transform.attune.compute affine_map<()[s0, s1] -> (s0 * (s1 ceildiv 1048576))> (%m_size, %k_block)
        : (!transform.param<i64>, !transform.param<i64>) -> !transform.param<i64>
    %n_size = transform.attune.compute affine_map<()[s0, s1] -> (s0 * s1)> (%n_block, %n_tile)
        : (!transform.param<i64>, !transform.param<i64>) -> !transform.param<i64>

    // With threads, each gets one equal share of the longer of m and n; what is
    // left over is less than a register tile for each.
    %along_m = transform.attune.compute affine_map<()[s0, s1, s2] -> (s0 floordiv s1, (s2 - 1) ceildiv s2)> (%m, %n, %workers)
        : (!transform.param<i64>, !transform.param<i64>, !transform.param<i64>) -> !transform.param<i64>
    %m_share = transform.attune.compute affine_map<()[s0, s1, s2, s3] -> (((s1 floordiv (s2 * s3)) * s3) * s0)>
        (%along_m, %m, %workers, %m_tile) : (!transform.param<i64>, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>) -> !transform.param<i64>
    %n_share = transform.attune.compute affine_map<()[s0, s1, s2, s3] -> (((s1 floordiv (s2 * s3)) * s3) * ((s2 - 1) ceildiv s2 - s0))>
        (%along_m, %n, %workers, %n_tile) : (!transform.param<i64>, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>) -> !transform.param<i64>
    %shares = transform.attune.tile %last loops ["batch", "m", "n"] sizes(%one, %m_share, %n_share) threads(%workers)
        {fuse = ["root", "init", "epilogue"]}
        : (!transform.any_op, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>) -> !transform.any_op
    %n_blocks = transform.attune.tile %shares loops ["n"] sizes(%n_size) {fuse = ["root", "init", "epilogue"]}
        : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    %m_blocks = transform.attune.tile %n_blocks loops ["m"] sizes(%m_outer) {fuse = ["root", "init", "epilogue"]}
        : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    %block_root = transform.structured.match attributes {attune.kind = "root"} in %func : (!transform.any_op) -> !transform.any_op
    %k_blocks = transform.attune.tile %block_root loops ["k"] sizes(%k_block)
        : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    %inner_blocks = transform.attune.tile %k_blocks loops ["m"] sizes(%m_inner)
        : (!transform.any_op, !transform.param<i64>) -> !transform.any_op

    // The epilogue takes the root along, unless blocks of k are between them.
    %tile_root = transform.structured.match attributes {attune.kind = "root"} in %func : (!transform.any_op) -> !transform.any_op
    %tile_epilogue = transform.structured.match attributes {attune.kind = "epilogue"} in %func : (!transform.any_op) -> !transform.any_op
    %untiled = transform.merge_handles %tile_root, %tile_epilogue : !transform.any_op
    %tiles = transform.attune.tile %untiled loops ["n", "m"] sizes(%n_tile, %m_tile) order(%order)
        {fuse = ["root", "init", "epilogue"]}
        : (!transform.any_op, !transform.param<i64>, !transform.param<i64>, !transform.any_param) -> !transform.any_op
    %root = transform.structured.match attributes {attune.kind = "root"} in %func : (!transform.any_op) -> !transform.any_op
    transform.attune.pack %root panel "n" lanes(%lanes) when(%pack_b) threads(%workers)
        : (!transform.any_op, !transform.param<i64>, !transform.any_param, !transform.param<i64>) -> ()
    transform.attune.pack %root panel "m" lanes(%lanes) when(%pack_a)
        : (!transform.any_op, !transform.param<i64>, !transform.any_param) -> ()
    %steps = transform.attune.tile %root loops ["window", "k"] sizes(%one, %k_unroll)
        : (!transform.any_op, !transform.param<i64>, !transform.param<i64>) -> !transform.any_op
    transform.attune.tile_rest %func lanes(%lanes) : (!transform.any_op, !transform.param<i64>) -> ()
    transform.attune.vectorize %func : !transform.any_op
    transform.yield
  }
}
