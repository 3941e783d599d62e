//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// How far a session is, while it runs.

#ifndef ATTUNE_REPORT_PROGRESS_H
#define ATTUNE_REPORT_PROGRESS_H

#include "attune/Support/Clock.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdint>
#include <string>

namespace attune {

struct ProgressState {
  std::string stage; ///< `tuning`, `final`, `verifying`.
  std::string dispatch;
  int64_t dispatchNumber = 0, dispatchCount = 0; ///< 3 of 17; 0: not shown.
  int64_t trials = 0, failures = 0;              ///< Of this dispatch.
  double bestSpeedup = 0;                        ///< 0: nothing ok yet.
  double elapsedSeconds = 0;
  double budgetSeconds = 0; ///< 0: no limit in time.
};

/// One line for a state, without newline, at most `columns` characters wide.
std::string formatProgress(const ProgressState &state, unsigned columns = 100);

/// On a terminal one line that is rewritten, at most 10 times a second;
/// elsewhere a line when the dispatch or stage changes and every 30 seconds.
class Progress {
public:
  enum class Style { Terminal, Lines, Quiet };

  Progress(llvm::raw_ostream &out, Style style, Clock &clock,
           unsigned columns = 100);
  ~Progress();

  /// Terminal if `out` is one, else Lines.
  static Style styleFor(llvm::raw_ostream &out);

  void update(const ProgressState &state);
  /// A message that stays, above the progress line.
  void note(llvm::StringRef message);
  /// Removes the line; called by the destructor too.
  void finish();

private:
  void erase();
  llvm::raw_ostream &out;
  Style style;
  Clock &clock;
  unsigned columns;
  std::string shown;
  std::string lastTopic;
  double lastAt = -1e30;
};

} // namespace attune

#endif // ATTUNE_REPORT_PROGRESS_H
