//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Schedule/Library.h"

#include "Collapse.h"
#include "Form.h"
#include "attune/Dialect/Classify.h"
#include "attune/Dispatch/UnitLoops.h"
#include "attune/Support/Error.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace attune;

/// Softmax and other ops that stand for several linalg ops.
static LogicalResult decomposeAggregates(func::FuncOp dispatch,
                                         IRRewriter &rewriter) {
  SmallVector<linalg::AggregatedOpInterface> aggregates;
  dispatch.walk(
      [&](linalg::AggregatedOpInterface op) { aggregates.push_back(op); });
  for (linalg::AggregatedOpInterface op : aggregates) {
    rewriter.setInsertionPoint(op);
    FailureOr<SmallVector<Value>> values = op.decomposeOperation(rewriter);
    if (failed(values))
      return failure();
    rewriter.replaceOp(op, *values);
  }
  return success();
}

/// Fills stay named: they are recognised, folded and fused as such.
static void generalizeNamedOps(func::FuncOp dispatch, IRRewriter &rewriter) {
  SmallVector<linalg::LinalgOp> named;
  dispatch.walk([&](linalg::LinalgOp op) {
    if (!isa<linalg::GenericOp, linalg::FillOp>(op.getOperation()) &&
        op.hasPureTensorSemantics())
      named.push_back(op);
  });
  for (linalg::LinalgOp op : named) {
    rewriter.setInsertionPoint(op);
    (void)linalg::generalizeNamedOp(rewriter, op);
  }
}

/// A chain of elementwise ops becomes one op, unless that computes something
/// expensive once for each element that was computed once for each row.
static bool shouldFuse(OpOperand *operand) {
  auto producer = operand->get().getDefiningOp<linalg::GenericOp>();
  auto consumer = dyn_cast<linalg::GenericOp>(operand->getOwner());
  if (!producer || !consumer || producer.getNumReductionLoops() > 0)
    return false;
  OpClass consumerClass = classify(consumer);
  if (consumerClass != OpClass::Elementwise && consumerClass != OpClass::Copy &&
      consumerClass != OpClass::Reduction)
    return false;
  bool moves = classify(producer) == OpClass::Copy;
  if (consumerClass == OpClass::Reduction && !producer->hasOneUse())
    return false;
  if (moves)
    return true;
  return producer->hasOneUse() &&
         producer.getNumLoops() ==
             consumer.getNumParallelLoops() + consumer.getNumReductionLoops();
}

static LogicalResult fuseElementwise(func::FuncOp dispatch) {
  MLIRContext *context = dispatch.getContext();
  RewritePatternSet patterns(context);
  linalg::populateElementwiseOpsFusionPatterns(patterns, shouldFuse);
  linalg::GenericOp::getCanonicalizationPatterns(patterns, context);
  tensor::ExpandShapeOp::getCanonicalizationPatterns(patterns, context);
  tensor::CollapseShapeOp::getCanonicalizationPatterns(patterns, context);
  GreedyRewriteConfig config;
  config.setUseTopDownTraversal();
  if (failed(applyPatternsGreedily(dispatch, std::move(patterns), config)))
    return failure();
  // Producers whose bodies assert something stay behind when they have been
  // fused: their checks are in the fused op too.
  SmallVector<linalg::LinalgOp> ops;
  dispatch.walk([&](linalg::LinalgOp op) { ops.push_back(op); });
  for (linalg::LinalgOp op : llvm::reverse(ops))
    if (op->use_empty() && op.hasPureTensorSemantics())
      op->erase();
  return success();
}

/// Elementwise fusion forgets destinations that are not read, and the unit-loop
/// pass puts views between them and the op: results are led back to where the
/// caller wants them.
static void restoreDestination(IRRewriter &rewriter, Value result,
                               Value destination) {
  SmallVector<Operation *> views;
  while (isa_and_nonnull<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(
      result.getDefiningOp())) {
    views.push_back(result.getDefiningOp());
    result = views.back()->getOperand(0);
  }
  auto op = result.getDefiningOp<linalg::LinalgOp>();
  OpOperand *init = nullptr;
  while (op) {
    init = op.getDpsInitOperand(cast<OpResult>(result).getResultNumber());
    result = init->get();
    op = result.getDefiningOp<linalg::LinalgOp>();
    if (op && !result.hasOneUse())
      return;
  }
  if (!init || !result.getDefiningOp<tensor::EmptyOp>())
    return;
  rewriter.setInsertionPointToStart(
      cast<BlockArgument>(destination).getOwner());
  for (Operation *view : views) {
    Location loc = view->getLoc();
    if (auto expand = dyn_cast<tensor::ExpandShapeOp>(view)) {
      destination = tensor::CollapseShapeOp::create(
          rewriter, loc, expand.getSrcType(), destination,
          expand.getReassociationIndices());
    } else {
      auto collapse = cast<tensor::CollapseShapeOp>(view);
      if (!collapse.getSrcType().hasStaticShape())
        return;
      destination = tensor::ExpandShapeOp::create(
          rewriter, loc, collapse.getSrcType(), destination,
          collapse.getReassociationIndices());
    }
  }
  if (destination.getType() == result.getType())
    rewriter.modifyOpInPlace(init->getOwner(), [&] { init->set(destination); });
}

void attune::restoreDestinations(func::FuncOp dispatch, IRRewriter &rewriter) {
  if (!dispatch.getBody().hasOneBlock())
    return;
  Block &body = dispatch.getBody().front();
  Operation *terminator = body.getTerminator();
  unsigned results = terminator->getNumOperands();
  if (results > body.getNumArguments())
    return;
  for (unsigned i = 0; i < results; ++i) {
    BlockArgument destination =
        body.getArgument(body.getNumArguments() - results + i);
    Value result = terminator->getOperand(i);
    if (destination.getType() == result.getType() && destination.use_empty())
      restoreDestination(rewriter, result, destination);
  }
}

llvm::Error attune::prepareDispatch(func::FuncOp dispatch) {
  if (dispatch.isExternal())
    return makeError("dispatch '{0}' has no body", dispatch.getName());
  IRRewriter rewriter(dispatch.getContext());
  if (failed(decomposeAggregates(dispatch, rewriter)))
    return makeError("dispatch '{0}': an op cannot be decomposed",
                     dispatch.getName());
  generalizeNamedOps(dispatch, rewriter);
  if (failed(fuseElementwise(dispatch)))
    return makeError("dispatch '{0}': fusing elementwise ops does not end",
                     dispatch.getName());
  if (failed(dropUnitLoops(dispatch)))
    return makeError("dispatch '{0}' cannot be normalised", dispatch.getName());
  collapseReductions(dispatch, rewriter);
  PassManager passes(dispatch.getContext(), dispatch.getOperationName());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  if (failed(passes.run(dispatch)))
    return makeError("dispatch '{0}' cannot be normalised", dispatch.getName());
  restoreDestinations(dispatch, rewriter);
  return llvm::Error::success();
}
