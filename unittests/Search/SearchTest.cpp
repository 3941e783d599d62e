//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Search/Searcher.h"
#include "attune/Space/FromJSON.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <map>
#include <set>

using namespace attune;

static std::unique_ptr<Searcher> make(llvm::StringRef name, const Space &space,
                                      uint64_t seed = 1,
                                      std::vector<Configuration> first = {}) {
  return llvm::cantFail(createSearcher(name, space, seed, std::move(first)));
}

static Space smallSpace() {
  return llvm::cantFail(parseSpace(
      R"({"knobs": [{"name": "a", "range": [0, 9]}, {"name": "b", "range": [0, 9]}],
          "constraints": ["a + b < 12", "a != b"]})",
      "small"));
}

static Trial okTrial(const Configuration &configuration, double seconds) {
  Trial trial;
  trial.configuration = configuration;
  trial.seconds = {seconds};
  return trial;
}

class EverySearcher : public testing::TestWithParam<const char *> {};
INSTANTIATE_TEST_SUITE_P(Names, EverySearcher,
                         testing::Values("auto", "random", "exhaustive"),
                         [](const auto &i) { return std::string(i.param); });

TEST_P(EverySearcher, AsksEveryConfigurationOnceThenSaysExhausted) {
  Space space = smallSpace();
  auto searcher = make(GetParam(), space);
  std::set<std::string> asked;
  for (size_t batch = 1; asked.size() < space.count(); batch = batch % 7 + 1) {
    EXPECT_EQ(searcher->stopReason(), "");
    auto configurations = searcher->ask(batch);
    ASSERT_FALSE(configurations.empty());
    for (const Configuration &configuration : configurations) {
      EXPECT_TRUE(space.contains(configuration));
      EXPECT_TRUE(asked.insert(toString(configuration)).second);
      searcher->tell(okTrial(configuration, 1 + asked.size() % 5));
    }
  }
  EXPECT_TRUE(searcher->ask(1).empty());
  EXPECT_EQ(searcher->stopReason(), llvm::formatv("exhausted: all {0} "
                                                  "configurations tried",
                                                  space.count())
                                        .str());
}

TEST_P(EverySearcher, LeavesOutWhatItIsToldWithoutAsking) {
  Space space = smallSpace();
  auto searcher = make(GetParam(), space);
  std::set<std::string> told;
  for (uint64_t i = 0; i < space.count(); i += 3) {
    told.insert(toString(space.at(i)));
    searcher->tell(okTrial(space.at(i), 1));
  }
  Trial foreign; // Of another space: changes nothing.
  foreign.configuration.values = {{"zzz", KnobValue(true)}};
  searcher->tell(foreign);
  size_t count = 0;
  for (auto next = searcher->ask(5); !next.empty(); next = searcher->ask(5))
    for (const Configuration &configuration : next) {
      ++count;
      EXPECT_FALSE(told.count(toString(configuration)));
    }
  EXPECT_EQ(count + told.size(), space.count());
  EXPECT_NE(searcher->stopReason(), "");
}

TEST_P(EverySearcher, IsTheSameForTheSameSeed) {
  Space space = smallSpace();
  auto one = make(GetParam(), space, 5), two = make(GetParam(), space, 5);
  for (int i = 0; i < 40; ++i) {
    auto a = one->ask(1), b = two->ask(1);
    ASSERT_EQ(a, b);
    one->tell(okTrial(a[0], i % 7));
    two->tell(okTrial(b[0], i % 7));
  }
}

TEST_P(EverySearcher, SurvivesFailuresOnly) {
  Space space = smallSpace();
  auto searcher = make(GetParam(), space);
  size_t count = 0;
  for (auto next = searcher->ask(1); !next.empty(); next = searcher->ask(1)) {
    Trial trial;
    trial.configuration = next[0];
    trial.outcome = Outcome::Crash;
    searcher->tell(trial);
    ++count;
  }
  EXPECT_EQ(count, space.count());
}

TEST_P(EverySearcher, AsksOfAHugeSpaceWithoutRepeats) {
  std::vector<Knob> knobs;
  for (int i = 0; i < 12; ++i)
    knobs.push_back(
        {"k" + std::to_string(i), llvm::cantFail(Domain::range(1, 4096))});
  Space space = llvm::cantFail(Space::create(
      "", knobs, {llvm::cantFail(Expression::parse("k0 % k1 == 0"))}));
  auto searcher = make(GetParam(), space);
  std::set<std::string> asked;
  for (const Configuration &configuration : searcher->ask(2000)) {
    EXPECT_TRUE(space.contains(configuration));
    asked.insert(toString(configuration));
  }
  EXPECT_EQ(asked.size(), 2000u);
}

TEST(Searcher, RandomDiffersBySeed) {
  Space space = smallSpace();
  EXPECT_NE(make("random", space, 1)->ask(10),
            make("random", space, 2)->ask(10));
}

TEST(Searcher, AutoAsksTheFirstOnesFirst) {
  Space space = smallSpace();
  Configuration invalid = space.at(3);
  invalid.values[0].second = KnobValue(int64_t(77));
  auto searcher =
      make("auto", space, 1, {space.at(9), invalid, space.at(2), space.at(9)});
  EXPECT_EQ(searcher->ask(1), std::vector{space.at(9)});
  EXPECT_EQ(searcher->ask(1), std::vector{space.at(2)});
}

TEST(Searcher, UnknownNameListsTheKnown) {
  Space space = smallSpace();
  auto searcher = createSearcher("magic", space, 1);
  ASSERT_FALSE(bool(searcher));
  EXPECT_EQ(llvm::toString(searcher.takeError()),
            "unknown searcher 'magic'; known are auto, random, exhaustive, "
            "optuna, opentuner, exec:PROGRAM");
}

//===----------------------------------------------------------------------===//
// Replay of a recorded kernel
//===----------------------------------------------------------------------===//

namespace {
struct Recording {
  std::optional<Space> space;
  std::map<std::string, double> times; ///< By configuration; 0: it failed.
  double best = 1e300;
};
} // namespace

static Recording readRecording(llvm::StringRef path) {
  auto buffer = llvm::cantFail(
      llvm::errorOrToExpected(llvm::MemoryBuffer::getFile(path)));
  llvm::SmallVector<llvm::StringRef> lines, head;
  buffer->getBuffer().split(lines, '\n', -1, false);
  lines[0].split(head, ',');
  std::vector<std::vector<int64_t>> rows, columns(head.size() - 1);
  std::vector<double> times;
  for (llvm::StringRef line : llvm::drop_begin(lines)) {
    llvm::SmallVector<llvm::StringRef> fields;
    line.split(fields, ',');
    rows.emplace_back();
    for (size_t k = 0; k < columns.size(); ++k) {
      rows.back().push_back(std::stoll(fields[k].str()));
      columns[k].push_back(rows.back().back());
    }
    times.push_back(fields.back().empty() ? 0 : std::stod(fields.back().str()));
  }
  std::vector<Knob> knobs;
  for (size_t k = 0; k < columns.size(); ++k) {
    llvm::sort(columns[k]);
    columns[k].erase(llvm::unique(columns[k]), columns[k].end());
    knobs.push_back(
        {head[k].str(), llvm::cantFail(Domain::integers(columns[k]))});
  }
  Recording recording;
  std::vector<std::vector<uint64_t>> numbers;
  for (const auto &row : rows) {
    numbers.emplace_back();
    for (size_t k = 0; k < row.size(); ++k)
      numbers.back().push_back(*knobs[k].domain.indexOf(KnobValue(row[k])));
  }
  recording.space = llvm::cantFail(Space::table("", knobs, numbers));
  for (size_t i = 0; i < rows.size(); ++i) {
    recording.times[toString(recording.space->decode(numbers[i]))] = times[i];
    if (times[i] > 0)
      recording.best = std::min(recording.best, times[i]);
  }
  return recording;
}

/// The median over seeds of optimum / best found, after `budget` evaluations.
static double replay(const Recording &recording, llvm::StringRef name,
                     int budget) {
  std::vector<double> fractions;
  for (uint64_t seed = 0; seed < 7; ++seed) {
    auto searcher = make(name, *recording.space, seed);
    double best = 1e300;
    for (int i = 0; i < budget; ++i) {
      Configuration configuration = searcher->ask(1).at(0);
      double time = recording.times.at(toString(configuration));
      Trial trial = okTrial(configuration, time);
      if (time > 0)
        best = std::min(best, time);
      else
        trial = {configuration, Outcome::CompileError, "", "", {}, {}, 0};
      searcher->tell(trial);
    }
    fractions.push_back(recording.best / best);
  }
  llvm::sort(fractions);
  return fractions[fractions.size() / 2];
}

TEST(Replay, AutoBeatsRandomOnARecordedConvolution) {
  Recording recording = readRecording(
      ATTUNE_SOURCE_DIR "/test/data/replay/convolution_milo_A4000.csv");
  EXPECT_EQ(recording.space->count(), 4362u);
  EXPECT_GT(replay(recording, "auto", 200),
            replay(recording, "random", 200) + 0.05);
}
