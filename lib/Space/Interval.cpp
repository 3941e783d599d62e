//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Interval.h"

#include <algorithm>

using namespace attune;
using Op = Expression::Op;

/// The hull of op over the corners of a x b, for an op that is monotone in each
/// operand there. A corner that overflows makes that side open.
static Interval fromCorners(Op op, const Interval &a, const Interval &b) {
  Interval result{INT64_MAX, INT64_MIN, a.mayFail || b.mayFail};
  for (int64_t x : {a.lower, a.upper})
    for (int64_t y : {b.lower, b.upper}) {
      auto value = applyOp(op, x, y);
      if (!value) {
        result.mayFail = true;
        result.lower = INT64_MIN;
        result.upper = INT64_MAX;
        continue;
      }
      result.lower = std::min(result.lower, *value);
      result.upper = std::max(result.upper, *value);
    }
  return result;
}

static Interval join(const Interval &a, const Interval &b) {
  return {std::min(a.lower, b.lower), std::max(a.upper, b.upper),
          a.mayFail || b.mayFail};
}

static Interval divide(Op op, const Interval &a, const Interval &b) {
  if (b.lower > 0 || b.upper < 0)
    return fromCorners(op, a, b);
  // The divisor may be 0: the values are those of its two sides.
  Interval result = Interval::anything();
  if (b.lower < 0 && b.upper > 0)
    result = join(fromCorners(op, a, {b.lower, -1, true}),
                  fromCorners(op, a, {1, b.upper, true}));
  else if (b.lower < 0)
    result = fromCorners(op, a, {b.lower, -1, true});
  else if (b.upper > 0)
    result = fromCorners(op, a, {1, b.upper, true});
  result.mayFail = true;
  return result;
}

static Interval remainder(Op op, const Interval &a, const Interval &b) {
  bool mayFail = a.mayFail || b.mayFail || (b.lower <= 0 && b.upper >= 0);
  if (b.lower == 0 && b.upper == 0)
    return Interval::anything();
  // a % b is a itself where 0 <= a < b.
  if (a.lower >= 0 && b.lower > a.upper)
    return {a.lower, a.upper, mayFail};
  if (op == Op::EuclidMod) {
    int64_t size =
        std::max(b.upper, b.lower == INT64_MIN ? INT64_MAX : -b.lower);
    return {0, size - 1, mayFail};
  }
  Interval result{b.lower < 0 ? b.lower + 1 : 0, b.upper > 0 ? b.upper - 1 : 0,
                  mayFail};
  if (a.lower >= 0 && b.lower >= 0)
    result.upper = std::min(result.upper, a.upper);
  return result;
}

static Interval truth(bool canBeFalse, bool canBeTrue, bool mayFail) {
  return {canBeFalse ? 0 : 1, canBeTrue ? 1 : 0, mayFail};
}

static Interval compare(Op op, const Interval &a, const Interval &b) {
  bool mayFail = a.mayFail || b.mayFail;
  switch (op) {
  case Op::Lt:
    return truth(a.upper >= b.lower, a.lower < b.upper, mayFail);
  case Op::Le:
    return truth(a.upper > b.lower, a.lower <= b.upper, mayFail);
  case Op::Gt:
    return compare(Op::Lt, b, a);
  case Op::Ge:
    return compare(Op::Le, b, a);
  case Op::Eq: {
    bool overlap = a.lower <= b.upper && b.lower <= a.upper;
    bool same = a.lower == a.upper && b.lower == b.upper && a.lower == b.lower;
    return truth(!same, overlap, mayFail);
  }
  default: { // Ne
    Interval equal = compare(Op::Eq, a, b);
    return {1 - equal.upper, 1 - equal.lower, mayFail};
  }
  }
}

/// The ops that do not look at all their operands.
static Interval applyLogic(Op op, const Interval &a, const Interval &b,
                           const Interval &c) {
  if (op == Op::And)
    return truth(a.canBeFalse() || b.canBeFalse(),
                 a.canBeTrue() && b.canBeTrue(),
                 a.mayFail || (a.canBeTrue() && b.mayFail));
  if (op == Op::Or)
    return truth(a.canBeFalse() && b.canBeFalse(),
                 a.canBeTrue() || b.canBeTrue(),
                 a.mayFail || (a.canBeFalse() && b.mayFail));
  Interval result = !a.canBeFalse() ? b : !a.canBeTrue() ? c : join(b, c);
  result.mayFail |= a.mayFail;
  return result;
}

Interval attune::applyOp(Op op, const Interval &a, const Interval &b,
                         const Interval &c) {
  if (op == Op::And || op == Op::Or || op == Op::If)
    return applyLogic(op, a, b, c);
  if (a.isPoint() && b.isPoint()) {
    auto value = applyOp(op, a.lower, b.lower);
    return value ? Interval::point(*value) : Interval::anything();
  }
  switch (op) {
  case Op::Neg:
    return fromCorners(op, a, Interval::point(0));
  case Op::Abs:
    if (a.lower >= 0)
      return a;
    if (a.upper > 0)
      return join({0, a.upper, false},
                  fromCorners(op, {a.lower, 0, a.mayFail}, Interval::point(0)));
    return fromCorners(op, a, Interval::point(0));
  case Op::Not:
    return truth(a.canBeTrue(), a.canBeFalse(), a.mayFail);
  case Op::Add:
  case Op::Mul:
  case Op::Min:
  case Op::Max:
    return fromCorners(op, a, b);
  case Op::Sub:
    return fromCorners(op, a, b);
  case Op::FloorDiv:
  case Op::EuclidDiv:
    return divide(op, a, b);
  case Op::FloorMod:
  case Op::EuclidMod:
    return remainder(op, a, b);
  default:
    return compare(op, a, b);
  }
}
