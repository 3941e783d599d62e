//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Complex numbers at the door: callers pass and get pairs of real ones, as
// numpy's `view` shows them.

#include "Steps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace attune;
using namespace attune::import;
using llvm::Error;

/// tensor<4x2xf32> for tensor<4xcomplex<f32>>, null for other types.
static RankedTensorType splitType(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  auto element =
      tensor ? dyn_cast<ComplexType>(tensor.getElementType()) : ComplexType();
  if (!element)
    return {};
  SmallVector<int64_t> shape(tensor.getShape());
  shape.push_back(2);
  return RankedTensorType::get(shape, element.getElementType());
}

/// Numbers in, pairs out.
static linalg::GenericOp split(IRRewriter &rewriter, Location loc,
                               Value value) {
  RankedTensorType type = splitType(value.getType());
  unsigned rank = type.getRank();
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(rewriter, loc, value);
  sizes.push_back(rewriter.getIndexAttr(2));
  Value empty =
      tensor::EmptyOp::create(rewriter, loc, sizes, type.getElementType());
  AffineMap whole = rewriter.getMultiDimIdentityMap(rank);
  SmallVector<utils::IteratorType> loops(rank, utils::IteratorType::parallel);
  return linalg::GenericOp::create(
      rewriter, loc, TypeRange(type), value, empty,
      ArrayRef<AffineMap>{whole.dropResult(rank - 1), whole}, loops,
      [&](OpBuilder &body, Location loc, ValueRange arguments) {
        Value part = linalg::IndexOp::create(body, loc, rank - 1);
        Value zero = arith::ConstantIndexOp::create(body, loc, 0);
        Value isReal = arith::CmpIOp::create(
            body, loc, arith::CmpIPredicate::eq, part, zero);
        Value real = complex::ReOp::create(body, loc, arguments[0]);
        Value imaginary = complex::ImOp::create(body, loc, arguments[0]);
        Value number =
            arith::SelectOp::create(body, loc, isReal, real, imaginary);
        linalg::YieldOp::create(body, loc, number);
      });
}

/// With the op that made the numbers in it, most programs have no complex
/// tensor left.
static void fuseProducer(IRRewriter &rewriter, linalg::GenericOp generic) {
  OpOperand *input = generic.getDpsInputOperand(0);
  if (!linalg::areElementwiseOpsFusable(input))
    return;
  Operation *producer = input->get().getDefiningOp();
  auto fused = linalg::fuseElementwiseOps(rewriter, input);
  if (failed(fused))
    return;
  rewriter.replaceOp(generic, fused->replacements.lookup(generic.getResult(0)));
  if (producer->use_empty())
    rewriter.eraseOp(producer);
}

/// Pairs in, numbers out.
static Value join(OpBuilder &builder, Location loc, Value pairs, Type type) {
  auto numbers = cast<RankedTensorType>(type);
  unsigned rank = numbers.getRank();
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(builder, loc, pairs);
  sizes.pop_back();
  Value empty =
      tensor::EmptyOp::create(builder, loc, sizes, numbers.getElementType());
  AffineMap identity = builder.getMultiDimIdentityMap(rank);
  SmallVector<AffineMap> maps;
  for (int64_t part : {0, 1}) {
    SmallVector<AffineExpr> at(identity.getResults());
    at.push_back(builder.getAffineConstantExpr(part));
    maps.push_back(AffineMap::get(rank, 0, at, builder.getContext()));
  }
  maps.push_back(identity);
  SmallVector<utils::IteratorType> loops(rank, utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             builder, loc, TypeRange(type), ValueRange{pairs, pairs}, empty,
             maps, loops,
             [&](OpBuilder &body, Location loc, ValueRange arguments) {
               Value number = complex::CreateOp::create(
                   body, loc, numbers.getElementType(), arguments[0],
                   arguments[1]);
               linalg::YieldOp::create(body, loc, number);
             })
      .getResult(0);
}

static bool splitFunction(func::FuncOp function) {
  IRRewriter rewriter(function.getContext());
  Block &body = function.getBody().front();
  bool changed = false;
  rewriter.setInsertionPointToStart(&body);
  for (BlockArgument argument : body.getArguments())
    if (RankedTensorType pairs = splitType(argument.getType())) {
      Type numbers = argument.getType();
      argument.setType(pairs);
      Value joined = join(rewriter, argument.getLoc(), argument, numbers);
      argument.replaceAllUsesExcept(joined, joined.getDefiningOp());
      changed = true;
    }
  Operation *end = body.getTerminator();
  rewriter.setInsertionPoint(end);
  for (OpOperand &operand : end->getOpOperands())
    if (splitType(operand.get().getType())) {
      linalg::GenericOp pairs = split(rewriter, end->getLoc(), operand.get());
      operand.set(pairs.getResult(0));
      fuseProducer(rewriter, pairs);
      changed = true;
    }
  if (changed)
    function.setFunctionType(rewriter.getFunctionType(body.getArgumentTypes(),
                                                      end->getOperandTypes()));
  return changed;
}

Error import::splitComplex(Program &program) {
  for (auto function : program.module->getOps<func::FuncOp>())
    if (!function.isExternal() && function.getBody().hasOneBlock() &&
        splitFunction(function))
      program.notes.push_back(llvm::formatv(
          "@{0}: complex numbers are passed as pairs of real ones, in a "
          "last dimension of 2",
          function.getSymName()));
  return Error::success();
}
