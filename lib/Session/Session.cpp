//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Session/Session.h"

#include "State.h"
#include "attune/Report/Report.h"
#include "attune/Support/Error.h"
#include "attune/Support/Interrupt.h"

#include <algorithm>
#include <cmath>

using namespace llvm;

namespace attune {
namespace session {
namespace {

/// Told to stop at once: what is on disk is kept, nothing more is written.
Error stopNow(State &state, Error cause) {
  consumeError(std::move(cause));
  if (Error error = store(state, [&](Database &database) {
        return database.endSession(state.sessionId, "interrupted");
      }))
    return error;
  return makeError("interrupted, and stopped at once; every trial that was "
                   "recorded is kept, and the same command goes on");
}

/// How long each run is compared at the end; twice that when it is noisy.
double comparisonSeconds(const State &state) {
  double budget = state.options.budget.seconds;
  return std::isfinite(budget)
             ? std::clamp(0.04 * budget / state.runs.size(), 0.3, 3.0)
             : 3.0;
}

/// The search, and an ending that leaves what was found even if it fails.
Expected<SessionReport> searchAndFinish(State &state, double rehearsalSeconds) {
  double comparison = comparisonSeconds(state);
  double ending =
      1.5 * rehearsalSeconds + 2 * comparison * state.runs.size() + 2;
  // When a disk is full or a tool is gone, what was found so far still counts.
  Error stopped = searchDispatches(state, ending);
  if (interruptRequested() == Interrupt::Now)
    return stopNow(state, std::move(stopped));
  if (stopped)
    state.stopReason = "stopped by an error";
  saveMemory(state);
  auto report = finish(state, state.options.resultFolder, comparison);
  if (!report) {
    Error error = joinErrors(std::move(stopped), report.takeError());
    if (interruptRequested() == Interrupt::Now)
      return stopNow(state, std::move(error));
    return std::move(error);
  }
  if (stopped)
    return std::move(stopped);
  if (Error error = store(state, [&](Database &database) {
        return database.endSession(state.sessionId, state.stopReason);
      }))
    return std::move(error);
  return report;
}

} // namespace
} // namespace session

std::vector<EntrySizes> variantsFor(ArrayRef<EntryInputs> inputs) {
  std::vector<EntrySizes> variants;
  for (const EntryInputs &input : inputs)
    if (!input.sizes.empty())
      variants.push_back({input.entry, input.sizes});
  sortSizes(variants);
  return variants;
}

Expected<SessionReport> runSession(SessionParts parts,
                                   const SessionOptions &options,
                                   std::vector<EntryInputs> inputs) {
  using namespace session;
  State state{parts, options, std::move(inputs)};
  state.startedAt = parts.clock.now();
  state.executor = parts.createExecutor({});
  if (Error error = openSession(state))
    return std::move(error);
  if (Error error = prepareRuns(state))
    return std::move(error);
  if (Error error = profileProgram(state))
    return std::move(error);

  // The ending first: nothing may fail only after the night.
  double rehearsalStart = parts.clock.now();
  if (Error error = rehearse(state))
    return std::move(error);
  return searchAndFinish(state, parts.clock.now() - rehearsalStart);
}

} // namespace attune
