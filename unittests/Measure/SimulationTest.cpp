//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// A thousand sessions on machines whose truth is known: the code that times,
// stops losers, holds the final and decides is the real one; only the programs
// are made up, and the noise, which is recorded (test/data/noise) or simulated.

#include "Programs.h"
#include "attune/Measure/Final.h"

#include "llvm/Support/JSON.h"
#include <cmath>
#include <random>

using namespace attune;
namespace json = llvm::json;

namespace {

//===----------------------------------------------------------------------===//
// Machines
//===----------------------------------------------------------------------===//

enum class Role { Candidate, Baseline };

/// A machine that others use, too: how long a call takes that would take
/// `seconds` alone.
class Noise : public Disturbances {
public:
  explicit Noise(uint64_t seed) : random(seed) {}
  virtual ~Noise() = default;
  virtual double take(Role role, double seconds, double now) = 0;
  virtual void startProcess() {}
  uint64_t count() override { return preemptions; }
  std::mt19937_64 random;

protected:
  double uniform() { return std::uniform_real_distribution<>(0, 1)(random); }
  double normal() { return std::normal_distribution<>()(random); }
  uint64_t preemptions = 0;
};

/// One call in thirty takes twice or ten times as long, and none is faster than
/// the machine.
class HeavyTails : public Noise {
public:
  using Noise::Noise;
  double take(Role, double seconds, double) override {
    double factor = std::exp(0.02 * std::fabs(normal()));
    if (uniform() < 0.03)
      factor *= 1 + 0.5 / std::sqrt(uniform());
    return seconds * factor;
  }
};

/// The clock frequency: slower by a third over a session, and up and down.
class DriftingClock : public Noise {
public:
  using Noise::Noise;
  double take(Role, double seconds, double now) override {
    return seconds * (1 + 0.03 * now + 0.1 * std::sin(now * 1.7)) *
           std::exp(0.01 * std::fabs(normal()));
  }
};

/// Somebody else takes a good third of the machine now and then, for tens of
/// milliseconds.
class BusyNeighbour : public Noise {
public:
  using Noise::Noise;
  double take(Role, double seconds, double now) override {
    double begin = now, work = seconds * std::exp(0.015 * std::fabs(normal()));
    while (true) {
      double speed = busy ? 0.6 : 1, until = change - now;
      if (until > 0 && work <= until * speed)
        return now + work / speed - begin;
      if (until > 0) {
        work -= until * speed;
        now = change;
      }
      busy = !busy;
      change = now + (busy ? 0.02 : 0.06) * -std::log(1 - uniform());
    }
  }

private:
  bool busy = false;
  double change = 0;
};

/// What two equal programs took that ran in turns in one process.
struct Recording {
  /// Relative to the lower quartile: slices of a machine.
  std::vector<double> turns;
  double sliceSeconds; ///< That quartile.
  double bias[2];      ///< Of the two programs, in this process.
};

std::vector<Recording> readRecordings() {
  std::vector<Recording> recordings;
  std::string text = llvm::cantFail(
      readFile(ATTUNE_SOURCE_DIR "/test/data/noise/two-core-guest.json"));
  json::Value value = llvm::cantFail(json::parse(text));
  auto numbers = [](const json::Value &process, llvm::StringRef name) {
    std::vector<double> out;
    for (const json::Value &number : *process.getAsObject()->getArray(name))
      out.push_back(*number.getAsNumber());
    return out;
  };
  for (const json::Value &program : *value.getAsObject()->getArray("programs"))
    for (const json::Value &process :
         *program.getAsObject()->getArray("processes")) {
      std::vector<double> one = numbers(process, "seconds");
      std::vector<double> other = numbers(process, "baselineSeconds");
      Recording recording;
      double shortOne = quantile(one, 0.25), shortOther = quantile(other, 0.25);
      recording.sliceSeconds = std::sqrt(shortOne * shortOther);
      recording.bias[0] = shortOne / recording.sliceSeconds;
      recording.bias[1] = shortOther / recording.sliceSeconds;
      for (size_t i = 0; i < one.size(); ++i) {
        recording.turns.push_back(one[i] / shortOne);
        recording.turns.push_back(other[i] / shortOther);
      }
      recordings.push_back(std::move(recording));
    }
  return recordings;
}

/// A call takes as many slices of the recorded machine as it is long.
class Recorded : public Noise {
public:
  explicit Recorded(uint64_t seed) : Noise(seed) { startProcess(); }
  void startProcess() override {
    static const std::vector<Recording> all = readRecordings();
    recording = &all[random() % all.size()];
    at = random() % recording->turns.size();
  }
  double take(Role role, double seconds, double) override {
    double slices = seconds / recording->sliceSeconds, taken = 0;
    for (; slices > 0; --slices) {
      taken += std::min(1.0, slices) * recording->turns[at];
      // Nothing else makes a program so slow.
      preemptions += recording->turns[at] > 3;
      at = (at + 1) % recording->turns.size();
    }
    return taken * recording->sliceSeconds *
           recording->bias[role == Role::Baseline];
  }

private:
  const Recording *recording = nullptr;
  size_t at = 0;
};

std::unique_ptr<Noise> makeNoise(int session) {
  switch (session % 4) {
  case 0:
    return std::make_unique<Recorded>(session);
  case 1:
    return std::make_unique<HeavyTails>(session);
  case 2:
    return std::make_unique<DriftingClock>(session);
  default:
    return std::make_unique<BusyNeighbour>(session);
  }
}

//===----------------------------------------------------------------------===//
// Sessions
//===----------------------------------------------------------------------===//

/// Candidates of known speed on a noisy machine.
class SimulatedSession : public FinalTimer {
public:
  SimulatedSession(std::vector<double> truth, int seed)
      : truth(std::move(truth)), noise(makeNoise(seed)), seed(seed) {
    baselineSeconds = std::exp(std::uniform_real_distribution<>(
        std::log(1e-4), std::log(5e-3))(noise->random));
  }

  llvm::Error startRound() override {
    noise->startProcess();
    baselineBias = bias();
    return llvm::Error::success();
  }

  llvm::Expected<std::optional<PairedTimes>>
  time(size_t candidate, const TimingOptions &timing) override {
    double candidateBias = bias();
    auto runCandidate = [&]() {
      clock.advance(noise->take(
          Role::Candidate, baselineSeconds * truth[candidate] * candidateBias,
          clock.now()));
      return llvm::Error::success();
    };
    auto runBaseline = [&]() {
      clock.advance(noise->take(Role::Baseline, baselineSeconds * baselineBias,
                                clock.now()));
      return llvm::Error::success();
    };
    return timePairs(runCandidate, runBaseline, timing, clock, {noise.get()});
  }

  /// As Session/Tune.cpp does: search, then the final. The true time of what
  /// it chooses, relative to the baseline; nothing: no gain.
  std::optional<double> tune() {
    double best = std::numeric_limits<double>::infinity();
    std::vector<double> ratios;
    for (size_t i = 0; i < truth.size(); ++i) {
      PairedTimes times =
          *llvm::cantFail(time(i, searchTiming(best, seed + i)));
      ratios.push_back(
          std::exp(logOfRatio(times.seconds, times.baselineSeconds)));
      best = std::min(best, ratios.back());
    }
    searchSeconds = clock.now();
    FinalOptions options;
    options.seed = seed;
    FinalResult result =
        llvm::cantFail(holdFinal(ratios, *this, options, clock));
    finalSeconds = clock.now() - searchSeconds;
    if (!result.winner)
      return std::nullopt;
    return truth[*result.winner];
  }

  double searchSeconds = 0, finalSeconds = 0;

private:
  /// Where a program's memory lies in a process makes it a little faster or
  /// slower than in another.
  double bias() {
    return std::exp(0.005 * std::normal_distribution<>()(noise->random));
  }

  std::vector<double> truth;
  std::unique_ptr<Noise> noise;
  int seed;
  FakeClock clock;
  double baselineSeconds, baselineBias = 1;
};

/// A space as spaces are: most candidates are slower than the baseline, some
/// faster, and several are near the best.
std::vector<double> makeSpace(int seed) {
  std::mt19937_64 random(seed + 7);
  std::normal_distribution<> normal;
  std::uniform_real_distribution<> uniform(0, 1);
  double best = std::exp(-1.2 * uniform(random)); // 0.3 .. 1
  std::vector<double> truth;
  for (int i = 0; i < 50; ++i)
    truth.push_back(best * std::exp(std::fabs(0.6 * normal(random))));
  for (int i = 0; i < 5; ++i)
    truth[i * 7] = best * (1 + 0.06 * uniform(random));
  return truth;
}

/// Nothing beats the baseline; many are just like it.
std::vector<double> makeSpaceWithoutGain(int seed) {
  std::mt19937_64 random(seed + 11);
  std::uniform_real_distribution<> uniform(0, 1);
  std::vector<double> truth;
  for (int i = 0; i < 50; ++i)
    truth.push_back(i % 2 ? 1 : 1 + uniform(random));
  return truth;
}

constexpr int sessions = 1000;
} // namespace

TEST(Simulation, TheChosenIsWithinTwoPercentOfTheBest) {
  int right[4] = {};
  double searched = 0, final = 0;
  for (int i = 0; i < sessions; ++i) {
    std::vector<double> truth = makeSpace(i);
    double best = std::min(1.0, *std::min_element(truth.begin(), truth.end()));
    SimulatedSession session(truth, i);
    double chosen = session.tune().value_or(1);
    right[i % 4] += chosen <= 1.02 * best;
    searched += session.searchSeconds / sessions;
    final += session.finalSeconds / sessions;
  }
  std::printf("within 2 %% of the best: recorded noise %d, heavy tails %d, "
              "drift %d, busy neighbour %d of 250 each; search %.1f s, final "
              "%.1f s\n",
              right[0], right[1], right[2], right[3], searched, final);
  EXPECT_GE(right[0] + right[1] + right[2] + right[3], 0.95 * sessions);
  // The recorded machine had five programs on two cores.
  for (int count : right)
    EXPECT_GE(count, 0.8 * sessions / 4);
}

TEST(Simulation, NoGainIsInvented) {
  int none[4] = {};
  for (int i = 0; i < sessions; ++i)
    none[i % 4] += !SimulatedSession(makeSpaceWithoutGain(i), i).tune();
  std::printf("no gain reported: recorded noise %d, heavy tails %d, drift %d, "
              "busy neighbour %d of 250 each\n",
              none[0], none[1], none[2], none[3]);
  EXPECT_GE(none[0] + none[1] + none[2] + none[3], 0.99 * sessions);
}

//===----------------------------------------------------------------------===//
// How test/data/noise was made
//===----------------------------------------------------------------------===//

/// Run it on a machine as it is used, with others at work:
/// AttuneMeasureTests --gtest_also_run_disabled_tests \
///   --gtest_filter='*RecordsNoise' > recorded.json
TEST_F(MeasureTest, DISABLED_RecordsNoise) {
  const std::pair<const char *, const char *> programs[] = {
      {"arithmetic, 0.3 ms", "volatile float x = 1; for (int k = 0; k < 80000; "
                             "++k) x = x * 1.0001f;"},
      {"memory, 4 MB",
       "static char block[4 << 20]; for (int k = 0; k < sizeof block; k += 64) "
       "block[k]++;"}};
  job.timing.minSeconds = 0;
  job.timing.minRepetitions = job.timing.maxRepetitions = 150;
  job.timing.loserPairs = 0;
  json::Array out;
  for (auto [name, body] : programs) {
    job.baseline = library(std::string(body) + good);
    std::string candidate = library(std::string(body) + good);
    json::Array processes;
    for (int process = 0; process < 10; ++process) {
      executor.getWorker().stop();
      Measurement result = measure(candidate);
      ASSERT_EQ(result.reason, "");
      auto round = [](const std::vector<double> &times) {
        json::Array array;
        for (double time : times)
          array.push_back(std::round(time * 1e8) / 1e8);
        return array;
      };
      processes.push_back(
          json::Object{{"seconds", round(result.seconds)},
                       {"baselineSeconds", round(result.baselineSeconds)}});
    }
    out.push_back(
        json::Object{{"name", name}, {"processes", std::move(processes)}});
  }
  llvm::outs() << json::Value(json::Object{{"version", 1},
                                           {"programs", std::move(out)}})
               << '\n';
  llvm::outs().flush();
}
