//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// What stands between ops that belong together is moved out of the way before
// groups are looked for.

#ifndef ATTUNE_LIB_DISPATCH_NORMALIZE_H
#define ATTUNE_LIB_DISPATCH_NORMALIZE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace attune {

/// Named ops become generics without loops of extent 1; reshapes sink below the
/// ops that follow a product, transposes move into the maps of those who read
/// them; results nobody reads are dropped. What is computed stays the same, and
/// nothing is computed twice.
mlir::LogicalResult normalizeEntry(mlir::func::FuncOp entry);

} // namespace attune

#endif // ATTUNE_LIB_DISPATCH_NORMALIZE_H
