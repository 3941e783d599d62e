//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// The order of the variables of a group. The diagram keeps one node for each
// different state: what assigned variables mean for those still open. Its size
// is estimated from how many values the known parts of open constraints can
// take, and a beam search looks for an order where the sum over all layers is
// small.

#include "Propagate.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace attune;
using Op = Expression::Op;

namespace {

using Mask = uint64_t; // Of places in group.variables.

class Estimator {
public:
  Estimator(const Group &group, llvm::ArrayRef<Variable> variables);

  /// The log2 of the number of states after assigning `assigned`.
  double states(Mask assigned);
  double size(int place) const { return sizes[place]; }

private:
  struct Part {
    Op op;
    Mask below = 0;
    double size = 0; ///< log2 of how many values it takes, at most.
    std::vector<Part> operands;
  };
  Part build(const Term &term);
  double known(const Part &part, Mask assigned) const;

  llvm::ArrayRef<Variable> variables;
  llvm::DenseMap<int, int> placeOf;
  std::vector<double> sizes;
  std::vector<Part> parts;
  llvm::DenseMap<Mask, double> cache;
};

/// A first part of an order.
struct Prefix {
  Mask assigned = 0;
  double cost = 0; ///< The number of value trials, summed over the layers.
  std::vector<int> places;
};

} // namespace

Estimator::Estimator(const Group &group, llvm::ArrayRef<Variable> variables)
    : variables(variables) {
  for (auto [place, variable] : llvm::enumerate(group.variables)) {
    placeOf[variable] = place;
    sizes.push_back(std::log2(
        std::max<double>(1, variables[variable].values.size())));
  }
  for (const Constraint *constraint : group.constraints)
    parts.push_back(build(constraint->term));
}

Estimator::Part Estimator::build(const Term &term) {
  Part part;
  part.op = term.op;
  if (term.variable >= 0) {
    int place = placeOf.lookup(term.variable);
    part.below = Mask(1) << place;
    part.size = sizes[place];
  }
  bool isTruth = (term.op >= Op::Eq && term.op <= Op::Or) || term.op == Op::Not;
  for (const Term &operand : term.operands) {
    part.operands.push_back(build(operand));
    part.below |= part.operands.back().below;
    part.size += part.operands.back().size;
  }
  if (isTruth)
    part.size = std::min(part.size, 1.0);
  return part;
}

/// How much of the state `part` needs: its known operands.
double Estimator::known(const Part &part, Mask assigned) const {
  if ((part.below & assigned) == 0)
    return 0;
  if ((part.below & ~assigned) == 0)
    return part.size;
  double sum = 0;
  for (const Part &operand : part.operands)
    sum += known(operand, assigned);
  return sum;
}

double Estimator::states(Mask assigned) {
  auto [entry, isNew] = cache.try_emplace(assigned, 0);
  if (!isNew)
    return entry->second;
  // No more than all values of the assigned variables that matter, each once.
  Mask needed = 0;
  double byParts = 0;
  for (const Part &part : parts) {
    if ((part.below & assigned) == 0 || (part.below & ~assigned) == 0)
      continue;
    needed |= part.below & assigned;
    byParts += known(part, assigned);
  }
  double byVariables = 0;
  for (size_t place = 0; place < sizes.size(); ++place)
    if (needed >> place & 1)
      byVariables += sizes[place];
  return entry->second = std::min(byParts, byVariables);
}

std::vector<int> attune::chooseOrder(const Group &group,
                                     llvm::ArrayRef<Variable> variables) {
  size_t count = group.variables.size();
  if (count < 2 || count > 64)
    return group.variables;
  constexpr size_t width = 6;
  Estimator estimator(group, variables);
  std::vector<Prefix> beam(1);
  for (size_t depth = 0; depth < count; ++depth) {
    std::vector<Prefix> next;
    for (const Prefix &prefix : beam)
      for (size_t place = 0; place < count; ++place) {
        Mask bit = Mask(1) << place;
        if (prefix.assigned & bit)
          continue;
        double trials = std::exp2(estimator.states(prefix.assigned) +
                                  estimator.size(place));
        Mask assigned = prefix.assigned | bit;
        // What it leaves for the next layer counts too.
        double cost = prefix.cost + trials;
        auto same = llvm::find_if(
            next, [&](const Prefix &p) { return p.assigned == assigned; });
        if (same != next.end() && same->cost <= cost)
          continue;
        if (same == next.end())
          same = next.insert(next.end(), Prefix());
        same->assigned = assigned;
        same->cost = cost;
        same->places = prefix.places;
        same->places.push_back(place);
      }
    auto rank = [&](const Prefix &prefix) {
      return prefix.cost + std::exp2(estimator.states(prefix.assigned));
    };
    llvm::sort(next, [&](const Prefix &a, const Prefix &b) {
      return std::make_pair(rank(a), a.assigned) <
             std::make_pair(rank(b), b.assigned);
    });
    if (next.size() > width)
      next.resize(width);
    beam = std::move(next);
  }
  std::vector<int> order;
  for (int place : beam[0].places)
    order.push_back(group.variables[place]);
  return order;
}
