//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// What a session found, as plain data. Everything a person or a program reads
// about a session is written from this: summary.json, the table, report.html,
// log.txt.

#ifndef ATTUNE_REPORT_SESSIONREPORT_H
#define ATTUNE_REPORT_SESSIONREPORT_H

#include "attune/Measure/Statistics.h"
#include "attune/Schedule/Configuration.h"
#include "attune/Schedule/Target.h"
#include "attune/Search/Trial.h"
#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace attune {

inline constexpr size_t outcomeCount = 8;

/// Trials by outcome.
struct TrialCounts {
  std::array<int64_t, outcomeCount> counts = {};

  int64_t &operator[](Outcome outcome) {
    return counts[static_cast<size_t>(outcome)];
  }
  int64_t operator[](Outcome outcome) const {
    return counts[static_cast<size_t>(outcome)];
  }
  int64_t total() const;
  int64_t failures() const { return total() - (*this)[Outcome::Ok]; }
};

/// An entry function, or the whole program, before and after, interleaved.
struct EntryReport {
  std::string name;
  double baselineSeconds = 0, tunedSeconds = 0;
  Speedup speedup;
  bool outputsAgree = false;
  std::string disagreement; ///< Where they do not, for people.
};

/// One failure of a kind, as an example.
struct FailureExample {
  Outcome outcome = Outcome::Crash;
  Configuration configuration;
  std::string reason;     ///< One line.
  std::string detailPath; ///< File with the full text; may be empty.
};

struct DispatchReport {
  std::string name; ///< Of the dispatch function.
  std::string fingerprint, rootOp, shapes;
  double share = 0; ///< Of the program's untuned time, 0 to 1.
  /// Why it was chosen or left out: `31.2 % of the time, 4.1 times its
  /// roofline`.
  std::string selection;
  double overRoofline = 0; ///< Untuned time over the least; 0: not known.
  int64_t count = 1;       ///< Calls in one run of the program.
  double baselineSeconds = 0, tunedSeconds = 0; ///< Of one call.
  Speedup speedup;
  std::optional<Configuration> configuration; ///< Nothing: left untuned.
  /// Why there is no configuration (`no gain in 200 trials`, `0.1 % of the
  /// time`), or why the search ended (`space exhausted`).
  std::string reason;
  TrialCounts trials;
  int64_t reusedTrials = 0; ///< Of these, from earlier sessions.
  /// Speed-up of the best so far after each trial, for the curve.
  std::vector<double> bestSpeedupAfterTrial;
  std::vector<FailureExample> failures; ///< One of each kind.
};

struct SessionReport {
  std::string model;   ///< Path as the user gave it.
  std::string command; ///< Shell-quoted.
  std::string resultFolder;
  std::string specName = "spec.mlir"; ///< In it: what won.
  std::string budget;                 ///< As given, or `default`.
  double elapsedSeconds = 0;
  double startedAt = 0; ///< Seconds since 1970.
  uint64_t seed = 0;
  int64_t threads = 1;
  Target target;
  std::map<std::string, std::string> versions; ///< `attune`, `llvm`, ...
  std::string stopReason; ///< `budget spent`, `interrupted`, ...
  /// The search goes on: `entries` and `program` are not known yet.
  bool isRunning = false;
  std::vector<EntryReport> entries;
  EntryReport program; ///< Over all entries.
  /// Of the tuned program over the backend's default flags, where the baseline
  /// has better ones.
  std::optional<Speedup> overDefault;
  std::vector<DispatchReport> dispatches;
  std::vector<std::string> notes;    ///< What Import made up or folded.
  std::vector<std::string> warnings; ///< What a person should worry about.
};

} // namespace attune

#endif // ATTUNE_REPORT_SESSIONREPORT_H
