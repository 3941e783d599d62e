//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Search engines of others, as guests: a program that speaks the protocol of
// docs/search-protocol.md proposes, and what it gets wrong costs no trial.

#ifndef ATTUNE_SEARCH_GUEST_H
#define ATTUNE_SEARCH_GUEST_H

#include "attune/Search/Searcher.h"
#include <functional>

namespace attune {

struct GuestOptions {
  std::string name;                   ///< For messages: `exec:./mine.py`.
  std::vector<std::string> arguments; ///< [0]: a path, or a name in PATH.
  uint64_t seed = 0;
  double answerSeconds = 60; ///< Longer without an answer, and it hangs.
  size_t restarts = 2;       ///< Then `auto` goes on.
  /// Told what went wrong, one line each.
  std::function<void(llvm::StringRef)> note;
};

/// Starts the program and waits until it is ready; that it does not get there
/// is an error. Later, a guest that dies, hangs, or proposes something invalid
/// or a repeat is noted and started again with all that was told so far; after
/// so many restarts, `auto` goes on. `space` must outlive the searcher.
llvm::Expected<std::unique_ptr<Searcher>>
createGuestSearcher(const Space &space, GuestOptions options);

/// The program of `optuna`, `opentuner` or `exec:PROGRAM ARGUMENTS` (split as a
/// shell would, without expansion). Python is $ATTUNE_PYTHON, else python3.
llvm::Expected<std::vector<std::string>> guestCommand(llvm::StringRef name);

} // namespace attune

#endif // ATTUNE_SEARCH_GUEST_H
