//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// What became of one configuration: times, or a failure with a name.

#ifndef ATTUNE_SEARCH_TRIAL_H
#define ATTUNE_SEARCH_TRIAL_H

#include "attune/Schedule/Configuration.h"
#include <optional>
#include <string>
#include <vector>

namespace attune {

/// How a trial ended. Everything but Ok is an ordinary result, not an error.
enum class Outcome {
  Ok,             ///< Compiled, ran, right; the times count.
  Rejected,       ///< The schedule or a dry check said no before compiling.
  CompileError,   ///< The compiler reported an error or died.
  CompileTimeout, ///< The compiler did not end within its limit.
  OutOfMemory,    ///< Compiler or program went over the memory limit.
  Crash,          ///< The program died of a signal or an assertion.
  RunTimeout,     ///< The program did not end within its limit.
  WrongResult,    ///< It ran, and its result is not the reference's.
};

/// `ok`, `rejected`, `compileError`, ...: the spelling in every file.
llvm::StringRef toString(Outcome outcome);
std::optional<Outcome> outcomeFromString(llvm::StringRef text);

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
