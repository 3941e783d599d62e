//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Commands.h"

#include "attune/Search/Recording.h"
#include "attune/Support/Error.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace attune::cli {
namespace {

struct ReplayFlags {
  std::string file, search = "auto";
  size_t seeds = 100, budget = 400;
  uint64_t firstSeed = 0;
  bool json = false;
};

/// What all runs together came to.
struct ReplayResult {
  std::vector<ReplayPoint> points;
  double secondsPerAsk = 0;
  /// Of the reasons of searchers that ended or would have ended.
  std::map<std::string, size_t> stops;
};

/// 25, 50, 100, 200, 400, and the budget if it is none of them.
std::vector<size_t> checkpoints(size_t budget) {
  std::vector<size_t> points;
  for (size_t point : {25, 50, 100, 200, 400})
    if (point < budget)
      points.push_back(point);
  points.push_back(budget);
  return points;
}

Expected<ReplayResult> replayAll(const Recording &recording,
                                 const ReplayFlags &flags) {
  ReplayResult result;
  std::vector<ReplayRun> runs;
  size_t evaluations = 0;
  double seconds = 0;
  for (size_t i = 0; i < flags.seeds; ++i) {
    auto searcher =
        createSearcher(flags.search, recording.space, flags.firstSeed + i);
    if (!searcher)
      return searcher.takeError();
    runs.push_back(replaySearch(recording, **searcher, flags.budget));
    evaluations += runs.back().bestSeconds.size();
    seconds += runs.back().askSeconds;
    if (!runs.back().stopReason.empty())
      ++result.stops[runs.back().stopReason];
  }
  result.secondsPerAsk = seconds / double(std::max<size_t>(1, evaluations));
  for (size_t point : checkpoints(flags.budget))
    result.points.push_back(summarizeReplay(recording, runs, point));
  return result;
}

void printJSON(const Recording &recording, const ReplayFlags &flags,
               const ReplayResult &result) {
  json::Object evaluations;
  for (const ReplayPoint &point : result.points)
    evaluations[std::to_string(point.evaluations)] =
        json::Object{{"medianFractionOfOptimum", point.median},
                     {"p25", point.lowerQuartile},
                     {"p75", point.upperQuartile},
                     {"score", point.score},
                     {"fractions", json::Array(point.fractions)},
                     {"randomFractionOfOptimum", point.randomFraction}};
  json::Object stops;
  for (const auto &[reason, count] : result.stops)
    stops[reason] = count;
  outs() << json::Value(
                json::Object{{"version", 1},
                             {"file", flags.file},
                             {"search", flags.search},
                             {"seeds", flags.seeds},
                             {"firstSeed", flags.firstSeed},
                             {"budget", flags.budget},
                             {"configurations", recording.space.count()},
                             {"failures", recording.failures},
                             {"optimumSeconds", recording.optimum},
                             {"secondsPerAsk", result.secondsPerAsk},
                             {"stopReasons", std::move(stops)},
                             {"evaluations", std::move(evaluations)}})
         << '\n';
}

void printTable(const Recording &recording, const ReplayFlags &flags,
                const ReplayResult &result) {
  outs() << formatv("{0}: {1} configurations, {2} failed, optimum {3:f4} ms\n",
                    flags.file, recording.space.count(), recording.failures,
                    1e3 * recording.optimum)
         << formatv("{0}, {1} seeds from {2}; optimum / best found\n\n",
                    flags.search, flags.seeds, flags.firstSeed)
         << "evaluations  median      25 %      75 %    random     score\n";
  for (const ReplayPoint &point : result.points)
    outs() << format("%11zu  %5.1f %%  %6.1f %%  %6.1f %%  %6.1f %%    %6.3f\n",
                     point.evaluations, 100 * point.median,
                     100 * point.lowerQuartile, 100 * point.upperQuartile,
                     100 * point.randomFraction, point.score);
  outs() << format("\n%.3f ms for each ask and tell\n",
                   1e3 * result.secondsPerAsk);
  for (const auto &[reason, count] : result.stops)
    outs() << formatv("{0} of {1}: {2}\n", count, flags.seeds, reason);
}

Error replay(const ReplayFlags &flags) {
  auto recording = readRecording(flags.file);
  if (!recording)
    return recording.takeError();
  auto result = replayAll(*recording, flags);
  if (!result)
    return result.takeError();
  if (flags.json)
    printJSON(*recording, flags, *result);
  else
    printTable(*recording, flags, *result);
  return Error::success();
}

} // namespace

void addReplay(CLI::App &app, Action &chosen) {
  auto *command = app.add_subcommand(
      "replay", "run a searcher against recorded measurements\n"
                "  attune replay kernel.csv.gz --search=auto --seeds=100");
  auto flags = std::make_shared<ReplayFlags>();
  command->add_option("FILE", flags->file, "recording (.csv or .csv.gz)")
      ->required();
  command->add_option("--search", flags->search,
                      "auto, random, exhaustive, optuna, opentuner or "
                      "exec:PROGRAM (default: auto)");
  command
      ->add_option("--seeds", flags->seeds, "runs, each with a seed of its own")
      ->check(CLI::Range(size_t(1), size_t(1000000)));
  command->add_option("--budget", flags->budget, "evaluations of each run")
      ->check(CLI::Range(size_t(1), size_t(100000000)));
  command->add_option("--seed", flags->firstSeed, "the first seed");
  command->add_flag("--json", flags->json, "results as JSON on stdout");
  command->callback(
      [&chosen, flags] { chosen = [flags] { return replay(*flags); }; });
}

} // namespace attune::cli
