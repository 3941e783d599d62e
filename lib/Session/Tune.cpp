//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// The loop over trials of one dispatch.

#include "Accidents.h"
#include "DispatchFinal.h"
#include "Replay.h"
#include "State.h"
#include "attune/Search/Searcher.h"
#include "attune/Support/Error.h"
#include "attune/Support/Files.h"
#include "attune/Support/Interrupt.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include <algorithm>
#include <cmath>
#include <random>

using namespace llvm;

namespace attune::session {
namespace {

/// One schedule's space with its searcher and what it has found.
struct Line {
  CandidateSpace candidates;
  std::unique_ptr<Searcher> searcher;
  double bestRatio = std::numeric_limits<double>::infinity();
  int64_t trials = 0;
  /// To be tried before the searcher is asked.
  std::vector<Configuration> first;
};

class DispatchTuner final : public DispatchSearch {
public:
  DispatchTuner(State &state, DispatchState &dispatch)
      : state(state), dispatch(dispatch),
        random(state.options.seed + dispatch.dispatch->number) {}

  Error search(const Slice &slice) override {
    deadline = state.elapsed() + slice.seconds;
    lastTrial = slice.trials < INT64_MAX - state.trialsMade
                    ? state.trialsMade + slice.trials
                    : INT64_MAX;
    isSliceUsed = false;
    if (!isOpened)
      if (Error error = openLines())
        return error;
    isOpened = true;
    if (lines.empty())
      endReason = "no schedule with anything to choose fits";
    else if (settled)
      endReason = "tuned for another program already";
    else if (Error error = searchLoop())
      return error;
    if (isSliceUsed)
      shareBest();
    return Error::success();
  }

  bool canGoOn() const override { return isSliceUsed; }

  double promisedSeconds() const override {
    double best = dispatch.seconds * std::min(1.0, bestRatio);
    double least = dispatch.rooflineSeconds * dispatch.callsPerRun;
    return std::max(0.0, best - least) / (1 + sinceImprovement / 20.0);
  }

  Error conclude() override {
    if (std::exchange(isSliceUsed, false))
      endReason = "budget spent";
    if (lines.empty()) {
      dispatch.reason = endReason;
      return Error::success();
    }
    if (Error error = chooseWinner())
      return error;
    // Until then, the same command comes back to it.
    if (interruptRequested() != Interrupt::None || isBroken)
      return Error::success();
    return store(state, [&](Database &database) -> Error {
      if (state.startedAfresh)
        return Error::success();
      return database.closeDispatch(state.sessionId, keyOf(dispatch),
                                    endReason);
    });
  }

private:
  /// What is best here may be good on the next dispatch, too.
  void shareBest() {
    auto best = findBest();
    if (best == finalists.end() || best->ratio > 1 - state.options.minimumGain)
      return;
    if (!llvm::is_contained(state.earlierWinners, best->configuration))
      state.earlierWinners.push_back(best->configuration);
  }

  Error openLines() {
    auto spaces = state.parts.backend.spaces(*dispatch.dispatch);
    if (!spaces)
      return spaces.takeError();
    for (CandidateSpace &space : *spaces) {
      scheduleVersions[space.schedule] = space.version;
      if (space.space.count() < 2)
        continue;
      auto line = std::make_unique<Line>(Line{std::move(space), nullptr});
      for (const Configuration &winner : reverse(state.earlierWinners))
        if (line->candidates.space.contains(winner) && line->first.size() < 3)
          line->first.push_back(winner);
      line->first.push_back(line->candidates.defaultConfiguration);
      // The searcher refers to the space, which must not move any more.
      auto searcher = createSearcher(
          state.options.search, line->candidates.space,
          state.options.seed + lines.size(), {},
          [this](StringRef text) { state.parts.progress.note(text.str()); });
      if (!searcher)
        return searcher.takeError();
      line->searcher = std::move(*searcher);
      lines.push_back(std::move(line));
    }
    return reuseTrials();
  }

  /// Trials of earlier sessions under equal conditions are known from the
  /// start; those of this one, before it was interrupted, when they are asked
  /// for.
  Error reuseTrials() {
    Conditions conditions{state.options.target, state.options.threads,
                          state.options.versions};
    DispatchHistory history;
    if (Error error = store(state, [&](Database &database) -> Error {
          return database
              .openDispatch(state.sessionId, keyOf(dispatch), conditions,
                            scheduleVersions)
              .moveInto(history);
        }))
      return error;
    for (const TrialRecord &record : history.earlier.records) {
      Line *line = lineOf(record.trial.configuration.schedule);
      if (!line || record.phase == Phase::Final ||
          !line->candidates.space.contains(record.trial.configuration))
        continue;
      ++dispatch.reused;
      learn(*line, record.trial);
    }
    replay = Replay(std::move(history.own));
    endedBefore = std::move(history.endReason);
    settled = history.settledElsewhere && !finalists.empty() &&
              !replay.has(Phase::Search);
    noteReuse(history.earlier);
    return Error::success();
  }

  void noteReuse(const StoredTrials &earlier) {
    state.leftOut.otherTarget += earlier.otherTarget;
    state.leftOut.otherThreads += earlier.otherThreads;
    state.leftOut.otherVersions += earlier.otherVersions;
    state.leftOut.otherSchedule += earlier.otherSchedule;
    const std::string &name = dispatch.dispatch->name;
    if (std::string skipped = earlier.describeSkipped(); !skipped.empty())
      state.parts.progress.note(name + ": " + skipped);
    if (settled)
      state.parts.progress.note(
          formatv("{0}: tuned for another program already ({1} trials)", name,
                  dispatch.reused)
              .str());
  }

  Line *lineOf(StringRef schedule) {
    for (auto &line : lines)
      if (line->candidates.schedule == schedule)
        return line.get();
    return nullptr;
  }

  void learn(Line &line, const Trial &trial) {
    line.searcher->tell(trial);
    tried.insert(toString(trial.configuration));
    ++line.trials;
    ++dispatch.counts[trial.outcome];
    outcomes.emplace_back(trial.configuration, trial.outcome);
    if (trial.outcome == Outcome::Ok && !trial.baselineSeconds.empty()) {
      double ratio = std::exp(logOfRatio(trial.seconds, trial.baselineSeconds));
      baselineTimes.push_back(median(trial.baselineSeconds));
      finalists.push_back({trial.configuration, ratio});
      line.bestRatio = std::min(line.bestRatio, ratio);
      if (ratio < bestRatio * 0.99)
        sinceImprovement = 0;
      bestRatio = std::min(bestRatio, ratio);
    } else if (trial.outcome != Outcome::Ok) {
      addExample(trial);
    }
    ++sinceImprovement;
    dispatch.bestSpeedupAfterTrial.push_back(
        std::isfinite(bestRatio) ? 1 / bestRatio : 1);
  }

  void addExample(const Trial &trial) { keepFailure(state, dispatch, trial); }

  /// Mostly the line with the best so far; each keeps getting a chance.
  Line *chooseLine() {
    std::vector<Line *> open;
    for (auto &line : lines)
      if (!line->first.empty() || line->searcher->stopReason().empty())
        open.push_back(line.get());
    if (open.empty())
      return nullptr;
    for (Line *line : open)
      if (!line->first.empty())
        return line;
    if (std::uniform_real_distribution<>(0, 1)(random) < 0.2)
      return open[std::uniform_int_distribution<size_t>(0, open.size() -
                                                               1)(random)];
    return *std::min_element(open.begin(), open.end(), [](Line *a, Line *b) {
      return a->bestRatio < b->bestRatio;
    });
  }

  std::vector<Configuration> nextBatch(Line &line, size_t count) {
    std::vector<Configuration> batch;
    while (!line.first.empty() && batch.size() < count) {
      Configuration configuration = std::move(line.first.front());
      line.first.erase(line.first.begin());
      if (tried.insert(toString(configuration)).second)
        batch.push_back(std::move(configuration));
    }
    if (batch.empty())
      for (Configuration &configuration : line.searcher->ask(count))
        if (tried.insert(toString(configuration)).second)
          batch.push_back(std::move(configuration));
    return batch;
  }

  bool isDone() {
    if (interruptRequested() != Interrupt::None) {
      endReason = "interrupted";
      return true;
    }
    if (isBroken)
      return true;
    if (endedBefore && !replay.has(Phase::Search)) {
      endReason = *endedBefore;
      return true;
    }
    // What was made before is used, whatever the clock says.
    if (!replay.has(Phase::Search) && state.elapsed() >= deadline) {
      endReason = "its time is up";
      return isSliceUsed = true;
    }
    if (!state.trialsLeft()) {
      endReason = "budget spent";
      return true;
    }
    if (state.trialsMade >= lastTrial) {
      endReason = "its share of the trials is used";
      return isSliceUsed = true;
    }
    if (sinceImprovement > 80 && dispatch.counts.total() > 100) {
      endReason = "80 trials without a gain";
      return true;
    }
    return false;
  }

  void showProgress() {
    ProgressState progress;
    progress.stage = "tuning";
    progress.dispatch = dispatch.dispatch->name;
    for (const DispatchState &other : state.dispatches) {
      progress.dispatchCount += other.chosen;
      if (other.chosen && other.share >= dispatch.share)
        ++progress.dispatchNumber;
    }
    progress.trials = dispatch.counts.total();
    progress.failures = dispatch.counts.failures();
    progress.bestSpeedup = std::isfinite(bestRatio) ? 1 / bestRatio : 0;
    progress.elapsedSeconds = state.elapsed();
    progress.budgetSeconds = std::isfinite(state.options.budget.seconds)
                                 ? state.options.budget.seconds
                                 : 0;
    state.parts.progress.update(progress);
  }

  int64_t trialsLeft() const {
    return std::min(state.trialsLeft(), lastTrial - state.trialsMade);
  }

  Error searchLoop() {
    size_t batchSize = std::max<int64_t>(1, state.options.target.cores);
    while (!isDone()) {
      showProgress();
      Line *line = chooseLine();
      if (!line) {
        endReason = "every configuration was tried";
        break;
      }
      std::vector<Configuration> batch =
          nextBatch(*line, std::min<int64_t>(batchSize, trialsLeft()));
      if (batch.empty())
        continue;
      if (Error error = runBatch(*line, batch))
        return error;
      sayWhereItIs();
    }
    return Error::success();
  }

  /// For the log, until the final says more.
  void sayWhereItIs() {
    auto best = findBest();
    dispatch.reason =
        best == finalists.end()
            ? "searching; nothing worked so far"
            : formatv("searching; best so far {0:f2}x with {1}",
                      1 / best->ratio, toString(best->configuration))
                  .str();
    keepLog(state);
  }

  std::vector<Finalist>::iterator findBest() {
    return llvm::min_element(
        finalists,
        [](const Finalist &a, const Finalist &b) { return a.ratio < b.ratio; });
  }

  Error runBatch(Line &line, ArrayRef<Configuration> batch) {
    std::vector<Configuration> fresh;
    for (const Configuration &configuration : batch)
      if (auto record = replay.take(Phase::Search, configuration))
        replayTrial(*record);
      else
        fresh.push_back(configuration);
    if (fresh.empty())
      return Error::success();
    // Other questions than before the interruption (times decide, too).
    while (auto record = replay.takeFirst(Phase::Search))
      replayTrial(*record);
    if (static_cast<int64_t>(fresh.size()) > state.trialsLeft())
      fresh.resize(state.trialsLeft());
    if (fresh.empty() || !prepare())
      return Error::success();
    return makeTrials(line, fresh);
  }

  void replayTrial(const TrialRecord &record) {
    countReplayed(record);
    ++state.trialsMade;
    Line *line = lineOf(record.trial.configuration.schedule);
    if (line && line->candidates.space.contains(record.trial.configuration))
      learn(*line, record.trial);
  }

  void countReplayed(const TrialRecord &record) {
    ++state.replayedTrials;
    state.replayedSeconds += record.wallSeconds;
  }

  /// Before the first trial that must be made; false ends this dispatch.
  bool prepare() {
    if (isPrepared)
      return true;
    if (Error error = prepareDispatch(state, dispatch)) {
      isBroken = true;
      endReason = toString(std::move(error));
      state.parts.progress.note(dispatch.dispatch->name + ": " + endReason);
      return false;
    }
    return isPrepared = true;
  }

  Error makeTrials(Line &line, ArrayRef<Configuration> batch) {
    double start = state.parts.clock.now();
    auto compiled =
        state.parts.backend.compileCandidates(*dispatch.dispatch, batch);
    if (!compiled)
      return compiled.takeError();
    double compileWall =
        (state.parts.clock.now() - start) / std::max<size_t>(1, batch.size());
    for (auto [configuration, candidate] : zip_equal(batch, *compiled)) {
      if (interruptRequested() == Interrupt::Now)
        return Error::success();
      double measureStart = state.parts.clock.now();
      auto trial = measureCandidate(
          state, dispatch, configuration, candidate,
          searchTiming(bestRatio,
                       state.options.seed + dispatch.counts.total()));
      if (!trial)
        return trial.takeError();
      if (Error error =
              record(*trial, Phase::Search,
                     compileWall + state.parts.clock.now() - measureStart))
        return error;
      ++state.trialsMade;
      learn(line, *trial);
      if (!candidate.library.empty())
        state.parts.backend.removeLibrary(candidate.library);
    }
    return Error::success();
  }

  Error record(const Trial &trial, Phase phase, double wallSeconds) {
    TrialRecord record;
    record.dispatch = keyOf(dispatch);
    record.trial = trial;
    record.phase = phase;
    record.scheduleVersion = scheduleVersions[trial.configuration.schedule];
    record.wallSeconds = wallSeconds;
    return recordTrial(state, record);
  }

  /// The best few again, in fresh processes, until the difference is certain.
  Error chooseWinner() {
    noteDrift();
    llvm::stable_sort(finalists, [](const Finalist &a, const Finalist &b) {
      return a.ratio < b.ratio;
    });
    std::vector<Configuration> again;
    std::vector<double> ratios;
    for (const Finalist &finalist : finalists) {
      again.push_back(finalist.configuration);
      ratios.push_back(finalist.ratio);
    }
    if (finalists.size() > 3)
      finalists.resize(3);
    for (Configuration &accident : likelyAccidents(finalists, outcomes)) {
      again.push_back(std::move(accident));
      ratios.push_back(finalists.front().ratio);
    }
    DispatchFinal final({state, dispatch, replay, outcomes,
                         [this] { return prepare(); },
                         [this](const Trial &trial, double wallSeconds) {
                           return record(trial, Phase::Final, wallSeconds);
                         }});
    if (Error error = final.hold(again, ratios))
      return error;
    int64_t total = dispatch.counts.total();
    dispatch.reason = isBroken && !total
                          ? endReason
                          : formatv("{0} trials; {1}", total, endReason).str();
    if (dispatch.winner)
      state.earlierWinners.push_back(*dispatch.winner);
    return Error::success();
  }

  void noteDrift() {
    Drift drift = baselineDrift(baselineTimes);
    if (drift.high < 1.25 * drift.low)
      return;
    state.drifts.push_back({dispatch.dispatch->name, drift});
  }

  State &state;
  DispatchState &dispatch;
  double deadline = 0;   ///< Of this slice, in elapsed seconds.
  int64_t lastTrial = 0; ///< Of this slice, in the session's trials.
  bool isSliceUsed = false;
  bool isOpened = false;
  std::mt19937_64 random;
  std::vector<std::unique_ptr<Line>> lines;
  StringMap<std::string> scheduleVersions;
  StringSet<> tried;
  std::vector<Finalist> finalists;
  std::vector<double> baselineTimes;  ///< Of each trial, in order.
  std::vector<TrialOutcome> outcomes; ///< Of all trials.
  double bestRatio = std::numeric_limits<double>::infinity();
  int64_t sinceImprovement = 0;
  std::string endReason;
  Replay replay;
  /// Why this session was done with it before it was interrupted.
  std::optional<std::string> endedBefore;
  bool settled = false;    ///< Another program's session was.
  bool isPrepared = false; ///< Inputs, reference and baseline are there.
  bool isBroken = false;   ///< They cannot be made.
};

} // namespace

std::unique_ptr<DispatchSearch> startSearch(State &state,
                                            DispatchState &dispatch) {
  return std::make_unique<DispatchTuner>(state, dispatch);
}

} // namespace attune::session
