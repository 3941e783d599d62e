//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// The MLIR of a problem: its body with the names filled in, and the values that
// the body uses in front of it.

#include "attune/Harness/Problem.h"

#include "attune/Space/Expression.h"
#include "attune/Support/Error.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace llvm;
using Op = attune::Expression::Op;

namespace attune {
namespace {

class Builder {
public:
  explicit Builder(const ProblemCase &problemCase)
      : problem(problemCase.problem), given(problemCase) {}
  Expected<std::string> build();

private:
  Error chooseDynamic();
  Error collectTypes();
  Expected<std::string> fillIn(StringRef body);
  Expected<std::string> replacement(StringRef name);
  /// The values a body uses, each once and after what it needs.
  Error defineUsed(StringRef body);
  Error defineSize(StringRef dimension);
  Expected<std::string> emit(const Expression &expression);
  Error defineTensor(const ProblemTensor &tensor, StringRef kind);
  /// Whether an input has the dimension as one of its own.
  std::optional<std::pair<std::string, unsigned>> findInput(StringRef name);
  bool isNumberInBody(StringRef dimension);
  std::string fresh() { return "%x" + std::to_string(counter++); }

  const Problem &problem;
  const ProblemCase &given;
  StringMap<int64_t> sizes;
  StringSet<> dynamic;
  StringMap<std::string> types;
  StringMap<ElementType> elements;
  StringSet<> defined;
  std::string prologue;
  int counter = 0;
};

} // namespace

static bool isWordCharacter(char c) { return isAlnum(c) || c == '_'; }

static StringRef takeWord(StringRef text) {
  return text.take_while(isWordCharacter);
}

/// Calls `found` with every name after `sign`, and what follows it.
template <typename Function>
static void forEachName(StringRef body, char sign, Function found) {
  for (size_t at = body.find(sign); at != StringRef::npos;
       at = body.find(sign, at + 1)) {
    StringRef word = takeWord(body.substr(at + 1));
    if (!word.empty())
      found(word, body.substr(at + 1 + word.size()));
  }
}

bool Builder::isNumberInBody(StringRef dimension) {
  bool isNumber = false;
  forEachName(problem.body, '$', [&](StringRef word, StringRef) {
    isNumber |= word == dimension && !types.contains(word);
  });
  return isNumber;
}

std::optional<std::pair<std::string, unsigned>>
Builder::findInput(StringRef name) {
  for (const ProblemTensor &input : problem.inputs) {
    SmallVector<StringRef> words;
    SplitString(input.shape, words);
    for (auto [index, word] : enumerate(words))
      if (word == name)
        return std::pair(input.name, unsigned(index));
  }
  return std::nullopt;
}

Error Builder::chooseDynamic() {
  auto canBe = [&](const ProblemDimension &dimension) {
    return dimension.expression.empty() && findInput(dimension.name) &&
           !isNumberInBody(dimension.name);
  };
  for (const std::string &name : given.dynamic) {
    if (name == "*") {
      for (const ProblemDimension &dimension : problem.dimensions)
        if (canBe(dimension))
          dynamic.insert(dimension.name);
      continue;
    }
    auto found = find_if(problem.dimensions, [&](const ProblemDimension &d) {
      return d.name == name;
    });
    if (found == problem.dimensions.end())
      return makeError("problem '{0}' has no dimension '{1}' to be dynamic",
                       problem.name, name);
    if (!canBe(*found))
      return makeError("problem '{0}': dimension '{1}' cannot be dynamic: {2}",
                       problem.name, name,
                       !found->expression.empty() ? "it follows from others"
                       : findInput(name)          ? "the body needs its number"
                                                  : "no input has it");
    dynamic.insert(name);
  }
  // What is computed from a dynamic size is dynamic.
  for (const ProblemDimension &dimension : problem.dimensions)
    if (!dimension.expression.empty()) {
      auto expression = Expression::parse(dimension.expression);
      if (!expression)
        return expression.takeError();
      if (any_of(expression->getKnobs(), [&](const std::string &name) {
            return dynamic.contains(name);
          }))
        dynamic.insert(dimension.name);
    }
  return Error::success();
}

Error Builder::collectTypes() {
  for (const auto *list :
       {&problem.inputs, &problem.outputs, &problem.temporaries})
    for (const ProblemTensor &tensor : *list) {
      std::string text = "tensor<";
      SmallVector<StringRef> words;
      SplitString(tensor.shape, words);
      for (StringRef word : words) {
        if (!sizes.contains(word))
          return makeError("problem '{0}': tensor '{1}' has a dimension '{2}', "
                           "which the problem does not have",
                           problem.name, tensor.name, word);
        text += dynamic.contains(word) ? "?" : std::to_string(sizes[word]);
        text += "x";
      }
      ElementType type = tensor.type.value_or(problem.type);
      text += toString(type).str() + ">";
      if (takeWord(tensor.name) != tensor.name ||
          !types.try_emplace(tensor.name, text).second)
        return makeError("problem '{0}': '{1}' is no name for a tensor, or two "
                         "have it",
                         problem.name, tensor.name);
      elements[tensor.name] = type;
    }
  return Error::success();
}

Expected<std::string> Builder::replacement(StringRef name) {
  bool real = isFloat(problem.type);
  StringRef op = StringSwitch<StringRef>(name)
                     .Case("add", real ? "arith.addf" : "arith.addi")
                     .Case("sub", real ? "arith.subf" : "arith.subi")
                     .Case("mul", real ? "arith.mulf" : "arith.muli")
                     .Case("max", real ? "arith.maximumf" : "arith.maxsi")
                     .Case("type", toString(problem.type))
                     .Default("");
  if (!op.empty())
    return op.str();
  if (types.contains(name))
    return types[name];
  if (!sizes.contains(name))
    return makeError("problem '{0}': its body names '${1}', which is no tensor "
                     "and no dimension of it",
                     problem.name, name);
  if (dynamic.contains(name))
    return makeError("problem '{0}': its body needs the number '${1}', which "
                     "is dynamic",
                     problem.name, name);
  return std::to_string(sizes[name]);
}

Expected<std::string> Builder::fillIn(StringRef body) {
  std::string result;
  while (!body.empty()) {
    size_t at = body.find('$');
    result += body.take_front(at);
    if (at == StringRef::npos)
      break;
    StringRef name = takeWord(body.substr(at + 1));
    body = body.substr(at + 1 + name.size());
    if (types.contains(name) && body.consume_front(".type")) {
      result += toString(elements[name]);
      continue;
    }
    auto text = replacement(name);
    if (!text)
      return text.takeError();
    result += *text;
  }
  return result;
}

Expected<std::string> Builder::emit(const Expression &expression) {
  if (expression.getOp() == Op::Knob) {
    if (Error error = defineSize(expression.getName()))
      return std::move(error);
    return "%" + expression.getName() + ".size";
  }
  std::string value = fresh();
  if (expression.getOp() == Op::Constant) {
    prologue += formatv("    {0} = arith.constant {1} : index\n", value,
                        expression.getValue());
    return value;
  }
  StringRef op =
      StringSwitch<StringRef>(expression.getOp() == Op::Add        ? "+"
                              : expression.getOp() == Op::Sub      ? "-"
                              : expression.getOp() == Op::Mul      ? "*"
                              : expression.getOp() == Op::FloorDiv ? "/"
                              : expression.getOp() == Op::FloorMod ? "%"
                                                                   : "")
          .Case("+", "arith.addi")
          .Case("-", "arith.subi")
          .Case("*", "arith.muli")
          .Case("/", "arith.floordivsi")
          .Case("%", "arith.remsi")
          .Default("");
  if (op.empty())
    return makeError("problem '{0}': the size {1} is no sum, product, quotient "
                     "or rest, so what it needs cannot be dynamic",
                     problem.name, expression.str());
  auto left = emit(expression.getOperands().front());
  if (!left)
    return left.takeError();
  std::string sum = *left;
  for (const Expression &operand : expression.getOperands().drop_front()) {
    auto right = emit(operand);
    if (!right)
      return right.takeError();
    std::string next = fresh();
    prologue +=
        formatv("    {0} = {1} {2}, {3} : index\n", next, op, sum, *right);
    sum = next;
  }
  return sum;
}

Error Builder::defineSize(StringRef name) {
  if (!sizes.contains(name))
    return makeError("problem '{0}': '{1}' is no dimension of it", problem.name,
                     name);
  std::string value = ("%" + name + ".size").str();
  if (!defined.insert(value).second)
    return Error::success();
  if (!dynamic.contains(name)) {
    prologue +=
        formatv("    {0} = arith.constant {1} : index\n", value, sizes[name]);
    return Error::success();
  }
  const auto &dimension =
      *find_if(problem.dimensions,
               [&](const ProblemDimension &d) { return d.name == name; });
  if (dimension.expression.empty()) {
    auto [input, index] = *findInput(name);
    std::string at = fresh();
    prologue += formatv("    {0} = arith.constant {1} : index\n"
                        "    {2} = tensor.dim %{3}, {0} : {4}\n",
                        at, index, value, input, types[input]);
    return Error::success();
  }
  auto expression = Expression::parse(dimension.expression);
  if (!expression)
    return expression.takeError();
  auto computed = emit(*expression);
  if (!computed)
    return computed.takeError();
  std::string zero = fresh();
  prologue += formatv("    {0} = arith.constant 0 : index\n"
                      "    {1} = arith.addi {2}, {0} : index\n",
                      zero, value, *computed);
  return Error::success();
}

/// The lowest number of a type, as MLIR writes it.
static std::string lowest(ElementType type) {
  switch (type) {
  case ElementType::F32:
    return "0xFF800000";
  case ElementType::F64:
    return "0xFFF0000000000000";
  case ElementType::F16:
    return "0xFC00";
  case ElementType::BF16:
    return "0xFF80";
  case ElementType::I1:
    return "false";
  case ElementType::Index:
    return std::to_string(INT64_MIN);
  default:
    // Packed types are a byte each here, but not in MLIR.
    return type == ElementType::I4
               ? "-8"
               : std::to_string(-(INT64_C(1) << (8 * byteWidth(type) - 2)) * 2);
  }
}

Error Builder::defineTensor(const ProblemTensor &tensor, StringRef kind) {
  std::string empty = "%" + tensor.name + ".empty";
  std::string type = types[tensor.name];
  if (defined.insert(empty).second) {
    std::vector<std::string> values;
    SmallVector<StringRef> words;
    SplitString(tensor.shape, words);
    for (StringRef word : words)
      if (dynamic.contains(word)) {
        if (Error error = defineSize(word))
          return error;
        values.push_back(("%" + word + ".size").str());
      }
    prologue += formatv("    {0} = tensor.empty({1}) : {2}\n", empty,
                        join(values, ", "), type);
  }
  std::string filled = ("%" + tensor.name + "." + kind).str();
  if (kind == "empty" || !defined.insert(filled).second)
    return Error::success();
  ElementType element = elements[tensor.name];
  std::string value = fresh();
  std::string number = kind == "lowest"   ? lowest(element)
                       : isFloat(element) ? "0.0"
                                          : "0";
  if (element == ElementType::I1)
    number = "false";
  prologue +=
      formatv("    {0} = arith.constant {1}{2}\n", value, number,
              element == ElementType::I1 ? std::string()
                                         : " : " + toString(element).str());
  prologue += formatv("    {0} = linalg.fill ins({1} : {2}) outs({3} : {4}) -> "
                      "{4}\n",
                      filled, value, toString(element), empty, type);
  return Error::success();
}

Error Builder::defineUsed(StringRef body) {
  Error error = Error::success();
  forEachName(body, '%', [&](StringRef word, StringRef rest) {
    if (error || !rest.consume_front("."))
      return;
    StringRef kind = takeWord(rest);
    if (kind == "size" && sizes.contains(word)) {
      error = defineSize(word);
      return;
    }
    if (kind != "empty" && kind != "zero" && kind != "lowest")
      return;
    for (const auto *list : {&problem.outputs, &problem.temporaries})
      for (const ProblemTensor &tensor : *list)
        if (tensor.name == word)
          error = defineTensor(tensor, kind);
  });
  return error;
}

Expected<std::string> Builder::build() {
  auto resolved = resolveSizes(problem, given.sizes);
  if (!resolved)
    return resolved.takeError();
  for (const auto &[name, value] : *resolved)
    sizes[name] = value;
  if (problem.outputs.empty())
    return makeError("problem '{0}' has no result", problem.name);
  // Once for what is a tensor, then again with what is dynamic.
  if (Error error = collectTypes())
    return std::move(error);
  if (Error error = chooseDynamic())
    return std::move(error);
  types.clear();
  if (Error error = collectTypes())
    return std::move(error);
  if (Error error = defineUsed(problem.body))
    return std::move(error);
  auto body = fillIn(problem.body);
  if (!body)
    return body.takeError();
  std::vector<std::string> arguments, values, results;
  for (const ProblemTensor &input : problem.inputs)
    arguments.push_back("%" + input.name + ": " + types[input.name]);
  for (const ProblemTensor &output : problem.outputs) {
    values.push_back("%" + output.name);
    results.push_back(types[output.name]);
  }
  return formatv("func.func @main({0}) -> ({1}) {{\n{2}{3}\n    return {4} : "
                 "{1}\n}\n",
                 join(arguments, ", "), join(results, ", "), prologue,
                 StringRef(*body).rtrim(), join(values, ", "))
      .str();
}

Expected<std::string> buildModule(const ProblemCase &problemCase) {
  return Builder(problemCase).build();
}

} // namespace attune
