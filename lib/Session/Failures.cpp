//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Failures for people: one example of a kind, its full text in a file.

#include "State.h"
#include "attune/Support/Files.h"

using namespace llvm;

namespace attune::session {

/// The file's path in the result folder; empty when there is no more to say
/// than the reason, or no place to say it.
static std::string writeFailure(const State &state,
                                const DispatchState &dispatch,
                                const Trial &trial) {
  if (trial.detail.empty())
    return "";
  std::string folder = state.options.resultFolder + "/failures";
  std::string name = formatv("failures/{0}-{1}.txt", dispatch.dispatch->name,
                             toString(trial.outcome))
                         .str();
  std::string text =
      formatv("{0} {1}: {2}\n{3}\n\n{4}", dispatch.dispatch->name,
              toString(trial.configuration), toString(trial.outcome),
              trial.reason, trial.detail)
          .str();
  Error error = createFolder(folder);
  if (!error)
    error = writeFile(state.options.resultFolder + "/" + name, text);
  if (!error)
    return name;
  // The report still has the reason; a full disk shows elsewhere.
  consumeError(std::move(error));
  return "";
}

void keepFailure(State &state, DispatchState &dispatch, const Trial &trial) {
  for (const FailureExample &example : dispatch.failures)
    if (example.outcome == trial.outcome)
      return;
  dispatch.failures.push_back({trial.outcome, trial.configuration, trial.reason,
                               writeFailure(state, dispatch, trial)});
}

} // namespace attune::session
