//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Ops that neither bufferization nor the loop lowering knows are taken apart.

#include "Stages.h"
#include "attune/Support/Error.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace attune::codegen {
namespace {

/// Builds `extract` under `inside`, else `otherwise`.
Value extractIf(OpBuilder &builder, Location loc, Value inside, Value tensor,
                ValueRange at, Value otherwise) {
  auto branch = scf::IfOp::create(
      builder, loc, inside,
      [&](OpBuilder &inner, Location loc) {
        Value value = tensor::ExtractOp::create(inner, loc, tensor, at);
        scf::YieldOp::create(inner, loc, value);
      },
      [&](OpBuilder &inner, Location loc) {
        scf::YieldOp::create(inner, loc, otherwise);
      });
  return branch.getResult(0);
}

/// A generic over all elements of `dest`, whose body gets their coordinates.
Value generateInto(OpBuilder &builder, Location loc, Value dest,
                   function_ref<Value(OpBuilder &, ArrayRef<Value>)> element) {
  auto type = cast<RankedTensorType>(dest.getType());
  AffineMap map = builder.getMultiDimIdentityMap(type.getRank());
  SmallVector<utils::IteratorType> iterators(type.getRank(),
                                             utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             builder, loc, type, ValueRange(), dest, ArrayRef<AffineMap>{map},
             iterators,
             [&](OpBuilder &inner, Location loc, ValueRange) {
               SmallVector<Value> at;
               for (int64_t i = 0; i < type.getRank(); ++i)
                 at.push_back(linalg::IndexOp::create(inner, loc, i));
               linalg::YieldOp::create(inner, loc, element(inner, at));
             })
      .getResult(0);
}

Value tileSize(OpBuilder &builder, Location loc, OpFoldResult tile) {
  return getValueOrCreateConstantIndexOp(builder, loc, tile);
}

struct PackToGeneric : OpRewritePattern<linalg::PackOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(linalg::PackOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.hasPureTensorSemantics())
      return failure();
    Location loc = op.getLoc();
    int64_t rank = op.getSourceRank();
    SmallVector<OpFoldResult> tiles = op.getMixedTiles();
    SmallVector<Value> sizes;
    for (int64_t i = 0; i < rank; ++i)
      sizes.push_back(tensor::DimOp::create(rewriter, loc, op.getSource(), i));
    Value padding = op.getPaddingValue();
    if (!padding)
      padding = arith::ConstantOp::create(
          rewriter, loc,
          rewriter.getZeroAttr(op.getSourceType().getElementType()));
    Value result = generateInto(
        rewriter, loc, op.getDest(), [&](OpBuilder &b, ArrayRef<Value> at) {
          SmallVector<Value> source(rank);
          ArrayRef<int64_t> permutation = op.getOuterDimsPerm();
          for (int64_t i = 0; i < rank; ++i)
            source[permutation.empty() ? i : permutation[i]] = at[i];
          Value inside;
          for (auto [k, dim] : llvm::enumerate(op.getInnerDimsPos())) {
            Value tile = tileSize(b, loc, tiles[k]);
            Value start = arith::MulIOp::create(b, loc, source[dim], tile);
            source[dim] = arith::AddIOp::create(b, loc, start, at[rank + k]);
            Value fits = arith::CmpIOp::create(
                b, loc, arith::CmpIPredicate::slt, source[dim], sizes[dim]);
            inside =
                inside ? arith::AndIOp::create(b, loc, inside, fits) : fits;
          }
          if (!inside)
            return tensor::ExtractOp::create(b, loc, op.getSource(), source)
                .getResult();
          return extractIf(b, loc, inside, op.getSource(), source, padding);
        });
    rewriter.replaceOp(op, result);
    return success();
  }
};

struct UnPackToGeneric : OpRewritePattern<linalg::UnPackOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(linalg::UnPackOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.hasPureTensorSemantics())
      return failure();
    Location loc = op.getLoc();
    int64_t rank = op.getDestRank();
    SmallVector<OpFoldResult> tiles = op.getMixedTiles();
    Value result = generateInto(
        rewriter, loc, op.getDest(), [&](OpBuilder &b, ArrayRef<Value> at) {
          SmallVector<Value> outer(at), inner;
          for (auto [k, dim] : llvm::enumerate(op.getInnerDimsPos())) {
            Value tile = tileSize(b, loc, tiles[k]);
            inner.push_back(arith::RemUIOp::create(b, loc, at[dim], tile));
            outer[dim] = arith::DivUIOp::create(b, loc, at[dim], tile);
          }
          SmallVector<Value> source(rank);
          ArrayRef<int64_t> permutation = op.getOuterDimsPerm();
          for (int64_t i = 0; i < rank; ++i)
            source[i] = outer[permutation.empty() ? i : permutation[i]];
          llvm::append_range(source, inner);
          return tensor::ExtractOp::create(b, loc, op.getSource(), source)
              .getResult();
        });
    rewriter.replaceOp(op, result);
    return success();
  }
};

/// tensor.gather has no bufferization.
struct GatherToGeneric : OpRewritePattern<tensor::GatherOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::GatherOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    ArrayRef<int64_t> dims = op.getGatherDims();
    int64_t batch = op.getIndicesType().getRank() - 1;
    int64_t rank = op.getSourceType().getRank();
    // Gathered dimensions are 1 in the result, or left out.
    bool keepsRank = op.getResultType().getRank() == batch + rank;
    SmallVector<OpFoldResult> sizes;
    for (int64_t i = 0; i < batch; ++i)
      sizes.push_back(tensor::getMixedSize(rewriter, loc, op.getIndices(), i));
    for (int64_t i = 0; i < rank; ++i)
      if (!llvm::is_contained(dims, i))
        sizes.push_back(tensor::getMixedSize(rewriter, loc, op.getSource(), i));
      else if (keepsRank)
        sizes.push_back(rewriter.getIndexAttr(1));
    Value dest = tensor::EmptyOp::create(rewriter, loc, sizes,
                                         op.getSourceType().getElementType());
    Value result = generateInto(
        rewriter, loc, dest, [&](OpBuilder &b, ArrayRef<Value> at) {
          SmallVector<Value> source(rank);
          int64_t next = batch;
          for (int64_t i = 0; i < rank; ++i)
            if (keepsRank || !llvm::is_contained(dims, i))
              source[i] = at[next++];
          SmallVector<Value> row(at.take_front(batch));
          row.push_back({});
          for (auto [k, dim] : llvm::enumerate(dims)) {
            row.back() = arith::ConstantIndexOp::create(b, loc, k);
            Value index =
                tensor::ExtractOp::create(b, loc, op.getIndices(), row);
            if (!index.getType().isIndex())
              index =
                  arith::IndexCastOp::create(b, loc, b.getIndexType(), index);
            source[dim] = index;
          }
          return tensor::ExtractOp::create(b, loc, op.getSource(), source)
              .getResult();
        });
    if (result.getType() != op.getType())
      result = tensor::CastOp::create(rewriter, loc, op.getType(), result);
    rewriter.replaceOp(op, result);
    return success();
  }
};

struct DecomposeAggregated
    : OpInterfaceRewritePattern<linalg::AggregatedOpInterface> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;
  LogicalResult matchAndRewrite(linalg::AggregatedOpInterface op,
                                PatternRewriter &rewriter) const override {
    if (isa<linalg::PackOp, linalg::UnPackOp>(op.getOperation()))
      return failure();
    rewriter.setInsertionPoint(op);
    FailureOr<SmallVector<Value>> values = op.decomposeOperation(rewriter);
    if (failed(values))
      return failure();
    rewriter.replaceOp(op, *values);
    return success();
  }
};

} // namespace

llvm::Error decompose(ModuleOp module) {
  DiagnosticCollector diagnostics(*module.getContext());
  RewritePatternSet patterns(module.getContext());
  patterns.add<PackToGeneric, UnPackToGeneric, GatherToGeneric,
               DecomposeAggregated>(module.getContext());
  tensor::populateDecomposeTensorConcatPatterns(patterns);
  if (failed(applyPatternsGreedily(module, std::move(patterns))))
    return diagnostics.error("cannot take apart aggregated ops");
  return llvm::Error::success();
}

} // namespace attune::codegen
