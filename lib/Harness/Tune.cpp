//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// A search over an expert's space, every trial in the database first.

#include "HarnessImpl.h"

#include "attune/Support/Error.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"

using namespace llvm;

namespace attune {

static Versions currentVersions() {
  return {{"attune", ATTUNE_VERSION},
          {"llvm", LLVM_VERSION_STRING},
          {"dispatch", std::to_string(dispatchVersion)}};
}

namespace {

/// What one search writes down.
struct Book {
  Database *database = nullptr;
  int64_t session = 0;
  DispatchKey key;
  std::string version;

  Error record(const Trial &trial, double wallSeconds) {
    if (!database)
      return Error::success();
    TrialRecord row;
    row.dispatch = key;
    row.trial = trial;
    row.scheduleVersion = version;
    row.wallSeconds = wallSeconds;
    auto number = database->record(session, row);
    return number ? Error::success() : number.takeError();
  }
};

} // namespace

static DispatchKey keyOf(const PreparedCase &prepared) {
  return {prepared.dispatch.fingerprint, prepared.inputLabel,
          prepared.dispatch.rootOp, prepared.dispatch.shapes};
}

/// Begins a session; gives the trials that are known already.
static Expected<std::vector<Trial>> open(Book &book, SessionStart start,
                                         const PreparedCase &prepared,
                                         StringRef expert) {
  auto session = book.database->beginSession(start);
  if (!session)
    return session.takeError();
  book.session = *session;
  if (Error error = book.database->recordDispatch(book.session, book.key,
                                                  prepared.dispatch.name,
                                                  prepared.dispatch.calls))
    return std::move(error);
  StringMap<std::string> versions;
  versions[expert] = book.version;
  auto history = book.database->openDispatch(book.session, book.key,
                                             start.conditions, versions);
  if (!history)
    return history.takeError();
  return history->earlier.trials();
}

static Trial toTrial(const HarnessResult &result,
                     std::vector<double> baselineSeconds) {
  Trial trial;
  trial.configuration = result.configuration;
  trial.outcome = result.outcome;
  trial.reason = result.reason;
  trial.detail = result.detail;
  if (result.ok()) {
    trial.seconds = result.seconds;
    trial.baselineSeconds = std::move(baselineSeconds);
  }
  trial.compileSeconds = result.compileSeconds;
  return trial;
}

Expected<HarnessTuning>
Harness::tune(const ProblemCase &problemCase, const Expert &expert,
              Searcher &searcher, size_t evaluations, const RunOptions &options,
              Database *database,
              const std::function<bool(const HarnessResult &)> &each) {
  auto prepared = impl->prepare(problemCase);
  if (!prepared)
    return prepared.takeError();
  auto space = impl->space(**prepared, expert, problemCase.problem.name);
  if (!space)
    return space.takeError();
  if (options.iterations == 0)
    return makeError("a search needs times: iterations is 0");
  auto baseline = impl->untunedLibrary(**prepared);
  if (!baseline)
    return baseline.takeError();
  Book book{database, 0, keyOf(**prepared), (*space)->version};
  HarnessTuning tuning;
  if (database) {
    SessionStart start;
    start.programHash = (*prepared)->hash;
    start.programName = problemCase.problem.name;
    start.command = "harness " + problemCase.problem.name + " " +
                    toString(problemCase.sizes) + " " + expert.getName();
    start.seed = impl->options.seed;
    start.budget = std::to_string(evaluations);
    start.conditions = {impl->options.target, impl->options.threads,
                        currentVersions()};
    auto known = open(book, start, **prepared, expert.getName());
    if (!known)
      return known.takeError();
    for (const Trial &trial : *known)
      if ((*space)->space.contains(trial.configuration)) {
        searcher.tell(trial);
        ++tuning.reused;
      }
  }
  Error failed = Error::success();
  while (tuning.results.size() < evaluations && !failed) {
    std::vector<Configuration> asked = searcher.ask(1);
    if (asked.empty())
      break;
    double begin = impl->clock.now();
    std::vector<double> baselineSeconds;
    ExpertValues values(expert, asked.front().values);
    auto result =
        impl->run(problemCase, &values, options, *baseline, &baselineSeconds);
    if (!result) {
      failed = result.takeError();
      break;
    }
    Trial trial = toTrial(*result, std::move(baselineSeconds));
    if ((failed = book.record(trial, impl->clock.now() - begin)))
      break;
    searcher.tell(trial);
    tuning.results.push_back(std::move(*result));
    const HarnessResult &last = tuning.results.back();
    if (last.ok() &&
        (!tuning.best ||
         last.secondsAt(50) < tuning.results[*tuning.best].secondsAt(50)))
      tuning.best = tuning.results.size() - 1;
    if (each && !each(last))
      break;
  }
  if (database)
    if (Error error = database->endSession(book.session,
                                           failed ? "interrupted" : "finished"))
      failed = joinErrors(std::move(failed), std::move(error));
  if (failed)
    return std::move(failed);
  return tuning;
}

} // namespace attune
