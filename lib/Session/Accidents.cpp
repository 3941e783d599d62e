//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Accidents.h"

#include <algorithm>
#include <cmath>

using namespace llvm;

namespace attune::session {
namespace {

/// Knobs in which two configurations differ; many if the schedules do.
size_t countDifferences(const Configuration &a, const Configuration &b) {
  if (a.schedule != b.schedule)
    return SIZE_MAX;
  return count_if(a.values, [&](const auto &knob) {
    auto other = b.find(knob.first);
    return !other || *other != knob.second;
  });
}

/// Of numbers, by how much of the larger they differ; of other knobs, in how
/// many.
double distanceBetween(const Configuration &a, const Configuration &b) {
  if (a.schedule != b.schedule)
    return 1e3;
  double sum = 0;
  for (const auto &[name, value] : a.values) {
    auto other = b.find(name);
    const auto *left = std::get_if<int64_t>(&value);
    const auto *right = other ? std::get_if<int64_t>(&*other) : nullptr;
    if (!other || *other == value)
      sum += !other;
    else if (left && right)
      sum += std::abs(static_cast<double>(*left) - *right) /
             std::max(std::abs(static_cast<double>(*left)),
                      std::abs(static_cast<double>(*right)));
    else
      sum += 1;
  }
  return sum;
}

/// At least a third of those that differ in one knob work: accidents come in
/// clusters, too.
bool isAmongWorking(const Configuration &configuration,
                    ArrayRef<TrialOutcome> outcomes) {
  size_t near = 0, working = 0;
  for (const auto &[other, outcome] : outcomes)
    if (countDifferences(configuration, other) == 1) {
      ++near;
      working += outcome == Outcome::Ok;
    }
  return working >= 2 && 3 * working >= near;
}

} // namespace

std::vector<Configuration> likelyAccidents(ArrayRef<Finalist> finalists,
                                           ArrayRef<TrialOutcome> outcomes) {
  std::vector<std::pair<double, Configuration>> accidents;
  for (const auto &[configuration, outcome] : outcomes) {
    bool isNearBest = any_of(finalists, [&](const Finalist &finalist) {
      return countDifferences(configuration, finalist.configuration) == 1;
    });
    if (outcome == Outcome::Ok || outcome == Outcome::Rejected || !isNearBest ||
        !isAmongWorking(configuration, outcomes))
      continue;
    double distance = 0;
    for (const Finalist &finalist : finalists)
      distance += distanceBetween(configuration, finalist.configuration);
    accidents.emplace_back(distance, configuration);
  }
  llvm::stable_sort(accidents, [](const auto &a, const auto &b) {
    return a.first < b.first;
  });
  std::vector<Configuration> nearest;
  for (auto &[distance, configuration] : ArrayRef(accidents).take_front(4))
    nearest.push_back(configuration);
  return nearest;
}

} // namespace attune::session
