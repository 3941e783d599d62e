//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// The jobs of the run process and their answers, as the two sides see them; the
// JSON is in docs/protocol.md. Paths are absolute.

#ifndef ATTUNE_MEASURE_JOBS_H
#define ATTUNE_MEASURE_JOBS_H

#include "attune/Measure/Check.h"
#include "attune/Measure/Timing.h"
#include "attune/Support/Outcome.h"
#include "llvm/Support/JSON.h"
#include <string>
#include <vector>

namespace attune {

/// Values to call an entry with, and what is right. Files are .npy.
struct CheckedInputs {
  std::vector<std::string> inputs; ///< One an argument.
  /// One a result. Empty: the results of the baseline, for comparing two
  /// versions of a program; with no baseline either, results are not checked.
  std::vector<std::string> references;
  std::vector<Tolerance> tolerances; ///< One a result; missing: exact.
};

/// Check a candidate's results, then time it next to the baseline.
/// The inputs that it has itself are those that it is timed with.
struct MeasureJob : CheckedInputs {
  std::string candidate; ///< A compiled library (content never changes).
  std::string baseline;  ///< The same; empty: times alone.
  std::string entry = "main";
  /// It is checked with these before: values that show other errors.
  std::vector<CheckedInputs> moreInputs;
  TimingOptions timing; ///< minRepetitions 0: check only.
  unsigned threads = 0; ///< Of OpenMP; 0: as the library wants.
};

/// What became of a candidate. `seconds` as in Timing.h.
struct Measurement {
  Outcome outcome = Outcome::Ok;
  std::string reason; ///< One line, when not ok.
  std::string detail; ///< What it printed.
  std::vector<double> seconds, baselineSeconds;
  std::vector<double> maxErrors; ///< One a result.
  bool stoppedEarly = false;     ///< A clear loser.
  /// Of one call, where the machine counts them: as many as seconds.
  std::vector<double> cycles, baselineCycles;
};

/// Run a program once or more and keep its results.
struct RunJob {
  std::string library;
  std::string entry = "main";
  std::vector<std::string> inputs;  ///< .npy
  std::vector<std::string> outputs; ///< .npy to write; empty: dropped.
  unsigned repetitions = 1;
  bool checked = false;  ///< Guarded buffers, workspace filled with NaN.
  bool hooks = false;    ///< Time each dispatch.
  bool counters = false; ///< With hooks: the processor's counters, too.
  /// With hooks: a file for what was recorded, a JSON object a line with
  /// `dispatch` (its number), `thread`, `beginSeconds`, `endSeconds` and, with
  /// counters, `counters`; the first 100000. Empty: none.
  std::string events;
  unsigned threads = 0;
};

struct RunResult {
  Outcome outcome = Outcome::Ok;
  std::string reason, detail;
  std::vector<double> seconds; ///< Of each repetition.
  /// Per dispatch, in the signature's order, per repetition: the median of the
  /// seconds of all its calls, and how many calls on average.
  std::vector<double> dispatchSeconds;
  std::vector<double> dispatchCalls;
  /// With counters: cycles, instructions, cache misses and branch misses of the
  /// first dispatch, then of the second, ..., per repetition on average.
  std::vector<double> dispatchCounters;
};

/// A job with the timing of a search's trial. There is one place that fills
/// jobs, so that no caller forgets a field.
MeasureJob makeMeasureJob(llvm::StringRef candidate, llvm::StringRef baseline,
                          const CheckedInputs &inputs, unsigned threads,
                          uint64_t seed);

llvm::json::Object toJSON(const MeasureJob &job);
llvm::Expected<MeasureJob> measureJobFromJSON(const llvm::json::Object &json);
llvm::json::Object toJSON(const RunJob &job);
llvm::Expected<RunJob> runJobFromJSON(const llvm::json::Object &json);

/// Answers; "outcome" and "reason" in them.
llvm::json::Object toJSON(const Measurement &measurement);
llvm::json::Object toJSON(const RunResult &result);

} // namespace attune

#endif // ATTUNE_MEASURE_JOBS_H
