//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Jobs of the session as runs of commands. A run may take minutes: what the
// session asks in repetitions is cut by time, and what is known is not run
// again.

#include "attune/Backend/Command.h"
#include "attune/Measure/Statistics.h"
#include "attune/Support/Clock.h"
#include "attune/Support/Error.h"
#include "attune/Support/Interrupt.h"

#include "llvm/ADT/StringSet.h"
#include <random>

using namespace llvm;
using namespace attune;

namespace {
class CommandExecutor final : public Executor {
public:
  explicit CommandExecutor(CommandBackend &backend) : backend(backend) {}

  Expected<Measurement> measure(const MeasureJob &job,
                                const Limits &limits) override;
  Expected<RunResult> run(const RunJob &job, const Limits &limits) override;
  Expected<Signature> signature(StringRef library) override {
    return makeError("{0}: a command has no signature", library);
  }

private:
  /// False: `measurement` says why not.
  bool runInto(StringRef library, const Limits &limits,
               std::vector<double> &seconds, Measurement &measurement);
  void timePairs(const MeasureJob &job, const Limits &limits,
                 Measurement &measurement);

  CommandBackend &backend;
  StringMap<double> known; ///< Seconds of libraries that ran and were right.
};
} // namespace

std::unique_ptr<Executor> CommandBackend::createExecutor() {
  return std::make_unique<CommandExecutor>(*this);
}

bool CommandExecutor::runInto(StringRef library, const Limits &limits,
                              std::vector<double> &seconds,
                              Measurement &measurement) {
  double value = 0;
  CommandOutcome ran = backend.runOnce(library, limits.wallSeconds, value);
  if (ran.outcome != Outcome::Ok) {
    measurement.outcome = ran.outcome;
    measurement.reason = std::move(ran.reason);
    measurement.detail = std::move(ran.output);
    return false;
  }
  known[library] = value;
  seconds.push_back(value);
  return true;
}

/// Not near the best: not worth more runs.
static bool isLoser(const Measurement &times, const TimingOptions &timing) {
  size_t pairs = times.seconds.size();
  if (!timing.loserPairs)
    return false;
  std::vector<double> ratios;
  for (auto [one, other] : zip_equal(times.seconds, times.baselineSeconds))
    ratios.push_back(one / other);
  double ratio = median(ratios);
  return (pairs >= timing.loserPairs && ratio > timing.loserRatio) ||
         (ratio > 2 * timing.loserRatio && times.seconds.front() > 0.1);
}

/// Long runs are less noisy, and there is less time for them.
static bool isEnough(const Measurement &times, const TimingOptions &timing,
                     double elapsed) {
  size_t pairs = times.seconds.size();
  double measured = 0;
  for (auto [one, other] : zip_equal(times.seconds, times.baselineSeconds))
    measured += one + other;
  // A comparison without losers must be certain: an interval needs pairs.
  size_t least = timing.loserPairs ? 1 : 3;
  if (elapsed >= timing.maxSeconds)
    return pairs >= least;
  return measured >= timing.minSeconds && pairs >= timing.minRepetitions;
}

void CommandExecutor::timePairs(const MeasureJob &job, const Limits &limits,
                                Measurement &result) {
  SystemClock clock;
  double begin = clock.now();
  std::mt19937_64 random(job.timing.seed);
  // The first of each reads its files into memory: where that matters, it does
  // not count.
  bool isWarm = false;
  while (true) {
    bool baselineFirst = random() >> 63;
    for (bool isBaseline : {baselineFirst, !baselineFirst})
      if (!runInto(isBaseline ? job.baseline : job.candidate, limits,
                   isBaseline ? result.baselineSeconds : result.seconds,
                   result)) {
        if (isBaseline)
          result.reason = "the defaults, next to it: " + result.reason;
        return;
      }
    double elapsed = clock.now() - begin;
    if (!std::exchange(isWarm, true) && elapsed < 0.3) {
      result.seconds.clear();
      result.baselineSeconds.clear();
      continue;
    }
    result.stoppedEarly = isLoser(result, job.timing);
    if (result.stoppedEarly || isEnough(result, job.timing, elapsed))
      return;
  }
}

Expected<Measurement> CommandExecutor::measure(const MeasureJob &job,
                                               const Limits &limits) {
  Measurement result;
  bool checksOnly = job.timing.minRepetitions == 0 || job.baseline.empty();
  if (!checksOnly)
    timePairs(job, limits, result);
  else if (!known.count(job.candidate))
    runInto(job.candidate, limits, result.seconds, result);
  // What was cut short is no outcome of a candidate.
  if (result.outcome != Outcome::Ok && interruptRequested() == Interrupt::Now)
    return makeError("interrupted");
  return result;
}

Expected<RunResult> CommandExecutor::run(const RunJob &job,
                                         const Limits &limits) {
  static constexpr double enoughSeconds = 0.5;
  RunResult result;
  SystemClock clock;
  double begin = clock.now();
  if (auto before = known.find(job.library); before != known.end())
    result.seconds.push_back(before->second);
  while (result.seconds.empty() || (result.seconds.size() < job.repetitions &&
                                    clock.now() - begin < enoughSeconds)) {
    Measurement failed;
    if (!runInto(job.library, limits, result.seconds, failed)) {
      result.outcome = failed.outcome;
      result.reason = std::move(failed.reason);
      result.detail = std::move(failed.detail);
      if (interruptRequested() == Interrupt::Now)
        return makeError("interrupted");
      return result;
    }
  }
  if (job.hooks) {
    result.dispatchSeconds = {median(result.seconds)};
    result.dispatchCalls = {1};
  }
  return result;
}
