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

  transform.named_sequence @schedule(
      %func: !transform.any_op {transform.readonly, attune.bind = "func"},
      %last: !transform.any_op {transform.consumed, attune.bind = "last"},
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
    %one = transform.param.constant 1 : i64 -> !transform.param<i64>
    %lanes = transform.attune.compute affine_map<()[s0, s1] -> (s0 floordiv s1)> (%vector_bytes, %element_bytes)
        : (!transform.param<i64>, !transform.param<i64>) -> !transform.param<i64>
    %width = transform.attune.compute affine_map<()[s0, s1] -> (s0 * s1)> (%lanes, %vectors)
        : (!transform.param<i64>, !transform.param<i64>) -> !transform.param<i64>
    %outer = transform.attune.tile %last loops ["batch"] sizes(%one) threads(%threads)
        {fuse = ["all"]} : (!transform.any_op, !transform.param<i64>, !transform.param<i64>) -> !transform.any_op
    %tiles = transform.attune.tile %outer loops ["m", "n"] sizes(%rows, %width)
        {fuse = ["all"]} : (!transform.any_op, !transform.param<i64>, !transform.param<i64>) -> !transform.any_op
    transform.attune.tile_rest %func lanes(%lanes) : (!transform.any_op, !transform.param<i64>) -> ()
    transform.attune.vectorize %func : !transform.any_op
    transform.yield
  }
}
