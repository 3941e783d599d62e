//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// What an imported program is rid of before dispatches are formed. References
// are computed from the program as it was before: see Program::clone.

#ifndef ATTUNE_IMPORT_CLEANUP_H
#define ATTUNE_IMPORT_CLEANUP_H

#include "attune/Import/Program.h"

namespace attune {

struct CleanUpOptions {
  /// A subgraph of constants is evaluated when its result has at most so many
  /// bytes (reordered weights are not counted).
  int64_t maxFoldedBytes = 4 << 20;
};

/// Changes the program in place; results stay equal up to rounding:
///  - subgraphs of constants are evaluated, transposes of weights among them;
///  - BatchNorm is folded into the convolution or contraction before it: the
///    scale into its filter, the shift into its bias;
///  - broadcasts that feed elementwise ops become part of their indexing maps;
///  - asserts whose condition is known to hold, double transposes and reshapes
///  that
///    undo each other are removed.
/// Weights that nothing uses any more are dropped, the others numbered anew.
llvm::Error cleanUp(Program &program, const CleanUpOptions &options = {});

} // namespace attune

#endif // ATTUNE_IMPORT_CLEANUP_H
