//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Expressions as regions of the SMT dialect: Space reads them back.

#include "ExpertText.h"

#include "attune/Space/Expression.h"
#include "attune/Support/Error.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using Op = attune::Expression::Op;

namespace attune {
namespace {

class Writer {
public:
  explicit Writer(StringRef source) : source(source) {}
  Expected<std::string> number(const Expression &expression);
  Expected<std::string> truth(const Expression &expression);

  std::string body;

private:
  Expected<std::string> join(const Expression &expression, StringRef op,
                             bool isTruth);
  Expected<std::string> extremum(const Expression &expression);
  std::string fresh() { return "%v" + std::to_string(counter++); }
  void line(const std::string &text) { body += "      " + text + "\n"; }
  Error unknown(const Expression &expression) const {
    return makeError("'{0}': {1} is nothing that the constraints of schedules "
                     "can say",
                     source, expression.str());
  }

  StringRef source;
  int counter = 0;
};

} // namespace

Expected<std::string> Writer::join(const Expression &expression, StringRef op,
                                   bool isTruth) {
  std::vector<std::string> operands;
  for (const Expression &operand : expression.getOperands()) {
    auto value = isTruth ? truth(operand) : number(operand);
    if (!value)
      return value.takeError();
    operands.push_back(*value);
  }
  std::string result = fresh();
  line(result + " = " + op.str() + " " + llvm::join(operands, ", "));
  return result;
}

/// min and max: one after the other.
Expected<std::string> Writer::extremum(const Expression &expression) {
  auto best = number(expression.getOperands().front());
  if (!best)
    return best.takeError();
  std::string value = *best;
  StringRef compare = expression.getOp() == Op::Min ? "le" : "ge";
  for (const Expression &operand : expression.getOperands().drop_front()) {
    auto other = number(operand);
    if (!other)
      return other.takeError();
    std::string holds = fresh(), next = fresh();
    line(formatv("{0} = smt.int.cmp {1} {2}, {3}", holds, compare, value,
                 *other));
    line(formatv("{0} = smt.ite {1}, {2}, {3} : !smt.int", next, holds, value,
                 *other));
    value = next;
  }
  return value;
}

Expected<std::string> Writer::number(const Expression &expression) {
  switch (expression.getOp()) {
  case Op::Constant: {
    std::string result = fresh();
    line(formatv("{0} = smt.int.constant {1}", result, expression.getValue()));
    return result;
  }
  case Op::Knob:
    return "%in_" + expression.getName();
  case Op::Add:
    return join(expression, "smt.int.add", false);
  case Op::Sub:
    return join(expression, "smt.int.sub", false);
  case Op::Mul:
    return join(expression, "smt.int.mul", false);
  // They round differently only where the divisor is negative; sizes are not.
  case Op::FloorDiv:
  case Op::EuclidDiv:
    return join(expression, "smt.int.div", false);
  case Op::FloorMod:
  case Op::EuclidMod:
    return join(expression, "smt.int.mod", false);
  case Op::Min:
  case Op::Max:
    return extremum(expression);
  default:
    return unknown(expression);
  }
}

static StringRef comparison(Op op) {
  switch (op) {
  case Op::Lt:
    return "smt.int.cmp lt";
  case Op::Le:
    return "smt.int.cmp le";
  case Op::Gt:
    return "smt.int.cmp gt";
  case Op::Ge:
    return "smt.int.cmp ge";
  default:
    return "";
  }
}

Expected<std::string> Writer::truth(const Expression &expression) {
  Op op = expression.getOp();
  if (StringRef compare = comparison(op); !compare.empty())
    return join(expression, compare, false);
  if (op == Op::Eq || op == Op::Ne) {
    auto value =
        join(expression, op == Op::Eq ? "smt.eq" : "smt.distinct", false);
    if (value)
      body.insert(body.size() - 1, " : !smt.int");
    return value;
  }
  if (op == Op::And || op == Op::Or)
    return join(expression, op == Op::And ? "smt.and" : "smt.or", true);
  if (op == Op::Not)
    return join(expression, "smt.not", true);
  // Any number but 0 is true.
  auto value = number(expression);
  if (!value)
    return value.takeError();
  std::string zero = fresh(), result = fresh();
  line(zero + " = smt.int.constant 0");
  line(result + " = smt.distinct " + *value + ", " + zero + " : !smt.int");
  return result;
}

Expected<SmtRegion> writeConstraint(StringRef source) {
  auto expression = Expression::parse(source);
  if (!expression)
    return makeError("'{0}': {1}", source, toString(expression.takeError()));
  Writer writer(source);
  auto holds = writer.truth(*expression);
  if (!holds)
    return holds.takeError();
  SmtRegion region{expression->getKnobs(), std::move(writer.body)};
  if (region.arguments.empty())
    return makeError("'{0}' speaks of no knob", source);
  region.body += "      smt.assert " + *holds + "\n";
  return region;
}

} // namespace attune
