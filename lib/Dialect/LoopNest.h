//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// A linalg op without its spelling, for matching. Internal to the room.

#ifndef ATTUNE_LIB_DIALECT_LOOPNEST_H
#define ATTUNE_LIB_DIALECT_LOOPNEST_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace attune {

/// Loops and maps of a linalg op, some loops left out.
struct LoopNest {
  llvm::SmallVector<int64_t> extents; ///< -1 where dynamic
  llvm::SmallVector<mlir::utils::IteratorType> iterators;
  llvm::SmallVector<mlir::AffineMap> maps; ///< of all operands, in order
  llvm::SmallVector<unsigned> original;    ///< numbers of the loops in the op
};

/// All loops, as they are.
LoopNest loopNestOf(mlir::linalg::LinalgOp op);
/// Without the loops that run once and the dimensions that go with them.
LoopNest withoutUnitLoops(mlir::linalg::LinalgOp op);

/// An expression as `constant + sum of coefficient * loop`.
struct LinearTerms {
  llvm::SmallVector<std::pair<unsigned, int64_t>> terms; ///< loop, coefficient
  int64_t constant = 0;
};
std::optional<LinearTerms> linearTerms(mlir::AffineExpr expr);

/// Whether both are the same up to the order of loops; `admits` says what an
/// extent of `pattern` may be in `found`. `operands`, for each of the pattern's
/// maps, is the number of the one it is compared with. On success `loops` has
/// for each loop of the pattern the one of `found`.
bool unifyLoops(const LoopNest &pattern, const LoopNest &found,
                llvm::ArrayRef<unsigned> operands,
                llvm::function_ref<bool(int64_t, int64_t)> admits,
                llvm::SmallVectorImpl<int64_t> &loops);

} // namespace attune

#endif // ATTUNE_LIB_DIALECT_LOOPNEST_H
