//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Expression::parse: Python's grammar of integer expressions, by recursive
// descent, one function for each level of precedence.

#include "attune/Space/Expression.h"
#include "attune/Support/Error.h"
#include "llvm/ADT/StringExtras.h"

using namespace attune;
using Op = Expression::Op;

namespace {

class Parser {
public:
  explicit Parser(llvm::StringRef source) : source(source) { advance(); }

  llvm::Expected<Expression> parseAll() {
    auto result = parseTernary();
    if (result && kind != Kind::End)
      return unexpected("an operator");
    return result;
  }

private:
  enum class Kind { End, Number, Name, Text, Symbol, Bad };

  /// Deeper nesting than anybody writes would overflow the stack.
  static constexpr int maxDepth = 200;

  llvm::Error fail(size_t position, const llvm::Twine &what) {
    return makeError("column {0}: {1} in \"{2}\"", position + 1, what.str(),
                     source);
  }
  llvm::Error unexpected(llvm::StringRef wanted) {
    if (kind == Kind::End)
      return fail(start,
                  "the expression ends where " + wanted + " is expected");
    if (token == "/")
      return fail(start, "'/' is not an integer division; write '//'");
    if (token == "=")
      return fail(start, "'=' is not a comparison; write '=='");
    if (kind == Kind::Bad && (token[0] == '"' || token[0] == '\''))
      return fail(start, "a text without its closing quote, or with a "
                         "control character");
    return fail(start,
                "unexpected '" + token + "' where " + wanted + " is expected");
  }

  void advance();
  bool isToken(llvm::StringRef text) const {
    return (kind == Kind::Symbol || kind == Kind::Name) && token == text;
  }
  bool take(llvm::StringRef text) {
    if (!isToken(text))
      return false;
    advance();
    return true;
  }

  llvm::Expected<Expression> parseTernary();
  llvm::Expected<Expression> parseLogic(Op op);
  llvm::Expected<Expression> parseNot();
  llvm::Expected<Expression> parseComparison();
  llvm::Expected<Expression> parseSum();
  llvm::Expected<Expression> parseProduct();
  llvm::Expected<Expression> parseUnary();
  llvm::Expected<Expression> parsePrimary();
  llvm::Expected<Expression> parseNumber();
  llvm::Expected<Expression> parseCall(llvm::StringRef name, size_t position);

  llvm::StringRef source;
  size_t next = 0;  // Where the token after this one begins.
  size_t start = 0; // Where this token begins.
  Kind kind = Kind::End;
  llvm::StringRef token;
  int depth = 0;
};

} // namespace

static bool isControl(char c) { return (c >= 0 && c < 0x20) || c == 0x7f; }

void Parser::advance() {
  while (next < source.size() && llvm::isSpace(source[next]))
    ++next;
  start = next;
  llvm::StringRef rest = source.substr(start);
  size_t length = 1;
  if (rest.empty()) {
    kind = Kind::End;
    length = 0;
  } else if (llvm::isDigit(rest[0])) {
    kind = Kind::Number;
    length = rest.take_while([](char c) {
                   return llvm::isAlnum(c) || c == '_' || c == '.';
                 })
                 .size();
  } else if (llvm::isAlpha(rest[0]) || rest[0] == '_') {
    kind = Kind::Name;
    length = rest.take_while([](char c) {
                   return llvm::isAlnum(c) || c == '_' || c == '.';
                 })
                 .size();
  } else if (rest[0] == '"' || rest[0] == '\'') {
    size_t end = rest.find(rest[0], 1);
    length = end == llvm::StringRef::npos ? rest.size() : end + 1;
    bool closed = end != llvm::StringRef::npos &&
                  llvm::none_of(rest.take_front(length), isControl);
    kind = closed ? Kind::Text : Kind::Bad;
  } else {
    kind = Kind::Bad;
    for (llvm::StringRef symbol : {"//", "**", "<=", ">=", "==", "!=", "+", "-",
                                   "*", "%", "<", ">", "(", ")", ","}) {
      if (!rest.starts_with(symbol))
        continue;
      kind = Kind::Symbol;
      length = symbol.size();
      break;
    }
  }
  token = rest.take_front(length);
  next = start + length;
}

llvm::Expected<Expression> Parser::parseTernary() {
  if (depth >= maxDepth)
    return fail(start, "more than 200 levels of nesting");
  ++depth;
  auto result = parseLogic(Op::Or);
  if (result && take("if")) {
    auto condition = parseLogic(Op::Or);
    if (!condition)
      return condition;
    if (!take("else"))
      return unexpected("'else'");
    auto otherwise = parseTernary();
    if (!otherwise)
      return otherwise;
    result = Expression::make(Op::If, {*condition, *result, *otherwise});
  }
  --depth;
  return result;
}

/// `a or b or c`, and below it `a and b and c`.
llvm::Expected<Expression> Parser::parseLogic(Op op) {
  llvm::StringRef word = op == Op::Or ? "or" : "and";
  std::vector<Expression> operands;
  do {
    auto operand = op == Op::Or ? parseLogic(Op::And) : parseNot();
    if (!operand)
      return operand;
    operands.push_back(*operand);
  } while (take(word));
  if (operands.size() == 1)
    return operands[0];
  return Expression::make(op, std::move(operands));
}

llvm::Expected<Expression> Parser::parseNot() {
  if (!isToken("not"))
    return parseComparison();
  if (depth >= maxDepth)
    return fail(start, "more than 200 levels of nesting");
  ++depth;
  advance();
  auto operand = parseNot();
  --depth;
  if (!operand)
    return operand;
  return !*operand;
}

/// `a < b <= c` means `a < b and b <= c`.
llvm::Expected<Expression> Parser::parseComparison() {
  static constexpr std::pair<llvm::StringLiteral, Op> ops[] = {
      {"<", Op::Lt},  {"<=", Op::Le}, {">", Op::Gt},
      {">=", Op::Ge}, {"==", Op::Eq}, {"!=", Op::Ne}};
  auto left = parseSum();
  if (!left)
    return left;
  std::vector<Expression> links;
  while (kind == Kind::Symbol) {
    const auto *found =
        llvm::find_if(ops, [&](auto &o) { return o.first == token; });
    if (found == std::end(ops))
      break;
    advance();
    auto right = parseSum();
    if (!right)
      return right;
    links.push_back(Expression::make(found->second, {*left, *right}));
    *left = *right;
  }
  if (links.empty())
    return left;
  return links.size() == 1 ? links[0] : Expression::make(Op::And, links);
}

llvm::Expected<Expression> Parser::parseSum() {
  auto left = parseProduct();
  while (left && (isToken("+") || isToken("-"))) {
    Op op = isToken("+") ? Op::Add : Op::Sub;
    advance();
    auto right = parseProduct();
    if (!right)
      return right;
    left = Expression::make(op, {*left, *right});
  }
  return left;
}

llvm::Expected<Expression> Parser::parseProduct() {
  auto left = parseUnary();
  while (left && (isToken("*") || isToken("//") || isToken("%"))) {
    Op op = isToken("*") ? Op::Mul : isToken("%") ? Op::FloorMod : Op::FloorDiv;
    advance();
    auto right = parseUnary();
    if (!right)
      return right;
    left = Expression::make(op, {*left, *right});
  }
  return left;
}

llvm::Expected<Expression> Parser::parseUnary() {
  if (!isToken("-") && !isToken("+"))
    return parsePrimary();
  if (depth >= maxDepth)
    return fail(start, "more than 200 levels of nesting");
  ++depth;
  bool negate = isToken("-");
  advance();
  auto operand = parseUnary();
  --depth;
  if (!operand || !negate)
    return operand;
  return Expression::make(Op::Neg, {*operand});
}

llvm::Expected<Expression> Parser::parseNumber() {
  std::string digits;
  for (char c : token)
    if (c != '_')
      digits += c;
  int64_t value;
  llvm::StringRef text = digits;
  if (text.find_first_not_of("0123456789") != llvm::StringRef::npos)
    return fail(start, "'" + token + "' is not a decimal integer");
  if (text.getAsInteger(10, value))
    return fail(start, "'" + token + "' does not fit in 64 bits");
  advance();
  return Expression::constant(value);
}

llvm::Expected<Expression> Parser::parsePrimary() {
  if (kind == Kind::Number)
    return parseNumber();
  if (kind == Kind::Text) {
    Expression text = Expression::text(token.drop_front().drop_back());
    advance();
    return text;
  }
  if (take("(")) {
    auto inner = parseTernary();
    if (inner && !take(")"))
      return unexpected("')'");
    return inner;
  }
  static constexpr llvm::StringLiteral words[] = {"and", "or", "if", "else",
                                                  "not", "in", "is"};
  if (kind != Kind::Name || llvm::is_contained(words, token))
    return unexpected("a value");
  llvm::StringRef name = token;
  size_t position = start;
  advance();
  if (name == "True" || name == "False" || name == "true" || name == "false")
    return Expression::constant(name.lower() == "true");
  if (isToken("("))
    return parseCall(name, position);
  return Expression::knob(name);
}

llvm::Expected<Expression> Parser::parseCall(llvm::StringRef name,
                                             size_t position) {
  struct Function {
    llvm::StringLiteral name;
    Op op;
    size_t least, most;
  };
  static constexpr Function functions[] = {
      {"min", Op::Min, 1, 1000},     {"max", Op::Max, 1, 1000},
      {"abs", Op::Abs, 1, 1},        {"ediv", Op::EuclidDiv, 2, 2},
      {"emod", Op::EuclidMod, 2, 2}, {"present", Op::Present, 1, 1}};
  const Function *function =
      llvm::find_if(functions, [&](auto &f) { return f.name == name; });
  if (function == std::end(functions))
    return fail(position,
                "unknown function '" + name +
                    "'; known are min, max, abs, ediv, emod, present");
  advance();
  std::vector<Expression> operands;
  do {
    auto operand = parseTernary();
    if (!operand)
      return operand;
    operands.push_back(*operand);
  } while (take(","));
  if (!take(")"))
    return unexpected("')'");
  if (operands.size() < function->least || operands.size() > function->most)
    return fail(position, "'" + name + "' takes " +
                              llvm::Twine(function->least) + " operand" +
                              (function->least > 1 ? "s" : ""));
  if (function->op != Op::Present)
    return Expression::make(function->op, std::move(operands));
  if (operands[0].getOp() != Op::Knob)
    return fail(position, "'present' takes the name of a knob");
  return Expression::present(operands[0].getName());
}

llvm::Expected<Expression> Expression::parse(llvm::StringRef source) {
  auto result = Parser(source).parseAll();
  if (!result)
    return result;
  return result->withSource(source.str());
}
