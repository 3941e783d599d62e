//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// How long a session may take, in time or in trials.

#ifndef ATTUNE_SESSION_BUDGET_H
#define ATTUNE_SESSION_BUDGET_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <optional>
#include <string>

namespace attune {

struct Budget {
  std::string text = "default";  ///< As given.
  double seconds = 600;          ///< Wall time of the whole session.
  std::optional<int64_t> trials; ///< Of all dispatches; nothing: no limit.
};

/// `90s`, `10m`, `2h`, `1.5h`, or a number of trials: `200`. With trials alone
/// the time is not limited.
llvm::Expected<Budget> parseBudget(llvm::StringRef text);

} // namespace attune

#endif // ATTUNE_SESSION_BUDGET_H
