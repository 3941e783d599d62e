//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// The ending: emit, apply, verify, compare, write.

#include "State.h"
#include "attune/Report/Report.h"
#include "attune/Support/Error.h"
#include "attune/Support/Files.h"

#include "llvm/Support/FileSystem.h"

#include <ctime>

using namespace llvm;

namespace attune::session {
namespace {

Spec specOf(const State &state) {
  std::vector<SpecEntry> entries;
  for (const DispatchState &dispatch : state.dispatches) {
    if (!dispatch.winner)
      continue;
    SpecEntry entry;
    entry.configuration = *dispatch.winner;
    entry.fingerprint = dispatch.dispatch->fingerprint;
    entry.root = dispatch.dispatch->rootOp;
    entry.shapes = dispatch.dispatch->shapes;
    entry.baselineSeconds = dispatch.baselineSeconds;
    entry.tunedSeconds = dispatch.tunedSeconds;
    entries.push_back(std::move(entry));
  }
  return makeSpec(state.parts.backend.dispatchVersion(), state.options.target,
                  state.options.threads, std::move(entries));
}

/// The untuned and the tuned program, interleaved in one fresh process.
Expected<EntryReport> compareRun(State &state, const EntryRun &run,
                                 StringRef tuned, double seconds) {
  EntryReport report;
  report.name = run.entry;
  if (!run.label.empty())
    report.name += " (" + run.label + ")";
  MeasureJob job = makeMeasureJob(tuned, state.untuned, run,
                                  state.options.threads, state.options.seed);
  job.entry = run.entry;
  job.timing.minSeconds = seconds;
  job.timing.maxSeconds = 2 * seconds;
  job.timing.minRepetitions = 10;
  job.timing.maxRepetitions = 1000;
  job.timing.loserPairs = 0;
  job.timing.intervalWidth = 0.02;
  auto executor = state.parts.createExecutor({});
  // Timing ends by itself; more than that is for starting and checking.
  Limits limits = runLimits(2 * state.programSeconds);
  limits.wallSeconds += 2 * seconds;
  auto result = measureSurely(*executor, job, limits, BelieveWrong::Twice);
  if (!result)
    return result.takeError();
  report.outputsAgree = result->outcome == Outcome::Ok;
  if (!report.outputsAgree) {
    report.disagreement = result->reason;
    return report;
  }
  auto speedup = pairedSpeedup(result->seconds, result->baselineSeconds,
                               state.options.seed);
  if (!speedup)
    return speedup.takeError();
  report.speedup = *speedup;
  report.baselineSeconds = median(result->baselineSeconds);
  report.tunedSeconds = report.baselineSeconds / speedup->value;
  return report;
}

/// One run of every entry, put together.
EntryReport combine(ArrayRef<EntryReport> entries) {
  EntryReport program;
  program.name = "program";
  program.outputsAgree = true;
  double low = 0, high = 0;
  for (const EntryReport &entry : entries) {
    program.baselineSeconds += entry.baselineSeconds;
    program.tunedSeconds += entry.tunedSeconds;
    low += entry.baselineSeconds / entry.speedup.low;
    high += entry.baselineSeconds / entry.speedup.high;
    program.outputsAgree &= entry.outputsAgree;
    if (program.disagreement.empty())
      program.disagreement = entry.disagreement;
  }
  if (program.tunedSeconds > 0)
    program.speedup = {program.baselineSeconds / program.tunedSeconds,
                       program.baselineSeconds / low,
                       program.baselineSeconds / high};
  return program;
}

void addDispatches(const State &state, SessionReport &report) {
  for (const DispatchState &dispatch : state.dispatches) {
    DispatchReport row;
    row.name = dispatch.dispatch->name;
    row.fingerprint = dispatch.dispatch->fingerprint;
    row.rootOp = dispatch.dispatch->rootOp;
    row.shapes = dispatch.dispatch->shapes;
    row.share = dispatch.share;
    row.selection = dispatch.selection;
    if (dispatch.rooflineSeconds > 0 && dispatch.callsPerRun > 0)
      row.overRoofline =
          dispatch.seconds / dispatch.callsPerRun / dispatch.rooflineSeconds;
    row.count = dispatch.callsPerRun;
    row.baselineSeconds = dispatch.baselineSeconds;
    row.tunedSeconds = dispatch.tunedSeconds;
    row.speedup = dispatch.speedup;
    row.configuration = dispatch.winner;
    row.reason = dispatch.reason;
    row.trials = dispatch.counts;
    row.reusedTrials = dispatch.reused;
    row.bestSpeedupAfterTrial = dispatch.bestSpeedupAfterTrial;
    row.failures = dispatch.failures;
    report.dispatches.push_back(std::move(row));
  }
}

std::string describeDrifts(ArrayRef<std::pair<std::string, Drift>> drifts) {
  auto worst = max_element(drifts, [](const auto &a, const auto &b) {
    return a.second.high / a.second.low < b.second.high / b.second.low;
  });
  return formatv("the machine's speed changed: the untuned {0} took {1:f2} to "
                 "{2:f2} times what it took first{3}. Candidates are compared "
                 "with it side by side, which evens this out",
                 worst->first, worst->second.low, worst->second.high,
                 drifts.size() == 1
                     ? ""
                     : formatv(", and {0} others changed by more than a "
                               "quarter",
                               drifts.size() - 1)
                           .str());
}

SessionReport describeSession(const State &state) {
  const SessionOptions &options = state.options;
  SessionReport report;
  report.model = options.model;
  report.command = options.command;
  report.resultFolder = options.resultFolder;
  report.specName = state.parts.backend.specName();
  report.budget = options.budget.text;
  report.elapsedSeconds = state.elapsed();
  report.startedAt = std::time(nullptr) - state.elapsed();
  report.seed = options.seed;
  report.threads = options.threads;
  report.target = options.target;
  report.versions = options.versions;
  report.stopReason = state.stopReason;
  report.notes = state.parts.backend.notes();
  append_range(report.notes, describeReuse(state));
  report.warnings = state.warnings;
  if (state.machineAtFirst) {
    const Environment &first = *state.machineAtFirst;
    report.notes.push_back("the machine: " +
                           describe(first, *state.machineLately));
    append_range(report.warnings, findDisturbances(first, *state.machineLately,
                                                   options.target.cores));
  }
  if (!state.drifts.empty())
    report.warnings.push_back(describeDrifts(state.drifts));
  return report;
}

/// Times of the dispatches of one library inside the program, all entries.
Expected<std::vector<double>> profileInside(State &state, Executor &executor,
                                            StringRef library) {
  std::vector<double> seconds(state.dispatches.size(), 0);
  for (const EntryRun &run : state.runs) {
    RunJob job;
    job.library = library.str();
    job.entry = run.entry;
    job.inputs = run.inputs;
    job.hooks = true;
    job.threads = state.options.threads;
    job.repetitions = 20;
    auto result =
        runSurely(executor, job, runLimits(20 * state.programSeconds));
    if (!result)
      return result.takeError();
    if (result->outcome != Outcome::Ok)
      return makeError("profiling: {0}", result->reason);
    for (size_t i = 0;
         i < std::min(seconds.size(), result->dispatchSeconds.size()); ++i)
      seconds[i] += result->dispatchSeconds[i];
  }
  return seconds;
}

/// The program with the winners of the moment in it.
struct Tuned {
  Spec spec;
  std::string library;
};

void dropWinner(DispatchState &dispatch, StringRef reason) {
  dispatch.winner.reset();
  dispatch.speedup = {};
  dispatch.tunedSeconds = dispatch.baselineSeconds;
  dispatch.reason = reason.str();
}

/// Winners in variants that are not made any more go with them.
bool dropUnapplied(State &state, const ApplyResult &applied) {
  bool dropped = false;
  for (const AppliedEntry &entry : applied.entries)
    for (DispatchState &dispatch : state.dispatches)
      if (entry.dispatches.empty() && dispatch.winner &&
          dispatch.dispatch->fingerprint == entry.entry->fingerprint) {
        dropWinner(dispatch, "its sizes gain nothing over the general way");
        dropped = true;
      }
  return dropped;
}

/// With a variant for each of `sizes`.
Expected<Tuned> buildTuned(State &state, std::vector<EntrySizes> sizes) {
  bool isWhole = sizes == variantsFor(state.inputs);
  Tuned tuned{specOf(state), ""};
  tuned.spec.sizes = sizes;
  ApplyResult applied;
  auto library = state.parts.backend.buildTuned(tuned.spec, applied, "");
  if (!library)
    return library.takeError();
  if (!isWhole && dropUnapplied(state, applied))
    return buildTuned(state, std::move(sizes));
  if (!applied.appliedAll())
    return makeError("the spec does not apply to the program it was made for");
  tuned.library = std::move(*library);
  return tuned;
}

/// The variants that are faster than the general way, for certain.
std::vector<EntrySizes> findGoodSizes(const State &state,
                                      const SessionReport &report) {
  std::vector<EntrySizes> good;
  for (const EntrySizes &sizes : variantsFor(state.inputs)) {
    bool isGood = true;
    for (auto [input, entry] : zip_equal(state.inputs, report.entries))
      if (input.entry == sizes.entry && input.sizes == sizes.sizes)
        isGood &= entry.outputsAgree && entry.speedup.low > 1;
    if (isGood)
      good.push_back(sizes);
  }
  return good;
}

Error rebuildIfDropped(State &state, Tuned &tuned) {
  size_t winners =
      count_if(state.dispatches, [](const DispatchState &dispatch) {
        return dispatch.winner.has_value();
      });
  if (winners == tuned.spec.entries.size())
    return Error::success();
  return buildTuned(state, tuned.spec.sizes).moveInto(tuned);
}

/// What wins alone may lose inside the program, where caches hold other data: a
/// winner stays if it is faster there, too, by the median of several rounds.
Error keepWinnersInside(State &state, Tuned &tuned) {
  bool isAlone = all_of(state.dispatches, [](const DispatchState &dispatch) {
    return dispatch.dispatch->isProgram;
  });
  if (tuned.spec.entries.empty() || isAlone)
    return Error::success();
  std::vector<std::vector<double>> before(state.dispatches.size()),
      after(state.dispatches.size());
  auto executor = state.parts.createExecutor({});
  for (int round = 0; round < 5; ++round)
    for (bool isTuned : {false, true}) {
      auto seconds = profileInside(state, *executor,
                                   isTuned ? tuned.library : state.baseline);
      if (!seconds)
        return seconds.takeError();
      for (auto [index, value] : enumerate(*seconds))
        (isTuned ? after : before)[index].push_back(value);
    }
  for (auto [index, dispatch] : enumerate(state.dispatches)) {
    if (!dispatch.winner ||
        median(after[index]) < 0.995 * median(before[index]))
      continue;
    dropWinner(dispatch, "faster alone, not inside the program");
  }
  return rebuildIfDropped(state, tuned);
}

/// The tuned program: measured, and compared with the reference.
Expected<SessionReport> measureTuned(State &state, const Tuned &tuned,
                                     double seconds) {
  SessionReport report = describeSession(state);
  for (const EntryRun &run : state.runs) {
    auto entry = compareRun(state, run, tuned.library, seconds);
    if (!entry)
      return entry.takeError();
    // Nothing was found, nothing was changed: there is nothing to compare.
    if (tuned.spec.entries.empty() && tuned.spec.sizes.empty()) {
      entry->speedup = {1, 1, 1};
      entry->tunedSeconds = entry->baselineSeconds;
    }
    report.entries.push_back(std::move(*entry));
  }
  report.program = combine(report.entries);
  return report;
}

} // namespace

Expected<SessionReport> finish(State &state, StringRef folder,
                               double comparisonSeconds) {
  ProgressState progress;
  progress.stage = "verifying";
  progress.elapsedSeconds = state.elapsed();
  state.parts.progress.update(progress);
  auto tuned = buildTuned(state, variantsFor(state.inputs));
  if (!tuned)
    return tuned.takeError();
  if (Error error = keepWinnersInside(state, *tuned))
    return std::move(error);
  auto report = measureTuned(state, *tuned, comparisonSeconds);
  if (!report)
    return report.takeError();
  std::vector<EntrySizes> sizes = findGoodSizes(state, *report);
  if (sizes != tuned->spec.sizes && report->program.outputsAgree) {
    if (Error error = buildTuned(state, std::move(sizes)).moveInto(*tuned))
      return std::move(error);
    report = measureTuned(state, *tuned, comparisonSeconds);
    if (!report)
      return report.takeError();
  }
  // A spec never makes the program slower, and never makes it wrong.
  // Where candidates are whole programs, they may have been next to another one
  // than the best that there is without a spec.
  bool isWithin = any_of(state.dispatches, [](const DispatchState &dispatch) {
    return dispatch.winner && dispatch.dispatch->isProgram;
  });
  bool slower = report->program.speedup.high < 1 ||
                (isWithin && report->program.speedup.value <= 1);
  if ((!tuned->spec.entries.empty() || !tuned->spec.sizes.empty()) &&
      (slower || !report->program.outputsAgree)) {
    std::string reason =
        slower ? "the whole program was slower with what won alone"
               : "the whole program was wrong with what won alone: " +
                     report->program.disagreement;
    state.warnings.push_back(reason);
    for (DispatchState &dispatch : state.dispatches)
      if (dispatch.winner)
        dropWinner(dispatch, reason);
    if (Error error = buildTuned(state, {}).moveInto(*tuned))
      return std::move(error);
    report = measureTuned(state, *tuned, comparisonSeconds);
    if (!report)
      return report.takeError();
  }
  addDispatches(state, *report);
  report->elapsedSeconds = state.elapsed();
  const Backend &backend = state.parts.backend;
  if (Error error = backend.writeSpec(
          tuned->spec, (folder + "/" + backend.specName()).str()))
    return std::move(error);
  if (Error error = writeReport(*report, folder))
    return std::move(error);
  return report;
}

void keepLog(State &state) {
  constexpr double secondsBetween = 5;
  double now = state.parts.clock.now();
  if (state.logFailed || now - state.logWrittenAt < secondsBetween)
    return;
  state.logWrittenAt = now;
  SessionReport report = describeSession(state);
  report.isRunning = true;
  addDispatches(state, report);
  if (Error error = writeLog(report, state.options.resultFolder)) {
    state.logFailed = true;
    state.parts.progress.note(
        formatv("warning: {0}; the log is written at the end",
                toString(std::move(error)))
            .str());
  }
}

Error rehearse(State &state) {
  StringRef results = state.options.resultFolder;
  std::string folder = results.str();
  bool isTaken =
      sys::fs::exists(results + "/" + state.parts.backend.specName());
  if (isTaken)
    folder += "/rehearsal.tmp";
  if (isTaken)
    if (Error error = createFolder(folder))
      return error;
  Error error = finish(state, folder, /*comparisonSeconds=*/0.05).takeError();
  if (isTaken)
    sys::fs::remove_directories(folder);
  return error;
}

} // namespace attune::session
