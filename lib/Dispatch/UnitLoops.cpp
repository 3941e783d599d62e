//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Dispatch/UnitLoops.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;

namespace attune {
namespace {

/// Clears in `allowed` the unit loops of an index that is a sum, unless it can
/// do without them: what stays is another window, or one loop as it is over
/// exactly `size` elements.
void keepWindow(AffineExpr index, int64_t size, ArrayRef<int64_t> extents,
                llvm::SmallBitVector &allowed) {
  SmallVector<AffineExpr> without;
  llvm::SmallBitVector unit(extents.size()), longer(extents.size());
  for (auto [loop, extent] : llvm::enumerate(extents)) {
    AffineExpr dim = getAffineDimExpr(loop, index.getContext());
    without.push_back(extent == 1 ? getAffineConstantExpr(0, index.getContext())
                                  : dim);
    if (index.isFunctionOfDim(loop))
      (extent == 1 ? unit : longer).set(loop);
  }
  if (unit.none() || longer.count() > 1)
    return;
  AffineExpr rest = simplifyAffineExpr(index.replaceDims(without),
                                       extents.size(), /*numSymbols=*/0);
  int64_t needed = 1;
  bool plain = isa<AffineConstantExpr>(rest);
  if (auto dim = dyn_cast<AffineDimExpr>(rest)) {
    plain = true;
    needed = extents[dim.getPosition()];
  }
  if (!plain || ShapedType::isDynamic(size) || size != needed)
    allowed.reset(unit);
}

SmallVector<unsigned> droppableLoops(linalg::GenericOp op) {
  // Upstream's patterns never end on parts of buffers.
  if (!op.hasPureTensorSemantics())
    return {};
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  llvm::SmallBitVector allowed(extents.size(), true);
  for (OpOperand &operand : op->getOpOperands()) {
    auto type = dyn_cast<RankedTensorType>(operand.get().getType());
    if (!type)
      continue;
    AffineMap map = op.getMatchingIndexingMap(&operand);
    for (auto [index, size] : llvm::zip(map.getResults(), type.getShape()))
      if (!isa<AffineDimExpr, AffineConstantExpr>(index))
        keepWindow(index, size, extents, allowed);
  }
  SmallVector<unsigned> loops;
  for (unsigned loop : allowed.set_bits())
    loops.push_back(loop);
  return loops;
}

} // namespace

LogicalResult dropUnitLoops(func::FuncOp func) {
  linalg::ControlDropUnitDims options;
  auto upstream = options.controlFn;
  options.controlFn = [upstream](Operation *op) {
    auto generic = dyn_cast_or_null<linalg::GenericOp>(op);
    return generic ? droppableLoops(generic) : upstream(op);
  };
  RewritePatternSet patterns(func.getContext());
  linalg::populateFoldUnitExtentDimsPatterns(patterns, options);
  linalg::populateFoldUnitExtentDimsCanonicalizationPatterns(patterns, options);
  linalg::populateMoveInitOperandsToInputPattern(patterns);
  return applyPatternsGreedily(func, std::move(patterns));
}

} // namespace attune
