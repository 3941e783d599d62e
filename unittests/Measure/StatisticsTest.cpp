//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Measure/Statistics.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <cmath>
#include <random>

using namespace attune;
using testing::HasSubstr;

TEST(Statistics, MedianAndQuantiles) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 2, 3}), 2.5);
  EXPECT_EQ(quantile({5, 1, 3}, 0), 1);
  EXPECT_EQ(quantile({5, 1, 3}, 1), 5);
  EXPECT_EQ(quantile({0, 10}, 0.25), 2.5);
  EXPECT_EQ(quantile({7}, 0.9), 7);
}

TEST(Statistics, WrongTimesAreErrors) {
  auto error = [](std::vector<double> a, std::vector<double> b) {
    return llvm::toString(pairedSpeedup(a, b).takeError());
  };
  EXPECT_THAT(error({}, {}), HasSubstr("no times"));
  EXPECT_THAT(error({1}, {1, 2}), HasSubstr("not pairs"));
  for (double bad : {0.0, -1.0, double(NAN), double(INFINITY)}) {
    EXPECT_THAT(error({1, bad}, {1, 1}), HasSubstr("not positive"));
    EXPECT_THAT(error({1, 1}, {bad, 1}), HasSubstr("not positive"));
  }
}

TEST(Statistics, ExactTimesHaveAnExactSpeedup) {
  std::vector<double> slow(20, 3.0), fast(20, 1.5);
  Speedup speedup = llvm::cantFail(pairedSpeedup(fast, slow));
  EXPECT_DOUBLE_EQ(speedup.value, 2);
  EXPECT_NEAR(speedup.low, 2, 1e-12);
  EXPECT_NEAR(speedup.high, 2, 1e-12);
  EXPECT_EQ(decide(speedup), Verdict::Faster);
  EXPECT_EQ(decide(llvm::cantFail(pairedSpeedup(slow, fast))), Verdict::Slower);
}

TEST(Statistics, OnePairDecidesNothing) {
  EXPECT_EQ(decide(llvm::cantFail(pairedSpeedup({1.0}, {100.0}))),
            Verdict::Undecided);
}

TEST(Statistics, TheSameSeedGivesTheSameInterval) {
  std::vector<double> a, b;
  std::mt19937_64 random(1);
  std::lognormal_distribution<double> noise(0, 0.1);
  for (int i = 0; i < 30; ++i) {
    a.push_back(noise(random));
    b.push_back(noise(random));
  }
  EXPECT_EQ(llvm::cantFail(pairedSpeedup(a, b, 5)).low,
            llvm::cantFail(pairedSpeedup(a, b, 5)).low);
}

TEST(Statistics, AMarginHasToBeCleared) {
  EXPECT_EQ(decide({1.05, 1.01, 1.1}, 0.02), Verdict::Undecided);
  EXPECT_EQ(decide({1.05, 1.03, 1.1}, 0.02), Verdict::Faster);
  EXPECT_EQ(decide({0.95, 0.9, 0.99}, 0.02), Verdict::Undecided);
}

TEST(Statistics, SharesCombine) {
  EXPECT_DOUBLE_EQ(combinedSpeedup({{0.5, 2.0}}), 1 / 0.75);
  EXPECT_DOUBLE_EQ(combinedSpeedup({}), 1);
}

//===----------------------------------------------------------------------===//
// Simulated machines
//===----------------------------------------------------------------------===//

namespace {
/// Times of a machine that drifts by 30 % over a session, has a neighbour that
/// comes and goes, and now and then takes much longer.
class NoisyMachine {
public:
  explicit NoisyMachine(uint64_t seed) : random(seed) {}
  double time(double seconds) {
    drift += 0.3 / 1000;
    if (uniform(random) < 0.02)
      busy = !busy;
    double factor = (1 + drift) * (busy ? 1.4 : 1);
    factor *= std::exp(0.02 * std::fabs(normal(random)));
    if (uniform(random) < 0.05)
      factor *= 1 + 1 / std::sqrt(uniform(random)); // a heavy tail
    return seconds * factor;
  }
  Speedup compare(double candidate, double baseline, int pairs) {
    std::vector<double> a, b;
    for (int i = 0; i < pairs; ++i) {
      bool first = random() & 1;
      double one = time(first ? candidate : baseline);
      double other = time(first ? baseline : candidate);
      a.push_back(first ? one : other);
      b.push_back(first ? other : one);
    }
    return llvm::cantFail(pairedSpeedup(a, b, random()));
  }

private:
  std::mt19937_64 random;
  std::uniform_real_distribution<double> uniform{0, 1};
  std::normal_distribution<double> normal;
  double drift = 0;
  bool busy = false;
};
} // namespace

/// In how many of 400 sessions the interval holds the true speed-up.
static double coverage(double truth, int pairs) {
  int covered = 0;
  for (int session = 0; session < 400; ++session) {
    Speedup speedup = NoisyMachine(session).compare(1, truth, pairs);
    covered += speedup.low <= truth && truth <= speedup.high;
  }
  return covered / 400.0;
}

TEST(Statistics, TheIntervalHoldsTheTruth) {
  for (int pairs : {3, 5, 6, 10, 30, 100}) {
    EXPECT_GE(coverage(1.0, pairs), 0.92) << pairs;
    EXPECT_GE(coverage(1.3, pairs), 0.92) << pairs;
  }
}

TEST(Statistics, ATenPercentGainIsSeenAndNoneIsNotInvented) {
  int seen = 0, invented = 0;
  for (int session = 0; session < 200; ++session) {
    NoisyMachine machine(1000 + session);
    seen += decide(machine.compare(1, 1.1, 60)) == Verdict::Faster;
    invented += decide(machine.compare(1, 1, 60)) == Verdict::Faster;
  }
  EXPECT_GE(seen, 195);
  EXPECT_LE(invented, 10);
}
