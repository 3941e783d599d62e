//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// A command, started with limits, as a candidate's outcome. Internal.

#ifndef ATTUNE_LIB_BACKEND_COMMANDRUN_H
#define ATTUNE_LIB_BACKEND_COMMANDRUN_H

#include "attune/Backend/Command.h"
#include "attune/Measure/Worker.h"

namespace attune {

/// Where a command runs: everything that it writes without a path is there.
struct CommandPlace {
  std::string folder;
  std::vector<std::string> environment;
};

/// Runs it to its end; what it starts ends with it. `phase` says whose failure
/// it is.
CommandOutcome runCommand(std::vector<std::string> arguments,
                          const CommandPlace &place, const Limits &limits,
                          JobPhase phase);

} // namespace attune

#endif // ATTUNE_LIB_BACKEND_COMMANDRUN_H
