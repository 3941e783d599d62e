//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// What the transform ops of AttuneTransformOps.td do, as functions.
//
// Schedules speak of loops by their role (LoopRole), whatever the rank. The
// roles are kept on each linalg op as the discardable attribute `attune.roles`,
// and what an op is to the dispatch as `attune.kind`; tiling clones both.

#ifndef ATTUNE_DIALECT_TRANSFORMS_H
#define ATTUNE_DIALECT_TRANSFORMS_H

#include "attune/Dialect/Classify.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/TilingInterface.h"

namespace attune {

namespace attr {
/// On linalg ops while a schedule runs: `array<i32>`, a LoopRole per loop.
inline constexpr llvm::StringLiteral roles = "attune.roles";
/// On linalg ops while a schedule runs: `root`, `init` (what the root
/// accumulates onto), `epilogue`, `producer` (of the root's inputs) or `pack`.
inline constexpr llvm::StringLiteral kind = "attune.kind";
} // namespace attr

void setLoopRoles(mlir::Operation *op, llvm::ArrayRef<LoopRole> roles);
/// Those of the attribute, else inferred from the op alone.
llvm::SmallVector<LoopRole> getLoopRoles(mlir::linalg::LinalgOp op);
/// The attribute's text, or "".
llvm::StringRef getKind(mlir::Operation *op);

struct TileOptions {
  /// One size for each loop of the op; 0 leaves the loop alone.
  llvm::SmallVector<int64_t> sizes;
  /// The loops that get tiled, outermost first.
  llvm::SmallVector<unsigned> order;
  /// One scf.forall instead of nested scf.for.
  bool parallel = false;
  /// Which producers move into the loops.
  std::function<bool(mlir::Operation *)> fuse = [](mlir::Operation *) {
    return false;
  };
};

/// Tiles `op` and moves producers in. A loop whose static extent the size does
/// not divide is split first, so that every tile has a static size; a loop that
/// is not longer than its size stays whole. A dynamic loop is cut with
/// affine.min. Returns the tiled ops, one for each part.
mlir::FailureOr<llvm::SmallVector<mlir::Operation *>>
tileAndFuse(mlir::RewriterBase &rewriter, mlir::linalg::LinalgOp op,
            const TileOptions &options);

/// What `value` is an expanded or collapsed view of, or `value` itself.
mlir::Value skipReshapes(mlir::Value value);

/// Whether `value` is an argument of a dispatch function that all calls give a
/// weight (attr::constant), or a view of one.
bool isWeightArgument(mlir::Value value);

/// Packs what `op` (a register tile inside loops) reads through the operand
/// that has the loop of role `panel`, so that a tile is contiguous: panels
/// along that loop, K innermost but one. The packed copy is made where the
/// tensor that the tiles are cut from is defined; of a weight, all of it at
/// once, outside of all loops. Shared among `ops` where
/// equal. Leaves alone what it cannot pack (dynamic sizes, windows, nothing to
/// gain).
mlir::LogicalResult packOperand(mlir::RewriterBase &rewriter,
                                llvm::ArrayRef<mlir::Operation *> ops,
                                LoopRole panel, int64_t lanes, bool parallel);

/// Turns the reduction of `op` along its K loop into one over `lanes` partial
/// results side by side, combined at the end; an op with a loop N steps along
/// its reductions instead. Leaves alone what has no neutral element or is
/// shorter than `lanes`.
mlir::LogicalResult tileReduction(mlir::RewriterBase &rewriter,
                                  mlir::linalg::LinalgOp op, int64_t lanes);

/// Tiles every linalg op under `scope` that is larger than a register tile, and
/// that no schedule has tiled: N by `lanes` (with the next loop where N is
/// shorter), the others by 1.
mlir::LogicalResult tileRest(mlir::RewriterBase &rewriter,
                             mlir::Operation *scope, int64_t lanes);

/// Makes reads of every second element of a slice's rows into two reads of rows
/// and a shuffle: as they are they become scalar loads.
void readStridesAsShuffles(mlir::RewriterBase &rewriter,
                           mlir::Operation *scope);

/// Vectorises every linalg op under `scope` whose iteration space is static and
/// has at most `maxElements` points, forwards and hoists what vectors pass
/// through tensors; other ops stay, to become loops.
mlir::LogicalResult vectorizeSmall(mlir::RewriterBase &rewriter,
                                   mlir::Operation *scope, int64_t maxElements);

} // namespace attune

#endif // ATTUNE_DIALECT_TRANSFORMS_H
