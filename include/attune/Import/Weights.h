//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// The constants of a program, kept beside its code: `attune.weight N` is number
// N here. Needs no MLIR, so that a process that only runs code can map them.

#ifndef ATTUNE_IMPORT_WEIGHTS_H
#define ATTUNE_IMPORT_WEIGHTS_H

#include "attune/Support/Tensor.h"
#include "llvm/ADT/ArrayRef.h"
#include <memory>

namespace attune {

/// One constant. Its bytes are row-major, one element after the other, as code
/// reads them (i1 and i4 take one byte each).
struct Weight {
  TensorType type;
  /// 32 hex digits over type and bytes; equal weights have equal hashes.
  std::string hash;
  /// Of the first byte in the blob; a multiple of 64.
  uint64_t offset = 0;
  /// The file left the values out, and Import made some up.
  bool generated = false;
};

/// Weights by number, and where each is in one blob. Copies are cheap: they
/// share the bytes.
class WeightStore {
public:
  /// Takes the bytes; a weight equal to an earlier one gets that one's number.
  int64_t add(TensorType type, std::vector<char> bytes, bool generated = false);
  /// The same for bytes that `owner` keeps alive; nothing is copied.
  int64_t add(TensorType type, llvm::ArrayRef<char> bytes,
              std::shared_ptr<const void> owner, bool generated = false);

  /// The weight `index` of another store, sharing its bytes.
  int64_t addFrom(const WeightStore &other, int64_t index);

  int64_t size() const { return entries.size(); }
  const Weight &operator[](int64_t index) const {
    return entries[index].weight;
  }
  llvm::ArrayRef<char> bytes(int64_t index) const {
    return entries[index].bytes;
  }
  /// A copy of the bytes as a tensor.
  Tensor tensor(int64_t index) const;

  /// Bytes of the blob: every weight at its offset, zeros between them.
  uint64_t blobBytes() const { return end; }

  /// Writes the blob, followed by a table of what is in it (docs/formats.md,
  /// `weights.bin`): the blob begins with the file. Under a temporary name
  /// first; an error names the path.
  llvm::Error write(llvm::StringRef path) const;
  /// Maps such a file; the file may be removed afterwards.
  static llvm::Expected<WeightStore> map(llvm::StringRef path);

private:
  struct Entry {
    Weight weight;
    llvm::ArrayRef<char> bytes;
    std::shared_ptr<const void> owner;
  };
  std::vector<Entry> entries;
  uint64_t end = 0;
};

} // namespace attune

#endif // ATTUNE_IMPORT_WEIGHTS_H
