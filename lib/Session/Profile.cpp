//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Where the program's time goes, and which dispatches are worth tuning.

#include "Prepare.h"
#include "attune/Support/Error.h"

#include <algorithm>
#include <cmath>

using namespace llvm;

namespace attune::session {

/// Times of one run of an entry: its own, and those of its dispatches.
struct RunTimes {
  double seconds = 0;
  double least = 0; ///< The quickest of many: what else runs does not count.
  std::vector<double> dispatchSeconds, dispatchCalls;
};

static Expected<RunTimes> profileRun(State &state, const EntryRun &run) {
  RunJob job;
  job.library = state.baseline;
  job.entry = run.entry;
  job.inputs = run.inputs;
  job.hooks = true;
  job.repetitions = 3;
  auto first =
      runSurely(*state.executor, job, runLimits(3 * state.referenceSeconds));
  if (!first)
    return first.takeError();
  double once = 0;
  if (first->outcome == Outcome::Ok && !first->seconds.empty())
    once = *std::min_element(first->seconds.begin(), first->seconds.end());
  job.repetitions = std::clamp<int64_t>(0.5 / std::max(once, 1e-6), 5, 1000);
  auto result =
      runSurely(*state.executor, job, runLimits(job.repetitions * once));
  if (!result)
    return result.takeError();
  if (result->outcome != Outcome::Ok)
    return failure("profiling", result->reason, result->detail);
  return RunTimes{
      median(result->seconds),
      *std::min_element(result->seconds.begin(), result->seconds.end()),
      result->dispatchSeconds, result->dispatchCalls};
}

/// Adds so many runs of an entry.
static void addRuns(const RunTimes &times, int64_t runs,
                    SessionProfile &profile) {
  size_t known =
      std::min(times.dispatchSeconds.size(),
               std::min(times.dispatchCalls.size(), profile.dispatches.size()));
  for (size_t i = 0; i < known; ++i) {
    SessionProfile::Dispatch &dispatch = profile.dispatches[i];
    dispatch.seconds += runs * times.dispatchSeconds[i];
    dispatch.calls += runs * std::llround(times.dispatchCalls[i]);
  }
  profile.programSeconds += runs * times.seconds;
}

/// All sizes that an entry is tuned for are meant: the quick ones run so often
/// that they count as much as the slowest.
static int64_t runsOf(const State &state, ArrayRef<RunTimes> times,
                      size_t index) {
  if (state.inputs[index].sizes.empty())
    return 1;
  double longest = times[index].least;
  for (auto [run, other] : zip_equal(state.runs, times))
    if (run.entry == state.runs[index].entry)
      longest = std::max(longest, other.least);
  return std::max<int64_t>(
      1, std::llround(longest / std::max(times[index].least, 1e-7)));
}

static Expected<SessionProfile> measureProfile(State &state) {
  state.parts.progress.update({"profiling"});
  SessionProfile profile;
  for (const DispatchState &state : state.dispatches)
    profile.dispatches.push_back({keyOf(state), state.dispatch->name});
  std::vector<RunTimes> times;
  for (const EntryRun &run : state.runs) {
    auto measured = profileRun(state, run);
    if (!measured)
      return measured.takeError();
    times.push_back(std::move(*measured));
  }
  for (size_t i = 0; i < times.size(); ++i)
    addRuns(times[i], runsOf(state, times, i), profile);
  // Hooks and noise may make the parts a little more than the whole.
  double parts = 0;
  for (const SessionProfile::Dispatch &dispatch : profile.dispatches)
    parts += dispatch.seconds;
  profile.programSeconds = std::max(profile.programSeconds, parts);
  return profile;
}

/// What each dispatch takes in the program.
static void applyProfile(State &state, const SessionProfile &profile) {
  state.programSeconds = profile.programSeconds;
  for (DispatchState &dispatch : state.dispatches)
    for (const SessionProfile::Dispatch &row : profile.dispatches)
      if (row.key.fingerprint == keyOf(dispatch).fingerprint) {
        dispatch.seconds = row.seconds;
        dispatch.callsPerRun = row.calls;
        dispatch.share = profile.programSeconds > 0
                             ? row.seconds / profile.programSeconds
                             : 0;
      }
}

static DispatchFacts factsOf(const BackendDispatch &dispatch) {
  return {dispatch.name,   dispatch.fingerprint, dispatch.rootOp,
          dispatch.shapes, dispatch.location,    dispatch.operations,
          dispatch.bytes};
}

static std::vector<DispatchFacts> factsOf(const State &state) {
  std::vector<DispatchFacts> facts;
  for (const DispatchState &dispatch : state.dispatches)
    facts.push_back(factsOf(*dispatch.dispatch));
  return facts;
}

/// A profile from elsewhere, as if it had been measured here.
static SessionProfile takeProfile(State &state, const Profile &given) {
  Profile once = mergeProfiles({{given, 1}});
  std::vector<std::string> unmatched;
  std::vector<ProfileRow> rows = matchProfile(once, factsOf(state), unmatched);
  SessionProfile profile;
  profile.programSeconds = once.totalSeconds();
  for (auto [dispatch, row] : zip_equal(state.dispatches, rows))
    profile.dispatches.push_back({keyOf(dispatch), dispatch.dispatch->name,
                                  row.seconds,
                                  static_cast<int64_t>(std::ceil(row.calls))});
  if (!unmatched.empty())
    state.warnings.push_back(
        formatv("the profile has {0} rows that belong to no dispatch of this "
                "program, such as {1}",
                unmatched.size(), unmatched.front())
            .str());
  return profile;
}

/// Those that could gain most.
static void chooseDispatches(State &state, double programSeconds) {
  std::vector<ProfileRow> rows;
  for (DispatchState &dispatch : state.dispatches) {
    dispatch.baselineSeconds =
        dispatch.callsPerRun ? dispatch.seconds / dispatch.callsPerRun : 0;
    dispatch.tunedSeconds = dispatch.baselineSeconds;
    ProfileRow &row = rows.emplace_back();
    row.calls = dispatch.callsPerRun;
    row.seconds = dispatch.seconds;
  }
  HotOptions options;
  options.coverage = state.options.coverage;
  std::vector<DispatchFacts> facts = factsOf(state);
  MachinePeaks peaks = state.options.peaks;
  if (!arePlausible(peaks, facts, rows))
    peaks = {}; // measured while the machine was busy
  for (HotDispatch &hot :
       chooseHot(facts, rows, programSeconds, peaks, options)) {
    DispatchState &dispatch = state.dispatches[hot.number];
    dispatch.chosen = hot.chosen;
    dispatch.gainSeconds = hot.gainSeconds;
    dispatch.rooflineSeconds = rooflineSeconds(facts[hot.number], peaks);
    dispatch.selection = std::move(hot.reason);
    if (!dispatch.chosen)
      dispatch.reason = dispatch.selection;
  }
}

DispatchKey keyOf(const DispatchState &dispatch) {
  return {dispatch.dispatch->fingerprint, "", dispatch.dispatch->rootOp,
          dispatch.dispatch->shapes};
}

Error profileProgram(State &state) {
  if (Error error = stopIfInterrupted())
    return error;
  for (const BackendDispatch &dispatch : state.parts.backend.dispatches()) {
    state.dispatches.emplace_back();
    state.dispatches.back().dispatch = &dispatch;
  }
  // A session that goes on must come to the same dispatches in the same order.
  auto profile = state.parts.database.sessionProfile(state.sessionId);
  if (!profile)
    return profile.takeError();
  if (!*profile) {
    Expected<SessionProfile> measured =
        state.options.profile ? takeProfile(state, *state.options.profile)
                              : measureProfile(state);
    if (!measured)
      return measured.takeError();
    if (Error error = store(state, [&](Database &database) {
          return database.recordProfile(state.sessionId, *measured);
        }))
      return error;
    *profile = std::move(*measured);
  }
  applyProfile(state, **profile);
  chooseDispatches(state, (*profile)->programSeconds);
  return Error::success();
}

} // namespace attune::session
