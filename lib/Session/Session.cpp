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

Error openSession(State &state) {
  const SessionOptions &options = state.options;
  SessionStart start;
  start.programHash = state.parts.backend.programHash();
  start.programName = options.model;
  start.command = options.command;
  start.seed = options.seed;
  start.budget = options.budget.text;
  start.conditions = {options.target, options.threads, options.versions};
  auto resumed = state.parts.database.resumeSession(start);
  if (!resumed)
    return resumed.takeError();
  if (*resumed) {
    state.sessionId = (*resumed)->id;
    state.spentBefore = (*resumed)->spentSeconds;
    state.trialsMade = (*resumed)->trials;
    state.parts.progress.note(
        formatv("going on with an interrupted session: {0} trials, {1:f0} s "
                "of the budget are spent",
                (*resumed)->trials, state.spentBefore)
            .str());
    return Error::success();
  }
  auto session = state.parts.database.beginSession(start);
  if (!session)
    return session.takeError();
  state.sessionId = *session;
  return Error::success();
}

double shareLeft(ArrayRef<DispatchState *> order, size_t from) {
  double sum = 0;
  for (DispatchState *dispatch : order.drop_front(from))
    sum += dispatch->share;
  return sum;
}

/// Each dispatch gets time by its share of what is left; what one does not need
/// goes to the next ones.
Error searchDispatches(State &state, double reserve) {
  std::vector<DispatchState *> order;
  for (DispatchState &dispatch : state.dispatches)
    if (dispatch.chosen)
      order.push_back(&dispatch);
  llvm::stable_sort(order, [](DispatchState *a, DispatchState *b) {
    return a->share > b->share;
  });
  for (size_t i = 0; i < order.size(); ++i) {
    DispatchState &dispatch = *order[i];
    double left = state.left() - reserve;
    if (interruptRequested() != Interrupt::None) {
      state.stopReason = "interrupted";
      dispatch.reason = "interrupted before its turn";
      continue;
    }
    if (left <= 0 || !state.trialsLeft()) {
      state.stopReason = "budget spent";
      dispatch.reason = "the budget was spent before its turn";
      continue;
    }
    if (Error error = prepareDispatch(state, dispatch)) {
      dispatch.reason = toString(std::move(error));
      state.parts.progress.note(dispatch.dispatch->name + ": " +
                                dispatch.reason);
      continue;
    }
    left = state.left() - reserve;
    double seconds = left * dispatch.share / shareLeft(order, i);
    if (Error error = tuneDispatch(state, dispatch, seconds))
      return error;
  }
  if (interruptRequested() != Interrupt::None)
    state.stopReason = "interrupted";
  if (state.stopReason.empty())
    state.stopReason = "nothing better is to be expected";
  return Error::success();
}

} // namespace
} // namespace session

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
  if (auto rehearsal = finish(state, /*comparisonSeconds=*/0.05); !rehearsal)
    return rehearsal.takeError();
  // Each run is compared for so long, twice that when it is noisy.
  double comparison =
      std::isfinite(options.budget.seconds)
          ? std::clamp(0.04 * options.budget.seconds / state.runs.size(), 0.3,
                       3.0)
          : 3.0;
  double reserve = 1.5 * (parts.clock.now() - rehearsalStart) +
                   2 * comparison * state.runs.size() + 2;

  // When a disk is full or a tool is gone, what was found so far still counts.
  Error stopped = searchDispatches(state, reserve);
  if (stopped)
    state.stopReason = "stopped by an error";
  auto report = finish(state, comparison);
  if (!report)
    return joinErrors(std::move(stopped), report.takeError());
  if (stopped)
    return std::move(stopped);
  if (Error error =
          parts.database.endSession(state.sessionId, state.stopReason))
    return std::move(error);
  return report;
}

} // namespace attune
