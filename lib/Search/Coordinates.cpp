//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Coordinates.h"

#include "llvm/ADT/bit.h"
#include <cmath>
#include <numbers>

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

/// More than that is not told apart.
static constexpr int mostAlignment = 6;

static int alignmentOf(int64_t value) {
  return std::min(llvm::countr_zero(uint64_t(value)), mostAlignment);
}

Coordinates::Coordinates(const Space &space) : space(space) {
  for (size_t k = 0; k < space.getKnobs().size(); ++k) {
    const Domain &domain = space.getKnobs()[k].domain;
    if (domain.size() < 2 && !space.getKnobs()[k].condition)
      continue;
    Axis axis{Kind::Linear, k, 1, 0, 1};
    if (domain.getKind() == Domain::Kind::Permutation) {
      axis.kind = Kind::Permutation;
      axis.width = std::get<std::vector<int64_t>>(domain.at(0)).size();
      axis.span = double(axis.width);
    } else if (domain.getKind() == Domain::Kind::Choice) {
      axis.kind = Kind::Choice;
      axis.width = domain.size();
    } else {
      auto [low, high] = spanOf(domain);
      if (low > 0 && high >= 4 * low) {
        axis.kind = Kind::Logarithm;
        low = std::log2(low);
        high = std::log2(high);
      }
      axis.low = low;
      axis.span = high > low ? high - low : 1;
    }
    owners.insert(owners.end(), axis.width, count++);
    axes.push_back(axis);
    if (axis.kind != Kind::Choice && axis.kind != Kind::Permutation)
      addAlignment(k);
  }
}

/// How often 2 divides a number, of domains that this tells something about
/// which their order does not.
void Coordinates::addAlignment(size_t knob) {
  const Domain &domain = space.getKnobs()[knob].domain;
  if (domain.getKind() != Domain::Kind::Range &&
      domain.getKind() != Domain::Kind::Integers)
    return;
  int low = mostAlignment, high = 0;
  bool isMonotonic = true;
  uint64_t listed = std::min<uint64_t>(domain.size(), 1024);
  for (uint64_t i = 0, last = 0; i < listed; ++i) {
    int64_t value = std::get<int64_t>(domain.at(i));
    if (value < 1)
      return;
    int alignment = alignmentOf(value);
    isMonotonic &= i == 0 || uint64_t(alignment) >= last;
    last = uint64_t(alignment);
    low = std::min(low, alignment);
    high = std::max(high, alignment);
  }
  if (isMonotonic || low == high)
    return;
  owners.push_back(count++);
  axes.push_back({Kind::Alignment, knob, 1, double(low), double(high - low)});
}

std::vector<double> Coordinates::of(llvm::ArrayRef<uint64_t> values) const {
  std::vector<double> result(size());
  double *out = result.data();
  for (const Axis &axis : axes) {
    const Domain &domain = space.getKnobs()[axis.knob].domain;
    uint64_t value = values[axis.knob];
    if (value >= domain.size()) {
      for (size_t i = 0; i < axis.width; ++i)
        *out++ = -1;
    } else if (axis.kind == Kind::Choice) {
      // Two different choices are one apart.
      for (size_t i = 0; i < axis.width; ++i)
        *out++ = i == value ? 1 / std::numbers::sqrt2 : 0;
    } else if (axis.kind == Kind::Permutation) {
      KnobValue order = domain.at(value);
      for (size_t i = 0; i < axis.width; ++i)
        out[std::get<std::vector<int64_t>>(order)[i]] = double(i) / axis.span;
      out += axis.width;
    } else {
      double number = toNumber(domain.at(value));
      if (axis.kind == Kind::Logarithm)
        number = std::log2(number);
      if (axis.kind == Kind::Alignment)
        number = alignmentOf(int64_t(number));
      *out++ = (number - axis.low) / axis.span;
    }
  }
  return result;
}
