//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Always fits, always right: every op becomes loops.

module attributes {transform.with_named_sequence, attune.priority = 0 : i64} {
  transform.named_sequence @schedule(
      %func: !transform.any_op {transform.readonly, attune.bind = "func"}) {
    transform.yield
  }
}
