//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// A convolution as a product of matrices: what each window reads is copied side
// by side, then contraction_packed does the rest. Pays for small images, whose
// rows are no whole vectors, and for many output channels, which read the copy
// often.

module attributes {transform.with_named_sequence, attune.priority = 80 : i64,
                   attune.form = "product", attune.extends = "contraction_packed"} {
  transform.named_sequence @fits(
      %root: !transform.any_op {transform.readonly, attune.bind = "root"},
      %m: !transform.param<i64> {transform.readonly, attune.bind = "m"},
      %n: !transform.param<i64> {transform.readonly, attune.bind = "n"},
      %k: !transform.param<i64> {transform.readonly, attune.bind = "k"},
      %last: !transform.any_op {transform.readonly, attune.bind = "last"}) {
    transform.attune.match %root is ["contraction"] : !transform.any_op
    transform.attune.match %last is ["contraction", "elementwise", "copy"] : !transform.any_op
    transform.attune.match_param %m in [4, 1000000000] : !transform.param<i64>
    transform.attune.match_param %n in [4, 1000000000] : !transform.param<i64>
    transform.attune.match_param %k in [8, 1000000000] : !transform.param<i64>
    transform.yield
  }
}
