//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Builds the diagram of a group: depth first, a table of the states already
// met.

#include "Diagram.h"
#include "StateTable.h"
#include "attune/Support/Error.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include <climits>

using namespace attune;
using Op = Expression::Op;

namespace attune {

class DiagramBuilder {
public:
  DiagramBuilder(llvm::ArrayRef<Knob> knobs,
                 llvm::ArrayRef<KnobVariable> variables, const Group &group,
                 Diagram &diagram);
  llvm::Error run();

private:
  /// More edges than this are half a gigabyte.
  static constexpr size_t maxEdges = size_t(40) << 20;

  enum class Verdict { False, Open, True, Failed };

  struct Instruction {
    Op op;
    Interval *result;
    const Interval *operands[3];
  };
  /// What of one constraint must be computed again when a variable is assigned.
  struct Check {
    size_t constraint;
    std::vector<Instruction> tape;
    const Interval *root;
    bool isLast; ///< All its variables are assigned then.
  };
  /// Value candidates known without trying: the divisors of `of`, or its
  /// multiples.
  struct Hint {
    enum { DivisorsOf, MultiplesOf } kind;
    int of;
    size_t constraint;
  };
  /// A known node that open constraints still look at.
  struct Frontier {
    int node;
    std::vector<size_t> neededBy;
  };
  struct Layer {
    int variable;
    std::vector<Check> checks;
    std::vector<Hint> hints;
    bool bisects = false;
    std::vector<Frontier> frontier;
    std::vector<size_t> active; ///< Constraints partly assigned after it.
    std::vector<char> decided;  ///< By constraint: known to hold.
    std::vector<char> failed;   ///< By constraint: an error, for certain.
    size_t failures = 0;
    StateTable states;
    std::vector<uint32_t> candidates;
  };

  void prepareLayer(size_t depth);
  void prepareCheck(Layer &layer, size_t depth, size_t constraint);
  void prepareHints(Layer &layer, size_t depth, size_t constraint);
  void prepareFrontier(Layer &layer, size_t depth);

  uint32_t expand(size_t depth);
  uint32_t childAfter(size_t depth);
  void findCandidates(size_t depth);
  bool candidatesFromHints(Layer &layer, size_t depth);
  void bisect(Layer &layer, size_t depth, uint32_t begin, uint32_t end);
  bool tryValue(size_t depth, uint32_t candidate);
  Verdict check(const Check &check);
  Verdict evaluateExactly(size_t constraint);
  void writeKey(const Layer &layer, size_t depth);
  void reportFailure(size_t depth);
  uint32_t commit(llvm::ArrayRef<Diagram::Edge> edges);
  const std::vector<int64_t> &divisorsOf(int64_t number);
  std::optional<int64_t> valueOf(llvm::StringRef knob) const;

  llvm::ArrayRef<Knob> knobs;
  llvm::ArrayRef<KnobVariable> variables;
  const Group &group;
  Diagram &diagram;
  CompiledExpression program;
  std::vector<Interval> current, initial; ///< By node of the program.
  std::vector<Layer> layers;
  std::vector<uint32_t> candidateOf; ///< By variable: what is being tried.
  std::vector<int64_t> key;
  llvm::DenseMap<int64_t, std::vector<int64_t>> divisorCache;
  std::string failure;
};

} // namespace attune

DiagramBuilder::DiagramBuilder(llvm::ArrayRef<Knob> knobs,
                               llvm::ArrayRef<KnobVariable> variables,
                               const Group &group, Diagram &diagram)
    : knobs(knobs), variables(variables), group(group), diagram(diagram) {
  diagram.order = chooseOrder(group, variables);
  std::vector<int> level(variables.size(), -1);
  for (auto [depth, variable] : llvm::enumerate(diagram.order))
    level[variable] = depth;
  program = CompiledExpression::compile(group.constraints, level);
  candidateOf.resize(variables.size());

  initial.resize(program.nodes.size());
  for (int variable : diagram.order)
    program.assign(initial, variable, variables[variable].bounds(),
                   variables[variable].presence());
  for (size_t i = 0; i < group.constraints.size(); ++i)
    program.evaluate(i, initial);
  current = initial;

  layers.resize(diagram.order.size());
  for (size_t depth = 0; depth < layers.size(); ++depth)
    prepareLayer(depth);
}

void DiagramBuilder::prepareLayer(size_t depth) {
  Layer &layer = layers[depth];
  layer.variable = diagram.order[depth];
  layer.decided.resize(group.constraints.size());
  layer.failed.resize(group.constraints.size());
  for (auto [i, constraint] : llvm::enumerate(group.constraints)) {
    const CompiledExpression::Node &root = program.nodes[program.roots[i]];
    if (llvm::is_contained(constraint->variables, layer.variable)) {
      prepareCheck(layer, depth, i);
      prepareHints(layer, depth, i);
    }
    if (root.first <= int(depth) && root.last > int(depth))
      layer.active.push_back(i);
  }
  // What needs the least work and is decided for certain comes first.
  llvm::sort(layer.checks, [](const Check &a, const Check &b) {
    return std::make_tuple(!a.isLast, a.tape.size(), a.constraint) <
           std::make_tuple(!b.isLast, b.tape.size(), b.constraint);
  });
  layer.bisects = variables[layer.variable].values.size() > 16 &&
                  variables[layer.variable].isAscending();
  prepareFrontier(layer, depth);
}

void DiagramBuilder::prepareCheck(Layer &layer, size_t depth,
                                  size_t constraint) {
  Check check;
  check.constraint = constraint;
  check.root = &current[program.roots[constraint]];
  check.isLast = program.nodes[program.roots[constraint]].last == int(depth);
  static const Interval none;
  for (int i : program.members[constraint]) {
    const CompiledExpression::Node &node = program.nodes[i];
    if (node.operands[0] < 0 || node.first > int(depth) ||
        node.last < int(depth))
      continue;
    Instruction instruction{node.op, &current[i], {&none, &none, &none}};
    for (int k = 0; k < 3; ++k)
      if (int operand = node.operands[k]; operand >= 0)
        // Deeper layers leave their mark in `current`: what is still wholly
        // open is read from `initial`.
        instruction.operands[k] = program.nodes[operand].first > int(depth)
                                      ? &initial[operand]
                                      : &current[operand];
    check.tape.push_back(instruction);
  }
  layer.checks.push_back(std::move(check));
}

/// Whether the variable node `wanted` is a factor of the product `node`.
static bool isFactor(const CompiledExpression &program, int node, int wanted) {
  if (node == wanted)
    return true;
  const CompiledExpression::Node &n = program.nodes[node];
  return n.op == Op::Mul && (isFactor(program, n.operands[0], wanted) ||
                             isFactor(program, n.operands[1], wanted));
}

/// `a % b == 0`: x is a divisor of a if it is a factor of b, also while other
/// factors of b are open; x is a multiple of b if it is a.
void DiagramBuilder::prepareHints(Layer &layer, size_t depth,
                                  size_t constraint) {
  const KnobVariable &variable = variables[layer.variable];
  if (variable.values.size() <= 16 || !variable.isAscending() ||
      variable.values.front() <= 0)
    return;
  const CompiledExpression::Node &root =
      program.nodes[program.roots[constraint]];
  if (root.op != Op::Eq)
    return;
  for (int side : {0, 1}) {
    const CompiledExpression::Node &mod = program.nodes[root.operands[side]];
    const CompiledExpression::Node &zero =
        program.nodes[root.operands[1 - side]];
    if ((mod.op != Op::FloorMod && mod.op != Op::EuclidMod) ||
        zero.op != Op::Constant || zero.value != 0)
      continue;
    int wanted = program.variableNodes[layer.variable];
    int a = mod.operands[0], b = mod.operands[1];
    if (initial[b].canBeFalse()) // Then there are errors to be found, too.
      continue;
    if (program.nodes[a].last < int(depth) && isFactor(program, b, wanted))
      layer.hints.push_back({Hint::DivisorsOf, a, constraint});
    else if (program.nodes[b].last < int(depth) && a == wanted)
      layer.hints.push_back({Hint::MultiplesOf, b, constraint});
  }
}

void DiagramBuilder::prepareFrontier(Layer &layer, size_t depth) {
  llvm::DenseMap<int, std::vector<size_t>> needs;
  for (size_t constraint : layer.active)
    for (int i : program.members[constraint])
      if (program.nodes[i].last > int(depth))
        for (int operand : program.nodes[i].operands)
          if (operand >= 0 && program.nodes[operand].last >= 0 &&
              program.nodes[operand].last <= int(depth) &&
              (needs[operand].empty() || needs[operand].back() != constraint))
            needs[operand].push_back(constraint);
  for (auto &[node, constraints] : needs)
    layer.frontier.push_back({node, constraints});
  llvm::sort(layer.frontier, [](const Frontier &a, const Frontier &b) {
    return a.node < b.node;
  });
}

std::optional<int64_t> DiagramBuilder::valueOf(llvm::StringRef knob) const {
  for (int variable : group.variables)
    if (knobs[variable].name == knob) {
      const KnobVariable &v = variables[variable];
      uint32_t candidate = candidateOf[variable];
      return v.indices[candidate] == v.absentIndex
                 ? std::nullopt
                 : std::optional(v.values[candidate]);
    }
  return std::nullopt;
}

/// The nodes take operands in another order than the source says, where an
/// overflow may be met that is not there: the source has the last word.
DiagramBuilder::Verdict DiagramBuilder::evaluateExactly(size_t constraint) {
  auto value = group.constraints[constraint]->source.evaluate(
      [&](llvm::StringRef knob) { return valueOf(knob); });
  if (value)
    return *value ? Verdict::True : Verdict::False;
  llvm::consumeError(value.takeError());
  return Verdict::Failed;
}

DiagramBuilder::Verdict DiagramBuilder::check(const Check &check) {
  for (const Instruction &i : check.tape)
    *i.result = applyOp(i.op, *i.operands[0], *i.operands[1], *i.operands[2]);
  const Interval &root = *check.root;
  if (check.isLast && root.mayFail)
    return evaluateExactly(check.constraint);
  return root.isFalse()  ? Verdict::False
         : root.isTrue() ? Verdict::True
                         : Verdict::Open;
}

/// Assigns a value and looks at the constraints on it; false if one is false.
bool DiagramBuilder::tryValue(size_t depth, uint32_t candidate) {
  Layer &layer = layers[depth];
  const KnobVariable &variable = variables[layer.variable];
  candidateOf[layer.variable] = candidate;
  program.assign(current, layer.variable,
                 Interval::point(variable.values[candidate]),
                 variable.presenceAt(candidate));
  if (depth) {
    layer.decided = layers[depth - 1].decided;
    layer.failed = layers[depth - 1].failed;
    layer.failures = layers[depth - 1].failures;
  } else {
    std::fill(layer.decided.begin(), layer.decided.end(), 0);
    std::fill(layer.failed.begin(), layer.failed.end(), 0);
    layer.failures = 0;
  }
  for (const Check &check : layer.checks) {
    if (layer.decided[check.constraint])
      continue;
    switch (this->check(check)) {
    case Verdict::False:
      return false;
    case Verdict::True:
      layer.decided[check.constraint] = true;
      break;
    case Verdict::Failed:
      layer.failed[check.constraint] = true;
      ++layer.failures;
      break;
    case Verdict::Open:
      break;
    }
  }
  return true;
}

const std::vector<int64_t> &DiagramBuilder::divisorsOf(int64_t number) {
  auto [entry, isNew] = divisorCache.try_emplace(number);
  if (isNew) {
    std::vector<int64_t> large;
    for (int64_t d = 1; d <= number / d; ++d)
      if (number % d == 0) {
        entry->second.push_back(d);
        if (d != number / d)
          large.push_back(number / d);
      }
    llvm::append_range(entry->second, llvm::reverse(large));
  }
  return entry->second;
}

/// Fills the candidates from a divisibility constraint, if one applies.
bool DiagramBuilder::candidatesFromHints(Layer &layer, size_t depth) {
  const std::vector<int64_t> &values = variables[layer.variable].values;
  auto add = [&](int64_t wanted) {
    auto place = llvm::lower_bound(values, wanted);
    if (place != values.end() && *place == wanted)
      layer.candidates.push_back(place - values.begin());
  };
  for (const Hint &hint : layer.hints) {
    const Interval &of = current[hint.of];
    if (!of.isPoint() || of.lower == 0 || of.lower == INT64_MIN ||
        (depth && layers[depth - 1].decided[hint.constraint]))
      continue;
    int64_t number = std::abs(of.lower), size = values.size();
    if (hint.kind == Hint::DivisorsOf && number / size / 16 < size) {
      for (int64_t divisor : divisorsOf(number))
        add(divisor);
      return true;
    }
    if (hint.kind == Hint::MultiplesOf && values.back() / number < size) {
      int64_t first = (values.front() + number - 1) / number * number;
      for (int64_t m = first; m <= values.back(); m += number)
        add(m);
      return true;
    }
  }
  return false;
}

/// Adds the candidates from begin to end, leaving out stretches in which a
/// constraint is false from end to end.
void DiagramBuilder::bisect(Layer &layer, size_t depth, uint32_t begin,
                            uint32_t end) {
  const std::vector<int64_t> &values = variables[layer.variable].values;
  program.assign(current, layer.variable,
                 {values[begin], values[end - 1], false}, Interval::point(1));
  for (const Check &check : layer.checks) {
    if (depth && layers[depth - 1].decided[check.constraint])
      continue;
    for (const Instruction &i : check.tape)
      *i.result = applyOp(i.op, *i.operands[0], *i.operands[1], *i.operands[2]);
    if (check.root->isFalse())
      return;
  }
  if (end - begin <= 4) {
    for (uint32_t i = begin; i < end; ++i)
      layer.candidates.push_back(i);
    return;
  }
  uint32_t middle = begin + (end - begin) / 2;
  bisect(layer, depth, begin, middle);
  bisect(layer, depth, middle, end);
}

void DiagramBuilder::findCandidates(size_t depth) {
  Layer &layer = layers[depth];
  layer.candidates.clear();
  if (candidatesFromHints(layer, depth))
    return;
  uint32_t count = variables[layer.variable].values.size();
  if (layer.bisects)
    return bisect(layer, depth, 0, count);
  for (uint32_t i = 0; i < count; ++i)
    layer.candidates.push_back(i);
}

/// The state after this layer. What constraints that are decided looked at is
/// left out; where something failed, nothing is.
void DiagramBuilder::writeKey(const Layer &layer, size_t depth) {
  key.clear();
  uint64_t bits = 0;
  int used = 0;
  for (size_t constraint : layer.active) {
    bits |= uint64_t(layer.decided[constraint] != 0) << used;
    if (++used == 62) {
      key.push_back(bits);
      bits = used = 0;
    }
  }
  key.push_back(bits);
  bool isSound = layer.failures == 0;
  for (const Frontier &frontier : layer.frontier) {
    bool isNeeded = llvm::any_of(frontier.neededBy, [&](size_t constraint) {
      return !layer.decided[constraint];
    });
    const Interval &value = current[frontier.node];
    key.push_back(isNeeded ? value.lower : 0);
    isSound &= !isNeeded || !value.mayFail;
  }
  if (isSound)
    return;
  key.assign(1, INT64_MIN); // No mask of decided constraints looks like this.
  for (size_t i = 0; i <= depth; ++i)
    key.push_back(candidateOf[diagram.order[i]]);
}

void DiagramBuilder::reportFailure(size_t depth) {
  const std::vector<char> &failed = layers[depth].failed;
  const Constraint &constraint =
      *group.constraints[llvm::find(failed, 1) - failed.begin()];
  auto value = constraint.source.evaluate(
      [&](llvm::StringRef knob) { return valueOf(knob); });
  std::string message = llvm::toString(value.takeError()) + " for";
  for (int variable : constraint.variables)
    if (auto value = valueOf(knobs[variable].name))
      message += llvm::formatv(" {0}={1}", knobs[variable].name, *value).str();
  failure = llvm::toString(constraintError(constraint.declared, message));
}

/// The node below the values tried up to `depth`, or dead.
uint32_t DiagramBuilder::childAfter(size_t depth) {
  Layer &layer = layers[depth];
  if (depth + 1 == layers.size()) {
    if (layer.failures)
      reportFailure(depth);
    return Diagram::terminal;
  }
  writeKey(layer, depth);
  auto [known, slot] = layer.states.find(key);
  if (known)
    return *known;
  uint32_t child = expand(depth + 1);
  layer.states.set(slot, child);
  return child;
}

uint32_t DiagramBuilder::expand(size_t depth) {
  findCandidates(depth);
  std::vector<uint32_t> candidates = std::move(layers[depth].candidates);
  llvm::SmallVector<Diagram::Edge, 32> edges;
  for (uint32_t candidate : candidates) {
    if (!tryValue(depth, candidate))
      continue;
    uint32_t child = childAfter(depth);
    if (!failure.empty())
      return Diagram::dead;
    if (child != Diagram::dead)
      edges.push_back(
          {variables[layers[depth].variable].indices[candidate], child});
  }
  layers[depth].candidates = std::move(candidates); // Its memory is used again.
  return edges.empty() ? Diagram::dead : commit(edges);
}

uint32_t DiagramBuilder::commit(llvm::ArrayRef<Diagram::Edge> edges) {
  Diagram::Node node{0, uint32_t(diagram.edges.size()), uint32_t(edges.size())};
  for (const Diagram::Edge &edge : edges) {
    Count below = diagram.nodes[edge.child].count;
    if (node.count + below < below)
      failure = "the knobs that share constraints have more than 2^128 valid "
                "configurations";
    node.count += below;
  }
  llvm::append_range(diagram.edges, edges);
  if (diagram.edges.size() > maxEdges)
    failure = llvm::formatv(
        "the constraints tie {0} knobs together in more than {1} ways; narrow "
        "the domains or split the constraints",
        group.variables.size(), maxEdges);
  diagram.nodes.push_back(node);
  return diagram.nodes.size() - 1;
}

llvm::Error DiagramBuilder::run() {
  diagram.nodes.push_back({1, 0, 0}); // The terminal.
  diagram.root = expand(0);
  if (!failure.empty())
    return makeError("{0}", failure);
  diagram.nodes.shrink_to_fit();
  diagram.edges.shrink_to_fit();
  return llvm::Error::success();
}

llvm::Expected<Diagram> Diagram::build(llvm::ArrayRef<Knob> knobs,
                                       llvm::ArrayRef<KnobVariable> variables,
                                       const Group &group) {
  Diagram diagram;
  DiagramBuilder builder(knobs, variables, group, diagram);
  if (llvm::Error error = builder.run())
    return std::move(error);
  return diagram;
}
