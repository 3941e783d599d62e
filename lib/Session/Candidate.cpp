//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Jobs for the executor: candidates, which may fail, with times that are some
// or a failure with a name; and those that the session cannot do without.

#include "State.h"

#include <cmath>

using namespace llvm;

namespace attune::session {

//===----------------------------------------------------------------------===//
// What must work
//===----------------------------------------------------------------------===//

/// Trying again is cheap unless it means to wait for a limit once more.
static bool isWorthAnother(int attempt, Outcome outcome, const Limits &limits) {
  if (outcome == Outcome::RunTimeout)
    return attempt < (limits.wallSeconds <= 60    ? 4
                      : limits.wallSeconds <= 600 ? 2
                                                  : 1);
  return outcome != Outcome::Ok && attempt < 5;
}

Expected<RunResult> runSurely(Executor &executor, const RunJob &job,
                              const Limits &limits) {
  for (int attempt = 1;; ++attempt) {
    auto result = executor.run(job, limits);
    if (!result || !isWorthAnother(attempt, result->outcome, limits))
      return result;
  }
}

Expected<Measurement> measureSurely(Executor &executor, const MeasureJob &job,
                                    const Limits &limits, BelieveWrong wrong) {
  bool wasWrong = false;
  int wanted = 1;
  for (int attempt = 1;; ++attempt) {
    auto result = executor.measure(job, limits);
    if (!result)
      return result;
    Outcome outcome = result->outcome;
    bool isBelieved = wrong == BelieveWrong::Once ||
                      (wrong == BelieveWrong::Twice && wasWrong);
    if (outcome == Outcome::WrongResult) {
      if (isBelieved)
        return result;
      wasWrong = true;
      wanted = wrong == BelieveWrong::Twice ? 2 : 1;
    }
    if (outcome == Outcome::Ok ? --wanted == 0
                               : !isWorthAnother(attempt, outcome, limits))
      return result;
  }
}

//===----------------------------------------------------------------------===//
// Candidates
//===----------------------------------------------------------------------===//

/// A run process may lie; what it says goes into the database and decides.
static bool areTimes(ArrayRef<double> seconds,
                     ArrayRef<double> baselineSeconds) {
  auto isTime = [](double value) { return std::isfinite(value) && value > 0; };
  return !seconds.empty() && seconds.size() == baselineSeconds.size() &&
         all_of(seconds, isTime) && all_of(baselineSeconds, isTime);
}

/// A candidate that is far slower than the baseline need not end.
static Limits candidateLimits(const MeasureJob &job,
                              const DispatchState &dispatch) {
  Limits limits;
  limits.wallSeconds =
      3 + job.timing.maxSeconds + 40 * dispatch.baselineSeconds;
  limits.memoryBytes = 16ull << 30;
  return limits;
}

Expected<Trial> measureCandidate(State &state, const DispatchState &dispatch,
                                 const Configuration &configuration,
                                 const CompiledCandidate &candidate,
                                 const TimingOptions &timing,
                                 ArrayRef<CheckedInputs> moreInputs) {
  Trial trial;
  trial.configuration = configuration;
  trial.outcome = candidate.outcome;
  trial.reason = candidate.reason;
  trial.detail = candidate.detail;
  trial.compileSeconds = candidate.compileSeconds;
  if (candidate.outcome != Outcome::Ok)
    return trial;
  MeasureJob job =
      makeMeasureJob(candidate.library, dispatch.baseline, dispatch.inputs,
                     state.options.threads, timing.seed);
  job.timing = timing;
  job.moreInputs = moreInputs.vec();
  auto result = state.executor->measure(job, candidateLimits(job, dispatch));
  if (!result)
    return result.takeError();
  trial.outcome = result->outcome;
  trial.reason = result->reason;
  trial.detail = result->detail;
  if (trial.outcome != Outcome::Ok)
    return trial;
  if (!areTimes(result->seconds, result->baselineSeconds)) {
    trial.outcome = Outcome::Crash;
    trial.reason = "the run process gave times that are none";
    return trial;
  }
  trial.seconds = result->seconds;
  trial.baselineSeconds = result->baselineSeconds;
  return trial;
}

} // namespace attune::session
