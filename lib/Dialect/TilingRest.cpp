//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Dialect/Transforms.h"

#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/TileUsingInterface.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace attune;

static std::optional<unsigned> findRole(linalg::LinalgOp op, LoopRole role) {
  for (auto [loop, loopRole] : llvm::enumerate(getLoopRoles(op)))
    if (loopRole == role)
      return loop;
  return std::nullopt;
}

/// One step at a time along every reduction: the lanes run along N.
static LogicalResult stepReductions(RewriterBase &rewriter,
                                    linalg::LinalgOp op) {
  TileOptions options;
  options.sizes.assign(op.getNumLoops(), 0);
  for (auto [loop, iterator] : llvm::enumerate(op.getIteratorTypesArray()))
    if (iterator == utils::IteratorType::reduction) {
      options.sizes[loop] = 1;
      options.order.push_back(loop);
    }
  return success(succeeded(tileAndFuse(rewriter, op, options)));
}

LogicalResult attune::tileReduction(RewriterBase &rewriter, linalg::LinalgOp op,
                                    int64_t lanes) {
  OpBuilder::InsertionGuard guard(rewriter);
  auto k = findRole(op, LoopRole::K);
  if (op.getNumReductionLoops() == 0)
    return success();
  if (findRole(op, LoopRole::N))
    return stepReductions(rewriter, op);
  if (!k || !isa<PartialReductionOpInterface>(op.getOperation()))
    return success();
  int64_t extent = loopExtents(op)[*k];
  if (extent < 0 || extent <= lanes)
    return success();
  if (extent % lanes != 0) {
    rewriter.setInsertionPoint(op);
    auto [first, second] =
        linalg::splitOp(rewriter, cast<TilingInterface>(op.getOperation()), *k,
                        rewriter.getIndexAttr(extent - extent % lanes));
    if (!first || !second)
      return failure();
    op = cast<linalg::LinalgOp>(first.getOperation());
    if (extent / lanes == 1)
      return success();
  }
  SmallVector<OpFoldResult> sizes(op.getNumLoops(), rewriter.getIndexAttr(0));
  sizes[*k] = rewriter.getIndexAttr(lanes);
  scf::SCFTilingOptions options;
  options.setTileSizes(sizes);
  options.setReductionTilingStrategy(
      ReductionTilingStrategy::PartialReductionOuterReduction);
  options.setReductionDims({*k});
  rewriter.setInsertionPoint(op);
  auto tiled = scf::tileUsingSCF(
      rewriter, cast<TilingInterface>(op.getOperation()), options);
  if (failed(tiled))
    return success();
  // Upstream offsets the indices of other tilings, not of this one.
  SmallVector<OpFoldResult> offsets(op.getNumLoops());
  offsets[*k] = *tiled->loops.front().getSingleInductionVar();
  for (Operation *part : tiled->tiledOps)
    if (auto linalgOp = dyn_cast<linalg::LinalgOp>(part);
        linalgOp && linalgOp.getNumLoops() == offsets.size())
      linalg::offsetIndices(rewriter, linalgOp, offsets);
  rewriter.replaceOp(op, tiled->replacements);
  return success();
}

/// Registers hold this many vectors of one op at a time.
static constexpr int64_t registerVectors = 4;
/// A part of the chain around the root that is this small has been tiled, or
/// need not be.
static constexpr int64_t registerTilePoints = 4096;

LogicalResult attune::tileRest(RewriterBase &rewriter, Operation *scope,
                               int64_t lanes) {
  SmallVector<linalg::LinalgOp> ops;
  scope->walk([&](linalg::LinalgOp op) {
    if (op.hasPureTensorSemantics())
      ops.push_back(op);
  });
  for (linalg::LinalgOp op : ops) {
    SmallVector<int64_t> extents = loopExtents(op);
    int64_t points = 1;
    for (int64_t extent : extents)
      points = extent < 0 || points < 0 ? -1 : points * extent;
    bool scheduled = !getKind(op).empty() && getKind(op) != "producer";
    if (points >= 0 &&
        points <= (scheduled ? registerTilePoints : registerVectors * lanes))
      continue;
    TileOptions options;
    options.sizes.assign(extents.size(), 0);
    auto roles = getLoopRoles(op);
    auto vectorLoop = findRole(op, LoopRole::N);
    // Parallel loops outside, reductions inside, the vectorised one innermost
    // of the parallel ones.
    for (bool reductions : {false, true})
      for (unsigned loop = 0; loop < extents.size(); ++loop) {
        bool isReduction =
            op.getIteratorTypesArray()[loop] == utils::IteratorType::reduction;
        if (isReduction != reductions || loop == vectorLoop)
          continue;
        options.sizes[loop] = 1;
        options.order.push_back(loop);
      }
    if (vectorLoop) {
      options.sizes[*vectorLoop] = lanes;
      auto firstReduction = llvm::find_if(options.order, [&](unsigned loop) {
        return op.getIteratorTypesArray()[loop] ==
               utils::IteratorType::reduction;
      });
      options.order.insert(firstReduction, *vectorLoop);
    }
    if (failed(tileAndFuse(rewriter, op, options)))
      return failure();
  }
  return success();
}
