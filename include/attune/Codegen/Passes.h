//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Codegen's stages as passes of attune-opt, for tests and for looking at them.

#ifndef ATTUNE_CODEGEN_PASSES_H
#define ATTUNE_CODEGEN_PASSES_H

namespace attune {

/// attune-decompose, attune-bufferize-dispatch, attune-plan-arena.
void registerCodegenPasses();

} // namespace attune

#endif // ATTUNE_CODEGEN_PASSES_H
