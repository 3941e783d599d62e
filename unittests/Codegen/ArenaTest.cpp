//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Arena.h"

#include "gmock/gmock.h"
#include <algorithm>
#include <numeric>
#include <random>

using namespace attune::codegen;

namespace {

int64_t aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }

bool overlapInTime(const Lifetime &a, const Lifetime &b) {
  return a.first <= b.last && b.first <= a.last;
}

/// What is alive at once: no plan needs less.
int64_t lowerBound(const std::vector<Lifetime> &lifetimes) {
  int64_t most = 0;
  for (const Lifetime &at : lifetimes) {
    int64_t sum = 0;
    for (const Lifetime &other : lifetimes)
      if (other.first <= at.first && at.first <= other.last)
        sum += other.bytes;
    most = std::max(most, sum);
  }
  return most;
}

/// The best there is: one of the orders, each buffer at the lowest place that
/// is free, gives it (sort an optimal plan by offset and push everything down).
int64_t bruteForce(const std::vector<Lifetime> &lifetimes) {
  std::vector<size_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), 0);
  int64_t best = INT64_MAX;
  do {
    std::vector<int64_t> offsets(lifetimes.size());
    int64_t total = 0;
    for (size_t i = 0; i < order.size(); ++i) {
      const Lifetime &mine = lifetimes[order[i]];
      int64_t offset = 0;
      for (bool moved = true; moved;) {
        moved = false;
        for (size_t j = 0; j < i; ++j) {
          const Lifetime &other = lifetimes[order[j]];
          int64_t start = offsets[order[j]], end = aligned(start + other.bytes);
          if (overlapInTime(mine, other) && offset < end &&
              start < offset + mine.bytes) {
            offset = end;
            moved = true;
          }
        }
      }
      offsets[order[i]] = offset;
      total = std::max(total, aligned(offset + mine.bytes));
    }
    best = std::min(best, total);
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

std::vector<Lifetime> randomLifetimes(std::mt19937_64 &random, size_t count) {
  auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  std::vector<Lifetime> lifetimes;
  for (size_t i = 0; i < count; ++i) {
    Lifetime lifetime;
    lifetime.bytes = pick(1, 1 << pick(1, 12));
    lifetime.first = pick(0, 20);
    lifetime.last = lifetime.first + pick(0, 8);
    lifetimes.push_back(lifetime);
  }
  return lifetimes;
}

void expectSound(const std::vector<Lifetime> &lifetimes,
                 const std::vector<int64_t> &offsets, int64_t total) {
  ASSERT_EQ(offsets.size(), lifetimes.size());
  for (size_t i = 0; i < offsets.size(); ++i) {
    EXPECT_GE(offsets[i], 0);
    EXPECT_EQ(offsets[i] % 64, 0);
    EXPECT_LE(offsets[i] + lifetimes[i].bytes, total);
    for (size_t j = 0; j < i; ++j) {
      if (!overlapInTime(lifetimes[i], lifetimes[j]))
        continue;
      EXPECT_TRUE(offsets[i] + lifetimes[i].bytes <= offsets[j] ||
                  offsets[j] + lifetimes[j].bytes <= offsets[i])
          << i << " and " << j << " share bytes while both are alive";
    }
  }
}

TEST(Arena, NothingNeedsNothing) {
  int64_t total = -1;
  EXPECT_TRUE(planArena({}, total).empty());
  EXPECT_EQ(total, 0);
}

TEST(Arena, OneAfterTheOtherShareAPlace) {
  int64_t total = 0;
  // The second is made where the first is read: both are alive there.
  auto offsets =
      planArena({{640, 0, 1}, {640, 1, 2}, {640, 2, 3}, {640, 3, 4}}, total);
  EXPECT_EQ(total, 1280);
  EXPECT_NE(offsets[0], offsets[1]);
  EXPECT_EQ(offsets[0], offsets[2]);
  EXPECT_EQ(offsets[1], offsets[3]);
}

TEST(Arena, NeverTwoInOnePlaceAtOnce) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 300; ++round) {
    auto lifetimes = randomLifetimes(random, 1 + round % 60);
    int64_t total = 0;
    auto offsets = planArena(lifetimes, total);
    expectSound(lifetimes, offsets, total);
    EXPECT_GE(total, lowerBound(lifetimes));
    if (testing::Test::HasFailure())
      FAIL() << "in round " << round;
  }
}

TEST(Arena, NearlyAsSmallAsCanBe) {
  std::mt19937_64 random(2);
  double ratios = 0, worst = 0;
  const int rounds = 200;
  for (int round = 0; round < rounds; ++round) {
    auto lifetimes = randomLifetimes(random, 2 + round % 6);
    int64_t total = 0;
    planArena(lifetimes, total);
    double ratio = static_cast<double>(total) / bruteForce(lifetimes);
    EXPECT_GE(ratio, 1);
    ratios += ratio;
    worst = std::max(worst, ratio);
  }
  EXPECT_LE(ratios / rounds, 1.02);
  EXPECT_LE(worst, 1.5);
}

TEST(Arena, AChainOfLayersNeedsLittleMoreThanTwoOfThem) {
  // A network without branches needs the input and output of one layer; placing
  // the big ones first comes near.
  std::vector<Lifetime> lifetimes;
  int64_t most = 0;
  for (int64_t i = 0; i < 50; ++i) {
    lifetimes.push_back({64 * (1 + (i * 37) % 100), i, i + 1});
    if (i)
      most = std::max(most, lifetimes[i].bytes + lifetimes[i - 1].bytes);
  }
  int64_t total = 0;
  planArena(lifetimes, total);
  EXPECT_GE(total, most);
  EXPECT_LE(total, 1.2 * most);
}

} // namespace
