//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Schedule/Library.h"

#include "attune/Dialect/Classify.h"
#include "attune/Support/Error.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Passes.h"
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
  dispatch.walk([&](linalg::AggregatedOpInterface op) {
    aggregates.push_back(op);
  });
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
         producer.getNumLoops() == consumer.getNumParallelLoops() +
                                       consumer.getNumReductionLoops();
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
  return applyPatternsGreedily(dispatch, std::move(patterns), config);
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
  PassManager passes(dispatch.getContext(), dispatch.getOperationName());
  passes.addPass(createLinalgFoldUnitExtentDimsPass());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  if (failed(passes.run(dispatch)))
    return makeError("dispatch '{0}' cannot be normalised", dispatch.getName());
  return llvm::Error::success();
}
