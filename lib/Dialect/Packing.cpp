//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Packing by slices: the register tiles stay as they are, and only where they
// read from changes. So C is never packed, an epilogue can sit on the register
// tile, and ragged edges are panels of their own.

#include "attune/Dialect/Attune.h"
#include "attune/Dialect/Transforms.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Dominance.h"

using namespace mlir;
using namespace attune;

namespace {

/// One operand whose tiles get packed.
struct Candidate {
  linalg::GenericOp op;
  OpOperand *operand;
  tensor::ExtractSliceOp slice; ///< The tile.
  Value source;                 ///< What it is cut from.
  LoopRole panel;
  unsigned dim;          ///< Of the source, along which the panels lie.
  int64_t tile;          ///< Width of a panel.
  int64_t begin, extent; ///< The region of `dim` that the tiles cover.
  /// Of a tile in `dim`, less `shift`: a sum.
  SmallVector<OpFoldResult> positions;
  int64_t shift = 0; ///< Between what the tile is cut from and `source`.
  /// Where the tile begins in the other dimensions of `source`; empty: at 0.
  SmallVector<SmallVector<OpFoldResult>> begins;
};

/// The source dimension that the loop with role `panel` indexes, if the operand
/// has it as a plain subscript and no window.
std::optional<unsigned> panelDim(linalg::GenericOp op, OpOperand &operand,
                                 LoopRole panel) {
  AffineMap map = op.getMatchingIndexingMap(&operand);
  if (!map.isProjectedPermutation())
    return std::nullopt;
  auto roles = getLoopRoles(op);
  LoopRole other = panel == LoopRole::N ? LoopRole::M : LoopRole::N;
  std::optional<unsigned> found;
  bool hasReduction = false;
  for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
    LoopRole role = roles[cast<AffineDimExpr>(expr).getPosition()];
    if (role == other)
      return std::nullopt;
    if (role == panel)
      found = dim;
    hasReduction |= role == LoopRole::K || role == LoopRole::Window;
  }
  return hasReduction ? found : std::nullopt;
}

/// What an offset runs over: a number, or a loop's counter.
struct Range {
  int64_t first, length, step; ///< `length` is 0 for a number.
};

std::optional<Range> rangeOf(OpFoldResult offset) {
  if (auto constant = getConstantIntValue(offset))
    return Range{*constant, 0, 1};
  auto argument = dyn_cast<BlockArgument>(cast<Value>(offset));
  auto loop =
      argument
          ? dyn_cast<LoopLikeOpInterface>(argument.getOwner()->getParentOp())
          : LoopLikeOpInterface();
  if (!loop)
    return std::nullopt;
  auto ivs = loop.getLoopInductionVars();
  auto lower = loop.getLoopLowerBounds(), upper = loop.getLoopUpperBounds(),
       step = loop.getLoopSteps();
  if (!ivs || !lower || !upper || !step)
    return std::nullopt;
  for (auto [number, iv] : llvm::enumerate(*ivs)) {
    if (iv != argument)
      continue;
    auto begin = getConstantIntValue((*lower)[number]);
    auto end = getConstantIntValue((*upper)[number]);
    auto by = getConstantIntValue((*step)[number]);
    if (!begin || !end || !by || *by <= 0 || *end <= *begin)
      return std::nullopt;
    return Range{*begin, *end - *begin, *by};
  }
  return std::nullopt;
}

/// The region [begin, begin + extent) that the tiles cover side by side, if
/// they do.
bool findRegion(Candidate &candidate) {
  candidate.begin = 0;
  candidate.extent = candidate.tile;
  for (OpFoldResult position : candidate.positions) {
    auto range = rangeOf(position);
    if (!range)
      return false;
    candidate.begin += range->first;
    if (range->length == 0)
      continue;
    if (range->step % candidate.tile != 0)
      return false;
    int64_t last = (range->length - 1) / range->step * range->step;
    candidate.extent += last;
  }
  return true;
}

/// A weight is packed as a whole, whatever blocks read it: that is done once,
/// when the program is created. Takes the candidate past all of its slices.
bool takeWholeWeight(Candidate &candidate) {
  Candidate whole = candidate;
  unsigned rank = candidate.slice.getType().getRank();
  whole.begins.resize(rank);
  while (auto slice = whole.source.getDefiningOp<tensor::ExtractSliceOp>()) {
    if (!slice.hasUnitStride() || slice.getType().getRank() != rank ||
        slice.getSourceType().getRank() != rank ||
        !slice.getSourceType().hasStaticShape())
      return false;
    for (auto [dim, offset] : llvm::enumerate(slice.getMixedOffsets()))
      if (!isConstantIntValue(offset, 0))
        (dim == whole.dim ? whole.positions : whole.begins[dim])
            .push_back(offset);
    whole.source = slice.getSource();
  }
  if (!isWeightArgument(whole.source) || !findRegion(whole))
    return false;
  candidate = whole;
  return true;
}

/// Past slices that are all of their source, or at a known place along `dim`,
/// as the parts of ragged loops are: one panel serves all blocks that read it.
void skipSlices(Candidate &candidate) {
  while (auto slice =
             candidate.source.getDefiningOp<tensor::ExtractSliceOp>()) {
    RankedTensorType type = slice.getType(), from = slice.getSourceType();
    if (!slice.hasUnitStride() || !type.hasStaticShape() ||
        !from.hasStaticShape() || type.getRank() != from.getRank())
      break;
    auto offset = getConstantIntValue(slice.getMixedOffsets()[candidate.dim]);
    bool onlyAlongDim = offset.has_value();
    for (int64_t d = 0; d < type.getRank(); ++d)
      onlyAlongDim &= d == int64_t(candidate.dim) ||
                      type.getDimSize(d) == from.getDimSize(d);
    if (!onlyAlongDim)
      break;
    candidate.shift += *offset;
    candidate.source = slice.getSource();
  }
}

std::optional<Candidate> findCandidate(Operation *operation, LoopRole panel) {
  auto op = dyn_cast<linalg::GenericOp>(operation);
  // Without a reduction over channels every element is read once: no gain.
  if (!op || (classify(op) != OpClass::Contraction &&
              classify(op) != OpClass::Convolution))
    return std::nullopt;
  for (OpOperand *operand : op.getDpsInputOperands()) {
    auto dim = panelDim(op, *operand, panel);
    auto slice = operand->get().getDefiningOp<tensor::ExtractSliceOp>();
    if (!dim || !slice || !slice.hasUnitStride() ||
        !slice.getSourceType().hasStaticShape() ||
        !slice.getType().hasStaticShape() ||
        slice.getType().getRank() != slice.getSourceType().getRank())
      continue;
    bool wholeElsewhere = true;
    for (int64_t d = 0; d < slice.getType().getRank(); ++d)
      wholeElsewhere &=
          d == int64_t(*dim) ||
          slice.getType().getDimSize(d) == slice.getSourceType().getDimSize(d);
    Candidate candidate{op,
                        operand,
                        slice,
                        slice.getSource(),
                        panel,
                        *dim,
                        slice.getType().getDimSize(*dim),
                        0,
                        0,
                        {slice.getMixedOffsets()[*dim]},
                        0,
                        {}};
    if (!wholeElsewhere || !findRegion(candidate))
      continue;
    if (!takeWholeWeight(candidate))
      skipSlices(candidate);
    return candidate;
  }
  return std::nullopt;
}

/// Whether a panel is a block of rows along K: what is broadcast may stay in
/// rows, and copying rows is much faster than transposing them.
bool isRows(Candidate &candidate) {
  AffineMap map = candidate.op.getMatchingIndexingMap(candidate.operand);
  unsigned last = map.getNumResults() - 1;
  return candidate.panel == LoopRole::M && candidate.dim != last &&
         getLoopRoles(
             candidate
                 .op)[cast<AffineDimExpr>(map.getResult(last)).getPosition()] ==
             LoopRole::K;
}

/// The source's dimensions in packed order: the panel's own comes last, the
/// innermost reduction's before it; of rows the order stays.
SmallVector<unsigned> packedOrder(Candidate &candidate) {
  auto op = candidate.op;
  auto roles = getLoopRoles(op);
  AffineMap map = op.getMatchingIndexingMap(candidate.operand);
  SmallVector<unsigned> order, innermost;
  if (isRows(candidate))
    return llvm::to_vector(llvm::seq<unsigned>(map.getNumResults()));
  for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
    if (dim == candidate.dim)
      continue;
    LoopRole role = roles[cast<AffineDimExpr>(expr).getPosition()];
    (role == LoopRole::K ? innermost : order).push_back(dim);
  }
  order.append(innermost);
  order.push_back(candidate.dim);
  return order;
}

/// panels x rest x tile, filled from the candidate's region of the source.
FailureOr<Value> emitPack(RewriterBase &rewriter, Candidate &candidate,
                          ArrayRef<unsigned> order, int64_t lanes,
                          bool parallel) {
  Value source = candidate.source;
  auto type = cast<RankedTensorType>(source.getType());
  Location loc = candidate.op.getLoc();
  unsigned rank = type.getRank(), dim = candidate.dim;
  rewriter.setInsertionPointAfterValue(source);

  if (candidate.extent != type.getDimSize(dim)) {
    SmallVector<OpFoldResult> offsets(rank, rewriter.getIndexAttr(0)),
        strides(rank, rewriter.getIndexAttr(1)),
        sizes = getAsIndexOpFoldResult(rewriter.getContext(), type.getShape());
    offsets[dim] = rewriter.getIndexAttr(candidate.begin + candidate.shift);
    sizes[dim] = rewriter.getIndexAttr(candidate.extent);
    source = tensor::ExtractSliceOp::create(rewriter, loc, source, offsets,
                                            sizes, strides);
  }
  int64_t panels = candidate.extent / candidate.tile;
  SmallVector<int64_t> expanded;
  SmallVector<ReassociationIndices> groups;
  for (unsigned d = 0; d < rank; ++d) {
    groups.push_back({int64_t(expanded.size())});
    if (d == dim) {
      expanded.push_back(panels);
      groups.back().push_back(expanded.size());
      expanded.push_back(candidate.tile);
    } else {
      expanded.push_back(type.getDimSize(d));
    }
  }
  Value view = tensor::ExpandShapeOp::create(
      rewriter, loc, RankedTensorType::get(expanded, type.getElementType()),
      source, groups);

  // Loops in packed order: panel, rest, tile.
  SmallVector<int64_t> packed = {panels};
  for (unsigned d : order)
    packed.push_back(d == dim ? candidate.tile : type.getDimSize(d));
  SmallVector<AffineExpr> subscripts(rank + 1);
  subscripts[dim] = rewriter.getAffineDimExpr(0);
  for (auto [position, d] : llvm::enumerate(order))
    subscripts[d < dim ? d : d + 1] = rewriter.getAffineDimExpr(position + 1);
  AffineMap read =
      AffineMap::get(rank + 1, 0, subscripts, rewriter.getContext());
  Value empty =
      tensor::EmptyOp::create(rewriter, loc, packed, type.getElementType());
  auto copy = linalg::GenericOp::create(
      rewriter, loc, empty.getType(), view, empty,
      ArrayRef<AffineMap>{read, rewriter.getMultiDimIdentityMap(rank + 1)},
      SmallVector<utils::IteratorType>(rank + 1, utils::IteratorType::parallel),
      [](OpBuilder &b, Location l, ValueRange arguments) {
        linalg::YieldOp::create(b, l, arguments[0]);
      });
  copy->setAttr(attr::kind, rewriter.getStringAttr("pack"));

  // A chunk of K is transposed at a time; rows of a panel that are contiguous
  // in the source are just moved, and rows along K in long vectors.
  bool rows = isRows(candidate), contiguous = dim == rank - 1;
  TileOptions outer;
  outer.sizes.assign(rank + 1, 0);
  unsigned tileLoop = rows ? dim + 1 : rank, k = rows ? rank : rank - 1;
  for (unsigned loop = 0; loop <= rank; ++loop) {
    if (loop == tileLoop || loop == k)
      continue;
    outer.sizes[loop] = 1;
    outer.order.push_back(loop);
  }
  if (rank > 1) {
    outer.sizes[k] = contiguous ? 4 : rows ? 4 * lanes : lanes;
    outer.order.push_back(k);
  }
  auto result = cast<OpResult>(copy.getResult(0));
  SmallVector<OpOperand *> uses; // none yet; the loops replace the copy
  Value placeholder =
      tensor::CastOp::create(rewriter, loc, empty.getType(), result);
  if (parallel && panels > 1 && !copy->getParentOfType<scf::ForallOp>()) {
    TileOptions threads;
    threads.sizes.assign(rank + 1, 0);
    threads.sizes[0] = 1;
    threads.order = {0};
    threads.parallel = true;
    auto tiled = tileAndFuse(
        rewriter, cast<linalg::LinalgOp>(copy.getOperation()), threads);
    if (failed(tiled))
      return failure();
    copy = cast<linalg::GenericOp>(tiled->front());
  }
  if (failed(tileAndFuse(rewriter, cast<linalg::LinalgOp>(copy.getOperation()),
                         outer)))
    return failure();
  auto cast = placeholder.getDefiningOp<tensor::CastOp>();
  Value value = cast.getSource();
  rewriter.replaceOp(cast, value);
  return value;
}

/// Lets the op read its tile from the packed tensor.
void readPacked(RewriterBase &rewriter, Candidate &candidate,
                ArrayRef<unsigned> order, Value packed) {
  linalg::GenericOp op = candidate.op;
  Location loc = op.getLoc();
  rewriter.setInsertionPoint(candidate.slice);
  auto type = cast<RankedTensorType>(packed.getType());
  auto sumOf = [&](ArrayRef<OpFoldResult> terms, auto change) {
    AffineExpr sum = rewriter.getAffineConstantExpr(0);
    for (unsigned i = 0; i < terms.size(); ++i)
      sum = sum + rewriter.getAffineDimExpr(i);
    return affine::makeComposedFoldedAffineApply(rewriter, loc, change(sum),
                                                 terms);
  };
  SmallVector<OpFoldResult> offsets(type.getRank(), rewriter.getIndexAttr(0)),
      strides(type.getRank(), rewriter.getIndexAttr(1)),
      sizes = getAsIndexOpFoldResult(rewriter.getContext(), type.getShape());
  offsets[0] = sumOf(candidate.positions, [&](AffineExpr position) {
    return (position - candidate.begin).floorDiv(candidate.tile);
  });
  sizes[0] = rewriter.getIndexAttr(1);
  SmallVector<int64_t> tileShape;
  for (auto [place, d] : llvm::enumerate(order)) {
    tileShape.push_back(candidate.slice.getType().getDimSize(d));
    sizes[place + 1] = rewriter.getIndexAttr(tileShape.back());
    if (d != candidate.dim && !candidate.begins.empty())
      offsets[place + 1] =
          sumOf(candidate.begins[d], [](AffineExpr begin) { return begin; });
  }
  auto tileType = RankedTensorType::get(tileShape, type.getElementType());
  Value tile = tensor::ExtractSliceOp::create(rewriter, loc, tileType, packed,
                                              offsets, sizes, strides);
  AffineMap map = op.getMatchingIndexingMap(candidate.operand);
  SmallVector<AffineExpr> subscripts;
  for (unsigned d : order)
    subscripts.push_back(map.getResult(d));
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  maps[candidate.operand->getOperandNumber()] =
      AffineMap::get(map.getNumDims(), 0, subscripts, rewriter.getContext());
  rewriter.modifyOpInPlace(op, [&] {
    candidate.operand->set(tile);
    op.setIndexingMapsAttr(rewriter.getAffineMapArrayAttr(maps));
  });
}

} // namespace

Value attune::skipReshapes(Value value) {
  while (isa_and_nonnull<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(
      value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

bool attune::isWeightArgument(Value value) {
  auto argument = dyn_cast<BlockArgument>(skipReshapes(value));
  if (!argument)
    return false;
  auto func = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
  return func && func.getArgAttr(argument.getArgNumber(), attr::constant);
}

LogicalResult attune::packOperand(RewriterBase &rewriter,
                                  ArrayRef<Operation *> ops, LoopRole panel,
                                  int64_t lanes, bool parallel) {
  OpBuilder::InsertionGuard guard(rewriter);
  struct Done {
    Candidate candidate;
    SmallVector<unsigned> order;
    Value packed;
  };
  std::vector<Done> finished;
  auto sameSource = [](Value a, Value b) {
    if (a == b)
      return true;
    // Two cuts of the same region, one for each part of a ragged loop.
    auto x = a.getDefiningOp<tensor::ExtractSliceOp>();
    auto y = b.getDefiningOp<tensor::ExtractSliceOp>();
    return x && y && x.getSource() == y.getSource() &&
           x.getType() == y.getType() &&
           isEqualConstantIntOrValueArray(x.getMixedOffsets(),
                                          y.getMixedOffsets()) &&
           isEqualConstantIntOrValueArray(x.getMixedSizes(), y.getMixedSizes());
  };
  for (Operation *op : ops) {
    auto candidate = findCandidate(op, panel);
    if (!candidate)
      continue;
    SmallVector<unsigned> order = packedOrder(*candidate);
    Value packed;
    for (Done &done : finished)
      if (sameSource(done.candidate.source, candidate->source) &&
          done.order == order && done.candidate.dim == candidate->dim &&
          done.candidate.tile == candidate->tile &&
          done.candidate.begin + done.candidate.shift ==
              candidate->begin + candidate->shift &&
          done.candidate.extent == candidate->extent &&
          DominanceInfo().properlyDominates(done.packed, candidate->op))
        packed = done.packed;
    if (!packed) {
      auto emitted = emitPack(rewriter, *candidate, order, lanes, parallel);
      if (failed(emitted))
        return failure();
      packed = *emitted;
      finished.push_back({*candidate, order, packed});
    }
    readPacked(rewriter, *candidate, order, packed);
  }
  return success();
}
