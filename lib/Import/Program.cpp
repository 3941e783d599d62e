//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Steps.h"

#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace attune;
using llvm::Error;
using llvm::Expected;

int64_t EntrySignature::openDimensions() const {
  int64_t count = 0;
  for (const ValueSignature &input : inputs)
    count += llvm::count(input.type.shape, -1);
  return count;
}

const EntrySignature *Program::findEntry(StringRef name) const {
  const EntrySignature *only = nullptr;
  int64_t count = 0;
  for (const EntrySignature &entry : entries) {
    if (entry.isVariant())
      continue;
    if (entry.name == (name.empty() ? StringRef("main") : name))
      return &entry;
    only = &entry;
    ++count;
  }
  return name.empty() && count == 1 ? only : nullptr;
}

Program Program::clone() const {
  Program copy;
  copy.module = cast<ModuleOp>(module.get()->clone());
  copy.weights = weights;
  copy.entries = entries;
  copy.file = file;
  copy.notes = notes;
  return copy;
}

Expected<ElementType> attune::elementTypeOf(Type type) {
  if (type.isIndex())
    return ElementType::Index;
  std::string text;
  llvm::raw_string_ostream(text) << type;
  auto parsed = elementTypeFromString(text);
  if (!parsed) {
    llvm::consumeError(parsed.takeError());
    return makeError(
        "{0} is not an element type that Attune knows (f16, bf16, f32, "
        "f64, i1, i4, i8, i16, i32, i64, index)",
        text);
  }
  return parsed;
}

Type attune::toMlir(MLIRContext &context, ElementType type) {
  Builder builder(&context);
  switch (type) {
  case ElementType::F32:
    return builder.getF32Type();
  case ElementType::F64:
    return builder.getF64Type();
  case ElementType::F16:
    return builder.getF16Type();
  case ElementType::BF16:
    return builder.getBF16Type();
  case ElementType::I1:
    return builder.getI1Type();
  case ElementType::I4:
    return builder.getIntegerType(4);
  case ElementType::I8:
    return builder.getIntegerType(8);
  case ElementType::I16:
    return builder.getIntegerType(16);
  case ElementType::I32:
    return builder.getI32Type();
  case ElementType::I64:
    return builder.getI64Type();
  case ElementType::Index:
    return builder.getIndexType();
  }
  llvm_unreachable("all element types are above");
}

Expected<ValueSignature> attune::signatureOf(Type type) {
  ValueSignature signature;
  auto shaped = dyn_cast<ShapedType>(type);
  Type element = shaped ? shaped.getElementType() : type;
  if (shaped && (isa<VectorType>(type) || !shaped.hasRank()))
    return makeError(
        "{0}: inputs and results are tensors of known rank, or scalars", type);
  auto known = elementTypeOf(element);
  if (!known)
    return known.takeError();
  signature.type.type = *known;
  signature.isScalar = !shaped;
  if (shaped)
    for (int64_t size : shaped.getShape())
      signature.type.shape.push_back(ShapedType::isDynamic(size) ? -1 : size);
  return signature;
}
