//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Jobs of the session as runs of IREE's tools. Candidates are whole programs:
// whatever a job says of inputs, they are those that the backend has.

#include "IreeImpl.h"
#include "attune/Measure/Statistics.h"
#include "attune/Support/Clock.h"
#include "attune/Support/Error.h"

#include "llvm/ADT/StringSet.h"
#include <random>

using namespace llvm;
using namespace attune;

namespace {
class IreeExecutor final : public Executor {
public:
  explicit IreeExecutor(IreeBackend::Impl &impl) : impl(impl) {}

  Expected<Measurement> measure(const MeasureJob &job,
                                const Limits &limits) override;
  Expected<RunResult> run(const RunJob &job, const Limits &limits) override;
  Expected<Signature> signature(StringRef library) override {
    return makeError("{0}: a program of IREE has no signature here", library);
  }

private:
  void timePairs(const MeasureJob &job, Measurement &result);
  /// Of one process: a candidate far slower than the default need not end.
  double processLimit(double minSeconds) const {
    return 20 + minSeconds + 200 * impl.sets[0].seconds;
  }

  IreeBackend::Impl &impl;
  StringSet<> right; ///< Libraries whose results were compared.
};
} // namespace

template <typename Result>
static void take(const CommandOutcome &outcome, Result &result) {
  result.outcome = outcome.outcome;
  result.reason = outcome.reason;
  result.detail = outcome.output;
}

void IreeExecutor::timePairs(const MeasureJob &job, Measurement &result) {
  const TimingOptions &timing = job.timing;
  SystemClock clock;
  double begin = clock.now();
  std::mt19937_64 random(timing.seed);
  // A process is started for each half of a pair, so there are few pairs.
  double each = std::clamp(timing.minSeconds / 6, 0.02, 0.2);
  size_t wanted = timing.loserPairs ? 3 : 8;
  while (true) {
    bool baselineFirst = random() >> 63;
    for (bool isBaseline : {baselineFirst, !baselineFirst}) {
      double seconds = 0;
      CommandOutcome timed =
          impl.time(isBaseline ? job.baseline : job.candidate, each,
                    processLimit(each), seconds);
      if (timed.outcome != Outcome::Ok) {
        take(timed, result);
        if (isBaseline)
          result.reason = "the untuned program, next to it: " + result.reason;
        return;
      }
      (isBaseline ? result.baselineSeconds : result.seconds).push_back(seconds);
    }
    double ratio = result.seconds.back() / result.baselineSeconds.back();
    size_t pairs = result.seconds.size();
    result.stoppedEarly =
        timing.loserPairs && pairs == 1 && ratio > timing.loserRatio * 2;
    bool isLate = clock.now() - begin > timing.maxSeconds && pairs >= 3;
    if (result.stoppedEarly || pairs >= wanted || isLate)
      return;
  }
}

Expected<Measurement> IreeExecutor::measure(const MeasureJob &job,
                                            const Limits &) {
  Measurement result;
  if (!right.contains(job.candidate)) {
    CommandOutcome checked = impl.check(job.candidate, processLimit(0));
    if (checked.outcome != Outcome::Ok) {
      take(checked, result);
      return result;
    }
    right.insert(job.candidate);
  }
  if (job.timing.minRepetitions > 0 && !job.baseline.empty())
    timePairs(job, result);
  return result;
}

Expected<RunResult> IreeExecutor::run(const RunJob &job, const Limits &) {
  RunResult result;
  double seconds = 0;
  CommandOutcome ran;
  if (job.hooks) {
    if (Error error =
            impl.profile(result.dispatchSeconds, result.dispatchCalls))
      return std::move(error);
    ran = impl.time(job.library, 0.1, processLimit(0.1), seconds);
    result.seconds.push_back(seconds);
  } else {
    ran = impl.run(job.library, job.outputs, processLimit(0));
    result.seconds.push_back(ran.wallSeconds);
  }
  if (ran.outcome != Outcome::Ok)
    take(ran, result);
  return result;
}

std::unique_ptr<Executor> IreeBackend::createExecutor() {
  return std::make_unique<IreeExecutor>(*impl);
}

Expected<Speedup> IreeBackend::compareWithDefault() {
  MeasureJob job;
  job.candidate =
      impl->tuned.empty() ? impl->sets[impl->best].library : impl->tuned;
  job.baseline = impl->sets[0].library;
  job.timing.minSeconds = 0.6;
  job.timing.maxSeconds = 20;
  job.timing.loserPairs = 0;
  auto measured = createExecutor()->measure(job, Limits());
  if (!measured)
    return measured.takeError();
  if (measured->outcome != Outcome::Ok)
    return makeError("next to the default flags: {0}", measured->reason);
  return pairedSpeedup(measured->seconds, measured->baselineSeconds, 1);
}
