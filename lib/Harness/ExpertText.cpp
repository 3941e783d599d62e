//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// A schedule as text: what is chosen comes first (knobs), then what must hold,
// then the steps in order; those after `bufferize` are in @lower.

#include "Emitter.h"
#include "attune/Schedule/BoundNames.h"

using namespace llvm;
using Kind = attune::Transformation::Kind;

namespace attune {

//===----------------------------------------------------------------------===//
// Knobs and what must hold
//===----------------------------------------------------------------------===//

Error Emitter::declare(const Variable &variable, StringRef step) {
  for (const Variable &factor : variable.getFactors())
    if (Error error = declare(factor, step))
      return error;
  if (!variable.isKnob())
    return Error::success();
  StringRef name = variable.getName();
  if (!all_of(name, [](char c) { return isAlnum(c) || c == '_'; }) ||
      !isAlpha(name.front()))
    return makeError("expert '{0}', step {1} ({2}): '{3}' is no name for a "
                     "knob; use letters, digits and _",
                     parts.name, stepIndex, step, name);
  auto [known, isNew] = domains.try_emplace(name, variable.getDomain());
  if (!isNew && known->second != variable.getDomain())
    return makeError("expert '{0}', step {1} ({2}): knob '{3}' has the domain "
                     "{4} here and {5} before",
                     parts.name, stepIndex, step, name, variable.getDomain(),
                     known->second);
  if (!isNew)
    return Error::success();
  std::string selected = toString(variable.getSelected());
  bool isList =
      std::holds_alternative<std::vector<int64_t>>(variable.getSelected());
  if (isList) {
    auto &list = std::get<std::vector<int64_t>>(variable.getSelected());
    selected =
        "array<i64: " +
        join(map_range(list, [](int64_t v) { return std::to_string(v); }),
             ", ") +
        ">";
  }
  bool isNumber = std::holds_alternative<int64_t>(variable.getSelected());
  knobs[name] = (isNumber ? number : anyParam).str();
  declarations += formatv("    %{0} = transform.tune.knob<\"{0}\"> = {1} from "
                          "options = {2} -> {3}\n",
                          name, selected, variable.getDomain(), knobs[name]);
  return Error::success();
}

/// A choice among regions: its knob is an index, and declared by the choice.
Error Emitter::declareChoice(const Transformation &step, int64_t count) {
  std::string domain = "choice of " + std::to_string(count);
  if (step.knob.empty() || !isAlpha(step.knob.front()))
    return wrong(step, "'" + step.knob + "' is no name for a knob");
  if (!domains.try_emplace(step.knob, domain).second)
    return wrong(step, "knob '" + step.knob + "' is used before");
  return Error::success();
}

static int64_t factorial(int64_t n) {
  return n <= 1 ? 1 : n * factorial(n - 1);
}

Error Emitter::declareKnobs() {
  stepIndex = 0;
  for (const Transformation &step : parts.steps) {
    ++stepIndex;
    for (const auto *list : {&step.variables, &step.order})
      for (const Variable &variable : *list)
        if (Error error = declare(variable, step.getName()))
          return error;
    if (step.kind == Kind::Interchange) {
      if (step.numbers[0] < 2 || step.numbers[0] > 4)
        return wrong(step,
                     "it reorders 2 to 4 loops, not " + Twine(step.numbers[0]));
      if (Error error = declareChoice(step, factorial(step.numbers[0])))
        return error;
    }
    if (step.kind == Kind::SoftwarePipeline &&
        (step.numbers.empty() ||
         any_of(step.numbers, [](int64_t latency) { return latency < 0; })))
      return wrong(step, "it needs one latency or more, of 0 or more");
    if (step.kind == Kind::Unroll) {
      if (step.numbers.empty() || step.numbers.size() > 16 ||
          any_of(step.numbers, [](int64_t factor) { return factor < 1; }))
        return wrong(step, "it needs 1 to 16 factors of 1 or more");
      if (Error error = declareChoice(step, step.numbers.size()))
        return error;
    }
  }
  return Error::success();
}

Error Emitter::constrain() {
  for (const auto &[expression, why] : parts.requirements) {
    auto region = writeConstraint(expression);
    if (!region)
      return makeError("expert '{0}': {1}", parts.name,
                       toString(region.takeError()));
    std::vector<std::string> operands, types, arguments;
    for (const std::string &name : region->arguments) {
      auto knob = knobs.find(name);
      bool isBound = isParamName(name);
      if (knob == knobs.end() && !isBound)
        return makeError("expert '{0}': '{1}' names '{2}', which is no knob of "
                         "it and nothing that a dispatch binds",
                         parts.name, expression, name);
      operands.push_back(knob == knobs.end() ? bind(name) : "%" + name);
      types.push_back(knob == knobs.end() ? number.str() : knob->second);
      arguments.push_back("%in_" + name + ": !smt.int");
    }
    std::string quoted;
    raw_string_ostream quotedStream(quoted);
    printEscapedString(why, quotedStream);
    constraints += formatv("    transform.smt.constrain_params({0}) "
                           "{{attune.why = \"{1}\"} : ({2}) "
                           "-> () {{\n    ^bb0({3}):\n{4}    }\n",
                           join(operands, ", "), quoted, join(types, ", "),
                           join(arguments, ", "), region->body);
  }
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Values and handles
//===----------------------------------------------------------------------===//

std::string Emitter::constant(int64_t value) {
  std::string name = "%c" + std::to_string(value < 0 ? -value : value) +
                     (value < 0 ? "_below" : "");
  auto [known, isNew] = constants.try_emplace(name, name);
  if (isNew)
    declarations += formatv("    {0} = transform.param.constant {1} : i64 -> "
                            "{2}\n",
                            name, value, number);
  return known->second;
}

/// A variable alone.
std::string Emitter::valueOf(const Variable &variable) {
  return variable.isKnob()
             ? "%" + variable.getName()
             : constant(std::get<int64_t>(variable.getSelected()));
}

/// With its factors.
std::string Emitter::numberOf(const Variable &variable) {
  std::string value = valueOf(variable);
  for (const Variable &factor : variable.getFactors()) {
    std::string other = numberOf(factor), product = fresh("size");
    line(formatv("{0} = transform.attune.compute affine_map<()[s0, s1] -> (s0 "
                 "* s1)> ({1}, {2}) : ({3}, {3}) -> {3}",
                 product, value, other, number)
             .str());
    value = product;
  }
  return value;
}

/// Elements of a vector register.
std::string Emitter::lanes() {
  if (constants.try_emplace("lanes", "").second)
    declarations += formatv(
        "    %lanes = transform.attune.compute affine_map<()[s0, s1] -> (s0 "
        "floordiv s1)> ({0}, {1}) : ({2}, {2}) -> {2}\n",
        bind("vector_bytes"), bind("element_bytes"), number);
  return "%lanes";
}

/// The root op, which every tiling replaces.
std::string Emitter::root() {
  std::string name = fresh("root");
  line(formatv("{0} = transform.structured.match attributes {{attune.kind = "
               "\"root\"} in %func : ({1}) -> {1}",
               name, handle)
           .str());
  return name;
}

/// The innermost loops around it.
std::string Emitter::loopsOf(StringRef target, StringRef type) {
  std::string name = fresh("loops");
  line(formatv("{0} = transform.get_parent_op {1} {{deduplicate, op_name = "
               "\"scf.for\"} : ({2}) -> {3}",
               name, target, handle, type)
           .str());
  return name;
}

//===----------------------------------------------------------------------===//
// All of it
//===----------------------------------------------------------------------===//

std::string Emitter::writeFits() const {
  if (parts.classes.empty())
    return "";
  auto quote = [](ArrayRef<std::string> names) {
    return "[" +
           join(map_range(
                    names,
                    [](const std::string &name) { return "\"" + name + "\""; }),
                ", ") +
           "]";
  };
  std::vector<std::string> last(parts.classes.begin(), parts.classes.end());
  for (const char *more : {"elementwise", "copy"})
    if (!is_contained(last, more))
      last.push_back(more);
  return formatv("  transform.named_sequence @fits(%root: {0} "
                 "{{transform.readonly, attune.bind = \"root\"}, %last: {0} "
                 "{{transform.readonly, attune.bind = \"last\"}) {{\n    "
                 "transform.attune.match %root is {1} : {0}\n    "
                 "transform.attune.match %last is {2} : {0}\n    "
                 "transform.yield\n  }\n",
                 handle, quote(parts.classes), quote(last));
}

Expected<std::string> Emitter::write() {
  if (parts.name.empty() || !isAlpha(parts.name.front()) ||
      !all_of(parts.name, [](char c) { return isAlnum(c) || c == '_'; }))
    return makeError("'{0}' is no name for an expert; use letters, digits and "
                     "_",
                     parts.name);
  if (Error error = declareKnobs())
    return std::move(error);
  if (Error error = constrain())
    return std::move(error);
  stepIndex = 0;
  for (const Transformation &step : parts.steps) {
    ++stepIndex;
    if (Error error = emit(step))
      return std::move(error);
  }
  if (onBuffers)
    std::swap(ops, lowering);
  std::string arguments = formatv(
      "%func: {0} {{transform.readonly, attune.bind = \"func\"}", handle);
  if (usesLast)
    arguments += formatv(
        ", %last: {0} {{transform.consumed, attune.bind = \"last\"}", handle);
  for (const std::string &name : bound)
    arguments +=
        formatv(", %{0}: {1} {{transform.readonly, attune.bind = \"{0}\"}",
                name, number);
  std::string text =
      "module attributes {transform.with_named_sequence} {\n" + writeFits();
  text += "  transform.named_sequence @schedule(" + arguments + ") {\n" +
          declarations + constraints + ops + "    transform.yield\n  }\n";
  if (!lowering.empty())
    text += formatv("  transform.named_sequence @lower(%func: {0} "
                    "{{transform.readonly, attune.bind = \"func\"}) {{\n{1}    "
                    "transform.yield\n  }\n",
                    handle, lowering);
  return text + "}\n";
}

Expected<std::string> writeSchedule(const ExpertParts &parts) {
  return Emitter(parts).write();
}

} // namespace attune
