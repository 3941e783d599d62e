//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// An interrupted session goes on by starting over: it asks the same questions
// in the same order, and those that were answered before are answered from
// here. So the searchers come to the state they were in, and what follows is
// what would have followed. Internal.

#ifndef ATTUNE_LIB_SESSION_REPLAY_H
#define ATTUNE_LIB_SESSION_REPLAY_H

#include "attune/Database/Database.h"
#include "llvm/ADT/STLExtras.h"

namespace attune::session {

/// Trials of one dispatch that this session made before it was interrupted.
class Replay {
public:
  Replay() = default;
  explicit Replay(std::vector<TrialRecord> records)
      : records(std::move(records)) {}

  bool has(Phase phase) const {
    return llvm::any_of(records, [&](const TrialRecord &record) {
      return record.phase == phase;
    });
  }

  /// The answer to a question, once.
  std::optional<TrialRecord> take(Phase phase,
                                  const Configuration &configuration) {
    auto found = llvm::find_if(records, [&](const TrialRecord &record) {
      return record.phase == phase &&
             record.trial.configuration == configuration;
    });
    if (found == records.end())
      return std::nullopt;
    TrialRecord record = std::move(*found);
    records.erase(found);
    return record;
  }

  /// The first answer to a question that was not asked this time.
  std::optional<TrialRecord> takeFirst(Phase phase) {
    for (const TrialRecord &record : records)
      if (record.phase == phase)
        return take(phase, Configuration(record.trial.configuration));
    return std::nullopt;
  }

private:
  std::vector<TrialRecord> records; ///< In the order they were made.
};

} // namespace attune::session

#endif // ATTUNE_LIB_SESSION_REPLAY_H
