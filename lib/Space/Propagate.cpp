//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Propagate.h"

#include "attune/Support/Error.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/STLExtras.h"
#include <map>

using namespace attune;

/// A constrained knob is listed, value by value.
static constexpr uint64_t maxConstrained = uint64_t(1) << 22;
/// The most pairs of values that are tried for one constraint of two knobs.
static constexpr size_t maxPairs = 200'000;

llvm::Expected<std::vector<KnobVariable>>
attune::listVariables(llvm::ArrayRef<Knob> knobs,
                      llvm::ArrayRef<Constraint> constraints) {
  std::vector<bool> constrained(knobs.size());
  for (const Constraint &constraint : constraints)
    for (int variable : constraint.variables)
      constrained[variable] = true;
  std::vector<KnobVariable> variables(knobs.size());
  for (auto [i, knob] : llvm::enumerate(knobs)) {
    if (!constrained[i])
      continue;
    uint64_t size = knob.domain.size();
    if (size > maxConstrained)
      return makeError(
          "knob '{0}' has {1} values and a constraint: at most {2} "
          "are possible; narrow its domain",
          knob.name, size, maxConstrained);
    KnobVariable &variable = variables[i];
    for (uint64_t index = 0; index < size; ++index) {
      variable.indices.push_back(index);
      variable.values.push_back(knob.domain.constraintValue(index));
    }
    if (knob.condition) {
      variable.absentIndex = size;
      variable.indices.push_back(size);
      variable.values.push_back(0);
    }
  }
  return variables;
}

namespace {
class Propagator {
public:
  Propagator(llvm::ArrayRef<const Constraint *> constraints,
             std::vector<KnobVariable> &variables)
      : constraints(constraints), variables(variables) {
    std::vector<int> level(variables.size());
    for (auto [i, l] : llvm::enumerate(level))
      l = i;
    program = CompiledExpression::compile(constraints, level);
    state.resize(program.nodes.size());
  }

  /// Keeps the values of a variable for which the only constraint on it holds
  /// or is an error. Returns whether none was an error.
  bool filterUnary(size_t which);
  /// Keeps the values that have a partner in the other variable.
  bool filterPair(size_t which);
  /// Keeps the values that the bounds of the other variables allow.
  bool filterByBounds(size_t which);

private:
  void assign(int variable, size_t i) {
    program.assign(state, variable,
                   Interval::point(variables[variable].values[i]),
                   variables[variable].presenceAt(i));
  }
  void open(int variable) {
    program.assign(state, variable, variables[variable].bounds(),
                   variables[variable].presence());
  }
  bool keep(int variable, const std::vector<bool> &kept);

  llvm::ArrayRef<const Constraint *> constraints;
  std::vector<KnobVariable> &variables;
  CompiledExpression program;
  std::vector<Interval> state;
};
} // namespace

/// Returns whether any value went.
bool Propagator::keep(int which, const std::vector<bool> &kept) {
  KnobVariable &variable = variables[which];
  size_t next = 0;
  for (size_t i = 0; i < kept.size(); ++i) {
    if (!kept[i])
      continue;
    variable.indices[next] = variable.indices[i];
    variable.values[next++] = variable.values[i];
  }
  variable.indices.resize(next);
  variable.values.resize(next);
  return next != kept.size();
}

bool Propagator::filterUnary(size_t which) {
  int variable = constraints[which]->variables[0];
  std::vector<bool> kept(variables[variable].values.size());
  bool isExact = true;
  for (size_t i = 0; i < kept.size(); ++i) {
    assign(variable, i);
    Interval result = program.evaluate(which, state);
    kept[i] = result.canBeTrue() || result.mayFail;
    isExact &= !result.mayFail;
  }
  keep(variable, kept);
  return isExact;
}

bool Propagator::filterPair(size_t which) {
  int a = constraints[which]->variables[0],
      b = constraints[which]->variables[1];
  size_t countA = variables[a].values.size(),
         countB = variables[b].values.size();
  if (countA * countB > maxPairs)
    return false;
  std::vector<bool> keptA(countA), keptB(countB);
  for (size_t i = 0; i < countA; ++i) {
    assign(a, i);
    for (size_t j = 0; j < countB; ++j) {
      if (keptA[i] && keptB[j])
        continue;
      assign(b, j);
      Interval result = program.evaluate(which, state);
      if (result.canBeTrue() || result.mayFail)
        keptA[i] = keptB[j] = true;
    }
  }
  bool changed = keep(a, keptA);
  return keep(b, keptB) || changed;
}

bool Propagator::filterByBounds(size_t which) {
  bool changed = false;
  for (int variable : constraints[which]->variables)
    open(variable);
  for (int variable : constraints[which]->variables) {
    std::vector<bool> kept(variables[variable].values.size());
    for (size_t i = 0; i < kept.size(); ++i) {
      assign(variable, i);
      kept[i] = !program.evaluate(which, state).isFalse();
    }
    changed |= keep(variable, kept);
    if (variables[variable].values.empty())
      return true;
    open(variable);
  }
  return changed;
}

static bool anyEmpty(const Constraint &constraint,
                     llvm::ArrayRef<KnobVariable> variables) {
  return llvm::any_of(constraint.variables, [&](int variable) {
    return variables[variable].values.empty();
  });
}

std::vector<const Constraint *>
attune::propagate(llvm::ArrayRef<Constraint> constraints,
                  std::vector<KnobVariable> &variables) {
  std::vector<const Constraint *> all;
  for (const Constraint &constraint : constraints)
    all.push_back(&constraint);
  Propagator propagator(all, variables);
  std::vector<const Constraint *> rest;
  std::vector<size_t> pairs, others;
  for (auto [i, constraint] : llvm::enumerate(constraints)) {
    if (constraint.variables.size() == 1 && propagator.filterUnary(i))
      continue;
    rest.push_back(&constraint);
    if (constraint.variables.size() == 2)
      pairs.push_back(i);
    if (constraint.variables.size() >= 2)
      others.push_back(i);
  }
  // Each round costs little beside building; most spaces settle in two.
  for (int round = 0; round < 4; ++round) {
    bool changed = false;
    for (size_t which : others)
      if (!anyEmpty(constraints[which], variables))
        changed |= propagator.filterByBounds(which);
    for (size_t which : pairs)
      if (!anyEmpty(constraints[which], variables))
        changed |= propagator.filterPair(which);
    if (!changed)
      break;
  }
  return rest;
}

std::vector<Group>
attune::formGroups(size_t variableCount,
                   llvm::ArrayRef<const Constraint *> constraints) {
  llvm::EquivalenceClasses<int> classes;
  for (size_t i = 0; i < variableCount; ++i)
    classes.insert(i);
  for (const Constraint *constraint : constraints)
    for (int variable : constraint->variables)
      classes.unionSets(constraint->variables[0], variable);
  std::map<int, size_t> byLeader;
  std::vector<Group> groups;
  for (size_t i = 0; i < variableCount; ++i) {
    auto [entry, isNew] =
        byLeader.try_emplace(classes.getLeaderValue(i), groups.size());
    if (isNew)
      groups.emplace_back();
    groups[entry->second].variables.push_back(i);
  }
  for (const Constraint *constraint : constraints)
    if (!constraint->variables.empty())
      groups[byLeader[classes.getLeaderValue(constraint->variables[0])]]
          .constraints.push_back(constraint);
  return groups;
}
