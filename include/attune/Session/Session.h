//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// The one tuning loop: docs/architecture.md's picture in C++. It knows all
// other rooms and holds no mechanism of its own.

#ifndef ATTUNE_SESSION_SESSION_H
#define ATTUNE_SESSION_SESSION_H

#include "attune/Backend/Backend.h"
#include "attune/Database/Database.h"
#include "attune/Measure/Executor.h"
#include "attune/Profile/Hot.h"
#include "attune/Report/Progress.h"
#include "attune/Report/SessionReport.h"
#include "attune/Session/Budget.h"
#include "attune/Support/Clock.h"
#include "attune/Support/Sizes.h"
#include "attune/Support/Tensor.h"
#include <functional>

namespace attune {

/// Values for one entry function.
struct EntryInputs {
  std::string entry;
  std::string label; ///< `?=8`; empty for static sizes.
  std::vector<Tensor> tensors;
  /// The variant of the entry that runs with them; empty: none.
  std::vector<SizeRange> sizes = {};
};

/// The variants that these inputs are for.
std::vector<EntrySizes> variantsFor(llvm::ArrayRef<EntryInputs> inputs);

enum class WhenUnwritable {
  Stop,         ///< Write results, and end with the error.
  GoOnInMemory, ///< Warn, and try the file again at the end.
};

struct SessionOptions {
  std::string model;        ///< For the report.
  std::string command;      ///< The same command goes on with its session.
  std::string resultFolder; ///< Exists; results are written here.
  std::string workFolder;   ///< For files that are removed at the end.
  Budget budget;
  std::string search = "auto";
  uint64_t seed = 0;
  int threads = 1;
  Target target;
  Versions versions;
  /// Dispatches are tuned, those with the greatest possible gain first, until
  /// so much of the dispatches' time is covered.
  double coverage = 0.95;
  /// What the machine can do; when empty, any dispatch may gain all its time.
  MachinePeaks peaks;
  /// Where the time goes, if it is known already and need not be measured.
  std::optional<Profile> profile;
  /// Dispatches are tuned with the values that their inputs have in the
  /// program; else floats are random.
  bool keepValues = false;
  /// A gain under this is called none: 0.01 is one percent.
  double minimumGain = 0.01;
  /// When trials cannot be written any more.
  WhenUnwritable whenUnwritable = WhenUnwritable::Stop;
  /// The file that the database stands for, if it is one in memory from the
  /// start.
  std::string unwritableDatabase;
};

/// What a session works with; all outlive it.
struct SessionParts {
  Backend &backend;
  /// A fresh process to run code in, with these in its environment.
  std::function<std::unique_ptr<Executor>(std::vector<std::string>)>
      createExecutor;
  Database &database;
  Clock &clock;
  Progress &progress;
  /// Told what happened, for programs that watch: docs/formats.md, events. A
  /// trial is on disk by then.
  std::function<void(llvm::json::Object)> onEvent = nullptr;
};

/// Tunes a program: measures it, rehearses the ending, searches its dispatches
/// by their share of time, keeps what is certain to be faster, and writes
/// spec.mlir and the report into the result folder. An interrupted session
/// writes what it has; one that was killed, or interrupted, goes on when the
/// same command is given again, and finds what it would have found.
llvm::Expected<SessionReport> runSession(SessionParts parts,
                                         const SessionOptions &options,
                                         std::vector<EntryInputs> inputs);

} // namespace attune

#endif // ATTUNE_SESSION_SESSION_H
