//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// How dispatches share the budget: in proportion to what each may still give.

#include "State.h"
#include "attune/Support/Interrupt.h"

#include <algorithm>
#include <cmath>

using namespace llvm;

namespace attune::session {
namespace {

/// A dispatch and its search; no search yet: it had no turn.
struct Turn {
  DispatchState *dispatch;
  std::unique_ptr<DispatchSearch> search;

  bool isOpen() const { return !search || search->canGoOn(); }
  double promise() const {
    return search ? search->promisedSeconds() : dispatch->gainSeconds;
  }
};

std::vector<Turn> makeTurns(State &state) {
  std::vector<Turn> turns;
  for (DispatchState &dispatch : state.dispatches)
    if (dispatch.chosen)
      turns.push_back({&dispatch, nullptr});
  std::stable_sort(turns.begin(), turns.end(),
                   [](const Turn &a, const Turn &b) {
                     return a.dispatch->gainSeconds > b.dispatch->gainSeconds;
                   });
  return turns;
}

/// What the end takes: `ending`, and before it the finals of those that are not
/// done, which leave most of a short budget to the search. Those of a disturbed
/// machine may take twice their time; few take all of it.
double reserveFor(const State &state, ArrayRef<Turn> turns, double ending) {
  auto open = count_if(turns, [](const Turn &turn) { return turn.isOpen(); });
  return ending +
         std::min(0.25 * state.options.budget.seconds,
                  1.5 * static_cast<double>(open) * finalSeconds(state));
}

/// What is left for those from `first` on goes to `first` by its promise.
/// `fraction` of it is given out now.
Slice sliceFor(const State &state, ArrayRef<Turn> turns, size_t first,
               double ending, double fraction) {
  double sum = 0;
  for (const Turn &turn : turns.drop_front(first))
    if (turn.isOpen())
      sum += turn.promise();
  double part = sum > 0 ? fraction * turns[first].promise() / sum : fraction;
  Slice slice;
  slice.seconds = part * (state.left() - reserveFor(state, turns, ending));
  double trials = part * static_cast<double>(state.trialsLeft());
  slice.trials = trials < 1e15 ? std::max<int64_t>(1, std::ceil(trials))
                               : state.trialsLeft();
  return slice;
}

bool isSpent(const State &state, ArrayRef<Turn> turns, double ending) {
  return state.left() <= reserveFor(state, turns, ending) ||
         !state.trialsLeft();
}

Error takeTurn(State &state, Turn &turn, const Slice &slice) {
  if (!turn.search)
    turn.search = startSearch(state, *turn.dispatch);
  if (Error error = turn.search->search(slice))
    return error;
  if (!turn.search->canGoOn())
    if (Error error = turn.search->conclude())
      return error;
  return recordEnvironment(state);
}

/// Everyone gets a turn, as long as there is budget.
Error makeRound(State &state, std::vector<Turn> &turns, double ending,
                double fraction) {
  for (size_t i = 0; i < turns.size(); ++i) {
    if (interruptRequested() != Interrupt::None ||
        isSpent(state, turns, ending))
      return Error::success();
    if (!turns[i].isOpen())
      continue;
    if (Error error = takeTurn(state, turns[i],
                               sliceFor(state, turns, i, ending, fraction)))
      return error;
  }
  return Error::success();
}

/// What was found so far counts, whatever ended the search.
Error concludeAll(std::vector<Turn> &turns, StringRef whyNot) {
  for (Turn &turn : turns) {
    if (!turn.search)
      turn.dispatch->reason = whyNot.str();
    else if (turn.search->canGoOn())
      if (Error error = turn.search->conclude())
        return error;
  }
  return Error::success();
}

} // namespace

Error searchDispatches(State &state, double ending) {
  std::vector<Turn> turns = makeTurns(state);
  // Half of the budget by what each could gain; then what is left, by what each
  // still promises. Who is done early leaves its part to the others.
  constexpr int maximumRounds = 8;
  for (int round = 0; round < maximumRounds; ++round) {
    if (none_of(turns, [](const Turn &turn) { return turn.isOpen(); }) ||
        interruptRequested() != Interrupt::None ||
        isSpent(state, turns, ending))
      break;
    bool isOnlyOne = turns.size() == 1;
    if (Error error =
            makeRound(state, turns, ending, round == 0 && !isOnlyOne ? 0.5 : 1))
      return error;
  }
  bool isInterrupted = interruptRequested() != Interrupt::None;
  if (isInterrupted)
    state.stopReason = "interrupted";
  else if (isSpent(state, turns, ending))
    state.stopReason = "budget spent";
  else
    state.stopReason = "nothing better is to be expected";
  return concludeAll(turns, isInterrupted
                                ? "interrupted before its turn"
                                : "the budget was spent before its turn");
}

} // namespace attune::session
