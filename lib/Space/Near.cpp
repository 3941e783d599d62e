//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Neighbours, and the nearest valid configuration to any wish.

#include "SpaceImpl.h"

#include "llvm/ADT/StringSet.h"
#include <limits>
#include <set>

using namespace attune;

static constexpr double infinity = std::numeric_limits<double>::infinity();

/// Changing one knob more is worse than doubling another five times.
static constexpr double costOfChange = 5;

/// What it costs to take value number `value` for `knob` where `wanted` (maybe
/// nothing) was asked for.
double Space::Impl::cost(size_t knob, const KnobValue *wanted,
                         uint64_t value) const {
  const Domain &domain = knobs[knob].domain;
  if (!wanted || value == domain.size()) {
    // Nothing was asked for: earlier values first, by less than any change.
    bool agrees = !wanted && (value == domain.size() || !knobs[knob].condition);
    return (agrees || !wanted ? 0 : costOfChange) +
           1e-3 * double(value) / double(domain.size() + 1);
  }
  KnobValue actual = domain.at(value);
  if (domain.indexOf(*wanted) == value)
    return 0;
  auto distance = domain.distance(*wanted, actual);
  return costOfChange + (distance ? *distance : 0) +
         1e-6 * double(value) / double(domain.size());
}

double Space::Impl::nearest(llvm::function_ref<double(int, uint64_t)> cost,
                            std::vector<uint64_t> &chosen) const {
  double total = 0;
  for (const auto &group : groups) {
    if (auto *diagram = std::get_if<Diagram>(&group)) {
      total += diagram->nearest(cost, chosen);
      continue;
    }
    const FreeKnob &free = std::get<FreeKnob>(group);
    double best = infinity;
    // A huge domain is not searched: what was wanted, or the first value.
    uint64_t tried = std::min<uint64_t>(free.count(), 1 << 20);
    for (uint64_t i = 0; i < tried; ++i) {
      double c = cost(free.variable, free.at(i));
      if (c < best) {
        best = c;
        chosen[free.variable] = free.at(i);
      }
    }
    total += best;
  }
  return total;
}

Configuration Space::nearest(const Configuration &wanted) const {
  std::vector<const KnobValue *> values;
  for (const Knob &knob : impl->knobs)
    values.push_back(wanted.find(knob.name));
  std::vector<uint64_t> chosen(impl->knobs.size());
  impl->nearest(
      [&](int knob, uint64_t value) {
        return impl->cost(knob, values[knob], value);
      },
      chosen);
  for (const auto &group : impl->groups)
    if (auto *free = std::get_if<FreeKnob>(&group);
        free && !free->indices && values[free->variable])
      if (auto index = impl->knobs[free->variable].domain.indexOf(
              *values[free->variable]))
        chosen[free->variable] = *index;
  return decode(chosen);
}

std::vector<Configuration>
Space::neighbours(const Configuration &configuration) const {
  std::vector<Configuration> result;
  if (auto chosen = encode(configuration))
    for (const std::vector<uint64_t> &numbers : neighbours(*chosen))
      result.push_back(decode(numbers));
  return result;
}

/// The values of a knob in whose way nothing is; of a huge domain, those around
/// the chosen one and some of all others.
static void forEachOther(const FreeKnob &free, llvm::ArrayRef<uint64_t> chosen,
                         llvm::function_ref<void(int, uint64_t)> visit) {
  constexpr uint64_t listed = 4096, around = 64;
  uint64_t own = chosen[free.variable];
  uint64_t place = free.indexOf(own).value_or(0);
  uint64_t stride = (free.count() + listed - 1) / listed;
  uint64_t low = place - std::min(place, around);
  uint64_t high = std::min(free.count() - 1, place + around);
  for (uint64_t i = 0; i < free.count(); i += stride)
    if (free.at(i) != own && (i < low || i > high || stride == 1))
      visit(free.variable, free.at(i));
  for (uint64_t i = low; stride > 1 && i <= high; ++i)
    if (free.at(i) != own)
      visit(free.variable, free.at(i));
}

/// At most `mostForKnob`: the nearest half, and of the others every so many.
static std::vector<uint64_t> thinOut(std::vector<uint64_t> values,
                                     uint64_t chosen) {
  constexpr size_t mostForKnob = 128, nearest = 64;
  if (values.size() <= mostForKnob)
    return values;
  auto distance = [&](uint64_t v) {
    return v < chosen ? chosen - v : v - chosen;
  };
  std::sort(values.begin(), values.end(), [&](uint64_t a, uint64_t b) {
    return std::pair(distance(a), a) < std::pair(distance(b), b);
  });
  size_t rest = values.size() - nearest, kept = mostForKnob - nearest;
  for (size_t i = 0; i < kept; ++i)
    values[nearest + i] = values[nearest + i * rest / kept];
  values.resize(mostForKnob);
  return values;
}

std::vector<std::vector<uint64_t>>
Space::neighbours(llvm::ArrayRef<uint64_t> chosen) const {
  std::vector<std::vector<uint64_t>> result;
  if (!contains(chosen))
    return result;
  std::vector<uint64_t> changed = chosen.vec();
  // Knobs and values that need no other to change.
  std::set<std::pair<size_t, uint64_t>> alone;
  std::vector<std::vector<uint64_t>> others(impl->knobs.size());
  auto add = [&](int variable, uint64_t value) {
    others[variable].push_back(value);
    if (impl->hasConditions)
      alone.insert({variable, value});
  };
  for (const auto &group : impl->groups) {
    if (auto *diagram = std::get_if<Diagram>(&group))
      diagram->forEachNeighbour(chosen, add);
    else
      forEachOther(std::get<FreeKnob>(group), chosen, add);
  }
  for (auto [variable, values] : llvm::enumerate(others))
    for (uint64_t value : thinOut(values, chosen[variable])) {
      changed[variable] = value;
      result.push_back(changed);
      changed[variable] = chosen[variable];
    }
  if (!impl->hasConditions)
    return result;

  llvm::StringSet<> deciding;
  for (const Knob &knob : impl->knobs)
    if (knob.condition)
      for (const std::string &name : knob.condition->getKnobs())
        deciding.insert(name);
  for (auto [i, knob] : llvm::enumerate(impl->knobs)) {
    if (!deciding.contains(knob.name) || chosen[i] == knob.domain.size())
      continue;
    for (uint64_t value = 0; value < knob.domain.size(); ++value) {
      if (value == chosen[i] || alone.contains({i, value}))
        continue;
      auto cost = [&](int other, uint64_t taken) {
        if (other == int(i))
          return taken == value ? 0 : infinity;
        if (taken == chosen[other])
          return 0.0;
        const Knob &o = impl->knobs[other];
        bool appears =
            chosen[other] == o.domain.size() || taken == o.domain.size();
        // A knob that exists in both must keep its value.
        return appears ? 1 + double(taken) / double(o.domain.size()) : infinity;
      };
      std::vector<uint64_t> moved = chosen.vec();
      if (impl->nearest(cost, moved) < infinity)
        result.push_back(std::move(moved));
    }
  }
  return result;
}
