//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// How a trial ended. It lives in the leftmost room because the run process
// speaks of it, and links neither the searchers nor MLIR.

#ifndef ATTUNE_SUPPORT_OUTCOME_H
#define ATTUNE_SUPPORT_OUTCOME_H

#include "llvm/ADT/StringRef.h"
#include <optional>

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

inline constexpr llvm::StringLiteral outcomeNames[] = {
    "ok",          "rejected", "compileError", "compileTimeout",
    "outOfMemory", "crash",    "runTimeout",   "wrongResult"};

/// `ok`, `rejected`, `compileError`, ...: the spelling in every file.
inline llvm::StringRef toString(Outcome outcome) {
  return outcomeNames[static_cast<int>(outcome)];
}

inline std::optional<Outcome> outcomeFromString(llvm::StringRef text) {
  for (int i = 0; i < static_cast<int>(std::size(outcomeNames)); ++i)
    if (outcomeNames[i] == text)
      return static_cast<Outcome>(i);
  return std::nullopt;
}

} // namespace attune

#endif // ATTUNE_SUPPORT_OUTCOME_H
