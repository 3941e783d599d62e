//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Failures that are more likely an accident than a property of the candidate.

#ifndef ATTUNE_LIB_SESSION_ACCIDENTS_H
#define ATTUNE_LIB_SESSION_ACCIDENTS_H

#include "attune/Schedule/Configuration.h"
#include "attune/Support/Outcome.h"
#include "llvm/ADT/ArrayRef.h"
#include <utility>
#include <vector>

namespace attune::session {

/// A finished trial worth comparing again.
struct Finalist {
  Configuration configuration;
  double ratio;
};

using TrialOutcome = std::pair<Configuration, Outcome>;

/// Failures next to the best finalists, among others that work: of a killed
/// process, a full memory. They would have been worth a final comparison. The
/// nearest four.
std::vector<Configuration>
likelyAccidents(llvm::ArrayRef<Finalist> finalists,
                llvm::ArrayRef<TrialOutcome> outcomes);

} // namespace attune::session

#endif // ATTUNE_LIB_SESSION_ACCIDENTS_H
