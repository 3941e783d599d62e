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

/// The values an expression can take, as far as they were listed, each with its
/// share of all assignments (as if variables were independent).
struct ValueSet {
  std::vector<std::pair<int64_t, double>> values; ///< Empty: too many to list.
  double size = 0; ///< log2 of how many there are, at most.
  double kept = 0; ///< log2 of the share of assignments that bounds leave over.

  void merge();
};

class Estimator {
public:
  Estimator(const Group &group, llvm::ArrayRef<KnobVariable> variables);

  /// The log2 of the number of states after assigning `assigned`.
  double states(Mask assigned);
  double size(int place) const { return sizes[place]; }

private:
  /// More values than this are not listed.
  static constexpr size_t maxListed = 1024;
  /// More pairs than this are not combined.
  static constexpr size_t maxPairs = 1 << 13;

  struct Part {
    Op op;
    int64_t value; ///< Of a constant.
    int place = -1;
    Mask below = 0;
    int64_t cap = INT64_MAX; ///< Larger values make a constraint false.
    std::vector<Part> operands;
    llvm::DenseMap<Mask, ValueSet> known;
  };
  Part build(const Term &term, int64_t cap);
  std::vector<int64_t> operandCaps(const Term &term, int64_t cap) const;
  int64_t leastOf(const Term &term) const;

  /// What is known of `part`: of a sum or product, the part of it over the
  /// assigned operands; else what all known operands are together.
  const ValueSet &known(Part &part, Mask assigned);
  ValueSet computeKnown(Part &part, Mask assigned);
  static ValueSet combine(Op op, const ValueSet &a, const ValueSet &b,
                          int64_t cap);

  llvm::ArrayRef<KnobVariable> variables;
  llvm::DenseMap<int, int> placeOf;
  std::vector<double> sizes;
  std::vector<ValueSet> leaves;
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

void ValueSet::merge() {
  llvm::sort(values);
  size_t next = 0;
  for (const auto &value : values)
    if (next && values[next - 1].first == value.first)
      values[next - 1].second += value.second;
    else
      values[next++] = value;
  values.resize(next);
  size = std::log2(std::max<double>(1, next));
}

Estimator::Estimator(const Group &group, llvm::ArrayRef<KnobVariable> variables)
    : variables(variables) {
  for (auto [place, variable] : llvm::enumerate(group.variables)) {
    placeOf[variable] = place;
    ValueSet leaf;
    const std::vector<int64_t> &values = variables[variable].values;
    for (int64_t value : values)
      leaf.values.emplace_back(value, 1.0 / values.size());
    leaf.merge();
    sizes.push_back(
        std::log2(std::max<double>(1, variables[variable].values.size())));
    if (leaf.values.size() > maxListed)
      leaf.values.clear();
    leaves.push_back(std::move(leaf));
  }
  for (const Constraint *constraint : group.constraints)
    parts.push_back(build(constraint->term, INT64_MAX));
}

/// The least value of a term that cannot be negative, or -1.
int64_t Estimator::leastOf(const Term &term) const {
  if (term.op == Op::Constant)
    return std::max<int64_t>(term.value, -1);
  if (term.op == Op::Knob)
    return std::max<int64_t>(variables[term.variable].bounds().lower, -1);
  if (term.op != Op::Add && term.op != Op::Mul)
    return -1;
  int64_t result = term.op == Op::Mul;
  for (const Term &operand : term.operands) {
    int64_t least = leastOf(operand);
    if (least < 0)
      return -1;
    auto next = applyOp(term.op, result, least);
    if (!next)
      return -1;
    result = *next;
  }
  return result;
}

/// An upper bound on a term bounds its operands: `a * b <= 100` with b at least
/// 4 makes a at most 25.
std::vector<int64_t> Estimator::operandCaps(const Term &term,
                                            int64_t cap) const {
  std::vector<int64_t> caps(term.operands.size(), INT64_MAX);
  bool isUpper = term.op == Op::Le || term.op == Op::Lt;
  bool isLower = term.op == Op::Ge || term.op == Op::Gt;
  for (size_t i = 0; (isUpper || isLower) && i < 2; ++i)
    if (i == (isUpper ? 0 : 1) && term.operands[1 - i].op == Op::Constant)
      caps[i] = term.operands[1 - i].value;
  if (cap == INT64_MAX || (term.op != Op::Add && term.op != Op::Mul))
    return caps;
  for (size_t i = 0; i < caps.size(); ++i) {
    int64_t rest = term.op == Op::Mul;
    for (size_t k = 0; k < caps.size() && rest >= 0; ++k) {
      int64_t least = leastOf(term.operands[k]);
      rest = least < 0 ? -1
             : k == i  ? rest
                       : applyOp(term.op, rest, least).value_or(-1);
    }
    if (rest < (term.op == Op::Mul ? 1 : 0))
      continue;
    caps[i] = term.op == Op::Mul ? cap / rest : cap - rest;
  }
  return caps;
}

Estimator::Part Estimator::build(const Term &term, int64_t cap) {
  Part part;
  part.op = term.op;
  part.value = term.value;
  part.cap = cap;
  if (term.variable >= 0) {
    part.place = placeOf.lookup(term.variable);
    part.below = Mask(1) << part.place;
  }
  std::vector<int64_t> caps = operandCaps(term, cap);
  for (auto [operand, operandCap] : llvm::zip(term.operands, caps)) {
    part.operands.push_back(build(operand, operandCap));
    part.below |= part.operands.back().below;
  }
  return part;
}

ValueSet Estimator::combine(Op op, const ValueSet &a, const ValueSet &b,
                            int64_t cap) {
  ValueSet result;
  result.size = a.size + b.size;
  result.kept = a.kept + b.kept;
  if (a.values.empty() || b.values.empty() ||
      a.values.size() * b.values.size() > maxPairs) {
    if (cap != INT64_MAX && cap > 0)
      result.size = std::min(result.size, std::log2(double(cap) + 1));
    return result;
  }
  double share = 0;
  for (const auto &[x, shareX] : a.values)
    for (const auto &[y, shareY] : b.values) {
      Interval value = applyOp(op, Interval::point(x), Interval::point(y), {});
      if (!value.isPoint() || value.lower > cap)
        continue;
      result.values.emplace_back(value.lower, shareX * shareY);
      share += shareX * shareY;
    }
  result.merge();
  result.kept = std::log2(std::max(share, 1e-9));
  if (result.values.size() > maxListed)
    result.values.clear();
  return result;
}

ValueSet Estimator::computeKnown(Part &part, Mask assigned) {
  if (part.place >= 0)
    return assigned ? leaves[part.place] : ValueSet();
  if (part.operands.empty())
    return {{{part.value, 1.0}}, 0, 0};
  bool isWhole = assigned == part.below;
  bool isFlat = part.op == Op::Add || part.op == Op::Mul;
  bool combines = isFlat || (isWhole && part.op != Op::If);
  ValueSet result;
  double beside = 0, besideKept = 0; // Of operands that are not combined.
  bool isFirst = true;
  for (Part &operand : part.operands) {
    const ValueSet &next = known(operand, assigned & operand.below);
    if (!combines || (operand.below & ~assigned) != 0) {
      beside += next.size;
      besideKept += next.kept;
    } else if (part.operands.size() == 1)
      result = combine(part.op, next, {{{0, 1.0}}, 0, 0}, part.cap);
    else
      result = isFirst ? next : combine(part.op, result, next, part.cap);
    isFirst &= !combines || (operand.below & ~assigned) != 0;
  }
  result.size += beside;
  result.kept += besideKept;
  if (beside > 0)
    result.values.clear();
  return result;
}

const ValueSet &Estimator::known(Part &part, Mask assigned) {
  auto found = part.known.find(assigned);
  if (found == part.known.end())
    found =
        part.known.try_emplace(assigned, computeKnown(part, assigned)).first;
  return found->second;
}

double Estimator::states(Mask assigned) {
  auto [entry, isNew] = cache.try_emplace(assigned, 0);
  if (!isNew)
    return entry->second;
  // No more than all values of the assigned variables that matter, each once,
  // and of these only what the constraints on them leave over.
  Mask needed = 0;
  double byParts = 0, byVariables = 0, kept = 0;
  for (Part &part : parts) {
    if ((part.below & assigned) == 0 || (part.below & ~assigned) == 0)
      continue;
    needed |= part.below & assigned;
    byParts += known(part, assigned & part.below).size;
  }
  for (Part &part : parts) {
    if ((part.below & assigned & ~needed) != 0)
      continue;
    const ValueSet &set = known(part, assigned & part.below);
    kept += set.kept;
    if ((part.below & ~assigned) == 0 && !set.values.empty()) {
      double holds = 0;
      for (const auto &[value, share] : set.values)
        holds += value ? share : 0;
      kept += std::log2(std::max(holds, 1e-9));
    }
  }
  for (size_t place = 0; place < sizes.size(); ++place)
    if (needed >> place & 1)
      byVariables += sizes[place];
  return entry->second = std::max(0.0, std::min(byParts, byVariables) + kept);
}

static double costOf(Estimator &estimator, llvm::ArrayRef<int> places) {
  double cost = 0;
  Mask assigned = 0;
  for (int place : places) {
    cost += std::exp2(estimator.states(assigned) + estimator.size(place));
    assigned |= Mask(1) << place;
  }
  return cost;
}

/// Grows orders from the front, keeping those that were cheapest so far.
static std::vector<int> beamSearch(Estimator &estimator, size_t count) {
  constexpr size_t width = 6;
  std::vector<Prefix> beam(1);
  for (size_t depth = 0; depth < count; ++depth) {
    std::vector<Prefix> next;
    for (const Prefix &prefix : beam)
      for (size_t place = 0; place < count; ++place) {
        Mask bit = Mask(1) << place;
        if (prefix.assigned & bit)
          continue;
        Mask assigned = prefix.assigned | bit;
        double cost =
            prefix.cost + std::exp2(estimator.states(prefix.assigned) +
                                    estimator.size(place));
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
    // What an order leaves for the next layer counts too.
    auto rank = [&](const Prefix &prefix) {
      return std::make_pair(prefix.cost +
                                std::exp2(estimator.states(prefix.assigned)),
                            prefix.assigned);
    };
    llvm::sort(next, [&](const Prefix &a, const Prefix &b) {
      return rank(a) < rank(b);
    });
    if (next.size() > width)
      next.resize(width);
    beam = std::move(next);
  }
  return beam[0].places;
}

/// Moves single variables to other places while that makes the order cheaper.
static double improve(Estimator &estimator, std::vector<int> &places) {
  double cost = costOf(estimator, places);
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t from = 0; from < places.size(); ++from)
      for (size_t to = 0; to < places.size(); ++to) {
        std::vector<int> moved = places;
        moved.erase(moved.begin() + from);
        moved.insert(moved.begin() + to, places[from]);
        double other = costOf(estimator, moved);
        if (other >= cost * 0.999)
          continue;
        cost = other;
        places = std::move(moved);
        changed = true;
      }
  }
  return cost;
}

std::vector<int> attune::chooseOrder(const Group &group,
                                     llvm::ArrayRef<KnobVariable> variables) {
  size_t count = group.variables.size();
  if (count < 2 || count > 64)
    return group.variables;
  Estimator estimator(group, variables);
  std::vector<int> best = beamSearch(estimator, count);
  // The beam sees the front of an order best; where it is expensive, the other
  // end and the order of the declaration are starts too.
  if (double cost = costOf(estimator, best); cost > 5000 && count <= 24) {
    std::vector<int> starts[] = {best, {best.rbegin(), best.rend()}, {}};
    for (size_t place = 0; place < count; ++place)
      starts[2].push_back(place);
    for (std::vector<int> &start : starts)
      if (double improved = improve(estimator, start); improved < cost) {
        cost = improved;
        best = start;
      }
  }
  std::vector<int> order;
  for (int place : best)
    order.push_back(group.variables[place]);
  return order;
}
