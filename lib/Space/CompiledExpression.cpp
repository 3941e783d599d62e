//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CompiledExpression.h"

#include "attune/Support/Error.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include <climits>
#include <map>
#include <tuple>

using namespace attune;
using Op = Expression::Op;

Interval KnobVariable::bounds() const {
  auto [lowest, highest] = std::minmax_element(values.begin(), values.end());
  return {*lowest, *highest, false};
}

Interval KnobVariable::presence() const {
  bool canBeAbsent = llvm::is_contained(indices, absentIndex);
  return {canBeAbsent && indices.size() == 1 ? 0 : !canBeAbsent,
          indices.size() > 1 || !canBeAbsent, false};
}

bool KnobVariable::isAscending() const {
  return absentIndex == UINT32_MAX && llvm::is_sorted(values);
}

void Term::collectVariables(std::vector<int> &into) const {
  if (variable >= 0)
    into.push_back(variable);
  for (const Term &operand : operands)
    operand.collectVariables(into);
}

//===----------------------------------------------------------------------===//
// Names to numbers
//===----------------------------------------------------------------------===//

namespace {
class Resolver {
public:
  explicit Resolver(llvm::ArrayRef<Knob> knobs) : knobs(knobs) {
    for (auto [i, knob] : llvm::enumerate(knobs))
      numbers[knob.name] = i;
  }
  llvm::Expected<Term> resolve(const Expression &expression);

private:
  llvm::Expected<Term> resolveKnob(const Expression &expression);
  llvm::Expected<Term> resolveText(const Expression &text,
                                   const Expression &other);
  llvm::ArrayRef<Knob> knobs;
  llvm::StringMap<int> numbers;
};
} // namespace

llvm::Expected<Term> Resolver::resolveKnob(const Expression &expression) {
  auto found = numbers.find(expression.getName());
  if (found == numbers.end())
    return makeError("unknown knob '{0}'", expression.getName());
  if (expression.getOp() == Op::Knob &&
      !knobs[found->second].domain.isConstrainable())
    return makeError("knob '{0}' holds floats, and constraints are over "
                     "integers",
                     expression.getName());
  Term term;
  term.op = expression.getOp();
  term.variable = found->second;
  return term;
}

/// A text stands for the number of the option of the choice it is compared to.
llvm::Expected<Term> Resolver::resolveText(const Expression &text,
                                           const Expression &other) {
  auto found =
      other.getOp() == Op::Knob ? numbers.find(other.getName()) : numbers.end();
  if (found == numbers.end() ||
      knobs[found->second].domain.getKind() != Domain::Kind::Choice)
    return makeError("the text \"{0}\" is not compared with a knob that is a "
                     "choice",
                     text.getName());
  const Domain &domain = knobs[found->second].domain;
  auto index = domain.indexOf(KnobValue(text.getName()));
  if (!index)
    return makeError("\"{0}\" is not an option of knob '{1}': {2}",
                     text.getName(), other.getName(), domain.describe());
  Term term;
  term.value = *index;
  return term;
}

llvm::Expected<Term> Resolver::resolve(const Expression &expression) {
  Op op = expression.getOp();
  Term term;
  term.op = op;
  switch (op) {
  case Op::Constant:
    term.value = expression.getValue();
    return term;
  case Op::Knob:
  case Op::Present:
    return resolveKnob(expression);
  case Op::Text:
    return resolveText(expression, expression);
  default:
    break;
  }
  llvm::ArrayRef<Expression> operands = expression.getOperands();
  for (auto [i, operand] : llvm::enumerate(operands)) {
    bool isCompared = op == Op::Eq || op == Op::Ne;
    auto inner = operand.getOp() == Op::Text && isCompared
                     ? resolveText(operand, operands[1 - i])
                     : resolve(operand);
    if (!inner)
      return inner;
    if (op == Op::Sub && i == 1) {
      Term negated;
      negated.op = Op::Neg;
      negated.operands.push_back(std::move(*inner));
      *inner = std::move(negated);
    }
    bool flattens = op == Op::Mul || op == Op::Add || op == Op::Sub;
    if (flattens && inner->op == (op == Op::Mul ? Op::Mul : Op::Add))
      llvm::append_range(term.operands, inner->operands);
    else
      term.operands.push_back(std::move(*inner));
  }
  if (op == Op::Sub)
    term.op = Op::Add;
  return term;
}

static void splitConjunction(const Expression &expression,
                             std::vector<Expression> &into) {
  if (expression.getOp() != Op::And) {
    into.push_back(expression);
    return;
  }
  for (const Expression &operand : expression.getOperands())
    splitConjunction(operand, into);
}

llvm::Error attune::constraintError(const Expression &declared,
                                    const llvm::Twine &message) {
  return makeError("{0}{1}{2} in \"{3}\"", declared.getPlace(),
                   declared.getPlace().empty() ? "" : ": ", message.str(),
                   declared.getSource().empty() ? declared.str()
                                                : declared.getSource());
}

static bool mentions(const Expression &expression, Op op,
                     llvm::StringRef name) {
  if (expression.getOp() == op && expression.getName() == name)
    return true;
  return llvm::any_of(expression.getOperands(), [&](const Expression &operand) {
    return mentions(operand, op, name);
  });
}

/// The conditional knobs whose value, but not presence, `expression` asks for.
static std::vector<Expression> presences(llvm::ArrayRef<Knob> knobs,
                                         const Expression &expression) {
  std::vector<Expression> result;
  for (const Knob &knob : knobs)
    if (knob.condition && mentions(expression, Op::Knob, knob.name) &&
        !mentions(expression, Op::Present, knob.name))
      result.push_back(Expression::present(knob.name));
  return result;
}

/// `conjunct`, holding where a knob it speaks of does not exist.
static Expression guard(llvm::ArrayRef<Knob> knobs,
                        const Expression &conjunct) {
  std::vector<Expression> alternatives = presences(knobs, conjunct);
  if (alternatives.empty())
    return conjunct;
  for (Expression &present : alternatives)
    present = !present;
  alternatives.push_back(conjunct);
  return Expression::make(Op::Or, std::move(alternatives));
}

/// `knob` exists exactly if its condition holds, which it does not while a knob
/// in it does not exist.
static Expression existence(llvm::ArrayRef<Knob> knobs, const Knob &knob) {
  std::vector<Expression> needs = presences(knobs, *knob.condition);
  needs.push_back(*knob.condition);
  Expression present = Expression::present(knob.name);
  return Expression::make(
      Op::If, {Expression::make(Op::And, std::move(needs)), present, !present});
}

llvm::Expected<std::vector<Constraint>>
attune::resolveConstraints(llvm::ArrayRef<Knob> knobs,
                           llvm::ArrayRef<Expression> constraints) {
  Resolver resolver(knobs);
  std::vector<Constraint> result;
  auto add = [&](const Expression &conjunct,
                 const Expression &declared) -> llvm::Error {
    auto term = resolver.resolve(conjunct);
    if (!term)
      return constraintError(declared, llvm::toString(term.takeError()));
    std::vector<int> variables;
    term->collectVariables(variables);
    llvm::sort(variables);
    variables.erase(llvm::unique(variables), variables.end());
    result.push_back({std::move(*term), conjunct, declared, variables});
    return llvm::Error::success();
  };
  for (const Expression &declared : constraints) {
    std::vector<Expression> conjuncts;
    splitConjunction(declared, conjuncts);
    for (const Expression &conjunct : conjuncts)
      if (llvm::Error error = add(guard(knobs, conjunct), declared))
        return std::move(error);
  }
  for (const Knob &knob : knobs)
    if (knob.condition)
      if (llvm::Error error = add(existence(knobs, knob), *knob.condition))
        return std::move(error);
  return result;
}

//===----------------------------------------------------------------------===//
// Terms to nodes
//===----------------------------------------------------------------------===//

namespace {
class Compiler {
public:
  Compiler(CompiledExpression &program, llvm::ArrayRef<int> level)
      : program(program), level(level) {}
  int lower(const Term &term);

private:
  int addNode(CompiledExpression::Node node);
  int addOp(Op op, llvm::ArrayRef<int> operands);
  CompiledExpression &program;
  llvm::ArrayRef<int> level;
  std::map<std::tuple<Op, int, int, int, int64_t, int>, int> known;
};
} // namespace

int Compiler::addNode(CompiledExpression::Node node) {
  auto key = std::make_tuple(node.op, node.operands[0], node.operands[1],
                             node.operands[2], node.value, node.variable);
  auto [entry, isNew] = known.try_emplace(key, program.nodes.size());
  if (isNew)
    program.nodes.push_back(node);
  return entry->second;
}

int Compiler::addOp(Op op, llvm::ArrayRef<int> operands) {
  CompiledExpression::Node node{op};
  Interval values[3];
  for (auto [i, operand] : llvm::enumerate(operands)) {
    const CompiledExpression::Node &below = program.nodes[operand];
    node.operands[i] = operand;
    node.first = std::min(node.first, below.first);
    node.last = std::max(node.last, below.last);
    values[i] = below.op == Op::Constant ? Interval::point(below.value)
                                         : Interval::anything();
  }
  if (node.last < 0) { // Constants fold, unless that is an error.
    Interval value = applyOp(op, values[0], values[1], values[2]);
    if (value.isPoint()) {
      CompiledExpression::Node constant{Op::Constant};
      constant.value = value.lower;
      return addNode(constant);
    }
  }
  return addNode(node);
}

int Compiler::lower(const Term &term) {
  if (term.operands.empty()) {
    CompiledExpression::Node node{term.op};
    node.value = term.value;
    node.variable = term.variable;
    node.first = term.variable < 0 ? INT_MAX : level[term.variable];
    node.last = term.variable < 0 ? -1 : level[term.variable];
    int index = addNode(node);
    if (term.variable >= 0)
      (term.op == Op::Knob ? program.variableNodes
                           : program.presentNodes)[term.variable] = index;
    return index;
  }
  llvm::SmallVector<int> operands;
  for (const Term &operand : term.operands)
    operands.push_back(lower(operand));
  if (term.op == Op::If || operands.size() == 1) {
    bool isUnary = term.op == Op::Neg || term.op == Op::Abs ||
                   term.op == Op::Not || term.op == Op::If;
    return isUnary ? addOp(term.op, operands) : operands[0];
  }
  // Operands that become known early go first, so that what is known of a sum
  // or product is one number, and states that agree on it are one state.
  if (term.op == Op::Add || term.op == Op::Mul || term.op == Op::Min ||
      term.op == Op::Max)
    llvm::sort(operands, [&](int left, int right) {
      return std::make_pair(program.nodes[left].last, left) <
             std::make_pair(program.nodes[right].last, right);
    });
  int result = operands[0];
  for (int operand : llvm::drop_begin(operands))
    result = addOp(term.op, {result, operand});
  return result;
}

CompiledExpression
CompiledExpression::compile(llvm::ArrayRef<const Constraint *> constraints,
                            llvm::ArrayRef<int> level) {
  CompiledExpression program;
  program.variableNodes.assign(level.size(), -1);
  program.presentNodes.assign(level.size(), -1);
  Compiler compiler(program, level);
  for (const Constraint *constraint : constraints)
    program.roots.push_back(compiler.lower(constraint->term));
  for (int root : program.roots) {
    std::vector<bool> reached(root + 1);
    reached[root] = true;
    std::vector<int> members;
    for (int i = root; i >= 0; --i) {
      if (!reached[i])
        continue;
      members.push_back(i);
      for (int operand : program.nodes[i].operands)
        if (operand >= 0)
          reached[operand] = true;
    }
    program.members.emplace_back(members.rbegin(), members.rend());
  }
  return program;
}

Interval CompiledExpression::evaluate(size_t which,
                                      std::vector<Interval> &state) const {
  static const Interval none;
  for (int i : members[which]) {
    const Node &node = nodes[i];
    if (node.op == Op::Constant)
      state[i] = Interval::point(node.value);
    else if (node.operands[0] >= 0)
      state[i] =
          applyOp(node.op, state[node.operands[0]],
                  node.operands[1] >= 0 ? state[node.operands[1]] : none,
                  node.operands[2] >= 0 ? state[node.operands[2]] : none);
  }
  return state[roots[which]];
}
