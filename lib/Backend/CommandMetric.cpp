//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Reading a number out of what a program printed.

#include "attune/Backend/CommandFile.h"
#include "attune/Support/Error.h"
#include "attune/Support/Json.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Regex.h"
#include <cmath>

using namespace llvm;
using namespace attune;

//===----------------------------------------------------------------------===//
// LinePattern
//===----------------------------------------------------------------------===//

namespace {
/// What llvm::Regex does not know is written in what it knows.
class Translator {
public:
  explicit Translator(StringRef rest) : rest(rest) {}

  Error translate() {
    while (!rest.empty())
      if (Error error = takeOne())
        return error;
    return Error::success();
  }

  std::string posix, name;
  unsigned group = 0; ///< The named one; 0: none.

private:
  Error takeOne() {
    if (rest.consume_front("(?:")) {
      ++groups;
      posix += '(';
    } else if (rest.consume_front("(?<") || rest.consume_front("(?P<")) {
      return takeNamedGroup();
    } else if (rest.starts_with("(?")) {
      return makeError("'{0}' is not known here", rest.take_front(3));
    } else if (rest.starts_with("\\") && rest.size() > 1) {
      posix += isBracket ? escapeInside(rest[1]) : escape(rest[1]);
      rest = rest.drop_front(2);
    } else {
      takePlain();
    }
    return Error::success();
  }

  Error takeNamedGroup() {
    auto [found, after] = rest.split('>');
    if (found.empty() || after.empty() || !all_of(found, isAlnum))
      return makeError("a group's name is letters: (?<seconds>...)");
    if (group)
      return makeError("it has two named groups; one says what is read");
    name = found.str();
    group = ++groups;
    rest = after;
    posix += '(';
    return Error::success();
  }

  void takePlain() {
    char c = rest.front();
    groups += c == '(' && !isBracket;
    if (c == '[' && !isBracket) {
      isBracket = true;
      // A ']' that comes first is one of the characters.
      for (StringRef first : {"[^]", "[]"})
        if (rest.consume_front(first)) {
          posix += first;
          return;
        }
    } else if (c == ']') {
      isBracket = false;
    }
    posix += c;
    rest = rest.drop_front();
  }

  static std::string escape(char c) {
    switch (c) {
    case 'd':
      return "[0-9]";
    case 'D':
      return "[^0-9]";
    case 's':
      return "[[:space:]]";
    case 'S':
      return "[^[:space:]]";
    case 'w':
      return "[[:alnum:]_]";
    default:
      return {'\\', c};
    }
  }

  static std::string escapeInside(char c) {
    return c == 'd'   ? "0-9"
           : c == 's' ? "[:space:]"
           : c == 'w' ? "[:alnum:]_"
                      : std::string(1, c);
  }

  StringRef rest;
  unsigned groups = 0;
  bool isBracket = false;
};
} // namespace

Expected<LinePattern> LinePattern::parse(StringRef text) {
  Translator translator(text);
  if (Error error = translator.translate())
    return makeError("the regular expression '{0}': {1}", text,
                     llvm::toString(std::move(error)));
  Regex regex(translator.posix);
  std::string wrong;
  if (!regex.isValid(wrong))
    return makeError("the regular expression '{0}': {1}", text, wrong);
  LinePattern pattern;
  pattern.posix = translator.posix;
  pattern.name = translator.name;
  pattern.group = std::max(1u, translator.group);
  if (regex.getNumMatches() < pattern.group)
    return makeError("the regular expression '{0}' has no group ( ) that says "
                     "what is read",
                     text);
  return pattern;
}

std::optional<std::string> LinePattern::find(StringRef output) const {
  Regex regex(posix);
  std::optional<std::string> found;
  for (StringRef line : llvm::split(output, '\n')) {
    SmallVector<StringRef> groups;
    if (regex.match(line, &groups) && groups.size() > group)
      found = groups[group].str();
  }
  return found;
}

//===----------------------------------------------------------------------===//
// Metric
//===----------------------------------------------------------------------===//

/// A member of a member: `times.kernel`.
static const json::Value *findField(const json::Value &value, StringRef path) {
  const json::Value *at = &value;
  for (StringRef name : llvm::split(path, '.')) {
    const json::Object *object = at->getAsObject();
    at = object ? object->get(name) : nullptr;
    if (!at)
      return nullptr;
  }
  return at;
}

/// The text is JSON, or ends with a line that is (warnings come before), or has
/// an object over several lines in it.
static std::optional<json::Value> findJson(StringRef output, StringRef field) {
  SmallVector<StringRef> candidates = {output};
  SmallVector<StringRef> lines;
  output.split(lines, '\n');
  for (StringRef line : reverse(lines))
    if (line.trim().starts_with("{"))
      candidates.push_back(line);
  size_t begin = output.find('{'), end = output.rfind('}');
  if (begin < end && end != StringRef::npos)
    candidates.push_back(output.slice(begin, end + 1));
  for (StringRef candidate : candidates) {
    auto value = parseJson(candidate.trim());
    if (!value)
      consumeError(value.takeError());
    else if (findField(*value, field))
      return std::move(*value);
  }
  return std::nullopt;
}

static std::string shorten(StringRef text) {
  return text.size() > 60 ? (text.take_front(60) + "...").str() : text.str();
}

/// The number as it stands there.
static Expected<double> readNumber(const Metric &metric, StringRef output) {
  std::string text;
  if (metric.kind == Metric::Kind::Pattern) {
    auto found = metric.pattern->find(output);
    if (!found)
      return makeError("no line of the output matches the metric");
    text = *found;
  } else {
    auto json = findJson(output, metric.field);
    if (!json)
      return makeError("the output has no JSON with the field '{0}'",
                       metric.field);
    const json::Value *value = findField(*json, metric.field);
    if (auto number = value->getAsNumber())
      return *number;
    text = value->getAsString() ? value->getAsString()->str()
                                : formatv("{0}", *value).str();
  }
  double number = 0;
  if (StringRef(text).trim().getAsDouble(number, /*AllowInexact=*/true))
    return makeError("the metric is '{0}', not a number", shorten(text));
  return number;
}

Expected<double> Metric::read(StringRef output, double wallSeconds,
                              double cpuSeconds) const {
  double seconds = kind == Kind::WallSeconds ? wallSeconds : cpuSeconds;
  if (kind == Kind::Pattern || kind == Kind::Field) {
    auto number = readNumber(*this, output);
    if (!number)
      return number.takeError();
    if (!std::isfinite(*number) || *number <= 0)
      return makeError("the metric is {0}, not a finite positive number",
                       *number);
    seconds = isRate ? operations / (*number * scale) : *number * scale;
  }
  if (!std::isfinite(seconds) || seconds <= 0)
    return makeError("the metric gives {0} seconds", seconds);
  return seconds;
}
