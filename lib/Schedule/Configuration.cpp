//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Schedule/Configuration.h"

#include "attune/Support/Error.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <charconv>
#include <cmath>
#include <limits>

using namespace attune;

namespace {
template <typename... Ts> struct Overloaded : Ts... {
  using Ts::operator()...;
};
template <typename... Ts> Overloaded(Ts...) -> Overloaded<Ts...>;
} // namespace

/// The shortest text that reads back as the same double, and as a double: a
/// whole number gets ".0", so that 1.0 and 1 stay different values.
static std::string toText(double value) {
  char buffer[64];
  char *end = std::to_chars(buffer, buffer + sizeof(buffer), value).ptr;
  std::string text(buffer, end);
  if (text.find_first_of(".en") == std::string::npos)
    text += ".0";
  return text;
}

llvm::json::Value attune::toJSON(const KnobValue &value) {
  return std::visit(
      Overloaded{[](const std::vector<int64_t> &list) -> llvm::json::Value {
                   llvm::json::Array array;
                   for (int64_t element : list)
                     array.push_back(element);
                   return array;
                 },
                 // JSON has one kind of number: 2.0 is written as 2, and a
                 // space reads it back by the domain of its knob.
                 [](const auto &plain) -> llvm::json::Value { return plain; }},
      value);
}

llvm::Expected<KnobValue>
attune::knobValueFromJSON(const llvm::json::Value &json) {
  if (auto boolean = json.getAsBoolean())
    return KnobValue(*boolean);
  if (auto integer = json.getAsInteger())
    return KnobValue(*integer);
  if (auto number = json.getAsNumber())
    return KnobValue(*number);
  if (auto text = json.getAsString())
    return KnobValue(text->str());
  if (const llvm::json::Array *array = json.getAsArray()) {
    std::vector<int64_t> list;
    for (const llvm::json::Value &element : *array) {
      auto integer = element.getAsInteger();
      if (!integer)
        return makeError(
            "a list as the value of a knob holds integers, not {0}", element);
      list.push_back(*integer);
    }
    return KnobValue(std::move(list));
  }
  return makeError(
      "{0} is not the value of a knob: give a number, a boolean, a "
      "text or a list of integers",
      json);
}

/// A text that could be read as another value or hides a separator is quoted.
static std::string quoteIfNeeded(const std::string &text) {
  bool plain = !text.empty() && (llvm::isAlpha(text[0]) || text[0] == '_') &&
               text != "true" && text != "false" && text != "inf" &&
               text != "nan" && llvm::all_of(text, [](char c) {
                 return llvm::isAlnum(c) || llvm::is_contained("_-.+:/", c);
               });
  if (plain)
    return text;
  return llvm::formatv("{0}", llvm::json::Value(text)).str();
}

std::string attune::toString(const KnobValue &value) {
  return std::visit(
      Overloaded{
          [](int64_t integer) { return llvm::itostr(integer); },
          [](double number) { return toText(number); },
          [](bool boolean) { return std::string(boolean ? "true" : "false"); },
          [](const std::string &text) { return quoteIfNeeded(text); },
          [](const std::vector<int64_t> &list) {
            return "[" + llvm::join(llvm::map_range(list, llvm::itostr), ",") +
                   "]";
          }},
      value);
}

const KnobValue *Configuration::find(llvm::StringRef knob) const {
  for (const auto &[name, value] : values)
    if (name == knob)
      return &value;
  return nullptr;
}

// llvm::json::Object does not keep the order of its members, and the order of
// knobs is part of a configuration: `knobs` lists the names.
llvm::json::Value attune::toJSON(const Configuration &configuration) {
  llvm::json::Array knobs;
  llvm::json::Object values;
  for (const auto &[name, value] : configuration.values) {
    knobs.push_back(name);
    values[name] = toJSON(value);
  }
  return llvm::json::Object{{"schedule", configuration.schedule},
                            {"knobs", std::move(knobs)},
                            {"values", std::move(values)}};
}

llvm::Expected<Configuration>
attune::configurationFromJSON(const llvm::json::Value &json) {
  const llvm::json::Object *object = json.getAsObject();
  if (!object)
    return makeError("a configuration is an object, not {0}", json);
  Configuration configuration;
  if (auto schedule = object->getString("schedule"))
    configuration.schedule = schedule->str();
  const llvm::json::Object *values = object->getObject("values");
  if (!values)
    return makeError("a configuration needs \"values\": an object with one "
                     "member for each knob");

  std::vector<std::string> names;
  if (const llvm::json::Array *knobs = object->getArray("knobs")) {
    for (const llvm::json::Value &knob : *knobs) {
      auto name = knob.getAsString();
      if (!name || !values->get(*name) || llvm::is_contained(names, *name))
        return makeError("\"knobs\" of a configuration lists {0}, which is not "
                         "the name of one of its values",
                         knob);
      names.push_back(name->str());
    }
    if (names.size() != values->size())
      return makeError(
          "\"knobs\" of a configuration lists {0} of its {1} values",
          names.size(), values->size());
  } else { // Written by hand: any order, so take one that is always the same.
    for (const auto &member : *values)
      names.push_back(member.first.str());
    llvm::sort(names);
  }
  for (const std::string &name : names) {
    auto value = knobValueFromJSON(*values->get(name));
    if (!value)
      return makeError("knob '{0}': {1}", name,
                       llvm::toString(value.takeError()));
    configuration.values.emplace_back(name, std::move(*value));
  }
  return configuration;
}

std::string attune::toString(const Configuration &configuration) {
  std::string text = configuration.schedule;
  for (const auto &[name, value] : configuration.values) {
    if (!text.empty())
      text += ' ';
    text += name + "=" + toString(value);
  }
  return text;
}
