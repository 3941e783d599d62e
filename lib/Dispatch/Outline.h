//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// A group of ops becomes a function and a call of it.

#ifndef ATTUNE_LIB_DISPATCH_OUTLINE_H
#define ATTUNE_LIB_DISPATCH_OUTLINE_H

#include "Groups.h"
#include "attune/Dialect/Attune.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace attune {

/// Replaces the group by an attune.dispatch of a new function `name` at the end
/// of `module`; null (and nothing changed) when the group cannot be outlined.
mlir::func::FuncOp outline(const DispatchGroup &group, mlir::ModuleOp module,
                           llvm::StringRef name);

/// Dims of results become dims of the function's arguments where they follow
/// from them.
void resolveDims(mlir::func::FuncOp func);

} // namespace attune

#endif // ATTUNE_LIB_DISPATCH_OUTLINE_H
