//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// What an expression can be while some knobs are still open.

#ifndef ATTUNE_LIB_SPACE_INTERVAL_H
#define ATTUNE_LIB_SPACE_INTERVAL_H

#include "attune/Space/Expression.h"

namespace attune {

/// Every value that is not an error lies in lower .. upper; `mayFail` says
/// whether an error is possible. When nothing is open, lower == upper or the
/// error is certain.
struct Interval {
  int64_t lower = 0, upper = 0;
  bool mayFail = false;

  static Interval point(int64_t value) { return {value, value, false}; }
  static Interval anything() { return {INT64_MIN, INT64_MAX, true}; }
  bool isPoint() const { return lower == upper && !mayFail; }
  bool canBeFalse() const { return lower <= 0 && upper >= 0; }
  bool canBeTrue() const { return lower != 0 || upper != 0; }
  bool isFalse() const { return lower == 0 && upper == 0 && !mayFail; }
  bool isTrue() const { return !canBeFalse() && !mayFail; }
};

/// `op` (not a leaf) over intervals; ops with fewer operands ignore the rest.
Interval applyOp(Expression::Op op, const Interval &a, const Interval &b,
                 const Interval &c);

} // namespace attune

#endif // ATTUNE_LIB_SPACE_INTERVAL_H
