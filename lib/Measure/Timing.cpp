//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Measure/Timing.h"

#include "attune/Measure/Statistics.h"
#include "attune/Support/Error.h"
#include <algorithm>
#include <cmath>
#include <random>
#include <sys/resource.h>
#include <tuple>

using namespace attune;
using llvm::Error;
using llvm::Expected;

namespace {
/// One of the two programs.
struct Subject {
  TimedCall call;
  unsigned callsPerSample = 1;
  std::vector<double> seconds;
};
} // namespace

static Expected<double> timeCalls(TimedCall call, unsigned count,
                                  Clock &clock) {
  double begin = clock.now();
  for (unsigned i = 0; i < count; ++i)
    if (Error error = call())
      return std::move(error);
  double seconds = (clock.now() - begin) / count;
  if (!(seconds > 0) || !std::isfinite(seconds))
    return makeError("a measured time is {0} s", seconds);
  return seconds;
}

/// Calls until it gets no faster, and derives how many calls make a sample.
static Error warmUp(Subject &subject, double sampleSeconds, double maxSeconds,
                    Clock &clock) {
  double begin = clock.now(), best = 0;
  unsigned count = 1;
  for (int round = 0; round < 20; ++round) {
    Expected<double> seconds = timeCalls(subject.call, count, clock);
    if (!seconds)
      return seconds.takeError();
    bool stable = round > 0 && *seconds > 0.95 * best;
    best = round > 0 ? std::min(best, *seconds) : *seconds;
    double wanted = std::ceil(sampleSeconds / best);
    count = static_cast<unsigned>(std::clamp(wanted, 1.0, 1e6));
    if ((stable && round > 1) || clock.now() - begin > maxSeconds / 8)
      break;
  }
  subject.callsPerSample = count;
  return Error::success();
}

static bool isLoser(const Subject &candidate, const Subject &baseline,
                    const TimingOptions &options) {
  size_t pairs = candidate.seconds.size();
  if (!options.loserPairs)
    return false;
  double one = candidate.seconds[0], other = baseline.seconds[0];
  // So slow that no disturbance explains it: not once more.
  if (pairs == 1 && one - other > 0.1 && one > 3 * options.loserRatio * other)
    return true;
  if (pairs != options.loserPairs)
    return false;
  std::vector<double> ratios;
  for (size_t i = 0; i < pairs; ++i)
    ratios.push_back(candidate.seconds[i] / baseline.seconds[i]);
  return median(ratios) > options.loserRatio;
}

/// Asked at every doubling only: an interval costs more than a pair, and
/// stopping at the first lucky look would make it a lie.
static bool isCertain(const Subject &candidate, const Subject &baseline,
                      const TimingOptions &options) {
  size_t pairs = candidate.seconds.size();
  if (options.intervalWidth <= 0 || baseline.seconds.empty())
    return true;
  if (pairs < 8 || (pairs & (pairs - 1)))
    return false;
  std::vector<double> logs;
  for (size_t i = 0; i < pairs; ++i)
    logs.push_back(std::log(baseline.seconds[i] / candidate.seconds[i]));
  auto [low, high] = signInterval(logs, 0.95);
  return std::exp(high) - std::exp(low) <= options.intervalWidth;
}

uint64_t Preemptions::count() {
  rusage usage = {};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_nivcsw);
}

/// One sample; of several tries the least disturbed, and of those the shortest.
static Expected<double> takeSample(Subject &subject, double deadline,
                                   Clock &clock, Disturbances *disturbances) {
  static constexpr int tries = 4;
  double best = 0;
  uint64_t least = 0;
  for (int i = 0; i < tries; ++i) {
    uint64_t before = disturbances ? disturbances->count() : 0;
    Expected<double> seconds =
        timeCalls(subject.call, subject.callsPerSample, clock);
    if (!seconds)
      return seconds.takeError();
    uint64_t count = disturbances ? disturbances->count() - before : 0;
    if (i == 0 || std::tie(count, *seconds) < std::tie(least, best)) {
      least = count;
      best = *seconds;
    }
    if (least == 0 || clock.now() >= deadline)
      break;
  }
  return best;
}

Expected<PairedTimes> attune::timePairs(TimedCall candidate, TimedCall baseline,
                                        const TimingOptions &options,
                                        Clock &clock,
                                        Disturbances *disturbances) {
  Subject subjects[2] = {{candidate, 1, {}}, {baseline, 1, {}}};
  unsigned count = baseline ? 2 : 1;
  double sampleSeconds =
      std::max(options.sampleSeconds,
               options.minSeconds /
                   (count * std::max(1.0, double(options.maxRepetitions))));
  double begin = clock.now();
  for (unsigned i = 0; i < count; ++i)
    if (Error error =
            warmUp(subjects[i], sampleSeconds, options.maxSeconds, clock))
      return std::move(error);

  std::mt19937_64 random(options.seed);
  PairedTimes times;
  double measured = 0;
  while (true) {
    unsigned first = count == 2 ? random() >> 63 : 0;
    for (unsigned i = 0; i < count; ++i) {
      Subject &subject = subjects[(first + i) % count];
      Expected<double> seconds = takeSample(
          subject, begin + options.maxSeconds / 2, clock, disturbances);
      if (!seconds)
        return seconds.takeError();
      subject.seconds.push_back(*seconds);
      measured += *seconds * subject.callsPerSample;
    }
    size_t pairs = subjects[0].seconds.size();
    times.stoppedEarly =
        count == 2 && isLoser(subjects[0], subjects[1], options);
    bool enough = measured >= options.minSeconds &&
                  pairs >= options.minRepetitions &&
                  isCertain(subjects[0], subjects[1], options);
    if (times.stoppedEarly || enough ||
        clock.now() - begin >= options.maxSeconds)
      break;
  }
  times.seconds = std::move(subjects[0].seconds);
  times.baselineSeconds = std::move(subjects[1].seconds);
  return times;
}
