//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Measure/Timing.h"

#include "attune/Support/Error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace attune;
using testing::HasSubstr;
using testing::SizeIs;

namespace {
/// Two programs on a clock that only they move.
struct TimingTest : testing::Test {
  FakeClock clock;
  TimingOptions options;
  double candidateSeconds = 0.01, baselineSeconds = 0.01;
  int candidateCalls = 0, baselineCalls = 0;
  std::string order;

  llvm::Expected<PairedTimes> time(bool withBaseline = true) {
    auto candidate = [&]() {
      ++candidateCalls;
      order += 'c';
      clock.advance(candidateSeconds);
      return llvm::Error::success();
    };
    auto baseline = [&]() {
      ++baselineCalls;
      order += 'b';
      clock.advance(baselineSeconds);
      return llvm::Error::success();
    };
    return timePairs(candidate,
                     withBaseline ? TimedCall(baseline) : TimedCall(), options,
                     clock);
  }
};
} // namespace

TEST_F(TimingTest, MeasuresUntilBothMinimaAreReached) {
  options.minSeconds = 1;
  options.minRepetitions = 10;
  PairedTimes times = llvm::cantFail(time());
  EXPECT_THAT(times.seconds, SizeIs(50)); // 50 pairs of 20 ms
  EXPECT_THAT(times.baselineSeconds, SizeIs(50));
  EXPECT_NEAR(times.seconds[7], 0.01, 1e-9);
  options.minSeconds = 0.01;
  EXPECT_THAT(llvm::cantFail(time()).seconds, SizeIs(10));
}

TEST_F(TimingTest, TheOrderInsidePairsIsRandomAndSeeded) {
  options.minRepetitions = 40;
  llvm::cantFail(time());
  std::string first = order;
  EXPECT_THAT(first, HasSubstr("cb"));
  EXPECT_THAT(first, HasSubstr("bb")); // ..cb bc..
  order.clear();
  llvm::cantFail(time());
  EXPECT_EQ(order, first);
  options.seed = 1;
  order.clear();
  llvm::cantFail(time());
  EXPECT_NE(order, first);
}

TEST_F(TimingTest, ShortProgramsAreLoopedInASample) {
  candidateSeconds = 1e-7;
  baselineSeconds = 2e-7;
  options.minSeconds = 1e-3;
  PairedTimes times = llvm::cantFail(time());
  EXPECT_NEAR(times.seconds[0], 1e-7, 1e-12);
  EXPECT_NEAR(times.baselineSeconds[0], 2e-7, 1e-12);
  // A sample of 20 us holds 200 calls.
  EXPECT_GE(candidateCalls, 200 * int(times.seconds.size()));
  EXPECT_LE(times.seconds.size(), options.maxRepetitions);
}

TEST_F(TimingTest, ALoserIsStoppedAfterThreePairs) {
  candidateSeconds = 0.02;
  PairedTimes times = llvm::cantFail(time());
  EXPECT_TRUE(times.stoppedEarly);
  EXPECT_THAT(times.seconds, SizeIs(3));
  options.loserPairs = 0;
  EXPECT_FALSE(llvm::cantFail(time()).stoppedEarly);
}

TEST_F(TimingTest, AHopelessOneIsStoppedAfterTheFirst) {
  candidateSeconds = 1;
  EXPECT_THAT(llvm::cantFail(time()).seconds, SizeIs(1));
  // A short time may be a disturbance.
  candidateSeconds = 0.05;
  baselineSeconds = 0.001;
  EXPECT_THAT(llvm::cantFail(time()).seconds, SizeIs(3));
}

TEST_F(TimingTest, SlowProgramsEndAtMaxSecondsWithOnePairAtLeast) {
  candidateSeconds = baselineSeconds = 100;
  options.maxSeconds = 1;
  PairedTimes times = llvm::cantFail(time());
  EXPECT_THAT(times.seconds, SizeIs(1));
  EXPECT_EQ(candidateCalls, 2); // one to warm up
}

TEST_F(TimingTest, WithoutABaseline) {
  PairedTimes times = llvm::cantFail(time(false));
  EXPECT_GE(times.seconds.size(), options.minRepetitions);
  EXPECT_THAT(times.baselineSeconds, SizeIs(0));
  EXPECT_EQ(baselineCalls, 0);
}

TEST_F(TimingTest, ANarrowIntervalIsWaitedFor) {
  // The candidate jumps between 10 and 20 ms: never certain.
  int turn = 0;
  auto jumping = [&]() {
    clock.advance(++turn % 3 ? 0.01 : 0.02);
    return llvm::Error::success();
  };
  auto baseline = [&]() {
    clock.advance(0.012);
    return llvm::Error::success();
  };
  options.minSeconds = 0.1;
  options.intervalWidth = 1e-9;
  options.maxSeconds = 3;
  double begin = clock.now();
  llvm::cantFail(timePairs(jumping, baseline, options, clock));
  EXPECT_GT(clock.now() - begin, 0.5); // went on far beyond minSeconds
  begin = clock.now();
  options.intervalWidth = 0;
  llvm::cantFail(timePairs(jumping, baseline, options, clock));
  EXPECT_LT(clock.now() - begin, 0.8);
}

TEST_F(TimingTest, WarmsUpWhileItGetsFaster) {
  double next = 0.1;
  auto warming = [&]() {
    clock.advance(next);
    next = std::max(0.01, next * 0.7);
    return llvm::Error::success();
  };
  PairedTimes times =
      llvm::cantFail(timePairs(warming, TimedCall(), options, clock));
  EXPECT_NEAR(times.seconds[0], 0.01, 1e-3);
}

TEST_F(TimingTest, ATimeThatCannotBeIsAnError) {
  candidateSeconds = 0;
  EXPECT_THAT(llvm::toString(time().takeError()), HasSubstr("is 0"));
}

TEST_F(TimingTest, AnErrorOfTheProgramEndsIt) {
  int calls = 0;
  auto failing = [&]() -> llvm::Error {
    clock.advance(0.01);
    return ++calls == 7 ? makeError("seven") : llvm::Error::success();
  };
  EXPECT_EQ(llvm::toString(
                timePairs(failing, TimedCall(), options, clock).takeError()),
            "seven");
}

namespace {
struct FakeDisturbances final : Disturbances {
  uint64_t count() override { return counted; }
  uint64_t counted = 0;
};
} // namespace

TEST_F(TimingTest, ADisturbedSampleIsTakenAgain) {
  FakeDisturbances disturbances;
  int calls = 0;
  auto disturbed = [&]() {
    bool isDisturbed = ++calls % 3 == 0;
    disturbances.counted += isDisturbed;
    clock.advance(isDisturbed ? 0.05 : 0.01);
    return llvm::Error::success();
  };
  PairedTimes times = llvm::cantFail(
      timePairs(disturbed, TimedCall(), options, clock, {&disturbances}));
  for (double seconds : times.seconds)
    EXPECT_NEAR(seconds, 0.01, 1e-9);
  // When every try is disturbed, the shortest counts, and it ends.
  auto always = [&]() {
    ++disturbances.counted;
    clock.advance(++calls % 4 == 0 ? 0.02 : 0.05);
    return llvm::Error::success();
  };
  times = llvm::cantFail(
      timePairs(always, TimedCall(), options, clock, {&disturbances}));
  for (double seconds : times.seconds)
    EXPECT_NEAR(seconds, 0.02, 1e-9);
}

namespace {
struct FakeCycles final : CycleCounter {
  std::optional<uint64_t> read() override { return counted; }
  std::optional<uint64_t> counted = 0;
};
} // namespace

TEST_F(TimingTest, CyclesAreCountedWhereTheMachineCountsThem) {
  FakeCycles cycles;
  auto candidate = [&]() {
    clock.advance(1e-6);
    if (cycles.counted)
      *cycles.counted += 3000;
    return llvm::Error::success();
  };
  auto baseline = [&]() {
    clock.advance(2e-6);
    if (cycles.counted)
      *cycles.counted += 6000;
    return llvm::Error::success();
  };
  options.minSeconds = 1e-3;
  Machine machine;
  machine.cycles = &cycles;
  PairedTimes times =
      llvm::cantFail(timePairs(candidate, baseline, options, clock, machine));
  ASSERT_EQ(times.cycles.size(), times.seconds.size());
  EXPECT_EQ(times.cycles[0], 3000); // of one call, not of a sample
  EXPECT_EQ(times.baselineCycles.back(), 6000);
  cycles.counted.reset();
  times =
      llvm::cantFail(timePairs(candidate, baseline, options, clock, machine));
  EXPECT_TRUE(times.cycles.empty());
}

TEST_F(TimingTest, ColdCachesAreEmptiedBeforeEachSample) {
  bool isWarm = false;
  auto program = [&]() {
    clock.advance(isWarm ? 1e-6 : 5e-6);
    isWarm = true;
    return llvm::Error::success();
  };
  auto empty = [&]() { isWarm = false; };
  Machine machine;
  machine.emptyCaches = empty;
  options.caches = Caches::Cold;
  options.minSeconds = 1e-5;
  PairedTimes times =
      llvm::cantFail(timePairs(program, TimedCall(), options, clock, machine));
  for (double seconds : times.seconds)
    EXPECT_NEAR(seconds, 5e-6, 1e-9);
  options.caches = Caches::Hot;
  times =
      llvm::cantFail(timePairs(program, TimedCall(), options, clock, machine));
  EXPECT_NEAR(times.seconds.back(), 1e-6, 1e-9);
}
