//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Which dispatches are chosen, and why.

#include "attune/Profile/Hot.h"
#include "gmock/gmock.h"

using namespace attune;
using testing::HasSubstr;

namespace {

/// 1 GFLOP/s, 10 GB/s up to 1000 bytes, 1 GB/s beyond.
const MachinePeaks peaks = {1e9, {{1000, 1e10}, {1e6, 1e9}}};

DispatchFacts fact(double operations, double bytes) {
  DispatchFacts facts;
  facts.operations = operations;
  facts.bytes = bytes;
  return facts;
}
ProfileRow row(double calls, double seconds) {
  ProfileRow row;
  row.calls = calls;
  row.seconds = seconds;
  return row;
}

TEST(Roofline, TheSlowerOfComputingAndMoving) {
  EXPECT_NEAR(rooflineSeconds(fact(1e6, 100), peaks), 1e-3, 1e-9);
  EXPECT_NEAR(rooflineSeconds(fact(10, 1e5), peaks), 1e-4, 1e-9);
  EXPECT_NEAR(rooflineSeconds(fact(10, 900), peaks), 9e-8, 1e-12);
  EXPECT_NEAR(rooflineSeconds(fact(0, 1e9), peaks), 1, 1e-9)
      << "more than the last level";
  EXPECT_EQ(rooflineSeconds(fact(10, 10), {}), 0);
}

TEST(Hot, ThePossibleGainDecidesTheOrder) {
  // Half of the time at its roofline, a quarter twice and a quarter ten times.
  DispatchFacts facts[] = {fact(5e6, 0), fact(1.25e6, 0), fact(2.5e5, 0)};
  ProfileRow rows[] = {row(100, 0.5), row(100, 0.25), row(100, 0.25)};
  auto hot = chooseHot(facts, rows, 1, peaks);
  ASSERT_EQ(hot.size(), 3u);
  EXPECT_EQ(hot[0].number, 2u);
  EXPECT_NEAR(hot[0].gainSeconds, 0.225, 1e-9);
  EXPECT_TRUE(hot[0].chosen);
  EXPECT_EQ(hot[0].reason, "25.0 % of the time, 10.0 times its roofline");
  EXPECT_EQ(hot[1].number, 1u);
  EXPECT_TRUE(hot[1].chosen);
  EXPECT_FALSE(hot[2].chosen) << "half of the time, and nothing to win";
  EXPECT_THAT(hot[2].reason, HasSubstr("as fast as it gets"));
}

TEST(Hot, CoverageIsOfTheDispatchesTime) {
  DispatchFacts facts[10];
  ProfileRow rows[10];
  for (int i = 0; i < 10; ++i)
    rows[i] = row(1, 0.05);
  HotOptions options;
  options.coverage = 0.75;
  auto hot = chooseHot(facts, rows, 1, peaks, options);
  EXPECT_EQ(llvm::count_if(hot, [](const auto &h) { return h.chosen; }), 8)
      << "the least that covers 75 % of half of the time";
  EXPECT_THAT(hot[9].reason, HasSubstr("others cover 75 %"));
  options.maximumCount = 3;
  hot = chooseHot(facts, rows, 1, peaks, options);
  EXPECT_EQ(llvm::count_if(hot, [](const auto &h) { return h.chosen; }), 3);
  EXPECT_THAT(hot[3].reason, HasSubstr("3 others are hotter"));
}

TEST(Hot, WhatIsNotCalledOrTooSmallIsLeftOut) {
  DispatchFacts facts[3];
  ProfileRow rows[] = {row(0, 0), row(5, 0.0005), row(1, 1)};
  auto hot = chooseHot(facts, rows, 1, peaks);
  EXPECT_EQ(hot[0].number, 2u);
  EXPECT_TRUE(hot[0].chosen);
  EXPECT_THAT(hot[1].reason, HasSubstr("not worth it"));
  EXPECT_EQ(hot[2].reason, "not called with these inputs");
}

TEST(Hot, AtItsRooflineThereIsNothingToGain) {
  DispatchFacts facts[] = {fact(1e9, 0)};
  ProfileRow rows[] = {row(1, 0.95)};
  auto hot = chooseHot(facts, rows, 0.95, peaks);
  EXPECT_EQ(hot[0].gainSeconds, 0);
  EXPECT_FALSE(hot[0].chosen);
  EXPECT_THAT(hot[0].reason, HasSubstr("1.0 times its roofline"));
}

TEST(Hot, PeaksThatADispatchRefutesDoNotCount) {
  DispatchFacts facts[] = {fact(1e9, 0), fact(1e9, 0)};
  ProfileRow rows[] = {row(1, 0.5), row(1, 1)};
  EXPECT_FALSE(arePlausible(peaks, facts, rows));
  auto hot = chooseHot(facts, rows, 1.5, peaks);
  for (const HotDispatch &each : hot) {
    EXPECT_TRUE(each.chosen);
    EXPECT_EQ(each.reason.find("roofline"), std::string::npos);
  }
}

TEST(Peaks, AreMeasured) {
  MachinePeaks found = measurePeaks(1, 0.05);
  EXPECT_GT(found.operationsPerSecond, 1e8);
  ASSERT_EQ(found.levels.size(), 4u);
  for (size_t i = 0; i < found.levels.size(); ++i) {
    EXPECT_GT(found.levels[i].bytesPerSecond, 1e7);
    if (i > 0) {
      EXPECT_GT(found.levels[i].bytes, found.levels[i - 1].bytes);
      EXPECT_LE(found.levels[i].bytesPerSecond,
                found.levels[i - 1].bytesPerSecond);
    }
  }
}

} // namespace
