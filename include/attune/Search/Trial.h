//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// What became of one configuration: times, or a failure with a name.

#ifndef ATTUNE_SEARCH_TRIAL_H
#define ATTUNE_SEARCH_TRIAL_H

#include "attune/Schedule/Configuration.h"
#include "attune/Support/Outcome.h"
#include <optional>
#include <string>
#include <vector>

namespace attune {

struct Trial {
  Configuration configuration;
  Outcome outcome = Outcome::Ok;
  std::string reason; ///< For people, when not Ok: one line.
  std::string detail; ///< Captured stderr, bounded to 64 KiB.

  /// Seconds of one run of the dispatch, every repetition; baselineSeconds[i]
  /// was measured right next to seconds[i].
  std::vector<double> seconds;
  std::vector<double> baselineSeconds;
  double compileSeconds = 0;

  /// Median of seconds / baselineSeconds pairs: under 1 is faster than the
  /// baseline. Only for Ok.
  double medianRatio() const;
  double medianSeconds() const;
};

llvm::json::Value toJSON(const Trial &trial);
llvm::Expected<Trial> trialFromJSON(const llvm::json::Value &json);

} // namespace attune

#endif // ATTUNE_SEARCH_TRIAL_H
