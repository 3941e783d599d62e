//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Dialect/Transforms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Dialect/Vector/Transforms/VectorRewritePatterns.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"

using namespace mlir;
using namespace attune;

namespace {

bool isSmall(linalg::LinalgOp op, int64_t maxElements) {
  int64_t elements = 1;
  for (int64_t extent : loopExtents(op)) {
    if (extent <= 0)
      return false;
    elements *= extent;
    if (elements > maxElements)
      return false;
  }
  return llvm::all_of(op->getOperandTypes(), [&](Type type) {
    auto shaped = dyn_cast<RankedTensorType>(type);
    return !shaped || shaped.hasStaticShape();
  });
}

SmallVector<linalg::LinalgOp> collectSmall(Operation *scope,
                                           int64_t maxElements) {
  SmallVector<linalg::LinalgOp> ops;
  scope->walk([&](linalg::LinalgOp op) {
    if (op.hasPureTensorSemantics() && isSmall(op, maxElements))
      ops.push_back(op);
  });
  return ops;
}

/// Drops loops of extent 1: a convolution whose window is tiled to 1 becomes a
/// contraction.
linalg::LinalgOp dropUnitLoops(RewriterBase &rewriter, linalg::LinalgOp op) {
  auto generic = dyn_cast<linalg::GenericOp>(op.getOperation());
  if (!generic || !llvm::is_contained(loopExtents(op), 1))
    return op;
  linalg::ControlDropUnitDims options;
  options.rankReductionStrategy =
      linalg::ControlDropUnitDims::RankReductionStrategy::ExtractInsertSlice;
  rewriter.setInsertionPoint(generic);
  auto dropped = linalg::dropUnitDims(rewriter, generic, options);
  if (failed(dropped))
    return op;
  auto result = cast<linalg::LinalgOp>(dropped->resultOp.getOperation());
  rewriter.replaceOp(generic, dropped->replacements);
  return result;
}

/// Subscripts `d * s` become a slice with stride s and the subscript `d`.
void takeStridedSlices(RewriterBase &rewriter, linalg::LinalgOp linalgOp) {
  auto op = dyn_cast<linalg::GenericOp>(linalgOp.getOperation());
  if (!op)
    return;
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  SmallVector<int64_t> extents = loopExtents(linalgOp);
  rewriter.setInsertionPoint(op);
  for (OpOperand *operand : op.getDpsInputOperands()) {
    auto type = dyn_cast<RankedTensorType>(operand->get().getType());
    AffineMap map = op.getMatchingIndexingMap(operand);
    if (!type || map.isProjectedPermutation())
      continue;
    SmallVector<AffineExpr> subscripts;
    SmallVector<OpFoldResult> offsets, sizes, strides;
    bool simple = true;
    for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
      AffineExpr loop = expr;
      int64_t stride = 1;
      if (auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
          binary && binary.getKind() == AffineExprKind::Mul &&
          isa<AffineConstantExpr>(binary.getRHS())) {
        loop = binary.getLHS();
        stride = cast<AffineConstantExpr>(binary.getRHS()).getValue();
      }
      auto position = dyn_cast<AffineDimExpr>(loop);
      if (!position || stride < 1) {
        simple = false;
        break;
      }
      subscripts.push_back(loop);
      offsets.push_back(rewriter.getIndexAttr(0));
      sizes.push_back(rewriter.getIndexAttr(extents[position.getPosition()]));
      strides.push_back(rewriter.getIndexAttr(stride));
    }
    if (!simple)
      continue;
    Value slice = tensor::ExtractSliceOp::create(
        rewriter, op.getLoc(), operand->get(), offsets, sizes, strides);
    maps[operand->getOperandNumber()] =
        AffineMap::get(map.getNumDims(), 0, subscripts, op.getContext());
    rewriter.modifyOpInPlace(op, [&] { operand->set(slice); });
  }
  rewriter.modifyOpInPlace(op, [&] {
    op.setIndexingMapsAttr(rewriter.getAffineMapArrayAttr(maps));
  });
}

void addCanonicalization(RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  for (Dialect *dialect : context->getLoadedDialects())
    dialect->getCanonicalizationPatterns(patterns);
  for (RegisteredOperationName name : context->getRegisteredOperations())
    name.getCanonicalizationPatterns(patterns, context);
}

template <typename AddPatterns>
void rewrite(RewriterBase &rewriter, Operation *scope, AddPatterns add) {
  RewritePatternSet patterns(scope->getContext());
  addCanonicalization(patterns);
  add(patterns);
  GreedyRewriteConfig config;
  if (auto *listener =
          dyn_cast_or_null<RewriterBase::Listener>(rewriter.getListener()))
    config.setListener(listener);
  // Not converging in the given number of rounds is no error: the IR is right.
  (void)applyPatternsGreedily(scope, std::move(patterns), config);
}

/// Slices of slices stay: merged, a tile of a part of the result would be cut
/// from the whole beside the part, and bufferization would copy.
void cleanUp(RewriterBase &rewriter, Operation *scope) {
  rewrite(rewriter, scope, [](RewritePatternSet &patterns) {
    tensor::populateFoldTensorSubsetOpPatterns(patterns);
    tensor::populateReassociativeReshapeFoldingPatterns(patterns);
  });
  DominanceInfo dominance;
  eliminateCommonSubExpressions(rewriter, dominance, scope);
}

void simplifyVectors(RewriterBase &rewriter, Operation *scope) {
  rewrite(rewriter, scope, [](RewritePatternSet &patterns) {
    vector::populateVectorReductionToContractPatterns(patterns);
    // Conversions of what is broadcast: bf16 and i8 operands.
    vector::populateSinkVectorOpsPatterns(patterns);
    vector::populateVectorTransferPermutationMapLoweringPatterns(patterns);
    vector::populateCastAwayVectorLeadingOneDimPatterns(patterns);
    // What moves only loops of extent 1 is no transposition.
    vector::populateDropUnitDimWithShapeCastPatterns(patterns);
    vector::populateDropInnerMostUnitDimsXferOpPatterns(patterns);
    tensor::populateFoldTensorSubsetIntoVectorTransferPatterns(patterns);
  });
}

/// The operand whose vectors lie along those of the result comes second, the
/// one that is broadcast first: otherwise the lowering makes outer products
/// with vectors along the wrong loop, and transposes them.
void orderOperands(Operation *scope) {
  scope->walk([](vector::ContractionOp op) {
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    if (maps[2].getNumResults() == 0)
      return;
    AffineExpr vectors = maps[2].getResults().back();
    if (!llvm::is_contained(maps[0].getResults(), vectors) ||
        llvm::is_contained(maps[1].getResults(), vectors))
      return;
    std::swap(maps[0], maps[1]);
    Value first = op.getLhs(), second = op.getRhs();
    op.getLhsMutable().assign(second);
    op.getRhsMutable().assign(first);
    op.setIndexingMapsAttr(
        Builder(op.getContext()).getAffineMapArrayAttr(maps));
  });
}

void hoistSubsets(RewriterBase &rewriter, Operation *scope) {
  SmallVector<LoopLikeOpInterface> loops;
  scope->walk([&](LoopLikeOpInterface loop) { loops.push_back(loop); });
  for (LoopLikeOpInterface loop : loops)
    hoistLoopInvariantSubsets(rewriter, loop);
}

void hoist(RewriterBase &rewriter, Operation *scope) {
  hoistSubsets(rewriter, scope);
  scope->walk([&](LoopLikeOpInterface loop) { moveLoopInvariantCode(loop); });
  rewrite(rewriter, scope, [](RewritePatternSet &patterns) {
    tensor::populateFoldTensorSubsetIntoVectorTransferPatterns(patterns);
  });
  DominanceInfo dominance;
  eliminateCommonSubExpressions(rewriter, dominance, scope);
}

} // namespace

LogicalResult attune::vectorizeSmall(RewriterBase &rewriter, Operation *scope,
                                     int64_t maxElements) {
  OpBuilder::InsertionGuard guard(rewriter);
  cleanUp(rewriter, scope);
  SmallVector<linalg::LinalgOp> reduced;
  for (linalg::LinalgOp op : collectSmall(scope, maxElements))
    reduced.push_back(dropUnitLoops(rewriter, op));
  for (linalg::LinalgOp op : reduced) {
    takeStridedSlices(rewriter, op);
    rewriter.setInsertionPoint(op);
    auto vectorized = linalg::vectorize(rewriter, op);
    if (succeeded(vectorized))
      rewriter.replaceOp(op, vectorized->replacements);
  }
  // Reads that are broadcast come apart before slices fold into them: with an
  // index in the middle that the vector does not have, no pattern takes them.
  rewrite(rewriter, scope, [](RewritePatternSet &patterns) {
    vector::populateVectorTransferPermutationMapLoweringPatterns(patterns);
  });
  // Slices leave the loops first: folding them into transfers can leave a read
  // and a write of one accumulator in different forms.
  cleanUp(rewriter, scope);
  hoistSubsets(rewriter, scope);
  simplifyVectors(rewriter, scope);
  readStridesAsShuffles(rewriter, scope);
  orderOperands(scope);
  hoist(rewriter, scope);
  return success();
}
