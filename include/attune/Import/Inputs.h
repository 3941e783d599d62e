//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// What people write after --input=, and the tensors it stands for:
//
//   4x16xf32            random values (seed of the command)
//   4x16xf32=2.0        every element 2.0
//   4x16xf32=random:7   random values, seed 7
//   @file.npy           a NumPy file
//   ?x16xf32:1,8,32     sizes to tune for: three input sets
//   ?x16xf32:1,2..8     a size and a range: three input sets, at 1, 2 and 8
//   f32=1.5             a scalar (or a 0-d tensor)
//   random              every input of the entry, of its type and shape

#ifndef ATTUNE_IMPORT_INPUTS_H
#define ATTUNE_IMPORT_INPUTS_H

#include "attune/Import/Program.h"

namespace attune {

/// One --input=, parsed but not yet read or checked.
struct InputSpec {
  enum class Kind {
    AllRandom, ///< `random`
    File,      ///< `@file.npy`
    Random,    ///< a type, or a type with `=random:SEED`
    Fill       ///< a type with `=NUMBER`
  };
  Kind kind = Kind::Random;
  std::string text; ///< as written
  std::string path;
  TensorType type; ///< -1 where the size is one of `sizes`
  std::vector<int64_t> sizes;
  /// For each of `sizes`, the range that it stands for.
  std::vector<SizeRange> ranges;
  double fill = 0;
  /// A whole number in full width; set when the text was one.
  std::optional<int64_t> wholeFill;
  std::optional<uint64_t> seed;
};

llvm::Expected<InputSpec> parseInputSpec(llvm::StringRef text);

/// Values for every input of an entry, in order.
struct InputSet {
  /// The sizes given to dynamic dimensions, for people: `?=8`; else empty.
  std::string label;
  /// What the set stands for, one range for each open dimension of the entry's
  /// inputs, in order.
  std::vector<SizeRange> sizes;
  std::vector<Tensor> tensors;
};

/// One set, or several when a spec lists sizes: lists of equal length go
/// together, a list of one goes with all. Without specs an input is what its
/// file in the signature has, or random, which a dynamic size refuses with an
/// error that says what to pass. Floats are normal, integers small and never
/// negative, booleans even odds.
llvm::Expected<std::vector<InputSet>>
makeInputs(const EntrySignature &entry, llvm::ArrayRef<std::string> specs,
           uint64_t seed = 0);

/// Random values of a static type.
Tensor makeRandom(ElementType type, llvm::ArrayRef<int64_t> shape,
                  uint64_t seed);

} // namespace attune

#endif // ATTUNE_IMPORT_INPUTS_H
