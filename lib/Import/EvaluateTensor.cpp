//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Evaluate.h"
#include "Steps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace attune;
using namespace attune::import;

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

Scalar import::loadScalar(const Tensor &tensor, int64_t index) {
  if (isFloat(tensor.type))
    return {tensor.at(index), 0};
  int64_t width = byteWidth(tensor.type), value = 0;
  memcpy(&value, tensor.bytes.data() + index * width, width);
  if (tensor.type != ElementType::I1)
    value = llvm::SignExtend64(value, 8 * width);
  return {0, value};
}

void import::storeScalar(Tensor &tensor, int64_t index, Scalar value) {
  if (isFloat(tensor.type))
    return tensor.set(index, value.real);
  int64_t width = byteWidth(tensor.type);
  memcpy(tensor.bytes.data() + index * width, &value.whole, width);
}

static std::optional<Scalar> scalarOf(Attribute attribute) {
  if (auto real = dyn_cast_or_null<FloatAttr>(attribute))
    return Scalar{real.getValueAsDouble(), 0};
  auto whole = dyn_cast_or_null<IntegerAttr>(attribute);
  if (!whole || whole.getValue().getBitWidth() > 64)
    return std::nullopt;
  bool isBool = whole.getType().isInteger(1);
  return Scalar{0, isBool ? int64_t(whole.getValue().getZExtValue())
                          : whole.getValue().getSExtValue()};
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

/// A fill whose every element is this; null when it is not one.
static Attribute filledValue(Operation *op) {
  auto fill = dyn_cast<linalg::FillOp>(op);
  Attribute value;
  if (fill && matchPattern(fill.getInputs()[0], m_Constant(&value)))
    return value;
  return {};
}

bool Constants::isConstant(Value value) const {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  Operation *op = value.getDefiningOp();
  if (!op || !type || !type.hasStaticShape())
    return false;
  auto element = elementTypeOf(type.getElementType());
  if (!element) {
    llvm::consumeError(element.takeError());
    return false;
  }
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return isa<DenseElementsAttr>(constant.getValue());
  return isa<WeightOp, tensor::EmptyOp>(op) || filledValue(op);
}

std::optional<Scalar> Constants::readScalar(Value value) const {
  Attribute attribute;
  if (!matchPattern(value, m_Constant(&attribute)))
    return std::nullopt;
  return scalarOf(attribute);
}

std::shared_ptr<const Tensor> Constants::read(Value value) {
  if (!isConstant(value))
    return nullptr;
  Operation *op = value.getDefiningOp();
  if (auto weight = dyn_cast<WeightOp>(op))
    return std::make_shared<Tensor>(program.weights.tensor(weight.getIndex()));
  auto type = cast<RankedTensorType>(value.getType());
  auto element = elementTypeOf(type.getElementType());
  auto tensor =
      std::make_shared<Tensor>(Tensor::zeros(*element, type.getShape().vec()));
  if (Attribute filled = filledValue(op)) {
    Scalar scalar = *scalarOf(filled);
    for (int64_t i = 0, e = tensor->elementCount(); i < e; ++i)
      storeScalar(*tensor, i, scalar);
  } else if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto dense = cast<DenseElementsAttr>(constant.getValue());
    for (auto [i, attribute] : llvm::enumerate(dense.getValues<Attribute>()))
      storeScalar(*tensor, i, *scalarOf(attribute));
  }
  return tensor;
}

Value Constants::write(Operation *op, RankedTensorType type, Tensor tensor) {
  auto signature = signatureOf(type);
  int64_t index = program.weights.add(signature->type, std::move(tensor.bytes));
  OpBuilder builder(op);
  return WeightOp::create(builder, op->getLoc(), type, index,
                          program.weights[index].hash);
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

static SmallVector<int64_t> stridesOf(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (int64_t i = int64_t(shape.size()) - 2; i >= 0; --i)
    strides[i] = strides[i + 1] * shape[i + 1];
  return strides;
}

Tensor import::transpose(const Tensor &source, ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> strides = stridesOf(source.shape);
  std::vector<int64_t> shape;
  SmallVector<int64_t> steps;
  for (int64_t from : permutation) {
    shape.push_back(source.shape[from]);
    steps.push_back(strides[from]);
  }
  Tensor result = Tensor::zeros(source.type, shape);
  int64_t width = byteWidth(source.type), rank = shape.size();
  SmallVector<int64_t> at(rank, 0);
  int64_t from = 0;
  for (int64_t to = 0, e = result.elementCount(); to < e; ++to) {
    memcpy(&result.bytes[to * width], &source.bytes[from * width], width);
    for (int64_t d = rank - 1; d >= 0; --d) {
      from += steps[d];
      if (++at[d] < shape[d])
        break;
      from -= steps[d] * shape[d];
      at[d] = 0;
    }
  }
  return result;
}

namespace {

/// One operand of a linalg op on constants.
struct Operand {
  std::shared_ptr<const Tensor> input; ///< null for results
  AffineMap map;
  SmallVector<int64_t> strides;
  SmallVector<int64_t> shape;

  /// -1 when out of range, which verified ops never are.
  int64_t offset(ArrayRef<int64_t> indices) const {
    int64_t at = 0;
    for (auto [i, expression] : llvm::enumerate(map.getResults())) {
      int64_t index;
      if (auto dim = dyn_cast<AffineDimExpr>(expression))
        index = indices[dim.getPosition()];
      else
        index = map.getSubMap(i).compose(indices)[0];
      if (index < 0 || index >= shape[i])
        return -1;
      at += index * strides[i];
    }
    return at;
  }
};

} // namespace

/// Next point of the iteration space; false after the last.
static bool advance(SmallVectorImpl<int64_t> &indices,
                    ArrayRef<int64_t> sizes) {
  for (int64_t d = int64_t(sizes.size()) - 1; d >= 0; --d) {
    if (++indices[d] < sizes[d])
      return true;
    indices[d] = 0;
  }
  return false;
}

std::optional<SmallVector<Tensor>>
import::evaluateLinalg(linalg::LinalgOp op, Constants &constants,
                       int64_t maxIterations) {
  if (!op.hasPureTensorSemantics())
    return std::nullopt;
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  double iterations = 1;
  for (int64_t size : sizes)
    iterations *= size;
  if (ShapedType::isDynamicShape(sizes) || iterations > double(maxIterations))
    return std::nullopt;
  auto body = Body::compile(*op.getBlock(), constants, Rounding::EachOp);
  if (!body)
    return std::nullopt;

  SmallVector<Operand> operands;
  SmallVector<Tensor> results;
  SmallVector<Scalar> arguments(op->getNumOperands());
  for (OpOperand &operand : op->getOpOperands()) {
    Operand info;
    info.map = op.getMatchingIndexingMap(&operand);
    if (auto scalar = constants.readScalar(operand.get());
        scalar && !isa<ShapedType>(operand.get().getType())) {
      arguments[operand.getOperandNumber()] = *scalar;
      operands.push_back(info);
      continue;
    }
    info.input = constants.read(operand.get());
    if (!info.input)
      return std::nullopt;
    info.shape.assign(info.input->shape.begin(), info.input->shape.end());
    info.strides = stridesOf(info.shape);
    if (op.isDpsInit(&operand)) {
      results.push_back(*info.input);
      info.input = nullptr;
    }
    operands.push_back(std::move(info));
  }

  if (iterations == 0)
    return results;
  int64_t inputs = op.getNumDpsInputs();
  SmallVector<int64_t> offsets(operands.size(), 0);
  SmallVector<int64_t> indices(sizes.size(), 0);
  do {
    for (auto [i, operand] : llvm::enumerate(operands)) {
      bool isResult = int64_t(i) >= inputs;
      if (!isResult && !operand.input)
        continue;
      offsets[i] = operand.offset(indices);
      if (offsets[i] < 0)
        return std::nullopt;
      arguments[i] = loadScalar(isResult ? results[i - inputs] : *operand.input,
                                offsets[i]);
    }
    if (!body->run(arguments, indices))
      return std::nullopt;
    for (size_t r = 0; r < results.size(); ++r)
      storeScalar(results[r], offsets[inputs + r], body->yielded(r));
  } while (advance(indices, sizes));
  return results;
}
