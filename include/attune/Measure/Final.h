//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// From many noisy trials to one decision: which candidate is the best, and is
// it really faster than the baseline? The search finds some that look good, and
// the best-looking of many is so by luck in part; the final therefore measures
// the first few again, in rounds of fresh processes, dropping the slower half
// after the first and then those that are certain to be worse (racing: Maron &
// Moore, NIPS 1993), and what is left is confirmed with times that had no part
// in choosing it.

#ifndef ATTUNE_MEASURE_FINAL_H
#define ATTUNE_MEASURE_FINAL_H

#include "attune/Measure/Statistics.h"
#include "attune/Measure/Timing.h"
#include <functional>
#include <optional>

namespace attune {

/// How a candidate of the search is timed: shortly, and no longer than it takes
/// to see that it does not come near `bestRatio`, the smallest median of
/// candidate / baseline so far (infinity: none yet).
TimingOptions searchTiming(double bestRatio, uint64_t seed);

struct FinalOptions {
  /// A gain under this is called none: 0.01 is one percent.
  double minimumGain = 0.01;
  /// Time for all of it, roughly; at least one round is held and confirmed.
  double maxSeconds = 6;
  /// Instead of it on a machine that is seen to be disturbed.
  double noisySeconds = 12;
  unsigned contenders = 8;        ///< Of the search's, the best-looking.
  unsigned rounds = 6;            ///< Of choosing, at most.
  unsigned confirmations = 4;     ///< Processes, at least, ...
  unsigned maxConfirmations = 16; ///< ... until it is certain either way.
  uint64_t seed = 0;
};

/// The seam to the processes that run candidates.
class FinalTimer {
public:
  virtual ~FinalTimer() = default;
  /// What follows runs in a fresh process.
  virtual llvm::Error startRound() = 0;
  /// Checks a candidate and times it next to the baseline. Nothing: it failed
  /// and is out. An error ends the final.
  virtual llvm::Expected<std::optional<PairedTimes>>
  time(size_t candidate, const TimingOptions &options) = 0;
};

struct FinalResult {
  /// Index of the candidate to take; nothing: none is certain to be faster.
  std::optional<size_t> winner;
  /// Of the confirmation alone; of the one that was not confirmed, too.
  Speedup speedup;
  std::vector<double> seconds, baselineSeconds; ///< What it comes from.
  std::string reason; ///< Why there is no winner: one line.
};

/// `ratios` are the search's medians of candidate / baseline, one a candidate.
llvm::Expected<FinalResult> holdFinal(llvm::ArrayRef<double> ratios,
                                      FinalTimer &timer,
                                      const FinalOptions &options,
                                      Clock &clock);

} // namespace attune

#endif // ATTUNE_MEASURE_FINAL_H
