//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// The op that decides how a dispatch is scheduled, and what surrounds it.

#ifndef ATTUNE_DISPATCH_ROOTOP_H
#define ATTUNE_DISPATCH_ROOTOP_H

#include "attune/Dialect/Classify.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace attune {

/// A dispatch function taken apart.
struct DispatchParts {
  /// The op of the most expensive class (contraction, convolution, depthwise,
  /// pooling > reduction > elementwise, copy > fill); of several, the one with
  /// most work, and of equals the last. Null if there is no linalg op.
  mlir::linalg::LinalgOp root;
  OpClass opClass = OpClass::Other;

  /// The linalg ops that (transitively) use the root's result, in order.
  llvm::SmallVector<mlir::linalg::LinalgOp> epilogue;
  /// The other ops that compute something from tensors, in order.
  llvm::SmallVector<mlir::Operation *> producers;

  /// The op that defines everything the function returns, if there is one such
  /// op and it is a linalg op: the root or the last of the epilogue.
  mlir::linalg::LinalgOp last;
};

DispatchParts analyzeDispatch(mlir::func::FuncOp dispatch);

/// The ops of a function that are worth a schedule of their own, in order,
/// found by what they compute: of a dispatch its root, else the root of each
/// group that dispatch formation would make of the function as it is.
llvm::SmallVector<mlir::Operation *> findRootOps(mlir::func::FuncOp func);

/// Scalar operations of an op's body times its trip counts; dynamic loops
/// count as 64.
double estimateWork(mlir::linalg::LinalgOp op);

/// Roles of the loops of every linalg op of the dispatch, as seen from the
/// root: a loop of the epilogue or of a producer that runs along the root's M
/// is M too. Ops that are not connected with the root get their own roles.
llvm::DenseMap<mlir::Operation *, llvm::SmallVector<LoopRole>>
propagateLoopRoles(const DispatchParts &parts);

} // namespace attune

#endif // ATTUNE_DISPATCH_ROOTOP_H
