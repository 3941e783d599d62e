//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Support/Tensor.h"

#include "attune/Support/Error.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>
#include <cstring>

using namespace attune;
using llvm::Expected;
using llvm::StringRef;

namespace {
struct ElementInfo {
  llvm::StringLiteral name;
  int64_t width;
  bool isFloat;
};
} // namespace

// In the order of ElementType.
static constexpr ElementInfo elementInfos[] = {
    {"f32", 4, true},  {"f64", 8, true},  {"f16", 2, true},   {"bf16", 2, true},
    {"i1", 1, false},  {"i4", 1, false},  {"i8", 1, false},   {"i16", 2, false},
    {"i32", 4, false}, {"i64", 8, false}, {"index", 8, false}};

static const ElementInfo &infoOf(ElementType type) {
  return elementInfos[static_cast<int>(type)];
}

StringRef attune::toString(ElementType type) { return infoOf(type).name; }
int64_t attune::byteWidth(ElementType type) { return infoOf(type).width; }
bool attune::isFloat(ElementType type) { return infoOf(type).isFloat; }

Expected<ElementType> attune::elementTypeFromString(StringRef text) {
  for (auto [index, info] : llvm::enumerate(elementInfos))
    if (info.name == text)
      return static_cast<ElementType>(index);
  return makeError("'{0}' is not an element type; known are f64, f32, f16, "
                   "bf16, i64, i32, i16, i8, i4, i1 and index",
                   text);
}

std::optional<int64_t>
attune::checkedElementCount(llvm::ArrayRef<int64_t> shape,
                            int64_t elementBytes) {
  constexpr int64_t limit = int64_t(1) << 62;
  int64_t product = elementBytes;
  for (int64_t size : shape) {
    int64_t next;
    if (size < 0 || llvm::MulOverflow(product, size, next) || next > limit)
      return std::nullopt;
    product = next;
  }
  return product / elementBytes;
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

/// Rounds to float such that a second rounding to fewer bits is still right:
/// to nearest when exact, else to the neighbour with an odd last bit.
static float roundToOdd(double value) {
  float nearest = static_cast<float>(value);
  if (std::isnan(value) || std::isinf(nearest) ||
      static_cast<double>(nearest) == value)
    return nearest;
  uint32_t bits = llvm::bit_cast<uint32_t>(nearest);
  if (std::fabs(static_cast<double>(nearest)) > std::fabs(value))
    --bits;
  return llvm::bit_cast<float>(bits | 1);
}

static uint16_t toBF16(double value) {
  uint32_t bits = llvm::bit_cast<uint32_t>(roundToOdd(value));
  if (std::isnan(value))
    return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

template <typename T> static T load(const std::vector<char> &bytes, int64_t i) {
  T value;
  std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
  return value;
}
template <typename T>
static void store(std::vector<char> &bytes, int64_t i, T value) {
  std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
}

int64_t Tensor::elementCount() const {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

Tensor Tensor::zeros(ElementType type, std::vector<int64_t> shape) {
  Tensor tensor{type, std::move(shape), {}};
  tensor.bytes.resize(tensor.elementCount() * byteWidth(type));
  return tensor;
}

double Tensor::at(int64_t index) const {
  switch (type) {
  case ElementType::F32:
    return load<float>(bytes, index);
  case ElementType::F64:
    return load<double>(bytes, index);
  case ElementType::F16:
    return static_cast<double>(load<_Float16>(bytes, index));
  case ElementType::BF16:
    return llvm::bit_cast<float>(uint32_t(load<uint16_t>(bytes, index)) << 16);
  default:
    return static_cast<double>(integerAt(index));
  }
}

void Tensor::set(int64_t index, double value) {
  switch (type) {
  case ElementType::F32:
    return store(bytes, index, static_cast<float>(value));
  case ElementType::F64:
    return store(bytes, index, value);
  case ElementType::F16:
    return store(bytes, index, static_cast<_Float16>(value));
  case ElementType::BF16:
    return store(bytes, index, toBF16(value));
  default:
    return setInteger(index, static_cast<int64_t>(value));
  }
}

int64_t Tensor::integerAt(int64_t index) const {
  switch (byteWidth(type)) {
  case 1: {
    int8_t value = load<int8_t>(bytes, index);
    if (type == ElementType::I1)
      return value != 0;
    if (type == ElementType::I4)
      return llvm::SignExtend64<4>(value & 0xf);
    return value;
  }
  case 2:
    return load<int16_t>(bytes, index);
  case 4:
    return load<int32_t>(bytes, index);
  default:
    return load<int64_t>(bytes, index);
  }
}

void Tensor::setInteger(int64_t index, int64_t value) {
  switch (byteWidth(type)) {
  case 1:
    return store(
        bytes, index,
        static_cast<int8_t>(type == ElementType::I1 ? value != 0 : value));
  case 2:
    return store(bytes, index, static_cast<int16_t>(value));
  case 4:
    return store(bytes, index, static_cast<int32_t>(value));
  default:
    return store(bytes, index, value);
  }
}

Expected<Tensor> attune::reinterpretAs(Tensor tensor, ElementType type) {
  if (byteWidth(tensor.type) != byteWidth(type))
    return makeError("an array of {0} ({1} bytes an element) cannot be read "
                     "as {2} ({3} bytes)",
                     toString(tensor.type), byteWidth(tensor.type),
                     toString(type), byteWidth(type));
  tensor.type = type;
  return tensor;
}

//===----------------------------------------------------------------------===//
// Types as text
//===----------------------------------------------------------------------===//

bool TensorType::isStatic() const {
  return llvm::all_of(shape, [](int64_t size) { return size >= 0; });
}

std::string attune::toString(const TensorType &type) {
  std::string text;
  for (int64_t size : type.shape)
    text += (size < 0 ? std::string("?") : llvm::itostr(size)) + "x";
  return text + toString(type.type).str();
}

Expected<TensorType> attune::tensorTypeFromString(StringRef text) {
  TensorType type;
  StringRef rest = text;
  while (!rest.empty() &&
         (llvm::isDigit(rest.front()) || rest.front() == '?')) {
    auto [size, tail] = rest.split('x');
    int64_t number = -1;
    if (size != "?" && (size.getAsInteger(10, number) || number < 0))
      return makeError("'{0}' is not a tensor type: '{1}' is not a size; "
                       "write for example 4x?xf32",
                       text, size);
    type.shape.push_back(number);
    rest = tail;
  }
  Expected<ElementType> element = elementTypeFromString(rest);
  if (!element)
    return makeError("'{0}' is not a tensor type: {1}", text,
                     llvm::toString(element.takeError()));
  type.type = *element;
  return type;
}
