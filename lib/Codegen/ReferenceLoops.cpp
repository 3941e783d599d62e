//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// The reference computes what upstream's loops compute, number by number, in an
// order that caches and LLVM's vectorizer like: a plain product of a network
// takes a tenth of the time so. Each sum adds up in the same order.

#include "Stages.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"

using namespace mlir;

namespace attune::codegen {
namespace {

/// The loop that runs along the rows of the result, if it runs along the rows
/// of all operands that it reads from or does not move in them at all; or -1.
int64_t findRowLoop(linalg::GenericOp op) {
  if (op.getNumDpsInits() != 1 || op.getNumReductionLoops() == 0)
    return -1;
  AffineMap out = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  if (out.getNumResults() == 0)
    return -1;
  auto last = dyn_cast<AffineDimExpr>(out.getResults().back());
  if (!last)
    return -1;
  unsigned loop = last.getPosition();
  auto without = getAffineConstantExpr(0, op.getContext());
  for (OpOperand *input : op.getDpsInputOperands()) {
    AffineMap map = op.getMatchingIndexingMap(input);
    for (auto [place, index] : llvm::enumerate(map.getResults())) {
      if (!index.isFunctionOfDim(loop))
        continue;
      // One element on for each step.
      AffineExpr rest = index.replace(last, without);
      if (place + 1 != map.getNumResults() ||
          simplifyAffineExpr(index - rest, map.getNumDims(), 0) != last)
        return -1;
    }
  }
  return loop;
}

} // namespace

void orderReferenceLoops(ModuleOp module) {
  SmallVector<linalg::LinalgOp> ops;
  module.walk([&](linalg::LinalgOp op) {
    if (op.hasPureBufferSemantics())
      ops.push_back(op);
  });
  IRRewriter rewriter(module.getContext());
  for (linalg::LinalgOp op : ops) {
    rewriter.setInsertionPoint(op);
    auto generic = dyn_cast<linalg::GenericOp>(op.getOperation());
    if (!generic) {
      FailureOr<linalg::GenericOp> made =
          linalg::generalizeNamedOp(rewriter, op);
      if (failed(made))
        continue;
      generic = *made;
    }
    int64_t row = findRowLoop(generic);
    int64_t count = generic.getNumLoops();
    if (row < 0 || row == count - 1)
      continue;
    SmallVector<unsigned> order;
    for (int64_t loop = 0; loop < count; ++loop)
      if (loop != row)
        order.push_back(loop);
    order.push_back(row);
    rewriter.setInsertionPoint(generic);
    (void)linalg::interchangeGenericOp(rewriter, generic, order);
  }
}

} // namespace attune::codegen
