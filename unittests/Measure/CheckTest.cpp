//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Measure/Check.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <cmath>
#include <limits>

using namespace attune;
using testing::HasSubstr;

static constexpr double inf = std::numeric_limits<double>::infinity();

static Tensor vectorOf(ElementType type, std::vector<double> values) {
  Tensor tensor = Tensor::zeros(type, {int64_t(values.size())});
  for (size_t i = 0; i < values.size(); ++i)
    tensor.set(i, values[i]);
  return tensor;
}
static Tensor floats(std::vector<double> values) {
  return vectorOf(ElementType::F32, std::move(values));
}

TEST(Check, WithinTheTolerance) {
  CheckResult check =
      checkResult(floats({1, 100}), floats({1.5, 101}), {0.01, 0.5});
  EXPECT_TRUE(check.ok) << check.reason;
  EXPECT_DOUBLE_EQ(check.maxError, 1);
  EXPECT_FALSE(
      checkResult(floats({1, 100}), floats({1.5, 101}), {0.004, 0.5}).ok);
}

TEST(Check, NamesTheFirstBadElementAndCounts) {
  Tensor result = Tensor::zeros(ElementType::F32, {2, 3});
  Tensor reference = result;
  result.set(4, 1.5);
  result.set(5, 2);
  CheckResult check = checkResult(result, reference, {0, 0.25});
  EXPECT_EQ(check.firstBad, 4);
  EXPECT_EQ(check.badCount, 2);
  EXPECT_EQ(check.reason, "[1, 1] is 1.5, not 0 (allowed error 0.25); 2 of 6 "
                          "elements are wrong");
}

TEST(Check, NaNAndInfinityAgreeOnlyWithThemselves) {
  Tolerance loose = {10, 10};
  EXPECT_TRUE(
      checkResult(floats({NAN, inf, -inf}), floats({NAN, inf, -inf}), loose)
          .ok);
  EXPECT_FALSE(checkResult(floats({NAN}), floats({1}), loose).ok);
  EXPECT_FALSE(checkResult(floats({1}), floats({NAN}), loose).ok);
  EXPECT_FALSE(checkResult(floats({inf}), floats({-inf}), loose).ok);
  EXPECT_FALSE(checkResult(floats({1}), floats({inf}), loose).ok);
  EXPECT_FALSE(checkResult(floats({1}), floats({inf}), {0, 0}).ok);
  EXPECT_FALSE(checkResult(floats({inf}), floats({1}), loose).ok);
  EXPECT_FALSE(checkResult(floats({NAN}), floats({inf}), loose).ok);
  EXPECT_THAT(checkResult(floats({1}), floats({NAN}), loose).reason,
              HasSubstr("[0] is 1, not nan"));
}

TEST(Check, IntegersAreExact) {
  Tensor result = Tensor::zeros(ElementType::I64, {2}), reference = result;
  result.setInteger(1, (int64_t(1) << 60) + 1);
  reference.setInteger(1, int64_t(1) << 60);
  CheckResult check = checkResult(result, reference, {1, 1});
  EXPECT_FALSE(check.ok);
  EXPECT_EQ(check.reason, "[1] is 1152921504606846977, not "
                          "1152921504606846976");
  // Booleans by truth, not by byte.
  Tensor a = vectorOf(ElementType::I1, {1}), b = a;
  a.bytes[0] = 2;
  EXPECT_TRUE(checkResult(a, b, {}).ok);
}

TEST(Check, ReferencesMayBeWider) {
  EXPECT_TRUE(checkResult(vectorOf(ElementType::BF16, {1.0}),
                          vectorOf(ElementType::F64, {1.001}), {0.01, 0})
                  .ok);
  EXPECT_FALSE(checkResult(vectorOf(ElementType::F16, {1.0}),
                           vectorOf(ElementType::F32, {1.1}), {0.01, 0})
                   .ok);
}

TEST(Check, ShapesAndKindsMustAgree) {
  EXPECT_EQ(checkResult(floats({1}), floats({1, 2}), {}).reason,
            "is a 1xf32, not a 2xf32");
  EXPECT_FALSE(
      checkResult(floats({1}), vectorOf(ElementType::I32, {1}), {}).ok);
  EXPECT_TRUE(checkResult(floats({}), floats({}), {}).ok);
}

TEST(Tolerance, GrowsWithTheRootOfTheReductionAndTheOutputs) {
  Tensor reference = floats({3, -3, NAN, inf});
  EXPECT_DOUBLE_EQ(rmsOfFinite(reference), 3);
  Tolerance one = toleranceFor(ElementType::F32, 1, reference);
  Tolerance many = toleranceFor(ElementType::F32, 100, reference);
  EXPECT_DOUBLE_EQ(many.relative, 10 * one.relative);
  EXPECT_DOUBLE_EQ(one.absolute, 3 * one.relative);
  EXPECT_DOUBLE_EQ(one.relative, 16 * 0x1p-23);
  EXPECT_GT(toleranceFor(ElementType::BF16, 1, reference).relative,
            toleranceFor(ElementType::F16, 1, reference).relative);
  Tolerance exact = toleranceFor(ElementType::I32, 1000, reference);
  EXPECT_EQ(exact.relative, 0);
  EXPECT_EQ(exact.absolute, 0);
}

// A sum in f32 in another order is right; a lost product is not.
TEST(Tolerance, TellsRoundingFromALostProduct) {
  constexpr int64_t length = 4096;
  Tensor reference = Tensor::zeros(ElementType::F64, {64});
  Tensor backwards = Tensor::zeros(ElementType::F32, {64}), lost = backwards;
  uint64_t state = 1;
  auto random = [&] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<float>(static_cast<int64_t>(state) >> 40) * 0x1p-23f;
  };
  for (int row = 0; row < 64; ++row) {
    std::vector<float> products;
    double exact = 0;
    for (int64_t i = 0; i < length; ++i) {
      products.push_back(random());
      exact += products.back();
    }
    float sum = 0;
    for (int64_t i = length; i-- > 0;)
      sum += products[i];
    reference.set(row, exact);
    backwards.set(row, sum);
    lost.set(row, exact - products[0]);
  }
  Tolerance tolerance = toleranceFor(ElementType::F32, length, reference);
  EXPECT_TRUE(checkResult(backwards, reference, tolerance).ok);
  EXPECT_GT(checkResult(lost, reference, tolerance).badCount, 50);
}
