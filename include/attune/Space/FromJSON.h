//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Spaces as JSON files, version 1: see docs/spaces.md.

#ifndef ATTUNE_SPACE_FROMJSON_H
#define ATTUNE_SPACE_FROMJSON_H

#include "attune/Space/Space.h"

namespace attune {

/// Reads a space. `path` is where `text` comes from: messages begin with it
/// and, where it is known, the line. An unsatisfiable space is an error that
/// names the constraints that contradict each other.
llvm::Expected<Space> parseSpace(llvm::StringRef text, llvm::StringRef path);

/// The same, of a file.
llvm::Expected<Space> readSpace(llvm::StringRef path);

} // namespace attune

#endif // ATTUNE_SPACE_FROMJSON_H
