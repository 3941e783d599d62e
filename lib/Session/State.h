//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// What a session knows while it runs; its steps are functions on it. Internal.

#ifndef ATTUNE_LIB_SESSION_STATE_H
#define ATTUNE_LIB_SESSION_STATE_H

#include "attune/Session/Session.h"

namespace attune::session {

/// One run of an entry: files for its inputs, and what is right.
struct EntryRun {
  std::string entry, label;
  std::vector<std::string> inputs, references; ///< .npy
  std::vector<Tolerance> tolerances;
};

/// A dispatch while it is tuned.
struct DispatchState {
  const BackendDispatch *dispatch = nullptr;
  double seconds = 0; ///< In one run of the program, all calls.
  double share = 0;
  int64_t callsPerRun = 0;
  bool chosen = false;
  std::string baseline; ///< Library.
  std::vector<std::string> inputs, references;
  std::vector<Tolerance> tolerances;
  std::optional<Configuration> winner;
  Speedup speedup;
  double baselineSeconds = 0, tunedSeconds = 0; ///< Of one call.
  std::string reason;
  TrialCounts counts;
  int64_t reused = 0;
  std::vector<double> bestSpeedupAfterTrial;
  std::vector<FailureExample> failures;
};

struct State {
  SessionParts parts;
  const SessionOptions &options;
  std::vector<EntryInputs> inputs;
  double startedAt = 0; ///< On the clock.
  int64_t sessionId = 0;
  double spentBefore = 0; ///< Seconds of an earlier, interrupted session.
  int64_t trialsMade = 0; ///< Of the budget; reused ones cost nothing.
  std::unique_ptr<Executor> executor;
  std::vector<EntryRun> runs;
  std::string baseline; ///< Library of the whole program.
  std::vector<DispatchState> dispatches;
  /// Configurations that won, newest last: tried first on the next dispatch.
  std::vector<Configuration> earlierWinners;
  std::string stopReason;
  std::vector<std::string> warnings;

  double elapsed() const { return parts.clock.now() - startedAt + spentBefore; }
  double left() const { return options.budget.seconds - elapsed(); }
  /// What is left of a budget in trials; a great number without one.
  int64_t trialsLeft() const {
    int64_t limit = options.budget.trials.value_or(INT64_MAX);
    return std::max<int64_t>(0, limit - trialsMade);
  }
  std::string file(const llvm::Twine &name) const {
    return (options.workFolder + "/" + name).str();
  }
};

/// Time limits of a run process, from what one run takes.
Limits runLimits(double expectedSeconds);

/// Inputs to files, results of the reference, and the untuned program against
/// them.
llvm::Error prepareRuns(State &state);

/// The time of each dispatch in the untuned program, and which are tuned.
llvm::Error profileProgram(State &state);

/// Inputs, reference and baseline of one dispatch; an error is this dispatch's.
llvm::Error prepareDispatch(State &state, DispatchState &dispatch);

/// Searches one dispatch for `seconds`, then compares the best again.
llvm::Error tuneDispatch(State &state, DispatchState &dispatch, double seconds);

/// Spec, tuned program, comparison, report. With no winners it is the rehearsal
/// of the ending; `comparisonSeconds` for each entry.
llvm::Expected<SessionReport> finish(State &state, double comparisonSeconds);

} // namespace attune::session

#endif // ATTUNE_LIB_SESSION_STATE_H
