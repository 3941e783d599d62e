//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Space/Expression.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace attune;
using Op = Expression::Op;

static std::optional<int64_t> lookup(llvm::StringRef name) {
  if (name == "x")
    return 7;
  if (name == "y")
    return -3;
  if (name == "zero")
    return 0;
  return std::nullopt;
}

static int64_t valueOf(llvm::StringRef source) {
  auto expression = Expression::parse(source);
  if (!expression) {
    ADD_FAILURE() << llvm::toString(expression.takeError());
    return -999;
  }
  // What is printed reads back as the same.
  auto again = Expression::parse(expression->str());
  EXPECT_TRUE(bool(again)) << expression->str();
  auto value = expression->evaluate(lookup);
  if (!value) {
    ADD_FAILURE() << llvm::toString(value.takeError());
    return -999;
  }
  EXPECT_EQ(llvm::cantFail(again->evaluate(lookup)), *value)
      << expression->str();
  return *value;
}

TEST(Expression, FollowsPython) {
  EXPECT_EQ(valueOf("1 + 2 * 3 - 4"), 3);
  EXPECT_EQ(valueOf("-x // 2"), -4);
  EXPECT_EQ(valueOf("x // -2"), -4);
  EXPECT_EQ(valueOf("y % 2"), 1);
  EXPECT_EQ(valueOf("x % y"), -2);
  EXPECT_EQ(valueOf("10 - 3 - 2"), 5);
  EXPECT_EQ(valueOf("10 - (3 - 2)"), 9);
  EXPECT_EQ(valueOf("100 // 10 // 5"), 2);
  EXPECT_EQ(valueOf("1 < x <= 7 != 8"), 1);
  EXPECT_EQ(valueOf("(1 < x) == True"), 1);
  EXPECT_EQ(valueOf("not x == 7"), 0);
  EXPECT_EQ(valueOf("not (x == 7 and y > 0) or False"), 1);
  EXPECT_EQ(valueOf("min(x, y, 2) + max(x, y) + abs(y)"), 7);
  EXPECT_EQ(valueOf("1 if x > 8 else 2 if y > 0 else 3"), 3);
  EXPECT_EQ(valueOf("zero != 0 and 5 % zero == 0"), 0);
  EXPECT_EQ(valueOf("zero == 0 or 5 % zero == 0"), 1);
  EXPECT_EQ(valueOf("9_223_372_036_854_775_807"), INT64_MAX);
}

TEST(Expression, EuclideanRemainderIsNeverNegative) {
  for (int64_t a : {-7, -6, 0, 6, 7})
    for (int64_t b : {-3, 3}) {
      int64_t q = *applyOp(Op::EuclidDiv, a, b),
              r = *applyOp(Op::EuclidMod, a, b);
      EXPECT_GE(r, 0);
      EXPECT_LT(r, 3);
      EXPECT_EQ(q * b + r, a) << a << " by " << b;
      int64_t fq = *applyOp(Op::FloorDiv, a, b),
              fr = *applyOp(Op::FloorMod, a, b);
      EXPECT_EQ(fq * b + fr, a);
      EXPECT_TRUE(fr == 0 || (fr < 0) == (b < 0));
    }
}

TEST(Expression, OverflowAndZeroHaveNoValue) {
  EXPECT_FALSE(applyOp(Op::Add, INT64_MAX, 1));
  EXPECT_FALSE(applyOp(Op::Sub, INT64_MIN, 1));
  EXPECT_FALSE(applyOp(Op::Mul, INT64_MAX, 2));
  EXPECT_FALSE(applyOp(Op::Neg, INT64_MIN, 0));
  EXPECT_FALSE(applyOp(Op::Abs, INT64_MIN, 0));
  for (Op op : {Op::FloorDiv, Op::FloorMod, Op::EuclidDiv, Op::EuclidMod})
    EXPECT_FALSE(applyOp(op, 1, 0));
  EXPECT_FALSE(applyOp(Op::FloorDiv, INT64_MIN, -1));
  EXPECT_EQ(applyOp(Op::FloorMod, INT64_MIN, -1), 0);
}

TEST(Expression, ErrorsGiveTheColumn) {
  auto errorOf = [](llvm::StringRef source) {
    auto expression = Expression::parse(source);
    return expression ? "none" : llvm::toString(expression.takeError());
  };
  EXPECT_EQ(
      errorOf("a + * b"),
      "column 5: unexpected '*' where a value is expected in \"a + * b\"");
  EXPECT_EQ(errorOf("(a"),
            "column 3: the expression ends where ')' is expected in \"(a\"");
  EXPECT_EQ(
      errorOf("a b"),
      "column 3: unexpected 'b' where an operator is expected in \"a b\"");
  EXPECT_EQ(errorOf("1.5 < a"),
            "column 1: '1.5' is not a decimal integer in \"1.5 < a\"");
  EXPECT_EQ(errorOf("c == 'x"),
            "column 6: a text without its closing quote, or with a control "
            "character in \"c == 'x\"");
}
