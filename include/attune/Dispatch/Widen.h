//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Sums in half precision lose digits and overflow: they are accumulated wider.

#ifndef ATTUNE_DISPATCH_WIDEN_H
#define ATTUNE_DISPATCH_WIDEN_H

#include "mlir/IR/BuiltinOps.h"

namespace attune {

enum class Widen {
  /// f16 and bf16 reductions accumulate in f32.
  HalfPrecision,
  /// Also f32 reductions, in f64: for references.
  Everything,
};

/// Rewrites linalg reductions whose bodies are float arithmetic; the result is
/// rounded to the program's type once, at the end. Maxima and minima stay as
/// they are: they round nothing.
void widenReductions(mlir::ModuleOp module, Widen mode);

} // namespace attune

#endif // ATTUNE_DISPATCH_WIDEN_H
