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
  std::vector<double> seconds, cycles;
};

struct Sample {
  uint64_t disturbances = 0;
  double seconds = 0;
  std::optional<double> cycles; ///< Of one call.
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

static Expected<Sample> trySample(const Subject &subject, Clock &clock,
                                  const Machine &machine) {
  auto disturbances = [&] {
    return machine.disturbances ? machine.disturbances->count() : 0;
  };
  auto cycles = [&] {
    return machine.cycles ? machine.cycles->read() : std::nullopt;
  };
  Sample sample;
  uint64_t before = disturbances();
  std::optional<uint64_t> begin = cycles();
  Expected<double> seconds =
      timeCalls(subject.call, subject.callsPerSample, clock);
  if (!seconds)
    return seconds.takeError();
  std::optional<uint64_t> end = cycles();
  sample.seconds = *seconds;
  sample.disturbances = disturbances() - before;
  if (begin && end)
    sample.cycles = double(*end - *begin) / subject.callsPerSample;
  return sample;
}

/// One sample; of several tries the least disturbed, and of those the shortest.
static Expected<Sample> takeSample(const Subject &subject, double deadline,
                                   Clock &clock, const Machine &machine,
                                   bool isCold) {
  static constexpr int tries = 4;
  Sample best;
  for (int i = 0; i < tries; ++i) {
    if (isCold)
      machine.emptyCaches();
    Expected<Sample> sample = trySample(subject, clock, machine);
    if (!sample)
      return sample.takeError();
    if (i == 0 || std::tie(sample->disturbances, sample->seconds) <
                      std::tie(best.disturbances, best.seconds))
      best = *sample;
    if (best.disturbances == 0 || clock.now() >= deadline)
      break;
  }
  return best;
}

Expected<PairedTimes> attune::timePairs(TimedCall candidate, TimedCall baseline,
                                        const TimingOptions &options,
                                        Clock &clock, const Machine &machine) {
  Subject subjects[2] = {{candidate, 1, {}, {}}, {baseline, 1, {}, {}}};
  bool isCold = options.caches == Caches::Cold && machine.emptyCaches;
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

  if (isCold)
    for (Subject &subject : subjects)
      subject.callsPerSample = 1; // a second call would find what it needs
  std::mt19937_64 random(options.seed);
  PairedTimes times;
  double measured = 0;
  while (true) {
    unsigned first = count == 2 ? random() >> 63 : 0;
    for (unsigned i = 0; i < count; ++i) {
      Subject &subject = subjects[(first + i) % count];
      Expected<Sample> sample = takeSample(
          subject, begin + options.maxSeconds / 2, clock, machine, isCold);
      if (!sample)
        return sample.takeError();
      subject.seconds.push_back(sample->seconds);
      if (sample->cycles)
        subject.cycles.push_back(*sample->cycles);
      measured += sample->seconds * subject.callsPerSample;
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
  times.cycles = std::move(subjects[0].cycles);
  times.baselineCycles = std::move(subjects[1].cycles);
  return times;
}
