//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// The loop over trials of one dispatch.

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

/// A finished trial worth comparing again.
struct Finalist {
  Configuration configuration;
  double ratio;
};

/// A run process may lie; what it says goes into the database and decides.
bool areTimes(ArrayRef<double> seconds, ArrayRef<double> baselineSeconds) {
  auto isTime = [](double value) { return std::isfinite(value) && value > 0; };
  return !seconds.empty() && seconds.size() == baselineSeconds.size() &&
         all_of(seconds, isTime) && all_of(baselineSeconds, isTime);
}

class DispatchTuner {
public:
  DispatchTuner(State &state, DispatchState &dispatch, double seconds)
      : state(state), dispatch(dispatch),
        deadline(state.parts.clock.now() + seconds),
        random(state.options.seed + dispatch.dispatch->number) {}

  Error run() {
    if (Error error = openLines())
      return error;
    if (lines.empty()) {
      dispatch.reason = "no schedule with anything to choose fits";
      return Error::success();
    }
    if (Error error = searchLoop())
      return error;
    return chooseWinner();
  }

private:
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
      auto searcher =
          createSearcher(state.options.search, line->candidates.space,
                         state.options.seed + lines.size());
      if (!searcher)
        return searcher.takeError();
      line->searcher = std::move(*searcher);
      lines.push_back(std::move(line));
    }
    return reuseTrials();
  }

  /// Trials of this or earlier sessions under equal conditions.
  Error reuseTrials() {
    auto stored = state.parts.database.trials(
        key(),
        {state.options.target, state.options.threads, state.options.versions},
        scheduleVersions);
    if (!stored)
      return stored.takeError();
    for (const Trial &trial : stored->trials()) {
      Line *line = lineOf(trial.configuration.schedule);
      if (!line || !line->candidates.space.contains(trial.configuration))
        continue;
      ++dispatch.reused;
      learn(*line, trial);
    }
    return Error::success();
  }

  DispatchKey key() const {
    return {dispatch.dispatch->fingerprint, "", dispatch.dispatch->rootOp,
            dispatch.dispatch->shapes};
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
    if (trial.outcome == Outcome::Ok && !trial.baselineSeconds.empty()) {
      double ratio = trial.medianRatio();
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

  void addExample(const Trial &trial) {
    for (const FailureExample &example : dispatch.failures)
      if (example.outcome == trial.outcome)
        return;
    dispatch.failures.push_back(
        {trial.outcome, trial.configuration, trial.reason, ""});
  }

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
    if (state.parts.clock.now() >= deadline) {
      endReason = "its time is up";
      return true;
    }
    if (!state.trialsLeft()) {
      endReason = "budget spent";
      return true;
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
          nextBatch(*line, std::min<int64_t>(batchSize, state.trialsLeft()));
      if (batch.empty())
        continue;
      if (Error error = runBatch(*line, batch))
        return error;
    }
    return Error::success();
  }

  Error runBatch(Line &line, ArrayRef<Configuration> batch) {
    double start = state.parts.clock.now();
    auto compiled =
        state.parts.backend.compileCandidates(*dispatch.dispatch, batch);
    if (!compiled)
      return compiled.takeError();
    double compileWall =
        (state.parts.clock.now() - start) / std::max<size_t>(1, batch.size());
    for (auto [configuration, candidate] : zip_equal(batch, *compiled)) {
      double measureStart = state.parts.clock.now();
      auto trial = measure(configuration, candidate, /*final=*/false);
      if (!trial)
        return trial.takeError();
      TrialRecord record;
      record.dispatch = key();
      record.trial = *trial;
      record.scheduleVersion = line.candidates.version;
      record.wallSeconds = compileWall + state.parts.clock.now() - measureStart;
      if (Error error = state.parts.database.record(state.sessionId, record))
        return error;
      ++state.trialsMade;
      learn(line, *trial);
      if (!candidate.library.empty())
        sys::fs::remove(candidate.library);
    }
    return Error::success();
  }

  MeasureJob measureJob(StringRef library) const {
    MeasureJob job;
    job.candidate = library.str();
    job.baseline = dispatch.baseline;
    job.inputs = dispatch.inputs;
    job.references = dispatch.references;
    job.tolerances = dispatch.tolerances;
    job.threads = state.options.threads;
    job.timing.seed = state.options.seed;
    job.timing.minSeconds = 0.03;
    job.timing.maxSeconds = 1;
    job.timing.minRepetitions = 5;
    return job;
  }

  /// A candidate that is far slower than the baseline need not end.
  Limits candidateLimits(const MeasureJob &job) const {
    Limits limits;
    limits.wallSeconds =
        3 + job.timing.maxSeconds + 40 * dispatch.baselineSeconds;
    limits.memoryBytes = 16ull << 30;
    return limits;
  }

  Expected<Trial> measure(const Configuration &configuration,
                          const CompiledCandidate &candidate, bool final) {
    Trial trial;
    trial.configuration = configuration;
    trial.outcome = candidate.outcome;
    trial.reason = candidate.reason;
    trial.detail = candidate.detail;
    trial.compileSeconds = candidate.compileSeconds;
    if (candidate.outcome != Outcome::Ok)
      return trial;
    MeasureJob job = measureJob(candidate.library);
    if (final) {
      job.timing.minSeconds = 0.2;
      job.timing.maxSeconds = 2;
      job.timing.minRepetitions = 20;
      job.timing.intervalWidth = 0.02;
    }
    auto result = state.executor->measure(job, candidateLimits(job));
    if (!result)
      return result.takeError();
    trial.outcome = result->outcome;
    trial.reason = result->reason;
    trial.detail = result->detail;
    if (trial.outcome != Outcome::Ok)
      return trial;
    if (!areTimes(result->seconds, result->baselineSeconds)) {
      trial.outcome = Outcome::Crash;
      trial.reason = "the run process gave times that are none";
      return trial;
    }
    trial.seconds = result->seconds;
    trial.baselineSeconds = result->baselineSeconds;
    return trial;
  }

  /// The best few again, in fresh processes, until the difference is certain.
  Error chooseWinner() {
    llvm::stable_sort(finalists, [](const Finalist &a, const Finalist &b) {
      return a.ratio < b.ratio;
    });
    if (finalists.size() > 3)
      finalists.resize(3);
    int64_t total = dispatch.counts.total();
    std::string tail = formatv("{0} trials; {1}", total, endReason).str();
    double bestSpeedup = 0;
    for (const Finalist &finalist : finalists) {
      if (finalist.ratio > 1 - state.options.minimumGain / 2)
        break;
      if (Error error = compareAgain(finalist, bestSpeedup))
        return error;
    }
    dispatch.reason = tail;
    if (dispatch.winner)
      state.earlierWinners.push_back(*dispatch.winner);
    return Error::success();
  }

  Error compareAgain(const Finalist &finalist, double &bestSpeedup) {
    auto compiled = state.parts.backend.compileCandidates(
        *dispatch.dispatch, {finalist.configuration});
    if (!compiled)
      return compiled.takeError();
    state.executor = state.parts.createExecutor({});
    auto trial =
        measure(finalist.configuration, compiled->front(), /*final=*/true);
    if (!trial)
      return trial.takeError();
    if (!compiled->front().library.empty())
      sys::fs::remove(compiled->front().library);
    if (trial->outcome != Outcome::Ok) {
      addExample(*trial);
      return Error::success();
    }
    auto speedup = pairedSpeedup(trial->seconds, trial->baselineSeconds,
                                 state.options.seed);
    if (!speedup)
      return speedup.takeError();
    if (speedup->low <= 1 || speedup->value < 1 + state.options.minimumGain ||
        speedup->value <= bestSpeedup)
      return Error::success();
    bestSpeedup = speedup->value;
    dispatch.winner = finalist.configuration;
    dispatch.speedup = *speedup;
    dispatch.baselineSeconds = median(trial->baselineSeconds);
    dispatch.tunedSeconds = dispatch.baselineSeconds / speedup->value;
    return Error::success();
  }

  State &state;
  DispatchState &dispatch;
  double deadline;
  std::mt19937_64 random;
  std::vector<std::unique_ptr<Line>> lines;
  StringMap<std::string> scheduleVersions;
  StringSet<> tried;
  std::vector<Finalist> finalists;
  double bestRatio = std::numeric_limits<double>::infinity();
  int64_t sinceImprovement = 0;
  std::string endReason;
};

} // namespace

Error tuneDispatch(State &state, DispatchState &dispatch, double seconds) {
  return DispatchTuner(state, dispatch, seconds).run();
}

} // namespace attune::session
