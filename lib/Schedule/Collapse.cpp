//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Reductions over neighbouring dimensions are one reduction.

#include "Collapse.h"

#include "mlir/Dialect/Linalg/Transforms/Transforms.h"

using namespace mlir;
using namespace attune;

/// Whether `loop` reads operands only as dimensions of tensors that the
/// dispatch is given: a view of what is computed inside keeps it from moving
/// into the loops of its user.
static bool isOfArguments(linalg::GenericOp op, unsigned loop) {
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    if (!map.isFunctionOfDim(loop))
      continue;
    if (!map.isProjectedPermutation() || !isa<BlockArgument>(operand.get()))
      return false;
  }
  return true;
}

/// Runs of two and more reduction loops that every operand has side by side, in
/// this order. Sizes are static: a view of unknown sizes may not be
/// expressible.
static SmallVector<ReassociationIndices>
neighbouringReductions(linalg::GenericOp op) {
  SmallVector<ReassociationIndices> runs;
  auto iterators = op.getIteratorTypesArray();
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  auto maps = op.getIndexingMapsArray();
  bool open = false;
  for (unsigned loop = 0; loop < iterators.size(); ++loop) {
    bool fits = iterators[loop] == utils::IteratorType::reduction &&
                !ShapedType::isDynamic(extents[loop]) &&
                isOfArguments(op, loop);
    if (!fits) {
      open = false;
      continue;
    }
    if (open) {
      ReassociationIndices longer = runs.back();
      longer.push_back(loop);
      if (linalg::areDimSequencesPreserved(maps, {longer})) {
        runs.back() = longer;
        continue;
      }
    }
    runs.push_back({loop});
    open = true;
  }
  llvm::erase_if(runs, [](const auto &run) { return run.size() < 2; });
  return runs;
}

void attune::collapseReductions(func::FuncOp dispatch, IRRewriter &rewriter) {
  SmallVector<linalg::GenericOp> ops;
  dispatch.walk([&](linalg::GenericOp op) {
    if (op.hasPureTensorSemantics() && !op.hasIndexSemantics())
      ops.push_back(op);
  });
  for (linalg::GenericOp op : ops) {
    auto runs = neighbouringReductions(op);
    if (runs.empty())
      continue;
    rewriter.setInsertionPoint(op);
    auto collapsed = linalg::collapseOpIterationDims(
        cast<linalg::LinalgOp>(op.getOperation()), runs, rewriter);
    if (succeeded(collapsed))
      rewriter.replaceOp(op, collapsed->results);
  }
}
