//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Which ops of a block become one dispatch.

#ifndef ATTUNE_LIB_DISPATCH_GROUPS_H
#define ATTUNE_LIB_DISPATCH_GROUPS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Block.h"
#include "llvm/ADT/SmallVector.h"

namespace attune {

/// Ops of one block, in its order; only the last one's results are used
/// outside (besides by ops that are cloned into each group: see isCloned).
struct DispatchGroup {
  mlir::Operation *root = nullptr;
  llvm::SmallVector<mlir::Operation *> ops;
};

/// Ops that are cheap to repeat in every group that uses them: constants that
/// are scalars or splats, tensor.empty, fills.
bool isCloned(mlir::Operation *op);

/// The blocks of a function that groups are found in, innermost first: what a
/// loop's body gives is not fused across it.
llvm::SmallVector<mlir::Block *> blocksToGroup(mlir::func::FuncOp func);

/// The groups of a block, in the order of their last ops.
llvm::SmallVector<DispatchGroup> findGroups(mlir::Block &block);

} // namespace attune

#endif // ATTUNE_LIB_DISPATCH_GROUPS_H
