//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Tensors in the memory of this process, and NumPy's file formats.

#ifndef ATTUNE_SUPPORT_TENSOR_H
#define ATTUNE_SUPPORT_TENSOR_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace attune {

/// The numbers are those of AttuneType in attune/Runtime/program.h.
enum class ElementType {
  F32,
  F64,
  F16,
  BF16,
  I1,
  I4,
  I8,
  I16,
  I32,
  I64,
  Index
};

/// `f32`, `bf16`, `i1`, `index`, ...
llvm::StringRef toString(ElementType type);
llvm::Expected<ElementType> elementTypeFromString(llvm::StringRef text);

/// Bytes of one element in memory (i1 and i4 take one byte each).
int64_t byteWidth(ElementType type);
bool isFloat(ElementType type);

/// A dense row-major tensor that owns its bytes.
struct Tensor {
  ElementType type = ElementType::F32;
  std::vector<int64_t> shape;
  std::vector<char> bytes;

  int64_t elementCount() const;
  static Tensor zeros(ElementType type, std::vector<int64_t> shape);

  /// Element `index` (row-major) as a double; f16 and bf16 are widened.
  double at(int64_t index) const;
  /// Rounds to nearest even for floats; integers must be representable.
  void set(int64_t index, double value);

  /// An integer element, exact (at() is not above 2^53).
  int64_t integerAt(int64_t index) const;
  void setInteger(int64_t index, int64_t value);
};

/// The product of the sizes, or nothing when a size is negative or the product
/// (times `elementBytes`) is over 2^62.
std::optional<int64_t> checkedElementCount(llvm::ArrayRef<int64_t> shape,
                                           int64_t elementBytes = 1);

/// Shape and element type without data; -1 is a dynamic size. Text form as in
/// MLIR without `tensor<>`: `4x?xf32`, `f32`.
struct TensorType {
  ElementType type = ElementType::F32;
  std::vector<int64_t> shape;
  bool isStatic() const;
};
std::string toString(const TensorType &type);
llvm::Expected<TensorType> tensorTypeFromString(llvm::StringRef text);

/// .npy, format versions 1 to 3, C or Fortran order, little-endian. bf16 and i4
/// travel as uint16 and uint8 arrays; reading one gives i16/i8 bytes: the
/// caller that knows the wanted type reinterprets with `reinterpretAs`.
llvm::Expected<Tensor> readNpy(llvm::StringRef path);
/// The same from memory; `name` is for messages.
llvm::Expected<Tensor> parseNpy(llvm::StringRef bytes, llvm::StringRef name);
/// Writes to a temporary name first, then renames.
llvm::Error writeNpy(llvm::StringRef path, const Tensor &tensor);

std::string formatNpy(const Tensor &tensor);

/// The arrays of a .npz in the order of the file, names without `.npy`. Stored
/// and deflated members.
llvm::Expected<std::vector<std::pair<std::string, Tensor>>>
readNpz(llvm::StringRef path);

/// The same bytes seen as `type`: allowed between types of equal width (uint16
/// to bf16, bool to i1, int64 to index). An error names both.
llvm::Expected<Tensor> reinterpretAs(Tensor tensor, ElementType type);

} // namespace attune

#endif // ATTUNE_SUPPORT_TENSOR_H
