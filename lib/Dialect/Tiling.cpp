//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Dialect/Transforms.h"

#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/TileUsingInterface.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Dominance.h"
#include <deque>

using namespace mlir;
using namespace attune;

void attune::setLoopRoles(Operation *op, ArrayRef<LoopRole> roles) {
  SmallVector<int32_t> numbers;
  for (LoopRole role : roles)
    numbers.push_back(static_cast<int32_t>(role));
  op->setAttr(attr::roles, DenseI32ArrayAttr::get(op->getContext(), numbers));
}

SmallVector<LoopRole> attune::getLoopRoles(linalg::LinalgOp op) {
  auto attribute = op->getAttrOfType<DenseI32ArrayAttr>(attr::roles);
  if (!attribute || attribute.size() != op.getNumLoops())
    return inferLoopRoles(op);
  SmallVector<LoopRole> roles;
  for (int32_t number : attribute.asArrayRef())
    roles.push_back(static_cast<LoopRole>(number));
  return roles;
}

StringRef attune::getKind(Operation *op) {
  auto kind = op->getAttrOfType<StringAttr>(attr::kind);
  return kind ? kind.getValue() : StringRef();
}

namespace {

using FuseFn = std::function<bool(Operation *)>;

/// Tiles along N that are longer than this are blocks, not vectors.
constexpr int64_t maxVectorTile = 64;

/// Where a slice's source comes from, through the iteration arguments of loops.
OpResult findProducer(tensor::ExtractSliceOp slice,
                      ArrayRef<LoopLikeOpInterface> loops) {
  Value source = slice.getSource();
  for (LoopLikeOpInterface loop : llvm::reverse(loops)) {
    auto argument = dyn_cast<BlockArgument>(source);
    if (!argument || argument.getOwner()->getParentOp() != loop)
      break;
    OpOperand *init = loop.getTiedLoopInit(argument);
    if (!init)
      return {};
    source = init->get();
  }
  return dyn_cast<OpResult>(source);
}

/// Whether where a slice cuts a padded dimension is only known when running:
/// such a pad would have sizes that are not known either.
bool cutsPadding(tensor::ExtractSliceOp slice, OpResult producer) {
  auto pad = dyn_cast<tensor::PadOp>(producer.getOwner());
  if (!pad)
    return false;
  llvm::SmallBitVector padded = pad.getPaddedDims();
  for (unsigned dim : padded.set_bits())
    if (slice.isDynamicOffset(dim) || slice.isDynamicSize(dim))
      return true;
  return false;
}

/// Moves producers to the slices that are cut from their results, and on to
/// the producers' producers. Equal slices of one producer share one copy.
class Fuser {
public:
  Fuser(RewriterBase &rewriter, MutableArrayRef<LoopLikeOpInterface> loops,
        FuseFn mayFuse)
      : rewriter(rewriter), loops(loops), mayFuse(std::move(mayFuse)) {}

  void run(ArrayRef<Operation *> slices) {
    std::deque<Operation *> worklist(slices.begin(), slices.end());
    while (!worklist.empty()) {
      auto slice = dyn_cast<tensor::ExtractSliceOp>(worklist.front());
      worklist.pop_front();
      if (!slice)
        continue;
      OpResult producer = findProducer(slice, loops);
      if (!producer || !isa<TilingInterface>(producer.getOwner()) ||
          !mayFuse(producer.getOwner()) || cutsPadding(slice, producer) ||
          reuse(slice, producer))
        continue;
      for (Operation *next : fuse(slice, producer))
        worklist.push_back(next);
    }
  }

private:
  struct Done {
    OpResult producer;
    tensor::ExtractSliceOp slice;
    Value value;
  };

  bool reuse(tensor::ExtractSliceOp slice, OpResult producer) {
    for (Done &done : finished) {
      if (done.producer != producer ||
          done.slice->getBlock() != slice->getBlock() ||
          done.slice.getType() != slice.getType() ||
          !isEqualConstantIntOrValueArray(done.slice.getMixedOffsets(),
                                          slice.getMixedOffsets()) ||
          !isEqualConstantIntOrValueArray(done.slice.getMixedSizes(),
                                          slice.getMixedSizes()) ||
          !dominance.properlyDominates(done.value, slice))
        continue;
      rewriter.replaceAllUsesWith(slice.getResult(), done.value);
      return true;
    }
    return false;
  }

  SmallVector<Operation *> fuse(tensor::ExtractSliceOp slice,
                                OpResult producer) {
    OpBuilder::InsertionGuard guard(rewriter);
    if (!loops.empty()) {
      auto fused = scf::tileAndFuseProducerOfSlice(rewriter, slice, loops);
      if (!fused)
        return {};
      finished.push_back({producer, slice, fused->tiledAndFusedProducer});
      return fused->generatedSlices;
    }
    rewriter.setInsertionPoint(slice);
    auto fused =
        tensor::replaceExtractSliceWithTiledProducer(rewriter, slice, producer);
    if (failed(fused))
      return {};
    rewriter.replaceAllUsesWith(slice.getResult(), fused->tiledValues[0]);
    finished.push_back({producer, slice, fused->tiledValues[0]});
    return fused->generatedSlices;
  }

  RewriterBase &rewriter;
  MutableArrayRef<LoopLikeOpInterface> loops;
  FuseFn mayFuse;
  SmallVector<Done> finished;
  DominanceInfo dominance;
};

/// The tensor that results are written into when every element gets written:
/// what fills and other fused producers would have put there does not matter.
Value skipFusedInits(Value destination, const FuseFn &mayFuse) {
  while (auto result = dyn_cast<OpResult>(destination)) {
    auto producer = dyn_cast<linalg::LinalgOp>(result.getOwner());
    if (!producer || !mayFuse(producer))
      break;
    destination = producer.getDpsInitOperand(result.getResultNumber())->get();
  }
  return destination;
}

using Part = std::pair<linalg::LinalgOp, linalg::LinalgOp>;

/// Splits a reduction: the second part goes on from the first one's result.
FailureOr<Part> splitReduction(RewriterBase &rewriter, linalg::LinalgOp op,
                               unsigned loop, int64_t at) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  auto [first, second] =
      linalg::splitOp(rewriter, cast<TilingInterface>(op.getOperation()), loop,
                      rewriter.getIndexAttr(at));
  if (!first || !second)
    return failure();
  return Part{cast<linalg::LinalgOp>(first.getOperation()),
              cast<linalg::LinalgOp>(second.getOperation())};
}

/// One half of a split along a parallel loop: the op on a slice, written into
/// `destinations`, which become the new ones.
FailureOr<linalg::LinalgOp>
makePart(RewriterBase &rewriter, linalg::LinalgOp op,
         ArrayRef<OpFoldResult> offsets, ArrayRef<OpFoldResult> sizes,
         SmallVector<Value> &destinations, const FuseFn &mayFuse) {
  auto tiling = cast<TilingInterface>(op.getOperation());
  SmallVector<Value> bases;
  for (Value init : op.getDpsInits())
    bases.push_back(skipFusedInits(init, mayFuse));

  FailureOr<TilingResult> tiled =
      tiling.getTiledImplementation(rewriter, offsets, sizes);
  if (failed(tiled))
    return failure();
  auto part = cast<linalg::LinalgOp>(tiled->tiledOps.front());
  Fuser(rewriter, {}, mayFuse).run(tiled->generatedSlices);

  // What is still cut from the original destination is now cut from the one
  // that the other half has written to; it is a different slice.
  rewriter.setInsertionPointAfter(part);
  SmallVector<Value> written;
  for (auto [number, value] : llvm::enumerate(part->getResults())) {
    for (Operation *user :
         llvm::make_early_inc_range(bases[number].getUsers())) {
      auto slice = dyn_cast<tensor::ExtractSliceOp>(user);
      if (slice && slice->getBlock() == part->getBlock() &&
          destinations[number] != bases[number] && part->isBeforeInBlock(op) &&
          !slice->isBeforeInBlock(destinations[number].getDefiningOp()) &&
          slice->isBeforeInBlock(part))
        rewriter.modifyOpInPlace(slice, [&] {
          slice.getSourceMutable().assign(destinations[number]);
        });
    }
    SmallVector<OpFoldResult> resultOffsets, resultSizes;
    if (failed(tiling.getResultTilePosition(rewriter, number, offsets, sizes,
                                            resultOffsets, resultSizes)))
      return failure();
    SmallVector<OpFoldResult> strides(resultOffsets.size(),
                                      rewriter.getIndexAttr(1));
    written.push_back(tensor::InsertSliceOp::create(
        rewriter, op.getLoc(), value, destinations[number], resultOffsets,
        resultSizes, strides));
  }
  destinations = written;
  rewriter.setInsertionPoint(op);
  return part;
}

FailureOr<Part> splitParallel(RewriterBase &rewriter, linalg::LinalgOp op,
                              unsigned loop, int64_t at,
                              const FuseFn &mayFuse) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  SmallVector<OpFoldResult> offsets, sizes;
  for (Range range :
       cast<TilingInterface>(op.getOperation()).getIterationDomain(rewriter)) {
    offsets.push_back(range.offset);
    sizes.push_back(range.size);
  }
  int64_t extent = loopExtents(op)[loop];
  SmallVector<Value> destinations;
  for (Value init : op.getDpsInits())
    destinations.push_back(skipFusedInits(init, mayFuse));

  sizes[loop] = rewriter.getIndexAttr(at);
  auto first = makePart(rewriter, op, offsets, sizes, destinations, mayFuse);
  offsets[loop] = rewriter.getIndexAttr(at);
  sizes[loop] = rewriter.getIndexAttr(extent - at);
  if (failed(first))
    return failure();
  auto second = makePart(rewriter, op, offsets, sizes, destinations, mayFuse);
  if (failed(second))
    return failure();
  rewriter.replaceOp(op, destinations);
  return Part{*first, *second};
}

FailureOr<Part> splitLoop(RewriterBase &rewriter, linalg::LinalgOp op,
                          unsigned loop, int64_t at, const FuseFn &mayFuse) {
  if (op.getIteratorTypesArray()[loop] == utils::IteratorType::reduction)
    return splitReduction(rewriter, op, loop, at);
  return splitParallel(rewriter, op, loop, at, mayFuse);
}

/// Where to cut a loop of `extent` for tiles of `size`: after the last whole
/// tile, and the rest of a vectorised loop into powers of two, the only vectors
/// that LLVM makes good code for.
SmallVector<int64_t> cutsOf(int64_t extent, int64_t size, bool vectorized) {
  SmallVector<int64_t> cuts;
  int64_t at = extent - extent % size;
  if (at > 0)
    cuts.push_back(at);
  if (!vectorized || size > maxVectorTile)
    return at < extent ? cuts : SmallVector<int64_t>();
  while (at < extent) {
    at += int64_t(llvm::bit_floor(uint64_t(extent - at)));
    if (at < extent)
      cuts.push_back(at);
  }
  if (!cuts.empty() && cuts.back() == extent)
    cuts.pop_back();
  return cuts;
}

/// Cuts off what the sizes do not divide.
FailureOr<SmallVector<linalg::LinalgOp>>
splitRagged(RewriterBase &rewriter, linalg::LinalgOp op,
            const TileOptions &options) {
  SmallVector<linalg::LinalgOp> parts = {op};
  for (unsigned loop : options.order) {
    int64_t size = options.sizes[loop];
    SmallVector<linalg::LinalgOp> next;
    for (linalg::LinalgOp part : parts) {
      int64_t extent = loopExtents(part)[loop], done = 0;
      bool vectorized = getLoopRoles(part)[loop] == LoopRole::N;
      if (extent >= 0)
        for (int64_t cut : cutsOf(extent, size, vectorized)) {
          auto halves =
              splitLoop(rewriter, part, loop, cut - done, options.fuse);
          if (failed(halves))
            return failure();
          next.push_back(halves->first);
          part = halves->second;
          done = cut;
        }
      next.push_back(part);
    }
    parts = next;
  }
  return parts;
}

FailureOr<Operation *> tilePart(RewriterBase &rewriter, linalg::LinalgOp op,
                                const TileOptions &options) {
  SmallVector<int64_t> extents = loopExtents(op);
  SmallVector<OpFoldResult> sizes(extents.size(), rewriter.getIndexAttr(0));
  SmallVector<int64_t> interchange;
  for (unsigned loop : options.order) {
    if (extents[loop] >= 0 && extents[loop] <= options.sizes[loop])
      continue;
    sizes[loop] = rewriter.getIndexAttr(options.sizes[loop]);
    interchange.push_back(loop);
  }
  if (interchange.empty())
    return op.getOperation();
  for (unsigned loop = 0; loop < extents.size(); ++loop)
    if (!llvm::is_contained(interchange, loop))
      interchange.push_back(loop);

  scf::SCFTilingOptions tiling;
  tiling.setTileSizes(sizes);
  if (options.parallel)
    tiling.setLoopType(scf::SCFTilingOptions::LoopType::ForallOp);
  else
    tiling.setInterchange(interchange);
  rewriter.setInsertionPoint(op);
  auto tiled = scf::tileUsingSCF(
      rewriter, cast<TilingInterface>(op.getOperation()), tiling);
  if (failed(tiled))
    return failure();
  rewriter.replaceOp(op, tiled->replacements);
  Fuser(rewriter, tiled->loops, options.fuse).run(tiled->generatedSlices);
  return tiled->tiledOps.front();
}

} // namespace

FailureOr<SmallVector<Operation *>>
attune::tileAndFuse(RewriterBase &rewriter, linalg::LinalgOp op,
                    const TileOptions &options) {
  OpBuilder::InsertionGuard guard(rewriter);
  auto parts = splitRagged(rewriter, op, options);
  if (failed(parts))
    return failure();
  SmallVector<Operation *> tiledOps;
  for (linalg::LinalgOp part : *parts) {
    auto tiled = tilePart(rewriter, part, options);
    if (failed(tiled))
      return failure();
    tiledOps.push_back(*tiled);
  }
  return tiledOps;
}
