//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Templates of command lines, and what fills them.

#include "attune/Backend/CommandFile.h"

#include "attune/Support/Error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace attune;

Expected<Template> Template::parse(StringRef text,
                                   ArrayRef<std::string> known) {
  Template result;
  std::string plain;
  while (!text.empty()) {
    if (text.consume_front("{{")) {
      plain += '{';
    } else if (text.consume_front("}}")) {
      plain += '}';
    } else if (text.consume_front("{")) {
      size_t end = text.find('}');
      if (end == StringRef::npos)
        return makeError("'{{' without its '}'; a brace itself is '{{{{'");
      StringRef name = text.take_front(end);
      if (!is_contained(known, name))
        return makeError("there is no knob '{0}'; known are {1}", name,
                         join(known, ", "));
      result.parts.push_back({std::exchange(plain, ""), false});
      result.parts.push_back({name.str(), true});
      text = text.drop_front(end + 1);
    } else {
      plain += text.front();
      text = text.drop_front();
    }
  }
  result.parts.push_back({plain, false});
  return result;
}

std::string Template::fill(const StringMap<std::string> &values) const {
  std::string text;
  for (const Part &part : parts)
    text += part.isName ? values.lookup(part.text) : part.text;
  return text;
}

bool Template::isConstant() const {
  return none_of(parts, [](const Part &part) { return part.isName; });
}

std::vector<std::string>
CommandLine::fill(const StringMap<std::string> &values) const {
  std::vector<std::string> filled;
  for (const Template &argument : arguments)
    if (std::string text = argument.fill(values); !text.empty())
      filled.push_back(std::move(text));
  return filled;
}

std::string attune::quoteForShell(ArrayRef<std::string> arguments) {
  std::string line;
  for (StringRef argument : arguments) {
    line += line.empty() ? "" : " ";
    bool isPlain = !argument.empty() && all_of(argument, [](char c) {
      return isAlnum(c) || is_contained("-_=./:,@+%", c);
    });
    if (isPlain) {
      line += argument;
      continue;
    }
    line += '\'';
    for (char c : argument)
      line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += '\'';
  }
  return line;
}

/// As it stands in a command line: texts without quotes, lists with commas.
static std::string plainText(const KnobValue &value) {
  if (const auto *text = std::get_if<std::string>(&value))
    return *text;
  std::string written = toString(value);
  if (std::holds_alternative<std::vector<int64_t>>(value))
    return StringRef(written).drop_front().drop_back().str();
  return written;
}

StringMap<std::string> CommandFile::valuesOf(const Configuration &configuration,
                                             StringRef workFolder,
                                             int threads) const {
  StringMap<std::string> values;
  for (const auto &[name, value] : configuration.values)
    values[name] = plainText(value);
  values["source"] = folder;
  values["folder"] = workFolder.str();
  values["output"] = (workFolder + "/output.txt").str();
  values["threads"] = std::to_string(threads);
  return values;
}
