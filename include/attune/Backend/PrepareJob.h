//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// What a compile worker does with a stranger's program before anything is
// compiled: `prepare` jobs of docs/protocol.md. A rewrite that never ends,
// takes all memory or crashes is the worker's.

#ifndef ATTUNE_BACKEND_PREPAREJOB_H
#define ATTUNE_BACKEND_PREPAREJOB_H

#include "attune/Support/Sizes.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <map>
#include <string>
#include <vector>

namespace attune {

struct PrepareJob {
  std::string model;  ///< The program, as the user wrote it.
  std::string folder; ///< What `model` is relative to; empty: nothing.
  std::string entry;  ///< One entry function; empty: every public one.
  std::string imported, dispatched; ///< Programs to write.
  std::vector<EntrySizes> sizes;    ///< Variants to make.
};

/// What the files that the job wrote do not say.
struct PreparedProgram {
  std::vector<std::string> notes;
  /// Where a dispatch comes from, by its name: `model.mlir:12`.
  std::map<std::string, std::string> places;
};

llvm::json::Object toJSON(const PrepareJob &job);
llvm::Expected<PrepareJob> prepareJobFromJSON(const llvm::json::Object &json);
llvm::Expected<PreparedProgram>
preparedFromJSON(const llvm::json::Object &answer);

/// Does a job in this process, in a context of its own: imports the program,
/// cleans it up, forms its dispatches and looks at each as schedules will.
/// What is wrong with the program is a compileError whose "reason" is the
/// line for the user.
llvm::Expected<llvm::json::Object>
runPrepareJob(const llvm::json::Object &json);

} // namespace attune

#endif // ATTUNE_BACKEND_PREPAREJOB_H
