//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Sizes of open dimensions that a program is compiled for besides all others.

#ifndef ATTUNE_SUPPORT_SIZES_H
#define ATTUNE_SUPPORT_SIZES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <cstdint>
#include <string>
#include <vector>

namespace attune {

/// Sizes from lower to upper, both included.
struct SizeRange {
  int64_t lower = 0, upper = 0;

  bool isOne() const { return lower == upper; }
  bool operator==(const SizeRange &) const = default;
};

/// `8`, or `2..8`.
std::string toString(SizeRange range);
/// Errors name the text.
llvm::Expected<SizeRange> parseSizeRange(llvm::StringRef text);
/// `8` or `1,2..8`: one for each dimension.
std::string toString(llvm::ArrayRef<SizeRange> sizes);
llvm::Expected<std::vector<SizeRange>> parseSizeRanges(llvm::StringRef text);

/// A variant of an entry function: what it is compiled for, one range for each
/// open dimension of its inputs, in order.
struct EntrySizes {
  std::string entry;
  std::vector<SizeRange> sizes;

  bool operator==(const EntrySizes &) const = default;
};

/// In the order in which a program tries them: narrower ones first, without
/// doubles.
void sortSizes(std::vector<EntrySizes> &sizes);

/// `[{"entry": "main", "sizes": "1,2..8"}]`
llvm::json::Array toJSON(llvm::ArrayRef<EntrySizes> sizes);
llvm::Expected<std::vector<EntrySizes>>
sizesFromJSON(const llvm::json::Array &array);

} // namespace attune

#endif // ATTUNE_SUPPORT_SIZES_H
