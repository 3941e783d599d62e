//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Search/Recording.h"
#include "attune/Space/FromJSON.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <unordered_set>

using namespace attune;
using testing::HasSubstr;

static std::string errorOf(llvm::StringRef text) {
  auto recording = parseRecording(text, "k.csv");
  return recording ? "" : llvm::toString(recording.takeError());
}

TEST(Recording, ReadsKnobsOfEveryKind) {
  Recording recording =
      llvm::cantFail(parseRecording("n,flag,rate,where,time_us\n"
                                    "8,True,0.5,l1,30\n"
                                    "16,False,1e-2,l2,\n"
                                    "8,False,0.5,l2,20\n"
                                    "8,False,0.5,l2,1\n",
                                    "k.csv"));
  EXPECT_EQ(recording.space.count(), 3u);
  EXPECT_EQ(recording.failures, 1u);
  EXPECT_DOUBLE_EQ(recording.optimum, 20e-6); // Of equal rows, the first.
  const auto &knobs = recording.space.getKnobs();
  EXPECT_EQ(knobs[0].domain.getKind(), Domain::Kind::Integers);
  EXPECT_EQ(knobs[1].domain.getKind(), Domain::Kind::Boolean);
  EXPECT_EQ(knobs[2].domain.getKind(), Domain::Kind::Floats);
  EXPECT_EQ(knobs[3].domain.getKind(), Domain::Kind::Choice);
}

TEST(Recording, SaysWhereAFileIsWrong) {
  EXPECT_EQ(errorOf("hello\n"),
            "k.csv:1: not a recording: a line of column names, the last one "
            "time_ms, comes first");
  EXPECT_EQ(errorOf("a,b\n1,2\n"), "k.csv:1: the last column is 'b'; it should "
                                   "be time_ms, time_us or time_s");
  EXPECT_EQ(errorOf("a,a,time_ms\n1,2,3\n"),
            "k.csv:1: two columns are named 'a'");
  EXPECT_EQ(errorOf("a,time_ms\n1,2\n1,2,3\n"),
            "k.csv:3: 3 values, and 2 columns");
  EXPECT_EQ(errorOf("a,time_ms\n1,fast\n"),
            "k.csv:2: 'fast' is no time: a positive number, or nothing for a "
            "failure");
  // What becomes 0 in seconds would count as a failure.
  EXPECT_EQ(errorOf("a,time_us\n1,1\n2,1e-322\n"),
            "k.csv:3: '1e-322' is no time: a positive number, or nothing for a "
            "failure");
  EXPECT_EQ(errorOf("a,time_ms\n1,1\n\xff,2\n"), "k.csv:3: not UTF-8");
  EXPECT_EQ(errorOf("a,time_ms\n"), "k.csv: no measurements in it");
  EXPECT_EQ(errorOf("a,time_ms\n1,\n"), "k.csv: every configuration failed");
}

TEST(Recording, ExpectsOfRandomSearchWhatEnumerationGives) {
  Recording recording =
      llvm::cantFail(parseRecording("a,time_s\n1,1\n2,2\n3,4\n4,\n", "k.csv"));
  auto expected = expectedRandomBest(recording, 6);
  EXPECT_DOUBLE_EQ(expected[0], (1 + 2 + 4) / 3.0);
  // Of the six pairs: 1 with each of three, 2 with 4 and with the failure, 4.
  EXPECT_DOUBLE_EQ(expected[1], (3 * 1 + 2 * 2 + 4) / 6.0);
  EXPECT_DOUBLE_EQ(expected[2], (3 * 1 + 2) / 4.0);
  EXPECT_DOUBLE_EQ(expected[3], 1);
  EXPECT_DOUBLE_EQ(expected[5], 1);
}

TEST(Recording, ScoresRandomZeroAndTheOptimumOne) {
  Recording recording =
      llvm::cantFail(parseRecording("a,time_s\n1,1\n2,2\n3,4\n4,\n", "k.csv"));
  ReplayRun best{{1, 1}, 0, ""}, nothing{{0, 0}, 0, ""};
  ReplayPoint all = summarizeReplay(recording, {best, best}, 2);
  EXPECT_DOUBLE_EQ(all.median, 1);
  EXPECT_DOUBLE_EQ(all.score, 1);
  ReplayPoint half = summarizeReplay(recording, {best, nothing}, 2);
  EXPECT_DOUBLE_EQ(half.median, 0.5);
  EXPECT_DOUBLE_EQ(half.lowerQuartile, 0.25);
  EXPECT_LT(half.score, 0); // Nothing found counts as the worst: 4 s.
}

namespace {
/// Asks what it is given, and keeps what it is told.
class FakeSearcher final : public Searcher {
public:
  explicit FakeSearcher(std::vector<Configuration> list)
      : list(std::move(list)) {}
  std::vector<Configuration> ask(size_t n) override {
    std::vector<Configuration> asked;
    while (asked.size() < n && next < list.size())
      asked.push_back(list[next++]);
    return asked;
  }
  void tell(const Trial &trial) override { told.push_back(trial); }
  std::string stopReason() const override {
    return next == list.size() ? "the list is over" : "";
  }

  std::vector<Trial> told;

private:
  std::vector<Configuration> list;
  size_t next = 0;
};
} // namespace

TEST(Recording, ReplaysWhatASearcherAsks) {
  Recording recording =
      llvm::cantFail(parseRecording("a,time_s\n1,3\n2,\n3,2\n4,5\n", "k.csv"));
  auto a = [](int64_t value) { return Configuration{"", {{"a", value}}}; };
  // A failure, something that is not in the space, then times.
  FakeSearcher searcher({a(2), a(7), a(4), a(3), a(1)});
  ReplayRun run = replaySearch(recording, searcher, 10);
  EXPECT_THAT(run.bestSeconds, testing::ElementsAre(0, 0, 5, 2, 2));
  EXPECT_EQ(run.stopReason, "the list is over");
  std::vector<Outcome> outcomes;
  for (const Trial &trial : searcher.told)
    outcomes.push_back(trial.outcome);
  EXPECT_THAT(outcomes,
              testing::ElementsAre(Outcome::CompileError, Outcome::CompileError,
                                   Outcome::Ok, Outcome::Ok, Outcome::Ok));

  // No more than the budget is asked.
  FakeSearcher endless({a(1), a(2), a(3)});
  EXPECT_THAT(replaySearch(recording, endless, 1).bestSeconds,
              testing::ElementsAre(3));
  EXPECT_EQ(endless.told.size(), 1u);
}

class PublishedSpace : public testing::TestWithParam<const char *> {};
INSTANTIATE_TEST_SUITE_P(Files, PublishedSpace,
                         testing::Values("dedispersion", "gemm", "hotspot",
                                         "matmul_nest_512", "microhh"),
                         [](const auto &i) { return std::string(i.param); });

TEST_P(PublishedSpace, IsAskedWithoutRepeatsUpToItsSize) {
  Space space = llvm::cantFail(
      readSpace(std::string(ATTUNE_SOURCE_DIR "/test/data/spaces/") +
                GetParam() + ".json"));
  auto searcher = llvm::cantFail(createSearcher("random", space, 1));
  uint64_t wanted = std::min<uint64_t>(100'000, space.count());
  std::unordered_set<uint64_t> numbers;
  while (numbers.size() < wanted) {
    auto asked = searcher->ask(1000);
    ASSERT_FALSE(asked.empty());
    for (const Configuration &configuration : asked) {
      auto number = space.indexOf(configuration);
      ASSERT_TRUE(number.has_value());
      ASSERT_TRUE(numbers.insert(*number).second);
    }
  }
  if (numbers.size() == space.count()) {
    EXPECT_TRUE(searcher->ask(1).empty());
    EXPECT_THAT(searcher->stopReason(), HasSubstr("exhausted"));
  }
}
