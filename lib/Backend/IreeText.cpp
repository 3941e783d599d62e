//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "IreeText.h"

#include "attune/Support/Error.h"

#include "llvm/ADT/StringExtras.h"
#include <algorithm>

using namespace llvm;

namespace attune::iree {

//===----------------------------------------------------------------------===//
// Pieces of text
//===----------------------------------------------------------------------===//

/// Up to what closes the bracket before `text`; strings are skipped.
static std::optional<StringRef> untilClosed(StringRef text) {
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

/// Split at commas that are in no brackets.
static std::vector<StringRef> splitList(StringRef text) {
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
// Contractions
//===----------------------------------------------------------------------===//

/// The loops that a map's results are, `affine_map<(d0, d1) -> (d1)>`; nothing
/// if one is more than a loop.
static std::optional<std::vector<unsigned>> mapLoops(StringRef map) {
  StringRef results = map.split("->").second.trim();
  if (!results.consume_front("(") || !results.consume_back(")>"))
    return std::nullopt;
  std::vector<unsigned> loops;
  for (StringRef result : splitList(results)) {
    unsigned loop = 0;
    if (!result.consume_front("d") || result.getAsInteger(10, loop) ||
        loop > 16)
      return std::nullopt;
    loops.push_back(loop);
  }
  return loops;
}

/// The text between `open`, whose last character is a bracket, and its end.
static std::optional<StringRef> inside(StringRef line, StringRef open) {
  size_t at = line.find(open);
  if (at == StringRef::npos)
    return std::nullopt;
  return untilClosed(line.drop_front(at + open.size()));
}

static std::vector<StringRef> operandTypes(StringRef line, StringRef open) {
  auto list = inside(line, open);
  return list ? splitList(list->rsplit(" : ").second)
              : std::vector<StringRef>();
}

/// Sizes from the operands' shapes, and of which kind each loop is.
static bool fillLoops(Contraction &found, ArrayRef<StringRef> types) {
  std::vector<std::vector<unsigned>> loops;
  size_t count = 0;
  for (StringRef map : found.maps) {
    auto one = mapLoops(map);
    if (!one)
      return false;
    for (unsigned loop : *one)
      count = std::max<size_t>(count, loop + 1);
    loops.push_back(std::move(*one));
  }
  found.sizes.assign(count, -1);
  for (auto [type, dims] : zip_equal(types, loops)) {
    auto shape = parseShape(type);
    if (!shape || shape->first.size() != dims.size())
      return false;
    for (auto [size, loop] : zip_equal(shape->first, dims))
      found.sizes[loop] = std::max(found.sizes[loop], size);
  }
  for (unsigned loop = 0; loop < count; ++loop) {
    unsigned in = 0;
    for (unsigned operand = 0; operand < 3; ++operand)
      in |= unsigned(is_contained(loops[operand], loop)) << operand;
    static constexpr StringLiteral kinds("...k.mnb"); // By the three bits.
    if (kinds[in] == '.')
      return false;
    found.kinds += kinds[in];
  }
  return StringRef(found.kinds).contains('k');
}

static std::optional<Contraction> parseContraction(StringRef line) {
  if (!line.contains("linalg.generic") || !line.contains("lowering_config"))
    return std::nullopt;
  auto maps = inside(line, "indexing_maps = [");
  std::vector<StringRef> types = operandTypes(line, " ins("),
                         outs = operandTypes(line, " outs(");
  if (!maps || types.size() != 2 || outs.size() != 1)
    return std::nullopt;
  append_range(types, outs);
  Contraction found;
  for (StringRef map : splitList(*maps))
    found.maps.push_back(map.str());
  if (found.maps.size() != 3 || !fillLoops(found, types))
    return std::nullopt;
  found.lhsType = parseShape(types[0])->second;
  found.rhsType = parseShape(types[1])->second;
  found.outputType = parseShape(types[2])->second;
  return found;
}

void findContractions(StringRef text, std::vector<Contraction> &found) {
  std::string dispatch = "?";
  for (StringRef line : split(text, '\n')) {
    if (size_t at = line.find("func.func @"); at != StringRef::npos)
      dispatch = line.drop_front(at + 11).split('(').first.str();
    auto contraction = parseContraction(line);
    if (!contraction)
      continue;
    auto same = find_if(found, [&](const Contraction &other) {
      return other.key() == contraction->key();
    });
    if (same == found.end())
      same = found.insert(found.end(), std::move(*contraction));
    same->dispatches.push_back(dispatch);
  }
}

std::string Contraction::shapes() const {
  std::string text;
  for (int64_t size : sizes)
    text += (size < 0 ? "?" : std::to_string(size)) + "x";
  return text + lhsType;
}

std::string Contraction::key() const {
  return join(maps, " ") + " " + lhsType + " " + rhsType + " " + outputType +
         " " + shapes();
}

int64_t Contraction::extent(char kind) const {
  int64_t product = 1;
  for (auto [size, one] : zip_equal(sizes, kinds))
    if (one == kind) {
      if (size < 0)
        return -1;
      product *= size;
    }
  return product;
}

double Contraction::operations() const {
  double product = 2;
  for (int64_t size : sizes)
    product *= std::max<int64_t>(size, 1);
  return product;
}

} // namespace attune::iree
