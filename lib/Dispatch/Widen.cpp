//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Dispatch/Widen.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace attune {
namespace {

/// The type in which sums over `type` are kept; null when `type` will do.
FloatType widerType(Type type, Widen mode) {
  auto *context = type.getContext();
  if (type.isF16() || type.isBF16())
    return Float32Type::get(context);
  if (type.isF32() && mode == Widen::Everything)
    return Float64Type::get(context);
  return {};
}

bool roundsNothing(Operation &op) {
  return isa<arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp,
             arith::MinNumFOp, arith::CmpFOp, arith::SelectOp, arith::CmpIOp,
             linalg::IndexOp, linalg::YieldOp, arith::IndexCastOp,
             arith::ConstantOp>(op);
}

bool isFloatArithmetic(Operation &op) {
  return roundsNothing(op) || isa<math::MathDialect>(op.getDialect()) ||
         isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp,
             arith::NegFOp, arith::ExtFOp, arith::SIToFPOp, arith::UIToFPOp>(
             op);
}

/// The type to accumulate in, or null when the op stays.
FloatType accumulatorType(linalg::LinalgOp op, Widen mode) {
  if (op.getNumReductionLoops() == 0 || op.getNumDpsInits() != 1 ||
      !op.hasPureTensorSemantics())
    return {};
  Block &body = *op.getBlock();
  if (llvm::all_of(body, roundsNothing) ||
      !llvm::all_of(body, isFloatArithmetic))
    return {};
  return widerType(getElementTypeOrSelf(op.getDpsInits()[0].getType()), mode);
}

Value convert(OpBuilder &builder, Location loc, Value value, FloatType type) {
  auto from = dyn_cast<FloatType>(value.getType());
  if (!from || from == type || from.getWidth() > type.getWidth())
    return value;
  return arith::ExtFOp::create(builder, loc, type, value);
}

/// An elementwise conversion of a whole tensor.
Value convertTensor(OpBuilder &builder, Location loc, Value tensor,
                    FloatType type) {
  auto from = cast<RankedTensorType>(tensor.getType());
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(builder, loc, tensor);
  Value init = tensor::EmptyOp::create(builder, loc, sizes, type);
  AffineMap map = builder.getMultiDimIdentityMap(from.getRank());
  SmallVector<utils::IteratorType> iterators(from.getRank(),
                                             utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             builder, loc, init.getType(), tensor, init,
             ArrayRef<AffineMap>{map, map}, iterators,
             [&](OpBuilder &inner, Location loc, ValueRange arguments) {
               auto source = cast<FloatType>(arguments[0].getType());
               Value result = source.getWidth() < type.getWidth()
                                  ? Value(arith::ExtFOp::create(
                                        inner, loc, type, arguments[0]))
                                  : Value(arith::TruncFOp::create(
                                        inner, loc, type, arguments[0]));
               linalg::YieldOp::create(inner, loc, result);
             })
      .getResult(0);
}

/// Clones the body of `from` with every float in `type`.
void cloneBody(OpBuilder &builder, linalg::GenericOp from, ValueRange arguments,
               FloatType type) {
  IRMapping mapping;
  for (auto [old, fresh] : llvm::zip(from.getBody()->getArguments(), arguments))
    mapping.map(old, convert(builder, from.getLoc(), fresh, type));
  for (Operation &op : *from.getBody()) {
    for (Value operand : op.getOperands())
      if (!mapping.contains(operand))
        mapping.map(operand, convert(builder, op.getLoc(), operand, type));
    if (isa<arith::ExtFOp>(op)) {
      mapping.map(op.getResult(0), mapping.lookup(op.getOperand(0)));
      continue;
    }
    Operation *clone = builder.clone(op, mapping);
    for (OpResult result : clone->getResults()) {
      auto narrow = dyn_cast<FloatType>(result.getType());
      if (!narrow || narrow.getWidth() >= type.getWidth())
        continue;
      result.setType(type);
      if (auto constant = dyn_cast<arith::ConstantOp>(clone)) {
        auto value = cast<FloatAttr>(constant.getValue());
        constant.setValueAttr(
            builder.getFloatAttr(type, value.getValueAsDouble()));
      }
    }
  }
}

void widen(linalg::GenericOp op, FloatType type) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Value init = op.getDpsInits()[0];
  auto narrow = cast<FloatType>(getElementTypeOrSelf(init.getType()));
  Value wideInit = convertTensor(builder, loc, init, type);
  auto wide = linalg::GenericOp::create(
      builder, loc, wideInit.getType(), op.getDpsInputs(), wideInit,
      op.getIndexingMapsArray(), op.getIteratorTypesArray(),
      [&](OpBuilder &inner, Location, ValueRange arguments) {
        cloneBody(inner, op, arguments, type);
      });
  op.getResult(0).replaceAllUsesWith(
      convertTensor(builder, loc, wide.getResult(0), narrow));
  op.erase();
}

} // namespace

void widenReductions(ModuleOp module, Widen mode) {
  SmallVector<std::pair<linalg::LinalgOp, FloatType>> work;
  module.walk([&](linalg::LinalgOp op) {
    if (FloatType type = accumulatorType(op, mode))
      work.emplace_back(op, type);
  });
  IRRewriter rewriter(module.getContext());
  for (auto [op, type] : work) {
    auto generic = dyn_cast<linalg::GenericOp>(op.getOperation());
    if (!generic) {
      rewriter.setInsertionPoint(op);
      FailureOr<linalg::GenericOp> generalized =
          linalg::generalizeNamedOp(rewriter, op);
      if (failed(generalized))
        continue;
      generic = *generalized;
    }
    widen(generic, type);
  }
}

} // namespace attune
