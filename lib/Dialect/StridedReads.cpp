//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Reads of every second element, as every convolution and pooling of stride 2
// along its rows makes them.

#include "attune/Dialect/Transforms.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace attune;

/// More rows than this are not worth their instructions.
static constexpr int64_t maxRows = 16;

namespace {

/// A transfer_read that steps by two along the contiguous dimension of a slice.
struct StridedRead {
  vector::TransferReadOp read;
  tensor::ExtractSliceOp slice;
  SmallVector<unsigned> dims; ///< Of the slice, for each of the vector.
};

std::optional<StridedRead> match(vector::TransferReadOp read) {
  auto slice = read.getBase().getDefiningOp<tensor::ExtractSliceOp>();
  if (!slice || slice.getSourceType().getRank() != slice.getType().getRank() ||
      read.getMask() || read.hasOutOfBoundsDim())
    return std::nullopt;
  StridedRead strided{read, slice, {}};
  for (AffineExpr expr : read.getPermutationMap().getResults()) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim)
      return std::nullopt;
    strided.dims.push_back(dim.getPosition());
  }
  int64_t last = slice.getType().getRank() - 1;
  ArrayRef<int64_t> strides = slice.getStaticStrides();
  if (strided.dims.empty() || strided.dims.back() != last ||
      strides.back() != 2 || llvm::is_contained(strides, ShapedType::kDynamic))
    return std::nullopt;
  ArrayRef<int64_t> shape = read.getVectorType().getShape();
  if (shape.back() < 4 || shape.back() % 2 != 0 ||
      ShapedType::getNumElements(shape.drop_back()) > maxRows)
    return std::nullopt;
  return strided;
}

/// `slice offset + (index + at) * stride` in the slice's source.
Value indexInSource(OpBuilder &b, Location loc, StridedRead &strided,
                    unsigned dim, int64_t at, int64_t elements) {
  AffineExpr offset = b.getAffineSymbolExpr(0),
             index = b.getAffineSymbolExpr(1);
  int64_t stride = strided.slice.getStaticStrides()[dim];
  OpFoldResult sum = affine::makeComposedFoldedAffineApply(
      b, loc, offset + (index + at) * stride + elements,
      {strided.slice.getMixedOffsets()[dim],
       getAsOpFoldResult(strided.read.getIndices()[dim])});
  return getValueOrCreateConstantIndexOp(b, loc, sum);
}

/// One row: x[0], x[2], ... x[2n-2] are every second element of the n from 0
/// on, and of the n that end with the last; neither leaves the slice.
Value readRow(OpBuilder &b, StridedRead &strided, ArrayRef<int64_t> position) {
  vector::TransferReadOp read = strided.read;
  Location loc = read.getLoc();
  VectorType type = read.getVectorType();
  int64_t n = type.getShape().back();
  auto rowType = VectorType::get({n}, type.getElementType());
  unsigned rank = strided.slice.getType().getRank();
  SmallVector<int64_t> at(rank, 0);
  for (auto [number, dim] : llvm::enumerate(ArrayRef(strided.dims).drop_back()))
    at[dim] = position[number];

  SmallVector<Value> halves;
  for (int64_t start : {int64_t(0), n - 1}) {
    SmallVector<Value> indices;
    for (unsigned dim = 0; dim < rank; ++dim)
      indices.push_back(indexInSource(b, loc, strided, dim, at[dim],
                                      dim + 1 == rank ? start : 0));
    halves.push_back(vector::TransferReadOp::create(
        b, loc, rowType, strided.slice.getSource(), indices, read.getPadding(),
        AffineMap::getMinorIdentityMap(rank, 1, b.getContext()),
        ArrayRef<bool>{true}));
  }
  SmallVector<int64_t> mask;
  for (int64_t i = 0; i < n; ++i)
    mask.push_back(i < n / 2 ? 2 * i : 2 * i + 1);
  return vector::ShuffleOp::create(b, loc, halves[0], halves[1], mask);
}

Value readRows(OpBuilder &b, StridedRead &strided) {
  VectorType type = strided.read.getVectorType();
  ArrayRef<int64_t> rows = type.getShape().drop_back();
  if (rows.empty())
    return readRow(b, strided, {});
  Location loc = strided.read.getLoc();
  Value all = arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
  SmallVector<int64_t> position(rows.size(), 0);
  for (int64_t row = 0; row < ShapedType::getNumElements(rows); ++row) {
    int64_t rest = row;
    for (size_t i = rows.size(); i-- > 0; rest /= rows[i])
      position[i] = rest % rows[i];
    all = vector::InsertOp::create(b, loc, readRow(b, strided, position), all,
                                   position);
  }
  return all;
}

} // namespace

void attune::readStridesAsShuffles(RewriterBase &rewriter, Operation *scope) {
  SmallVector<StridedRead> reads;
  scope->walk([&](vector::TransferReadOp read) {
    if (auto strided = match(read))
      reads.push_back(*strided);
  });
  for (StridedRead &strided : reads) {
    rewriter.setInsertionPoint(strided.read);
    rewriter.replaceOp(strided.read, readRows(rewriter, strided));
  }
}
