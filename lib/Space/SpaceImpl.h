//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// What a space is made of; Space.cpp and Near.cpp share it.

#ifndef ATTUNE_LIB_SPACE_SPACEIMPL_H
#define ATTUNE_LIB_SPACE_SPACEIMPL_H

#include "attune/Space/Space.h"

#include "Diagram.h"
#include "llvm/ADT/StringMap.h"
#include <variant>

namespace attune {

/// A group whose values are all valid together with all others: one knob
/// without constraints, or what is left after those on it alone.
struct FreeKnob {
  int variable;
  uint64_t size;                                ///< Of the domain.
  std::optional<std::vector<uint32_t>> indices; ///< Nothing: the whole domain.

  uint64_t count() const { return indices ? indices->size() : size; }
  uint64_t at(uint64_t i) const { return indices ? (*indices)[i] : i; }
  std::optional<uint64_t> indexOf(uint64_t value) const {
    if (!indices)
      return value < size ? std::optional(value) : std::nullopt;
    auto place = llvm::lower_bound(*indices, value);
    if (place == indices->end() || *place != value)
      return std::nullopt;
    return place - indices->begin();
  }
};

struct Space::Impl {
  std::string schedule;
  std::vector<Knob> knobs;
  std::vector<Expression> constraints;
  llvm::StringMap<size_t> numbers;
  std::vector<std::variant<FreeKnob, Diagram>> groups;
  bool isEmpty = false;
  bool hasConditions = false;
  Count total = 0; ///< Saturated at 2^64-1.

  llvm::Error checkKnobs();
  llvm::Error build();
  double cost(size_t knob, const KnobValue *wanted, uint64_t value) const;
  double nearest(llvm::function_ref<double(int, uint64_t)> cost,
                 std::vector<uint64_t> &chosen) const;
};

} // namespace attune

#endif // ATTUNE_LIB_SPACE_SPACEIMPL_H
