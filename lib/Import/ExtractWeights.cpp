//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Constants out of the code: arith.constant and tosa.const become
// attune.weight.

#include "Steps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tosa/IR/TosaOps.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace attune;
using namespace attune::import;
using llvm::Error;
using llvm::Expected;

namespace {

/// A constant op and its value.
struct Constant {
  Operation *op;
  ElementsAttr value;
  RankedTensorType type;
};

class Extractor {
public:
  Extractor(Program &program, const ImportOptions &options)
      : program(program), options(options) {}

  Error run() {
    for (Constant constant : collect())
      if (Error error = extract(constant))
        return error;
    return Error::success();
  }

private:
  std::vector<Constant> collect();
  Error extract(Constant constant);
  Error extractResource(Constant constant, DenseResourceElementsAttr resource);
  void replace(Constant constant, int64_t index, StringRef hash);
  void leaveOut(Constant constant);

  Program &program;
  const ImportOptions &options;
  /// One resource used by several constants is taken once.
  llvm::DenseMap<Attribute, int64_t> taken;
};

} // namespace

/// Ops of TOSA whose lowering reads the values of this operand.
static bool needsValues(Operation *op) {
  for (Operation *user : op->getUsers())
    if (isa<tosa::RescaleOp, tosa::TableOp, tosa::PadOp, tosa::NegateOp>(user))
      return true;
  return false;
}

std::vector<Constant> Extractor::collect() {
  std::vector<Constant> found;
  program.module->walk([&](Operation *op) {
    ElementsAttr value;
    if (auto constant = dyn_cast<arith::ConstantOp>(op))
      value = dyn_cast<ElementsAttr>(constant.getValue());
    else if (auto constant = dyn_cast<tosa::ConstOp>(op))
      value = needsValues(op) ? ElementsAttr() : constant.getValuesAttr();
    auto type = value ? dyn_cast<RankedTensorType>(value.getType())
                      : RankedTensorType();
    if (type)
      found.push_back({op, value, type});
  });
  return found;
}

//===----------------------------------------------------------------------===//
// Bytes of attributes in our memory form
//===----------------------------------------------------------------------===//

static std::vector<char> bytesOf(DenseElementsAttr value, int64_t width) {
  if (value.getElementType().isInteger(1)) {
    std::vector<char> bytes;
    bytes.reserve(value.getNumElements());
    for (bool bit : value.getValues<bool>())
      bytes.push_back(bit);
    return bytes;
  }
  ArrayRef<char> raw = value.getRawData();
  if (!value.isSplat())
    return {raw.begin(), raw.end()};
  std::vector<char> bytes;
  bytes.reserve(value.getNumElements() * width);
  for (int64_t i = 0, e = value.getNumElements(); i < e; ++i)
    bytes.insert(bytes.end(), raw.begin(), raw.end());
  return bytes;
}

/// One byte for each element from `perByte` elements packed into a byte, lowest
/// bits first; i4 is sign-extended.
static std::vector<char> unpack(ArrayRef<char> packed, int64_t count,
                                int64_t perByte) {
  std::vector<char> bytes(count);
  int64_t bits = 8 / perByte;
  for (int64_t i = 0; i < count; ++i) {
    int value = (uint8_t(packed[i / perByte]) >> (i % perByte * bits)) &
                ((1 << bits) - 1);
    bytes[i] = bits == 4 && value > 7 ? value - 16 : value;
  }
  return bytes;
}

static bool isUniform(ArrayRef<char> bytes, int64_t width) {
  return bytes.size() >= size_t(width) &&
         std::equal(bytes.begin() + width, bytes.end(), bytes.begin());
}

//===----------------------------------------------------------------------===//

void Extractor::replace(Constant constant, int64_t index, StringRef hash) {
  OpBuilder builder(constant.op);
  auto weight = WeightOp::create(builder, constant.op->getLoc(), constant.type,
                                 index, hash);
  constant.op->replaceAllUsesWith(weight);
  constant.op->erase();
}

/// Each constant that was left out is one of its own, so its number is part of
/// the op: equal ops would be merged.
void Extractor::leaveOut(Constant constant) {
  int64_t place = 0;
  program.module->walk([&](WeightOp weight) {
    if (int64_t(weight.getIndex()) < 0)
      place = std::max(place, -int64_t(weight.getIndex()));
  });
  replace(constant, -(place + 1), "left out");
}

Error Extractor::extractResource(Constant constant,
                                 DenseResourceElementsAttr resource) {
  AsmResourceBlob *blob = resource.getRawHandle().getBlob();
  if (!blob) {
    leaveOut(constant);
    return Error::success();
  }
  if (auto known = taken.find(resource); known != taken.end()) {
    replace(constant, known->second, program.weights[known->second].hash);
    return Error::success();
  }

  auto signature = signatureOf(constant.type);
  if (!signature)
    return signature.takeError();
  attune::TensorType type = signature->type;
  int64_t count = constant.type.getNumElements();
  int64_t width = byteWidth(type.type);
  ArrayRef<char> data = blob->getData();
  int64_t size = data.size();
  int64_t index;
  if (size == count * width) {
    auto owner = std::make_shared<AsmResourceBlob>(std::move(*blob));
    // Moving leaves the empty blob behind; whoever else reads the resource goes
    // through `taken`.
    index = program.weights.add(type, owner->getData(), owner);
  } else if (type.type == ElementType::I1 && size == (count + 7) / 8) {
    index = program.weights.add(type, unpack(data, count, 8));
  } else if (type.type == ElementType::I4 && size == (count + 1) / 2) {
    index = program.weights.add(type, unpack(data, count, 2));
  } else if (size == width && count > 1) {
    std::vector<char> bytes;
    for (int64_t i = 0; i < count; ++i)
      bytes.insert(bytes.end(), data.begin(), data.end());
    index = program.weights.add(type, std::move(bytes));
  } else {
    return errorAt(
        constant.op, program.file,
        "dense_resource<{0}> has {1} bytes where {2} needs {3}; export "
        "the program again",
        resource.getRawHandle().getKey(), size, toString(type), count * width);
  }
  taken[resource] = index;
  replace(constant, index, program.weights[index].hash);
  return Error::success();
}

Error Extractor::extract(Constant constant) {
  auto element = elementTypeOf(constant.type.getElementType());
  if (!element) {
    // Types without a memory form of ours stay in the code.
    llvm::consumeError(element.takeError());
    return Error::success();
  }
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(constant.value))
    return extractResource(constant, resource);

  int64_t count = constant.type.getNumElements();
  auto dense = dyn_cast<DenseElementsAttr>(constant.value);
  if (auto sparse = dyn_cast<SparseElementsAttr>(constant.value)) {
    SmallVector<Attribute> values(sparse.getValues<Attribute>());
    dense = DenseElementsAttr::get(constant.type, values);
    if (count <= options.maxInlineElements)
      constant.op->setAttr("value", dense);
  }
  if (!dense || dense.isSplat() || count <= options.maxInlineElements)
    return Error::success();
  auto signature = signatureOf(constant.type);
  if (!signature)
    return signature.takeError();
  int64_t index =
      program.weights.add(signature->type, bytesOf(dense, byteWidth(*element)));
  replace(constant, index, program.weights[index].hash);
  return Error::success();
}

Error import::extractWeights(Program &program, const ImportOptions &options) {
  return Extractor(program, options).run();
}

//===----------------------------------------------------------------------===//
// Back to constants, and new numbers
//===----------------------------------------------------------------------===//

/// A dense attribute of one element or of all, from our memory form.
static DenseElementsAttr denseFrom(RankedTensorType type, ArrayRef<char> bytes,
                                   bool uniform) {
  int64_t count = uniform ? 1 : type.getNumElements();
  if (type.getElementType().isInteger(1)) {
    SmallVector<bool> bits(bytes.begin(), bytes.begin() + count);
    return DenseElementsAttr::get(type, ArrayRef<bool>(bits));
  }
  int64_t width = bytes.size() / std::max<int64_t>(1, type.getNumElements());
  return DenseElementsAttr::getFromRawBuffer(type,
                                             bytes.take_front(count * width));
}

void import::compactWeights(Program &program, int64_t maxInlineElements) {
  WeightStore kept;
  llvm::DenseMap<int64_t, int64_t> renamed;
  SmallVector<WeightOp> ops;
  program.module->walk([&](WeightOp op) { ops.push_back(op); });
  for (WeightOp op : ops) {
    int64_t index = op.getIndex();
    const Weight &weight = program.weights[index];
    ArrayRef<char> bytes = program.weights.bytes(index);
    auto type = cast<RankedTensorType>(op.getType());
    bool uniform = isUniform(bytes, byteWidth(weight.type.type));
    if (uniform || type.getNumElements() <= maxInlineElements) {
      OpBuilder builder(op);
      Value constant = arith::ConstantOp::create(
          builder, op.getLoc(), denseFrom(type, bytes, uniform));
      op.replaceAllUsesWith(constant);
      op.erase();
      continue;
    }
    auto [entry, isNew] = renamed.try_emplace(index, 0);
    if (isNew)
      entry->second = kept.addFrom(program.weights, index);
    op.setIndex(entry->second);
    op.setHash(kept[entry->second].hash);
  }
  program.weights = std::move(kept);
}
