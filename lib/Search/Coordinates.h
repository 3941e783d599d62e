//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Configurations as points between which there is a distance.

#ifndef ATTUNE_LIB_SEARCH_COORDINATES_H
#define ATTUNE_LIB_SEARCH_COORDINATES_H

#include "attune/Space/Space.h"

namespace attune {

/// Every knob is one axis of [0, 1] or several: positive numbers that span a
/// factor of four or more by their logarithm, other numbers and booleans as
/// they are, choices each on an axis of its own, permutations by the place of
/// each element. Numbers that are not all powers of two (or so) have an axis
/// more: how often 2 divides them, which hardware cares about. A knob that does
/// not exist is one unit from every value.
class Coordinates {
public:
  explicit Coordinates(const Space &space);

  /// Numbers of a point.
  size_t size() const { return owners.size(); }
  /// Axes that may count more or less than others.
  size_t scales() const { return count; }
  /// Which scale belongs to a number.
  size_t scaleOf(size_t number) const { return owners[number]; }

  /// Where a configuration is, as Space::encode writes it.
  std::vector<double> of(llvm::ArrayRef<uint64_t> values) const;

private:
  enum class Kind { Linear, Logarithm, Choice, Permutation, Alignment };
  struct Axis {
    Kind kind;
    size_t knob;
    size_t width;
    double low, span;
  };
  void addAlignment(size_t knob);

  const Space &space;
  std::vector<Axis> axes;
  std::vector<size_t> owners;
  size_t count = 0;
};

} // namespace attune

#endif // ATTUNE_LIB_SEARCH_COORDINATES_H
