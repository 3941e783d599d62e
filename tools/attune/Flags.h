//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Flag files: how a program was compiled and run. docs/formats.md has the
// format.

#ifndef ATTUNE_TOOLS_FLAGS_H
#define ATTUNE_TOOLS_FLAGS_H

#include "Commands.h"

namespace attune::cli {

/// One command that was run.
struct RecordedCommand {
  std::vector<std::string> command;               ///< Program and arguments.
  std::string folder;                             ///< It was run in.
  std::map<std::string, std::string> environment; ///< What matters of it.
  std::map<std::string, std::string> versions;
  int status = 0;
};

/// A command as it is about to be run here.
RecordedCommand describeCommand(std::vector<std::string> command);

/// What a command says of a program; empty or 0 where it says nothing.
struct CommandMeaning {
  std::string tool; ///< `attune`, `iree-compile`, ...; empty: another's.
  std::string model, entry, targetCPU;
  std::vector<std::string> inputs;
  /// Of iree-compile, and of what runs its programs, for every other time.
  std::vector<std::string> ireeFlags, ireeRunFlags;
  int threads = 0;
  uint64_t seed = 0;
};
CommandMeaning interpret(const RecordedCommand &command);

/// Adds a command to the file, which may have others already.
llvm::Error appendToFlagFile(llvm::StringRef path,
                             const RecordedCommand &command);
llvm::Expected<std::vector<RecordedCommand>> readFlagFile(llvm::StringRef path);

/// Fills in what `flags` does not say from the commands of a file; what is said
/// later counts more.
llvm::Error applyFlagFile(llvm::StringRef path, ModelFlags &flags);

} // namespace attune::cli

#endif // ATTUNE_TOOLS_FLAGS_H
