//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Timing two programs next to each other.

#ifndef ATTUNE_MEASURE_TIMING_H
#define ATTUNE_MEASURE_TIMING_H

#include "attune/Measure/Cycles.h"
#include "attune/Support/Clock.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <vector>

namespace attune {

/// Counts what takes the processor away from us: a sample during which it went
/// up is no time of the program.
class Disturbances {
public:
  virtual ~Disturbances() = default;
  virtual uint64_t count() = 0;
};

/// How often the kernel gave a core of ours to somebody else before we were
/// ready to give it up, all threads together (getrusage).
class Preemptions final : public Disturbances {
public:
  uint64_t count() override;
};

/// What the caches hold when a program begins.
enum class Caches {
  Hot,  ///< What its last run, and that of the other program, left there.
  Cold, ///< Nothing of it: its data comes from memory.
};

struct TimingOptions {
  double minSeconds = 0.1;       ///< Measured time, candidate and baseline.
  double maxSeconds = 5;         ///< The end, with what there is by then.
  unsigned minRepetitions = 10;  ///< Pairs.
  unsigned maxRepetitions = 200; ///< Pairs; samples get longer instead.
  /// A candidate whose median ratio is over this after that many pairs has lost
  /// and is measured no further; after one pair, if it is over three times this
  /// and a tenth of a second slower. 0 pairs: never.
  double loserRatio = 1.5;
  unsigned loserPairs = 3;
  /// Shorter programs are called several times in one sample.
  double sampleSeconds = 20e-6;
  /// Goes on, until maxSeconds, while the 95 % interval of the speed-up is
  /// wider than this (0.02: two percent). 0: minSeconds and minRepetitions
  /// suffice.
  double intervalWidth = 0;
  Caches caches = Caches::Hot;
  uint64_t seed = 0; ///< Of the order inside pairs.
};

/// Seconds of one call; seconds[i] and baselineSeconds[i] were next to each
/// other, in random order.
struct PairedTimes {
  std::vector<double> seconds;
  std::vector<double> baselineSeconds; ///< Empty without a baseline.
  bool stoppedEarly = false;           ///< A clear loser.
  /// Of one call, beside the seconds; empty where nobody counts them.
  std::vector<double> cycles, baselineCycles;
};

/// One call of a program; an error ends the measurement.
using TimedCall = llvm::function_ref<llvm::Error()>;

/// What timing needs of the machine beside a clock; any may be missing.
struct Machine {
  Disturbances *disturbances = nullptr;
  CycleCounter *cycles = nullptr;
  llvm::function_ref<void()> emptyCaches; ///< For Caches::Cold.
};

/// Warms both up until they get no faster, then measures pairs. `baseline` may
/// be null. At least one pair is measured, however long it takes. A time that
/// is not finite and positive is an error. A sample that was disturbed is taken
/// again, up to three times; the least disturbed counts.
llvm::Expected<PairedTimes> timePairs(TimedCall candidate, TimedCall baseline,
                                      const TimingOptions &options,
                                      Clock &clock,
                                      const Machine &machine = {});

} // namespace attune

#endif // ATTUNE_MEASURE_TIMING_H
