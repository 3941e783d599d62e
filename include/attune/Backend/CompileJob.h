//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// What a compile worker does: `compile` jobs of docs/protocol.md.

#ifndef ATTUNE_BACKEND_COMPILEJOB_H
#define ATTUNE_BACKEND_COMPILEJOB_H

#include "attune/Schedule/Configuration.h"
#include "attune/Schedule/Target.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <optional>
#include <string>

namespace attune {

struct CompileJob {
  std::string program; ///< Written by writeProgram, imported or dispatched.
  std::string output;  ///< The library to write.
  Target target;
  int threads = 1;
  std::string schedules;   ///< Folder; empty: loops only.
  std::string cacheFolder; ///< Of objects; empty: none.
  bool reference = false;
  /// The host code hands every dispatch's first inputs to the runtime.
  bool capture = false;
  /// For every dispatch that has no `attune.config`; nothing: the baseline.
  std::optional<Configuration> configuration;
  /// With `parts`: compile only every parts-th dispatch, from number `part` on,
  /// into the cache, and make no library.
  int64_t part = 0, parts = 0;
  /// Dispatches whose schedules bring the compiler down: they become loops.
  std::vector<std::string> asLoops;
};

llvm::json::Object toJSON(const CompileJob &job);
llvm::Expected<CompileJob> compileJobFromJSON(const llvm::json::Object &json);

/// Does a job in this process, in a context of its own. The answer has
/// "outcome" (ok, rejected, compileError), "reason", "compileSeconds".
llvm::Expected<llvm::json::Object>
runCompileJob(const llvm::json::Object &json);

} // namespace attune

#endif // ATTUNE_BACKEND_COMPILEJOB_H
