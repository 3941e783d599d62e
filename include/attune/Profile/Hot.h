//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Which dispatches are worth tuning: those where much time could be saved.

#ifndef ATTUNE_PROFILE_HOT_H
#define ATTUNE_PROFILE_HOT_H

#include "attune/Profile/Profile.h"
#include <limits>

namespace attune {

/// What a machine can do at best, for the roofline of Williams, Waterman and
/// Patterson ("Roofline: an insightful visual performance model for multicore
/// architectures", 2009).
struct MachinePeaks {
  double operationsPerSecond = 0; ///< Float32, a multiply-add is two.
  /// Bytes a second from data that is `bytes` long in total, ascending.
  struct Level {
    double bytes = 0;
    double bytesPerSecond = 0;
  };
  std::vector<Level> levels;

  /// For data of that size: the first level that holds it, or the last.
  double bandwidthFor(double bytes) const;
};

/// Measures this machine with so many threads, for about `seconds` in all.
MachinePeaks measurePeaks(int threads, double seconds = 0.2);

/// The least time one call can take: 0 when nothing is known of it.
double rooflineSeconds(const DispatchFacts &facts, const MachinePeaks &peaks);

/// False when a dispatch is faster than these peaks allow.
bool arePlausible(const MachinePeaks &peaks,
                  llvm::ArrayRef<DispatchFacts> facts,
                  llvm::ArrayRef<ProfileRow> rows);

struct HotOptions {
  /// Dispatches are chosen, those with the greatest possible gain first, until
  /// so much of the dispatches' time is covered.
  double coverage = 0.95;
  double minimumShare = 0.001; ///< Less is never worth it.
  /// No more than this many.
  size_t maximumCount = std::numeric_limits<size_t>::max();
};

/// What was decided about one dispatch, and why.
struct HotDispatch {
  size_t number = 0;      ///< Among the facts.
  double seconds = 0;     ///< Of all its calls.
  double share = 0;       ///< Of the program's time.
  double gainSeconds = 0; ///< Of `seconds`, what tuning could save at most.
  bool chosen = false;
  std::string reason; ///< `31.2 % of the time, 4.1 times its roofline`.
};

/// Decides about each dispatch; those with the greatest possible gain first.
/// When a dispatch is much faster than it can be, the peaks are wrong (measured
/// on a busy machine, say) and do not count. `rows` are matchProfile's: one a
/// fact. `totalSeconds` is the program's time, dispatches or not.
std::vector<HotDispatch> chooseHot(llvm::ArrayRef<DispatchFacts> facts,
                                   llvm::ArrayRef<ProfileRow> rows,
                                   double totalSeconds,
                                   const MachinePeaks &peaks,
                                   const HotOptions &options = {});

} // namespace attune

#endif // ATTUNE_PROFILE_HOT_H
