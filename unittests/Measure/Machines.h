//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Machines that others use, too: simulated, and recorded (test/data/noise).

#ifndef ATTUNE_UNITTESTS_MEASURE_MACHINES_H
#define ATTUNE_UNITTESTS_MEASURE_MACHINES_H

#include "attune/Measure/Statistics.h"
#include "attune/Measure/Timing.h"
#include "attune/Support/Files.h"
#include "llvm/Support/JSON.h"
#include <cmath>
#include <memory>
#include <random>

namespace attune {

enum class Role { Candidate, Baseline };

/// How long a call takes that would take `seconds` alone.
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

/// All processes of a file in test/data/noise.
inline std::vector<Recording> readRecordings(llvm::StringRef name) {
  namespace json = llvm::json;
  std::vector<Recording> recordings;
  std::string text = llvm::cantFail(
      readFile((ATTUNE_SOURCE_DIR "/test/data/noise/" + name + ".json").str()));
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
  /// `all` outlives it.
  Recorded(uint64_t seed, const std::vector<Recording> &all)
      : Noise(seed), all(all) {
    Recorded::startProcess();
  }
  void startProcess() override {
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
  const std::vector<Recording> &all;
  const Recording *recording = nullptr;
  size_t at = 0;
};

} // namespace attune

#endif // ATTUNE_UNITTESTS_MEASURE_MACHINES_H
