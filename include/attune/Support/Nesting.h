//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Parsers that recurse end the stack on a file of brackets. This looks first.

#ifndef ATTUNE_SUPPORT_NESTING_H
#define ATTUNE_SUPPORT_NESTING_H

#include "llvm/ADT/StringRef.h"

namespace attune {

enum class Syntax {
  Json, ///< [ ] and { }
  Mlir, ///< also ( ) and < >, and // comments
};

/// Whether brackets outside of texts are nested more than `depth` deep. Text
/// that is not of the syntax may give either answer, but only where a parser
/// stops before it gets that deep.
bool isNestedDeeper(llvm::StringRef text, int depth, Syntax syntax);

/// Deeper MLIR is refused; real programs stay under 50.
inline constexpr int maxMlirDepth = 256;

} // namespace attune

#endif // ATTUNE_SUPPORT_NESTING_H
