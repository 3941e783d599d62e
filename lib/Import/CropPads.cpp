//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// A pad of less than nothing takes away: frontends write so what they crop.
// Lowerings of pads take its amounts for offsets into the result, and would
// read and write beside it.

#include "Steps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace attune;

/// One dimension: what is cut off its source, and what is then added.
static void cropDimension(IRRewriter &rewriter, tensor::PadOp pad,
                          unsigned dimension, int64_t cutLow, int64_t cutHigh,
                          OpFoldResult &low, OpFoldResult &high,
                          OpFoldResult &offset, OpFoldResult &size) {
  Location loc = pad.getLoc();
  int64_t length = pad.getSourceType().getDimSize(dimension);
  auto index = [&](int64_t value) { return rewriter.getIndexAttr(value); };
  if (cutLow > 0)
    low = index(0);
  if (cutHigh > 0)
    high = index(0);
  offset = index(cutLow);
  if (ShapedType::isDynamic(length)) {
    Value all =
        tensor::DimOp::create(rewriter, loc, pad.getSource(), dimension);
    Value cut = arith::ConstantIndexOp::create(rewriter, loc, cutLow + cutHigh);
    size = arith::SubIOp::create(rewriter, loc, all, cut).getResult();
    if (cutLow + cutHigh == 0)
      size = all;
    return;
  }
  size = index(length - cutLow - cutHigh);
  if (cutLow + cutHigh <= length)
    return;
  // Cut off on one side is more than there is: all of the result is padding.
  offset = size = index(0);
  low = index(0);
  high = index(pad.getResultType().getDimSize(dimension));
}

static void crop(IRRewriter &rewriter, tensor::PadOp pad) {
  SmallVector<OpFoldResult> low = pad.getMixedLowPad(),
                            high = pad.getMixedHighPad();
  unsigned rank = low.size();
  SmallVector<OpFoldResult> offsets(rank), sizes(rank),
      strides(rank, rewriter.getIndexAttr(1));
  auto below = [](OpFoldResult amount) {
    return std::max<int64_t>(0, -getConstantIntValue(amount).value_or(0));
  };
  rewriter.setInsertionPoint(pad);
  for (unsigned i = 0; i < rank; ++i)
    cropDimension(rewriter, pad, i, below(low[i]), below(high[i]), low[i],
                  high[i], offsets[i], sizes[i]);
  Value slice = tensor::ExtractSliceOp::create(
      rewriter, pad.getLoc(), pad.getSource(), offsets, sizes, strides);
  auto isZero = [](OpFoldResult amount) {
    return isConstantIntValue(amount, 0);
  };
  if (llvm::all_of(low, isZero) && llvm::all_of(high, isZero)) {
    if (slice.getType() != pad.getType())
      slice =
          tensor::CastOp::create(rewriter, pad.getLoc(), pad.getType(), slice);
    rewriter.replaceOp(pad, slice);
    return;
  }
  auto padded =
      tensor::PadOp::create(rewriter, pad.getLoc(), pad.getResultType(), slice,
                            low, high, pad.getNofold());
  rewriter.inlineRegionBefore(pad.getRegion(), padded.getRegion(),
                              padded.getRegion().end());
  rewriter.replaceOp(pad, padded);
}

void import::cropPads(ModuleOp module) {
  SmallVector<tensor::PadOp> pads;
  module.walk([&](tensor::PadOp pad) {
    auto isBelow = [](OpFoldResult amount) {
      return getConstantIntValue(amount).value_or(0) < 0;
    };
    if (llvm::any_of(pad.getMixedLowPad(), isBelow) ||
        llvm::any_of(pad.getMixedHighPad(), isBelow))
      pads.push_back(pad);
  });
  IRRewriter rewriter(module.getContext());
  for (tensor::PadOp pad : pads)
    crop(rewriter, pad);
}
