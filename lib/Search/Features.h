//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Configurations as numbers that a model can learn from.

#ifndef ATTUNE_LIB_SEARCH_FEATURES_H
#define ATTUNE_LIB_SEARCH_FEATURES_H

#include "attune/Space/Space.h"

namespace attune {

/// Positive numbers that span a factor of four or more are seen by their
/// logarithm, other numbers and booleans as they are, choices each by a number
/// of their own, permutations by the place of each element. Then the products
/// and ratios of all pairs of numbers: of tile sizes, what counts is often how
/// many points or threads they make together.
class Features {
public:
  explicit Features(const Space &space);
  size_t size() const { return count; }

  /// Writes size() numbers for a configuration as Space::encode writes it.
  void write(llvm::ArrayRef<uint64_t> values, float *out) const;

private:
  /// For spaces of so many numbers or more, pairs would be too many.
  static constexpr size_t mostPaired = 20;
  enum class Kind { Linear, Logarithm, Choice, Permutation };
  struct Column {
    Kind kind;
    size_t knob;
    size_t width;
  };
  double numberOf(const Column &column, uint64_t value) const;

  const Space &space;
  std::vector<Column> columns;
  std::vector<size_t> paired; ///< Columns of numbers.
  size_t count = 0;
};

} // namespace attune

#endif // ATTUNE_LIB_SEARCH_FEATURES_H
