//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Space/Expression.h"

#include "attune/Support/Error.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace attune;
using Op = Expression::Op;

Expression Expression::constant(int64_t value) {
  return Expression(std::make_shared<Node>(Node{Op::Constant, value, {}, {}}));
}
Expression Expression::knob(llvm::StringRef name) {
  return Expression(std::make_shared<Node>(Node{Op::Knob, 0, name.str(), {}}));
}
Expression Expression::text(llvm::StringRef text) {
  return Expression(std::make_shared<Node>(Node{Op::Text, 0, text.str(), {}}));
}
Expression Expression::present(llvm::StringRef knob) {
  return Expression(
      std::make_shared<Node>(Node{Op::Present, 0, knob.str(), {}}));
}
Expression Expression::make(Op op, std::vector<Expression> operands) {
  return Expression(
      std::make_shared<Node>(Node{op, 0, {}, std::move(operands)}));
}

Expression Expression::withPlace(std::string place) const {
  Expression copy = *this;
  copy.place = std::move(place);
  return copy;
}
Expression Expression::withSource(std::string source) const {
  Expression copy = *this;
  copy.source = std::move(source);
  return copy;
}

static std::optional<int64_t> divide(Op op, int64_t left, int64_t right) {
  constexpr int64_t lowest = std::numeric_limits<int64_t>::min();
  bool isDivision = op == Op::FloorDiv || op == Op::EuclidDiv;
  if (right == 0 || (isDivision && left == lowest && right == -1))
    return std::nullopt;
  if (right == -1) // The hardware traps on lowest % -1.
    return isDivision ? -left : 0;
  int64_t quotient = left / right, remainder = left % right;
  bool isFloor = op == Op::FloorDiv || op == Op::FloorMod;
  // C++ truncates: the remainder has the sign of `left`.
  if (isFloor && remainder != 0 && (remainder < 0) != (right < 0)) {
    --quotient;
    remainder += right;
  } else if (!isFloor && remainder < 0) {
    quotient += right > 0 ? -1 : 1;
    remainder += right > 0 ? right : -right;
  }
  return isDivision ? quotient : remainder;
}

std::optional<int64_t> attune::applyOp(Op op, int64_t left, int64_t right) {
  int64_t result = 0;
  switch (op) {
  case Op::Neg:
    return llvm::SubOverflow<int64_t>(0, left, result) ? std::nullopt
                                                       : std::optional(result);
  case Op::Abs:
    return left >= 0 ? std::optional(left) : applyOp(Op::Neg, left, 0);
  case Op::Not:
    return left == 0;
  case Op::Add:
    return llvm::AddOverflow(left, right, result) ? std::nullopt
                                                  : std::optional(result);
  case Op::Sub:
    return llvm::SubOverflow(left, right, result) ? std::nullopt
                                                  : std::optional(result);
  case Op::Mul:
    return llvm::MulOverflow(left, right, result) ? std::nullopt
                                                  : std::optional(result);
  case Op::FloorDiv:
  case Op::FloorMod:
  case Op::EuclidDiv:
  case Op::EuclidMod:
    return divide(op, left, right);
  case Op::Min:
    return std::min(left, right);
  case Op::Max:
    return std::max(left, right);
  case Op::Eq:
    return left == right;
  case Op::Ne:
    return left != right;
  case Op::Lt:
    return left < right;
  case Op::Le:
    return left <= right;
  case Op::Gt:
    return left > right;
  case Op::Ge:
    return left >= right;
  default:
    llvm_unreachable("not an op of one or two values");
  }
}

static llvm::StringRef spelling(Op op) {
  switch (op) {
  case Op::Neg:
    return "-";
  case Op::Abs:
    return "abs";
  case Op::Not:
    return "not ";
  case Op::Add:
    return " + ";
  case Op::Sub:
    return " - ";
  case Op::Mul:
    return " * ";
  case Op::FloorDiv:
    return " // ";
  case Op::FloorMod:
    return " % ";
  case Op::EuclidDiv:
    return "ediv";
  case Op::EuclidMod:
    return "emod";
  case Op::Min:
    return "min";
  case Op::Max:
    return "max";
  case Op::Eq:
    return " == ";
  case Op::Ne:
    return " != ";
  case Op::Lt:
    return " < ";
  case Op::Le:
    return " <= ";
  case Op::Gt:
    return " > ";
  case Op::Ge:
    return " >= ";
  case Op::And:
    return " and ";
  case Op::Or:
    return " or ";
  default:
    return "";
  }
}

/// How tightly an op binds in `parse`; leaves and calls bind tightest.
static int precedence(Op op) {
  switch (op) {
  case Op::If:
    return 0;
  case Op::Or:
    return 1;
  case Op::And:
    return 2;
  case Op::Not:
    return 3;
  case Op::Eq:
  case Op::Ne:
  case Op::Lt:
  case Op::Le:
  case Op::Gt:
  case Op::Ge:
    return 4;
  case Op::Add:
  case Op::Sub:
    return 5;
  case Op::Mul:
  case Op::FloorDiv:
  case Op::FloorMod:
    return 6;
  case Op::Neg:
    return 7;
  default:
    return 8;
  }
}

/// `operand` in parentheses unless it binds at least as tightly as `level`.
static std::string wrap(const Expression &operand, int level) {
  std::string text = operand.str();
  return precedence(operand.getOp()) >= level ? text : "(" + text + ")";
}

std::string Expression::str() const {
  Op op = getOp();
  int level = precedence(op);
  llvm::ArrayRef<Expression> operands = getOperands();
  switch (op) {
  case Op::Constant:
    return getValue() < 0 ? "(" + std::to_string(getValue()) + ")"
                          : std::to_string(getValue());
  case Op::Knob:
    return getName();
  case Op::Text: {
    // No escapes: a text that was read has at most one kind of quotes in it.
    const char *quote = llvm::StringRef(getName()).contains('"') ? "'" : "\"";
    return quote + getName() + quote;
  }
  case Op::Present:
    return "present(" + getName() + ")";
  case Op::If:
    return wrap(operands[1], 1) + " if " + wrap(operands[0], 1) + " else " +
           wrap(operands[2], 0);
  case Op::Neg:
  case Op::Not:
    return spelling(op).str() + wrap(operands[0], level);
  default:
    break;
  }
  bool isCall = level == 8;
  std::string text = isCall ? spelling(op).str() + "(" : "";
  for (auto [i, operand] : llvm::enumerate(operands)) {
    if (i)
      text += isCall ? ", " : spelling(op).str();
    // All binary ops associate to the left, and comparisons would chain.
    text += isCall ? operand.str()
                   : wrap(operand, i || level == 4 ? level + 1 : level);
  }
  return isCall ? text + ")" : text;
}

static void collectKnobs(const Expression &expression,
                         std::vector<std::string> &names) {
  if ((expression.getOp() == Op::Knob || expression.getOp() == Op::Present) &&
      !llvm::is_contained(names, expression.getName()))
    names.push_back(expression.getName());
  for (const Expression &operand : expression.getOperands())
    collectKnobs(operand, names);
}

std::vector<std::string> Expression::getKnobs() const {
  std::vector<std::string> names;
  collectKnobs(*this, names);
  return names;
}

llvm::Expected<int64_t> Expression::evaluate(
    llvm::function_ref<std::optional<int64_t>(llvm::StringRef)> lookup) const {
  Op op = getOp();
  switch (op) {
  case Op::Constant:
    return getValue();
  case Op::Present:
    return lookup(getName()).has_value();
  case Op::Knob:
    if (auto value = lookup(getName()))
      return *value;
    return makeError("unknown knob '{0}'", getName());
  case Op::Text:
    return makeError("the text \"{0}\" is not compared with a choice",
                     getName());
  default:
    break;
  }
  auto result = getOperands()[0].evaluate(lookup);
  if (!result)
    return result;
  if (op == Op::If)
    return getOperands()[*result ? 1 : 2].evaluate(lookup);
  bool isLogic = op == Op::And || op == Op::Or;
  if (isLogic)
    *result = *result != 0;
  if (op == Op::Neg || op == Op::Abs || op == Op::Not) {
    if (auto value = applyOp(op, *result, 0))
      return *value;
    return makeError("{0} overflows 64 bits", str());
  }
  for (const Expression &operand : getOperands().drop_front()) {
    if (isLogic && (*result != 0) == (op == Op::Or))
      return *result;
    auto right = operand.evaluate(lookup);
    if (!right)
      return right;
    auto value = isLogic ? std::optional<int64_t>(*right != 0)
                         : applyOp(op, *result, *right);
    if (!value && *right == 0)
      return makeError("{0} divides by zero", str());
    if (!value)
      return makeError("{0} overflows 64 bits", str());
    *result = *value;
  }
  return result;
}
