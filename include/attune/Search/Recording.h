//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Measurements of every configuration of a space, recorded once: a searcher
// replayed against them needs no machine to run on.

#ifndef ATTUNE_SEARCH_RECORDING_H
#define ATTUNE_SEARCH_RECORDING_H

#include "attune/Search/Searcher.h"

namespace attune {

/// A space and the time of each of its configurations.
struct Recording {
  Space space;
  std::vector<double> seconds; ///< By number in the space; 0: it failed.
  double optimum = 0;          ///< The least of them, over 0.
  size_t failures = 0;
};

/// Reads a CSV file, with or without gzip: a column for each knob, the last one
/// `time_ms` (or `time_us`, `time_s`), empty where the configuration failed.
/// Numbers become ordered knobs, `true` and `false` booleans, anything else a
/// choice. Of equal rows the first counts. Errors name the file and the line.
llvm::Expected<Recording> readRecording(llvm::StringRef path);
llvm::Expected<Recording> parseRecording(llvm::StringRef text,
                                         llvm::StringRef path);

/// What one searcher did on a recording.
struct ReplayRun {
  /// The best time after 1, 2, ... evaluations; 0 while there is none.
  std::vector<double> bestSeconds;
  double askSeconds = 0; ///< All `ask` and `tell` together.
  std::string stopReason;
};

/// Asks for `budget` configurations one by one; ends early when the searcher
/// does.
ReplayRun replaySearch(const Recording &recording, Searcher &searcher,
                       size_t budget);

/// The expected best time of random search without repeats after 1, 2, ...
/// `budget` evaluations, exact; while all may have failed, of those draws that
/// found something.
std::vector<double> expectedRandomBest(const Recording &recording,
                                       size_t budget);

/// Several runs after so many evaluations.
struct ReplayPoint {
  size_t evaluations = 0;
  /// Of optimum / best found over the runs; 0 where nothing was found.
  double median = 0, lowerQuartile = 0, upperQuartile = 0;
  std::vector<double> fractions; ///< Of each run, in their order.
  double randomFraction = 0;     ///< optimum / expected best of random search.
  /// P(t) of Willemsen et al., "A methodology for comparing optimization
  /// algorithms for auto-tuning" (2024): (baseline - found) / (baseline -
  /// optimum), the baseline being the expected curve of random search and found
  /// the mean over the runs. 0 is random search, 1 the optimum at once.
  double score = 0;
};
ReplayPoint summarizeReplay(const Recording &recording,
                            llvm::ArrayRef<ReplayRun> runs, size_t evaluations);

} // namespace attune

#endif // ATTUNE_SEARCH_RECORDING_H
