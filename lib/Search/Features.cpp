//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Features.h"

#include <cmath>

using namespace attune;

static double toNumber(const KnobValue &value) {
  if (auto *integer = std::get_if<int64_t>(&value))
    return double(*integer);
  if (auto *real = std::get_if<double>(&value))
    return *real;
  if (auto *flag = std::get_if<bool>(&value))
    return *flag;
  return 0;
}

/// The least and the greatest number; a listed domain need not be sorted.
static std::pair<double, double> spanOf(const Domain &domain) {
  double low = toNumber(domain.at(0)), high = low;
  bool isRange = domain.getKind() == Domain::Kind::Range;
  for (uint64_t i = 1; i < domain.size(); ++i) {
    double value = toNumber(domain.at(isRange ? domain.size() - 1 : i));
    low = std::min(low, value);
    high = std::max(high, value);
    if (isRange)
      break;
  }
  return {low, high};
}

Features::Features(const Space &space) : space(space) {
  for (size_t k = 0; k < space.getKnobs().size(); ++k) {
    const Domain &domain = space.getKnobs()[k].domain;
    if (domain.size() < 2 && !space.getKnobs()[k].condition)
      continue;
    Column column{Kind::Linear, k, 1};
    if (domain.getKind() == Domain::Kind::Permutation) {
      column.kind = Kind::Permutation;
      column.width = std::get<std::vector<int64_t>>(domain.at(0)).size();
    } else if (domain.getKind() == Domain::Kind::Choice) {
      column.kind = Kind::Choice;
      column.width = domain.size();
    } else {
      auto [low, high] = spanOf(domain);
      if (low > 0 && high >= 4 * low)
        column.kind = Kind::Logarithm;
      if (domain.isOrdered())
        paired.push_back(columns.size());
    }
    count += column.width;
    columns.push_back(column);
  }
  if (paired.size() > mostPaired)
    paired.clear();
  count += paired.size() * (paired.size() - (paired.empty() ? 0 : 1));
}

double Features::numberOf(const Column &column, uint64_t value) const {
  double number = toNumber(space.getKnobs()[column.knob].domain.at(value));
  return column.kind == Kind::Logarithm ? std::log2(number) : number;
}

/// Of knobs that do not exist: far from every value.
static constexpr float absent = -64;

void Features::write(llvm::ArrayRef<uint64_t> values, float *out) const {
  llvm::SmallVector<double, 32> numbers(columns.size(), absent);
  for (size_t c = 0; c < columns.size(); ++c) {
    const Column &column = columns[c];
    const Domain &domain = space.getKnobs()[column.knob].domain;
    uint64_t value = values[column.knob];
    bool isAbsent = value >= domain.size();
    if (isAbsent || column.kind == Kind::Choice) {
      for (size_t i = 0; i < column.width; ++i)
        *out++ = isAbsent ? absent : float(i == value);
    } else if (column.kind == Kind::Permutation) {
      KnobValue order = domain.at(value);
      for (size_t i = 0; i < column.width; ++i)
        out[std::get<std::vector<int64_t>>(order)[i]] = float(i);
      out += column.width;
    } else {
      numbers[c] = numberOf(column, value);
      *out++ = float(numbers[c]);
    }
  }
  for (size_t i = 0; i < paired.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      double a = numbers[paired[i]], b = numbers[paired[j]];
      bool isA = columns[paired[i]].kind == Kind::Logarithm;
      bool isB = columns[paired[j]].kind == Kind::Logarithm;
      *out++ = float(isA == isB && !isA ? a * b : a + b);
      *out++ = float(a - b);
    }
}
