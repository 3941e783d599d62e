//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "IreeText.h"

#include "attune/Support/Error.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace llvm;

namespace attune::iree {

//===----------------------------------------------------------------------===//
// Pieces of text
//===----------------------------------------------------------------------===//

std::optional<StringRef> untilClosed(StringRef text) {
  int depth = 1;
  bool isString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (isString) {
      if (c == '\\')
        ++i;
      isString = c != '"';
      continue;
    }
    isString = c == '"';
    bool isArrow = c == '>' && i > 0 && text[i - 1] == '-';
    if (StringRef("([{<").contains(c))
      ++depth;
    else if (StringRef(")]}>").contains(c) && !isArrow && --depth == 0)
      return text.take_front(i);
  }
  return std::nullopt;
}

std::vector<StringRef> splitList(StringRef text) {
  std::vector<StringRef> parts;
  int depth = 0;
  size_t begin = 0;
  bool isString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '"')
      isString = !isString;
    else if (isString)
      continue;
    else if (StringRef("([{<").contains(c))
      ++depth;
    else if (StringRef(")]}").contains(c) ||
             (c == '>' && (i == 0 || text[i - 1] != '-')))
      --depth;
    else if (c == ',' && depth == 0) {
      parts.push_back(text.slice(begin, i).trim());
      begin = i + 1;
    }
  }
  if (!text.drop_front(begin).trim().empty())
    parts.push_back(text.drop_front(begin).trim());
  return parts;
}

std::optional<StringRef> inside(StringRef line, StringRef open) {
  size_t at = line.find(open);
  if (at == StringRef::npos)
    return std::nullopt;
  return untilClosed(line.drop_front(at + open.size()));
}

std::optional<std::pair<std::vector<int64_t>, std::string>>
parseShape(StringRef type) {
  if (!type.consume_front("tensor<"))
    return std::nullopt;
  auto inner = untilClosed(type);
  if (!inner)
    return std::nullopt;
  StringRef rest = splitList(*inner).empty() ? *inner : splitList(*inner)[0];
  std::vector<int64_t> shape;
  while (!rest.empty() && (isDigit(rest.front()) || rest.front() == '?')) {
    auto [size, more] = rest.split('x');
    int64_t value = -1;
    if (size != "?" && size.getAsInteger(10, value))
      return std::nullopt;
    shape.push_back(value);
    rest = more;
  }
  return {{shape, rest.str()}};
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

/// `si64` of torch is i64.
static Expected<ElementType> elementType(StringRef text) {
  if (text.size() > 2 && (text.starts_with("si") || text.starts_with("ui")))
    text = text.drop_front();
  return elementTypeFromString(text);
}

/// `type {attributes}` as a value.
static Expected<ValueSignature> parseValue(StringRef text, StringRef where) {
  ValueSignature value;
  std::vector<int64_t> shape;
  std::string element;
  if (text.consume_front("!torch.vtensor<[")) {
    auto [sizes, rest] = text.split(']');
    for (StringRef size : split(sizes, ',')) {
      int64_t number = -1;
      if (size.trim().empty() ||
          (size.trim() != "?" && size.trim().getAsInteger(10, number)))
        continue;
      shape.push_back(number);
    }
    element = rest.ltrim(',').split('>').first.trim().str();
  } else if (auto parsed = parseShape(text)) {
    std::tie(shape, element) = *parsed;
  } else {
    value.isScalar = true;
    element = text.split(' ').first.str();
  }
  auto type = elementType(element);
  if (!type) {
    consumeError(type.takeError());
    return makeError("{0}: the type '{1}' cannot be an input or result here",
                     where, text.split(" {").first);
  }
  value.type.type = *type;
  value.type.shape = std::move(shape);
  return value;
}

static Error parseValues(StringRef list, StringRef where,
                         std::vector<ValueSignature> &values) {
  for (StringRef part : splitList(list)) {
    if (part.starts_with("%"))
      part = part.split(':').second.trim();
    auto value = parseValue(part, where);
    if (!value)
      return value.takeError();
    values.push_back(std::move(*value));
  }
  return Error::success();
}

/// `@name(...) -> ...` after a function's keyword.
static Expected<EntrySignature> parseEntry(StringRef text, StringRef name) {
  EntrySignature entry;
  auto [symbol, rest] = text.split('(');
  entry.name = symbol.trim().drop_front().trim('"').str();
  std::string where = (name + ": @" + entry.name).str();
  auto arguments = untilClosed(rest);
  if (!arguments)
    return makeError("{0}: the function's arguments do not end", where);
  if (Error error = parseValues(*arguments, where, entry.inputs))
    return std::move(error);
  rest = rest.drop_front(arguments->size() + 1).ltrim();
  if (!rest.consume_front("->"))
    return entry;
  rest = rest.ltrim();
  StringRef results = rest.take_until([](char c) { return c == '\n'; });
  results = results.split(" {").first.split(" attributes").first;
  if (rest.consume_front("(")) {
    auto inner = untilClosed(rest);
    if (!inner)
      return makeError("{0}: the function's results do not end", where);
    results = *inner;
  }
  if (Error error = parseValues(results, where, entry.outputs))
    return std::move(error);
  return entry;
}

Expected<std::vector<EntrySignature>> parseEntries(StringRef text,
                                                   StringRef name) {
  std::vector<EntrySignature> entries;
  for (StringRef line = text; !line.empty(); line = line.split('\n').second) {
    StringRef head = line.ltrim(" \t");
    if (!head.consume_front("func.func ") && !head.consume_front("util.func "))
      continue;
    head = head.ltrim();
    if (head.starts_with("private "))
      continue;
    head.consume_front("public ");
    if (!head.ltrim().starts_with("@"))
      continue;
    auto entry = parseEntry(head.ltrim(), name);
    if (!entry)
      return entry.takeError();
    entries.push_back(std::move(*entry));
  }
  if (entries.empty())
    return makeError("{0}: no public func.func in it", name);
  return entries;
}

//===----------------------------------------------------------------------===//
// Resources
//===----------------------------------------------------------------------===//

std::vector<std::pair<std::string, std::string>>
findMissingResources(StringRef text) {
  StringRef data = text.drop_front(std::min(text.find("{-#"), text.size()));
  StringSet<> known;
  for (StringRef line : split(data, '\n'))
    if (line.contains(": \"0x"))
      known.insert(line.ltrim().split(':').first.trim().trim('"'));
  std::vector<std::pair<std::string, std::string>> missing;
  constexpr StringLiteral begin("dense_resource<");
  for (size_t at = 0; (at = text.find(begin, at)) != StringRef::npos;) {
    at += begin.size();
    auto [name, rest] = text.drop_front(at).split('>');
    if (!rest.consume_front(" : ") || !known.insert(name).second)
      continue;
    StringRef inner = rest;
    if (!inner.consume_front("tensor<"))
      continue;
    if (auto end = untilClosed(inner))
      missing.emplace_back(name.str(), ("tensor<" + *end + ">").str());
  }
  return missing;
}

} // namespace attune::iree
