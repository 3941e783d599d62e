//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// What a linalg op computes, seen from its structure: indexing maps, iterator
// types and body. Never from its name, for frontends generalise ops.

#ifndef ATTUNE_DIALECT_CLASSIFY_H
#define ATTUNE_DIALECT_CLASSIFY_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>

namespace attune {

enum class OpClass {
  Contraction, ///< multiply and add over k: matmul, batched, matvec, dot
  Convolution, ///< a window and input channels, or a window alone
  Depthwise,   ///< a window, one channel at a time
  Pooling,     ///< a window without weights
  Reduction,   ///< any other op with a reduction loop
  Elementwise, ///< parallel loops only
  Copy,        ///< parallel loops, nothing computed: copy, transpose, broadcast
  Fill,        ///< a scalar to every element
  Other,       ///< not a linalg op
};

/// `contraction`, `convolution`, ...
llvm::StringRef toString(OpClass opClass);

OpClass classify(mlir::Operation *op);

/// The part a loop plays in a schedule.
enum class LoopRole : int32_t {
  Batch = 0,  ///< parallel, tiled to 1 or not at all
  M = 1,      ///< parallel, the rows of a register tile
  N = 2,      ///< parallel, vectorised
  K = 3,      ///< reduction, unrolled
  Window = 4, ///< reduction, tiled to 1
};
std::optional<LoopRole> loopRoleFromString(llvm::StringRef text);

/// One role for each loop. N is the parallel loop along which the result is
/// contiguous (for a contraction without one, such as matvec, the M loop is
/// missing). Of several candidates the innermost becomes M or K, the others
/// Batch or Window. Reductions and elementwise ops: N is the contiguous
/// parallel loop, K the innermost reduction loop, M the next parallel loop.
llvm::SmallVector<LoopRole> inferLoopRoles(mlir::linalg::LinalgOp op);

/// Trip counts, -1 where dynamic.
llvm::SmallVector<int64_t> loopExtents(mlir::linalg::LinalgOp op);

} // namespace attune

#endif // ATTUNE_DIALECT_CLASSIFY_H
