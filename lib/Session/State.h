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
struct EntryRun : CheckedInputs {
  std::string entry, label;
};

/// A dispatch while it is tuned.
struct DispatchState {
  const BackendDispatch *dispatch = nullptr;
  double seconds = 0; ///< In one run of the program, all calls.
  double share = 0;
  int64_t callsPerRun = 0;
  bool chosen = false;
  std::string selection;      ///< Why it was chosen or not.
  double gainSeconds = 0;     ///< Of `seconds`, what could be saved at most.
  double rooflineSeconds = 0; ///< The least that one call can take.
  std::string baseline;       ///< Library.
  CheckedInputs inputs;       ///< With these it is measured.
  /// With these the finalists are checked, too.
  std::vector<CheckedInputs> moreInputs;
  std::optional<Configuration> winner;
  Speedup speedup;
  double baselineSeconds = 0, tunedSeconds = 0; ///< Of one call.
  std::string reason;
  TrialCounts counts;
  int64_t reused = 0; ///< Trials of earlier sessions.
  std::vector<double> bestSpeedupAfterTrial;
  std::vector<FailureExample> failures;
};

struct State {
  SessionParts parts;
  const SessionOptions &options;
  std::vector<EntryInputs> inputs;
  double startedAt = 0; ///< On the clock.
  int64_t sessionId = 0;
  std::string sessionUid;
  /// Of trials that this session made before it was interrupted, as far as it
  /// has come to them again: they count as if they were made just now.
  double replayedSeconds = 0;
  int64_t replayedTrials = 0;
  int64_t trialsMade = 0;     ///< Of the budget; those of others cost nothing.
  StoredTrials leftOut;       ///< Counts of trials that do not apply any more.
  std::string unwritablePath; ///< Of the file, once trials are in memory.
  /// Nothing of before is in memory either.
  bool startedAfresh = false;
  std::unique_ptr<Executor> executor;
  std::vector<EntryRun> runs;
  std::string baseline;      ///< Library of the whole program.
  std::string untuned;       ///< The same without variants for sizes.
  double programSeconds = 0; ///< Of one run, untuned, all entries.
  /// What the reference took for the slowest input; the untuned program takes
  /// less.
  double referenceSeconds = 0;
  std::vector<DispatchState> dispatches;
  /// Configurations that won, newest last: tried first on the next dispatch.
  std::vector<Configuration> earlierWinners;
  std::string stopReason;
  std::vector<std::string> warnings;
  /// The machine at the begin and lately; nothing before the first sample.
  std::optional<Environment> machineAtFirst, machineLately;
  /// Of log.txt on the clock, and whether it could be.
  double logWrittenAt = 0;
  bool logFailed = false;
  /// Dispatches whose untuned times changed while they were tuned.
  std::vector<std::pair<std::string, Drift>> drifts;

  double elapsed() const {
    return parts.clock.now() - startedAt + replayedSeconds;
  }
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

/// A dispatch in the database.
DispatchKey keyOf(const DispatchState &dispatch);

/// What the final of one dispatch may take.
double finalSeconds(const State &state);

/// Time limits of a run process, from what the job is expected to take.
Limits runLimits(double expectedSeconds);

/// Begins a session in the database, or takes over the one that this command
/// began before it was interrupted.
llvm::Error openSession(State &state);

/// Writes to the database; in memory when that is what the user wants of a
/// database that cannot be written any more.
llvm::Error store(State &state,
                  llvm::function_ref<llvm::Error(Database &)> write);

/// A trial is on disk when this returns.
llvm::Error recordTrial(State &state, const TrialRecord &record);

/// A sample of the machine.
llvm::Error recordEnvironment(State &state);

/// Trials that are only in memory go to the file if it can be written again.
void saveMemory(State &state);

/// Lines for the report: what was reused, what could not be.
std::vector<std::string> describeReuse(const State &state);

/// Inputs to files, results of the reference, and the untuned program against
/// them.
llvm::Error prepareRuns(State &state);

/// The time of each dispatch in the untuned program, and which are tuned.
llvm::Error profileProgram(State &state);

/// Inputs, reference and baseline of one dispatch; an error is this dispatch's.
llvm::Error prepareDispatch(State &state, DispatchState &dispatch);

/// Other values for its inputs, as far as the untuned dispatch is right with
/// them: random again, all ones, large, small.
llvm::Error prepareMoreInputs(State &state, DispatchState &dispatch);

/// Jobs that the session cannot do without: what kills one of them once, or
/// twice, is taken for an accident.
llvm::Expected<RunResult> runSurely(Executor &executor, const RunJob &job,
                                    const Limits &limits);
/// When a wrong result is believed.
enum class BelieveWrong {
  Once,
  Twice, ///< After one, two right ones are wanted.
  WhenRepeated,
};
llvm::Expected<Measurement> measureSurely(Executor &executor,
                                          const MeasureJob &job,
                                          const Limits &limits,
                                          BelieveWrong wrong);

/// Runs a candidate next to the baseline, checked with the dispatch's inputs
/// and `moreInputs`.
llvm::Expected<Trial> measureCandidate(
    State &state, const DispatchState &dispatch,
    const Configuration &configuration, const CompiledCandidate &candidate,
    const TimingOptions &timing, llvm::ArrayRef<CheckedInputs> moreInputs = {});

/// The first failure of a kind stays as the dispatch's example, and all that
/// was printed in a file of the result folder.
void keepFailure(State &state, DispatchState &dispatch, const Trial &trial);

/// A part of the budget.
struct Slice {
  double seconds = 0;
  int64_t trials = 0;
};

/// The search on one dispatch, in slices of the budget. Trials that this
/// session made before it was interrupted are not made again.
class DispatchSearch {
public:
  virtual ~DispatchSearch() = default;
  /// Searches until the slice is used or nothing better is to be expected.
  virtual llvm::Error search(const Slice &slice) = 0;
  /// Only its slice came to an end.
  virtual bool canGoOn() const = 0;
  /// Seconds of one run of the program that may still be saved, less the longer
  /// nothing was.
  virtual double promisedSeconds() const = 0;
  /// Compares the best again in fresh processes, and is done with it.
  virtual llvm::Error conclude() = 0;
};
std::unique_ptr<DispatchSearch> startSearch(State &state,
                                            DispatchState &dispatch);

/// Searches all chosen dispatches, each in proportion to what it may still
/// give, until all but `ending` seconds and those of the finals are used.
llvm::Error searchDispatches(State &state, double ending);

/// Spec, tuned program, comparison, report, written into `folder`;
/// `comparisonSeconds` for each entry.
llvm::Expected<SessionReport> finish(State &state, llvm::StringRef folder,
                                     double comparisonSeconds);

/// log.txt and log.jsonl with what is known so far, if they are some seconds
/// old. That they cannot be written is said once and stops nothing.
void keepLog(State &state);

/// The same without winners, before the search: whatever may fail fails now.
/// Results of an earlier session stay until there are better ones.
llvm::Error rehearse(State &state);

} // namespace attune::session

#endif // ATTUNE_LIB_SESSION_STATE_H
