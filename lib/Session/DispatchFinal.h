//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// The final of one dispatch: the best few again, in fresh processes.

#ifndef ATTUNE_LIB_SESSION_DISPATCHFINAL_H
#define ATTUNE_LIB_SESSION_DISPATCHFINAL_H

#include "Accidents.h"
#include "Replay.h"
#include "State.h"
#include "attune/Measure/Final.h"
#include "llvm/ADT/StringSet.h"

namespace attune::session {

/// What the final needs of the search on its dispatch.
struct FinalParts {
  State &state;
  DispatchState &dispatch;
  /// Trials of this session from before it was interrupted.
  Replay &replay;
  const std::vector<TrialOutcome> &outcomes; ///< Of the search.
  /// Inputs, reference and baseline; false: they cannot be made.
  std::function<bool()> prepare;
  /// A trial is on disk when this returns.
  std::function<llvm::Error(const Trial &, double wallSeconds)> record;
};

/// Every answer of a final is a trial on disk.
class DispatchFinal {
public:
  explicit DispatchFinal(FinalParts parts)
      : parts(std::move(parts)), state(this->parts.state),
        dispatch(this->parts.dispatch) {}

  /// Compares until the difference is certain, and writes the winner, if there
  /// is one, into the dispatch. `ratios` are those of the search.
  llvm::Error hold(llvm::ArrayRef<Configuration> configurations,
                   llvm::ArrayRef<double> ratios);

private:
  class Timer;
  class FairClock;
  FinalOptions options() const;
  llvm::Expected<CompiledCandidate>
  compileFinalist(const Configuration &configuration);
  bool isCheckedAlready(const Configuration &configuration);
  llvm::Expected<std::optional<Trial>>
  makeTrial(const Configuration &configuration, const TimingOptions &timing);
  llvm::Expected<std::optional<Trial>>
  confirm(const Configuration &configuration, const TimingOptions &timing);

  FinalParts parts;
  State &state;
  DispatchState &dispatch;
  llvm::StringMap<CompiledCandidate> libraries;
  llvm::StringSet<> checked, worked;
  double lostSeconds = 0; ///< To failures and preparations.
  bool isFreshWanted = false, areMoreInputsMade = false;
};

} // namespace attune::session

#endif // ATTUNE_LIB_SESSION_DISPATCHFINAL_H
