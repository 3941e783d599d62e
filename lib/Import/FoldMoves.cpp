//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Broadcasts and transposes: ops that only move elements are taken up by the
// indexing maps of those who read them, or moved to where they meet their
// inverse.

#include "CleanUpSteps.h"
#include "Steps.h"

#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StructuredOpsUtils.h"

using namespace mlir;
using namespace attune;
using namespace attune::import;

static bool isElementwiseGeneric(linalg::GenericOp op) {
  return op.getNumReductionLoops() == 0 && op.hasPureTensorSemantics() &&
         llvm::all_of(op.getDpsInits(), [](Value init) {
           return isa<RankedTensorType>(init.getType());
         });
}

/// linalg.add and its kind have fixed maps; as generics they can read a
/// broadcast.
static void generalizeReadersOfBroadcasts(ModuleOp module) {
  SmallVector<linalg::LinalgOp> named;
  module.walk([&](linalg::LinalgOp op) {
    if (isa<linalg::GenericOp>(op) || op.getNumReductionLoops() ||
        findMovedInput(op) || isa<linalg::FillOp>(op) ||
        !op.hasPureTensorSemantics())
      return;
    for (OpOperand *operand : op.getDpsInputOperands())
      if (auto source = operand->get().getDefiningOp<linalg::LinalgOp>())
        if (findMovedInput(source)) {
          named.push_back(op);
          return;
        }
  });
  IRRewriter rewriter(module.getContext());
  for (linalg::LinalgOp op : named) {
    rewriter.setInsertionPoint(op);
    (void)linalg::generalizeNamedOp(rewriter, op);
  }
}

//===----------------------------------------------------------------------===//
// Broadcasts
//===----------------------------------------------------------------------===//

/// Replaces an operand that is a broadcast by what is broadcast.
static bool readSource(linalg::GenericOp op, OpOperand *operand) {
  auto producer = operand->get().getDefiningOp<linalg::LinalgOp>();
  OpOperand *source = producer ? findMovedInput(producer) : nullptr;
  if (!source || !isa<RankedTensorType>(operand->get().getType()))
    return false;
  // Transposes of whole tensors stay: how to read them is a question of
  // schedules.
  AffineMap moved = producer.getMatchingIndexingMap(source);
  if (moved.isPermutation())
    return false;
  AffineMap map = moved.compose(op.getMatchingIndexingMap(operand));
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  maps[operand->getOperandNumber()] = map;
  if (!inversePermutation(concatAffineMaps(maps, op.getContext())))
    return false;
  operand->set(source->get());
  op.setIndexingMapsAttr(Builder(op.getContext()).getAffineMapArrayAttr(maps));
  return true;
}

int64_t import::foldBroadcasts(ModuleOp module) {
  generalizeReadersOfBroadcasts(module);
  int64_t count = 0;
  module.walk([&](linalg::GenericOp op) {
    if (!isElementwiseGeneric(op))
      return;
    for (OpOperand *operand : op.getDpsInputOperands())
      count += readSource(op, operand);
  });
  return count;
}

//===----------------------------------------------------------------------===//
// Batches
//===----------------------------------------------------------------------===//

/// The right side of a batched product as one matrix: broadcast over the batch,
/// or a batch of one. The result is the matrix, or null.
static Value findSharedMatrix(linalg::BatchMatmulOp op, OpBuilder &builder) {
  Value right = op.getInputs()[1];
  auto type = cast<RankedTensorType>(right.getType());
  SmallVector<ReassociationIndices> drop = {{0, 1}, {2}};
  if (type.getDimSize(0) == 1)
    return tensor::CollapseShapeOp::create(builder, op.getLoc(), right, drop);
  auto producer = right.getDefiningOp<linalg::LinalgOp>();
  OpOperand *source = producer ? findMovedInput(producer) : nullptr;
  if (!source)
    return {};
  AffineMap map = producer.getMatchingIndexingMap(source);
  AffineExpr row = builder.getAffineDimExpr(1),
             column = builder.getAffineDimExpr(2);
  if (map == AffineMap::get(3, 0, {row, column}, op.getContext()))
    return source->get();
  AffineExpr zero = builder.getAffineConstantExpr(0);
  if (map == AffineMap::get(3, 0, {zero, row, column}, op.getContext()))
    return tensor::CollapseShapeOp::create(builder, op.getLoc(), source->get(),
                                           drop);
  return {};
}

static bool foldBatch(linalg::BatchMatmulOp op) {
  if (!op.hasPureTensorSemantics() || op.hasUserDefinedMaps())
    return false;
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Value matrix = findSharedMatrix(op, builder);
  if (!matrix)
    return false;
  SmallVector<ReassociationIndices> rows = {{0, 1}, {2}};
  Value left =
      tensor::CollapseShapeOp::create(builder, loc, op.getInputs()[0], rows);
  Value init = op.getOutputs()[0];
  SmallVector<OpFoldResult> shape = tensor::getMixedSizes(builder, loc, init);
  Value flat = tensor::CollapseShapeOp::create(builder, loc, init, rows);
  Value product = linalg::MatmulOp::create(builder, loc, flat.getType(),
                                           ValueRange{left, matrix}, flat)
                      .getResult(0);
  Value result = tensor::ExpandShapeOp::create(
      builder, loc, cast<RankedTensorType>(op->getResult(0).getType()), product,
      rows, shape);
  op->getResult(0).replaceAllUsesWith(result);
  op->erase();
  return true;
}

int64_t import::foldBatches(ModuleOp module) {
  SmallVector<linalg::BatchMatmulOp> ops;
  module.walk([&](linalg::BatchMatmulOp op) { ops.push_back(op); });
  return llvm::count_if(ops, foldBatch);
}

//===----------------------------------------------------------------------===//
// Transposes
//===----------------------------------------------------------------------===//

/// The transpose that computes this value, as the map from its result's indices
/// to those of its source; null for anything else.
static AffineMap transposeMap(Value value, Value &source) {
  auto producer = value.getDefiningOp<linalg::LinalgOp>();
  OpOperand *input = producer ? findMovedInput(producer) : nullptr;
  if (!input)
    return {};
  AffineMap map = producer.getMatchingIndexingMap(input);
  if (!map.isPermutation() || map.isIdentity())
    return {};
  source = input->get();
  return map;
}

/// result[j] = source[map(j)]
static Value createTranspose(OpBuilder &builder, Location loc, Value source,
                             AffineMap map) {
  SmallVector<int64_t> order;
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(builder, loc, source);
  SmallVector<OpFoldResult> shape;
  for (AffineExpr expression : inversePermutation(map).getResults()) {
    order.push_back(cast<AffineDimExpr>(expression).getPosition());
    shape.push_back(sizes[order.back()]);
  }
  Value empty = tensor::EmptyOp::create(builder, loc, shape,
                                        getElementTypeOrSelf(source.getType()));
  return linalg::TransposeOp::create(builder, loc, source, empty, order)
      ->getResult(0);
}

/// The other readers of a transpose must be able to do without it, too.
static bool allReadersCanMove(Value transposed) {
  return llvm::all_of(transposed.getUsers(), [](Operation *user) {
    auto generic = dyn_cast<linalg::GenericOp>(user);
    auto linalgOp = dyn_cast<linalg::LinalgOp>(user);
    return (generic && isElementwiseGeneric(generic)) ||
           (linalgOp && findMovedInput(linalgOp));
  });
}

namespace {

/// An elementwise generic whose inputs of full rank are all transposed alike.
struct Sink {
  linalg::GenericOp op;
  /// From its loops to the source's indices.
  AffineMap toSource;
};

} // namespace

static std::optional<Sink> findSink(linalg::GenericOp op) {
  if (!isElementwiseGeneric(op) || findMovedInput(op) ||
      op->getNumResults() != 1 ||
      op.payloadUsesValueFromOperand(op.getDpsInitOperand(0)) ||
      !op.getMatchingIndexingMap(op.getDpsInitOperand(0)).isPermutation() ||
      op.hasIndexSemantics())
    return std::nullopt;
  Sink sink{op, {}};
  for (OpOperand *operand : op.getDpsInputOperands()) {
    AffineMap map = op.getMatchingIndexingMap(operand);
    if (!map.isPermutation())
      continue;
    Value source;
    AffineMap transposed = transposeMap(operand->get(), source);
    if (!transposed || !allReadersCanMove(operand->get()))
      return std::nullopt;
    AffineMap toSource = transposed.compose(map);
    if (sink.toSource && sink.toSource != toSource)
      return std::nullopt;
    sink.toSource = toSource;
  }
  if (!sink.toSource)
    return std::nullopt;
  return sink;
}

static void sinkBelow(const Sink &sink) {
  linalg::GenericOp op = sink.op;
  OpBuilder builder(op);
  Location loc = op.getLoc();
  AffineMap fromSource = inversePermutation(sink.toSource);
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  SmallVector<OpFoldResult> shape;
  for (OpOperand *operand : op.getDpsInputOperands()) {
    AffineMap map = op.getMatchingIndexingMap(operand);
    Value source = operand->get();
    if (map.isPermutation()) {
      (void)transposeMap(operand->get(), source);
      shape = tensor::getMixedSizes(builder, loc, source);
      maps.push_back(builder.getMultiDimIdentityMap(map.getNumDims()));
    } else {
      maps.push_back(map.compose(fromSource));
    }
    inputs.push_back(source);
  }
  AffineMap identity = builder.getMultiDimIdentityMap(fromSource.getNumDims());
  maps.push_back(identity);
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  Value empty =
      tensor::EmptyOp::create(builder, loc, shape, type.getElementType());
  auto moved = linalg::GenericOp::create(
      builder, loc, TypeRange(empty.getType()), inputs, empty, maps,
      op.getIteratorTypesArray());
  moved.getRegion().takeBody(op.getRegion());
  AffineMap result = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  op->getResult(0).replaceAllUsesWith(
      createTranspose(builder, loc, moved->getResult(0),
                      sink.toSource.compose(inversePermutation(result))));
  op->erase();
}

/// A transpose of a transpose is one, or none.
static bool mergeTransposes(linalg::LinalgOp op) {
  Value middle, source;
  AffineMap second = transposeMap(op->getResult(0), middle);
  if (!second)
    return false;
  AffineMap first = transposeMap(middle, source);
  if (!first)
    return false;
  AffineMap both = first.compose(second);
  OpBuilder builder(op);
  op->getResult(0).replaceAllUsesWith(
      both.isIdentity() ? source
                        : createTranspose(builder, op.getLoc(), source, both));
  op->erase();
  return true;
}

int64_t import::sinkTransposes(ModuleOp module) {
  generalizeReadersOfBroadcasts(module);
  int64_t count = 0;
  SmallVector<linalg::LinalgOp> ops;
  module.walk([&](linalg::LinalgOp op) { ops.push_back(op); });
  for (linalg::LinalgOp op : ops) {
    if (op->getNumResults() == 1 && findMovedInput(op)) {
      count += mergeTransposes(op);
      continue;
    }
    auto generic = dyn_cast<linalg::GenericOp>(op.getOperation());
    if (!generic)
      continue;
    if (std::optional<Sink> sink = findSink(generic)) {
      sinkBelow(*sink);
      ++count;
    }
  }
  return count;
}
