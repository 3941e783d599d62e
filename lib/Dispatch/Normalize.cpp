//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Normalize.h"

#include "attune/Dialect/Classify.h"
#include "attune/Dispatch/UnitLoops.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace attune {
namespace {

/// Fills stay named: they are recognised, folded and fused as such.
void generalize(func::FuncOp entry) {
  SmallVector<linalg::LinalgOp> named;
  entry.walk([&](linalg::LinalgOp op) {
    if (!isa<linalg::GenericOp, linalg::FillOp>(op.getOperation()) &&
        op.hasPureTensorSemantics())
      named.push_back(op);
  });
  IRRewriter rewriter(entry.getContext());
  for (linalg::LinalgOp op : named) {
    rewriter.setInsertionPoint(op);
    (void)linalg::generalizeNamedOp(rewriter, op);
  }
}

/// Runs of loops that every operand has side by side, or none of them: one loop
/// is as good. The pixels of a convolution of 1 by 1 are rows of a product.
SmallVector<ReassociationIndices> mergeableLoops(linalg::GenericOp op) {
  auto iterators = op.getIteratorTypesArray();
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  SmallVector<ReassociationIndices> runs;
  ReassociationIndices run = {0};
  for (int64_t loop = 1; loop < op.getNumLoops(); ++loop) {
    ReassociationIndices longer = run;
    longer.push_back(loop);
    if (iterators[loop] == iterators[loop - 1] &&
        linalg::areDimSequencesPreserved(maps, {longer})) {
      run = longer;
      continue;
    }
    if (run.size() > 1)
      runs.push_back(run);
    run = {loop};
  }
  if (run.size() > 1)
    runs.push_back(run);
  return runs;
}

void mergeLoopsOfProducts(func::FuncOp entry) {
  SmallVector<linalg::GenericOp> products;
  entry.walk([&](linalg::GenericOp op) {
    if (classify(op) == OpClass::Contraction && op.hasPureTensorSemantics() &&
        llvm::none_of(loopExtents(op), [](int64_t size) { return size <= 0; }))
      products.push_back(op);
  });
  IRRewriter rewriter(entry.getContext());
  for (linalg::GenericOp op : products) {
    SmallVector<ReassociationIndices> runs = mergeableLoops(op);
    if (runs.empty())
      continue;
    rewriter.setInsertionPoint(op);
    FailureOr<linalg::CollapseResult> merged =
        linalg::collapseOpIterationDims(op, runs, rewriter);
    if (succeeded(merged))
      rewriter.replaceOp(op, merged->results);
  }
}

bool isComputed(Value value) {
  return value.getDefiningOp<linalg::LinalgOp>() != nullptr;
}

/// Reshapes only ever sink: below elementwise ops, and expansions below
/// reductions too. Only reshapes of what ops computed are moved; views of
/// inputs and weights hinder nobody.
bool maySink(OpOperand *operand) {
  auto user = dyn_cast<linalg::GenericOp>(operand->getOwner());
  if (!user)
    return false;
  OpClass opClass = classify(user);
  bool elementwise =
      opClass == OpClass::Elementwise || opClass == OpClass::Copy;
  Operation *reshape = operand->get().getDefiningOp();
  if (auto expand = dyn_cast_or_null<tensor::ExpandShapeOp>(reshape))
    return isComputed(expand.getSrc()) &&
           (elementwise || opClass == OpClass::Reduction);
  auto collapse = dyn_cast_or_null<tensor::CollapseShapeOp>(reshape);
  if (!collapse || !elementwise || !isComputed(collapse.getSrc()) ||
      !collapse->hasOneUse())
    return false;
  // Where another input comes in the lower rank, the op stays as it is: it can
  // follow that one.
  return llvm::none_of(user.getDpsInputOperands(), [](OpOperand *other) {
    return isComputed(other->get()) ||
           isa_and_nonnull<tensor::ExpandShapeOp>(other->get().getDefiningOp());
  });
}

/// One kind at a time: an op with inputs of both kinds would go to and fro.
LogicalResult sinkReshapes(
    func::FuncOp entry,
    function_ref<void(RewritePatternSet &, const linalg::ControlFusionFn &)>
        populate) {
  MLIRContext *context = entry.getContext();
  RewritePatternSet patterns(context);
  populate(patterns, maySink);
  linalg::FillOp::getCanonicalizationPatterns(patterns, context);
  tensor::EmptyOp::getCanonicalizationPatterns(patterns, context);
  tensor::ExpandShapeOp::getCanonicalizationPatterns(patterns, context);
  tensor::CollapseShapeOp::getCanonicalizationPatterns(patterns, context);
  tensor::populateFoldTensorEmptyPatterns(patterns);
  return applyPatternsGreedily(entry, std::move(patterns));
}

/// The input of an op that only permutes it, and how.
OpOperand *permutedInput(linalg::GenericOp op, AffineMap &map) {
  if (classify(op) != OpClass::Copy || op.getNumDpsInputs() != 1 ||
      op.getNumDpsInits() != 1 || !op.hasPureTensorSemantics())
    return nullptr;
  OpOperand *input = op.getDpsInputOperand(0);
  auto yield = cast<linalg::YieldOp>(op.getBody()->getTerminator());
  AffineMap result = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  map = op.getMatchingIndexingMap(input);
  if (yield.getOperand(0) != op.getMatchingBlockArgument(input) ||
      getElementTypeOrSelf(input->get().getType()) !=
          getElementTypeOrSelf(op->getResult(0).getType()) ||
      !map.isPermutation() || !result.isPermutation())
    return nullptr;
  map = map.compose(inversePermutation(result));
  return input;
}

/// Products read transposed operands as they are.
void readThroughTransposes(func::FuncOp entry) {
  SmallVector<linalg::GenericOp> products;
  entry.walk([&](linalg::GenericOp op) {
    if (classify(op) == OpClass::Contraction && op.hasPureTensorSemantics())
      products.push_back(op);
  });
  for (linalg::GenericOp op : products) {
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    for (OpOperand *operand : op.getDpsInputOperands()) {
      auto producer = operand->get().getDefiningOp<linalg::GenericOp>();
      AffineMap moved;
      OpOperand *source = producer ? permutedInput(producer, moved) : nullptr;
      if (!source)
        continue;
      AffineMap &map = maps[operand->getOperandNumber()];
      map = moved.compose(map);
      operand->set(source->get());
    }
    op.setIndexingMapsAttr(
        Builder(op.getContext()).getAffineMapArrayAttr(maps));
  }
}

/// Elementwise ops run in the order of their first input of full rank, so that
/// they can follow its producer; a transposed result is written as such. Only
/// where the last dimension stays last: else vectors would be scattered.
void followInputs(func::FuncOp entry) {
  IRRewriter rewriter(entry.getContext());
  SmallVector<linalg::GenericOp> ops;
  entry.walk([&](linalg::GenericOp op) { ops.push_back(op); });
  for (linalg::GenericOp op : ops) {
    OpClass opClass = classify(op);
    if ((opClass != OpClass::Elementwise && opClass != OpClass::Copy) ||
        op.getNumLoops() < 2)
      continue;
    for (OpOperand *operand : op.getDpsInputOperands()) {
      AffineMap map = op.getMatchingIndexingMap(operand);
      if (!map.isPermutation() || !isComputed(operand->get()))
        continue;
      AffineExpr last = getAffineDimExpr(op.getNumLoops() - 1, op.getContext());
      if (map.isIdentity() || map.getResults().back() != last)
        break;
      SmallVector<unsigned> order;
      for (AffineExpr expression : map.getResults())
        order.push_back(cast<AffineDimExpr>(expression).getPosition());
      rewriter.setInsertionPoint(op);
      (void)linalg::interchangeGenericOp(rewriter, op, order);
      break;
    }
  }
}

LogicalResult dropUnused(func::FuncOp entry) {
  RewritePatternSet patterns(entry.getContext());
  linalg::populateEraseUnusedOperandsAndResultsPatterns(patterns);
  return applyPatternsGreedily(entry, std::move(patterns));
}

LogicalResult simplify(func::FuncOp entry) {
  PassManager passes(entry.getContext(), entry.getOperationName());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  return passes.run(entry);
}

} // namespace

LogicalResult normalizeEntry(func::FuncOp entry) {
  generalize(entry);
  if (failed(dropUnused(entry)) || failed(dropUnitLoops(entry)) ||
      failed(simplify(entry)))
    return failure();
  // Before reshapes sink below the transposes, and for those they hid.
  readThroughTransposes(entry);
  if (failed(sinkReshapes(entry,
                          linalg::populateFoldReshapeOpsByExpansionPatterns)))
    return failure();
  mergeLoopsOfProducts(entry);
  if (failed(sinkReshapes(entry,
                          linalg::populateFoldReshapeOpsByCollapsingPatterns)))
    return failure();
  readThroughTransposes(entry);
  followInputs(entry);
  return simplify(entry);
}

} // namespace attune
