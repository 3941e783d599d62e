//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CleanUpSteps.h"
#include "Steps.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace attune;
using namespace attune::import;

/// Longer computations are left to the program.
static constexpr int64_t maxIterations = int64_t(1) << 24;

OpOperand *import::findMovedInput(linalg::LinalgOp op) {
  if (op.getNumDpsInputs() != 1 || op.getNumDpsInits() != 1 ||
      op.getNumReductionLoops() || !op.hasPureTensorSemantics())
    return nullptr;
  OpOperand *input = op.getDpsInputOperand(0);
  if (!isa<RankedTensorType>(input->get().getType()))
    return nullptr;
  Block *body = op.getBlock();
  if (!llvm::hasSingleElement(*body) ||
      body->getTerminator()->getOperand(0) != body->getArgument(0) ||
      !op.getMatchingIndexingMap(op.getDpsInitOperand(0)).isIdentity())
    return nullptr;
  return input;
}

namespace {

class Folder {
public:
  Folder(Program &program, const CleanUpOptions &options)
      : program(program), options(options), constants(program) {}

  int64_t run() {
    SmallVector<Operation *> ops;
    program.module->walk([&](Operation *op) { ops.push_back(op); });
    for (Operation *op : ops)
      fold(op);
    return count;
  }

private:
  bool hasConstantOperands(Operation *op) const;
  bool isSmallEnough(Operation *op) const;
  void fold(Operation *op);
  void foldLinalg(linalg::LinalgOp op);
  void foldReshape(Operation *op);
  void foldSlice(tensor::ExtractSliceOp op);
  void replace(Operation *op, unsigned result, Tensor tensor);

  Program &program;
  const CleanUpOptions &options;
  Constants constants;
  int64_t count = 0;
};

} // namespace

static int64_t bytesOf(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  auto element = elementTypeOf(tensor.getElementType());
  return tensor.getNumElements() * byteWidth(*element);
}

static bool isKnownStatic(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape())
    return false;
  auto element = elementTypeOf(tensor.getElementType());
  bool known = bool(element);
  llvm::consumeError(element.takeError());
  return known;
}

bool Folder::hasConstantOperands(Operation *op) const {
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    return constants.isConstant(operand) || constants.readScalar(operand);
  });
}

/// A result that is larger than what it is made from costs memory traffic in
/// every run, where computing it anew may cost nothing.
bool Folder::isSmallEnough(Operation *op) const {
  int64_t in = 0, out = 0;
  for (Value operand : op->getOperands())
    if (isKnownStatic(operand.getType()) &&
        !operand.getDefiningOp<tensor::EmptyOp>())
      in += bytesOf(operand.getType());
  for (Type type : op->getResultTypes())
    out += bytesOf(type);
  return out <= options.maxFoldedBytes &&
         (out <= in || out <= options.maxFoldedBytes / 16);
}

void Folder::replace(Operation *op, unsigned result, Tensor tensor) {
  Value value = op->getResult(result);
  value.replaceAllUsesWith(constants.write(
      op, cast<RankedTensorType>(value.getType()), std::move(tensor)));
  ++count;
}

void Folder::fold(Operation *op) {
  if (op->use_empty() || !op->getNumResults() ||
      !llvm::all_of(op->getResultTypes(), isKnownStatic) ||
      !hasConstantOperands(op))
    return;
  if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
    return foldReshape(op);
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    return foldSlice(slice);
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
      linalgOp && !isa<linalg::FillOp>(op))
    return foldLinalg(linalgOp);
}

void Folder::foldReshape(Operation *op) {
  Value source = op->getOperand(0);
  // A reshape of nothing in particular stays.
  if (source.getDefiningOp<tensor::EmptyOp>() ||
      source.getDefiningOp<linalg::FillOp>())
    return;
  Tensor tensor = *constants.read(source);
  tensor.shape =
      cast<RankedTensorType>(op->getResult(0).getType()).getShape().vec();
  replace(op, 0, std::move(tensor));
}

void Folder::foldSlice(tensor::ExtractSliceOp op) {
  auto isStatic = [](ArrayRef<int64_t> values) {
    return !ShapedType::isDynamicShape(values);
  };
  if (!isStatic(op.getStaticOffsets()) || !isStatic(op.getStaticSizes()) ||
      !isStatic(op.getStaticStrides()) ||
      op.getSource().getDefiningOp<tensor::EmptyOp>())
    return;
  std::shared_ptr<const Tensor> source = constants.read(op.getSource());
  ArrayRef<int64_t> sizes = op.getStaticSizes();
  Tensor result = Tensor::zeros(source->type, op.getType().getShape().vec());
  int64_t width = byteWidth(source->type), rank = sizes.size();
  for (int64_t to = 0, e = result.elementCount(); to < e; ++to) {
    int64_t from = 0, rest = to, step = 1;
    for (int64_t d = rank - 1; d >= 0; --d) {
      from += step * (op.getStaticOffsets()[d] +
                      rest % sizes[d] * op.getStaticStrides()[d]);
      rest /= sizes[d];
      step *= source->shape[d];
    }
    memcpy(&result.bytes[to * width], &source->bytes[from * width], width);
  }
  replace(op, 0, std::move(result));
}

void Folder::foldLinalg(linalg::LinalgOp op) {
  if (OpOperand *moved = findMovedInput(op)) {
    AffineMap map = op.getMatchingIndexingMap(moved);
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    if (moved->get().getDefiningOp<tensor::EmptyOp>())
      return;
    // result[d] = source[map(d)]: dimension d of the result is the source's at
    // the place where the map has d.
    if (map.isPermutation()) {
      SmallVector<int64_t> order;
      for (AffineExpr expression : inversePermutation(map).getResults())
        order.push_back(cast<AffineDimExpr>(expression).getPosition());
      return replace(op, 0, transpose(*constants.read(moved->get()), order));
    }
    int64_t elements =
        cast<RankedTensorType>(moved->get().getType()).getNumElements();
    if (type.getNumElements() > std::max<int64_t>(elements, 64))
      return;
  }
  if (!isSmallEnough(op))
    return;
  auto results = evaluateLinalg(op, constants, maxIterations);
  if (!results)
    return;
  for (auto [i, tensor] : llvm::enumerate(*results))
    replace(op, i, std::move(tensor));
}

int64_t import::foldConstants(Program &program, const CleanUpOptions &options) {
  return Folder(program, options).run();
}
