//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Ask and tell over a space. A searcher knows nothing of compilers or clocks.

#ifndef ATTUNE_SEARCH_SEARCHER_H
#define ATTUNE_SEARCH_SEARCHER_H

#include "attune/Search/Trial.h"
#include "attune/Space/Space.h"
#include <functional>
#include <memory>

namespace attune {

class Searcher {
public:
  virtual ~Searcher() = default;

  /// Up to `n` configurations, all valid, none ever given before by this
  /// searcher. Fewer than `n` (or none) when the space is exhausted.
  virtual std::vector<Configuration> ask(size_t n) = 0;

  /// What became of a configuration. Also takes trials it did not ask for
  /// (earlier sessions): these are not proposed again.
  virtual void tell(const Trial &trial) = 0;

  /// Why to stop, for people; empty while there is no reason: the space is
  /// exhausted, or nothing better is to be expected. Who asks on in the second
  /// case is still answered.
  virtual std::string stopReason() const = 0;
};

/// `name` is "auto", "random", "exhaustive", or one of the guests "optuna",
/// "opentuner" and "exec:PROGRAM ARGUMENTS" (docs/search-protocol.md); an error
/// lists the known names. The same seed and the same trials give the same
/// questions. `space` must outlive the searcher. `first` is what `auto` asks
/// before anything else, in this order (the default configuration, good ones of
/// a near problem); what is not in the space is left out. The others do not
/// look at it. `note` is told what goes wrong with a guest; by default it is a
/// warning on stderr.
llvm::Expected<std::unique_ptr<Searcher>>
createSearcher(llvm::StringRef name, const Space &space, uint64_t seed,
               std::vector<Configuration> first = {},
               std::function<void(llvm::StringRef)> note = nullptr);

} // namespace attune

#endif // ATTUNE_SEARCH_SEARCHER_H
