//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Backend/CommandFile.h"

#include "attune/Space/FromJSON.h"
#include "attune/Support/Error.h"
#include "attune/Support/Files.h"
#include "attune/Support/Json.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

using namespace llvm;
using namespace attune;

static constexpr StringLiteral ownNames[] = {"source", "folder", "output",
                                             "threads"};
static constexpr StringLiteral members[] = {
    "version",      "name",       "knobs",   "constraints",
    "solutions",    "defaults",   "build",   "run",
    "metric",       "check",      "files",   "environment",
    "limitSeconds", "limitBytes", "comment", "buildLimitSeconds"};

namespace {
class Reader {
public:
  Reader(StringRef path, std::string text, json::Object object, Space space)
      : text(std::move(text)), object(std::move(object)),
        file{path.str(), "", "", std::move(space)} {}

  Expected<CommandFile> read();

private:
  template <typename... Args>
  Error fail(StringRef member, const char *format, Args &&...args) {
    return makeError("{0}: \"{1}\": {2}", placeOf(member), member,
                     formatv(format, std::forward<Args>(args)...).str());
  }
  Error fail(StringRef member, Error error) {
    return fail(member, "{0}", llvm::toString(std::move(error)));
  }
  /// `path:line` of a member of the outermost object, as far as text tells.
  std::string placeOf(StringRef member) const;

  Error checkMembers();
  Error readNames();
  Error readDefaults();
  Error readCommand(StringRef member, const json::Value &value,
                    CommandLine &line);
  Error readCommands();
  Error readEnvironment();
  Error readMetric();
  Error readMetric(const json::Object &metric);
  Error readUnit(StringRef unit);
  Error readCheck();
  Error readLimits();
  Error readPositive(StringRef member, double &number);
  Error fingerprint();
  Error addFile(StringRef member, StringRef path, std::string &all);

  std::string text;
  json::Object object;
  CommandFile file;
  std::vector<std::string> known; ///< Names for braces.
};
} // namespace

std::string Reader::placeOf(StringRef member) const {
  std::string quoted = "\"" + member.str() + "\"";
  size_t at = StringRef(text).find(quoted);
  while (at != StringRef::npos &&
         !StringRef(text).substr(at + quoted.size()).ltrim().starts_with(":"))
    at = StringRef(text).find(quoted, at + 1);
  if (at == StringRef::npos)
    return file.path;
  size_t line = StringRef(text).take_front(at).count('\n') + 1;
  return file.path + ":" + std::to_string(line);
}

Error Reader::checkMembers() {
  for (const auto &member : object)
    if (!is_contained(members, StringRef(member.first)))
      return fail(member.first, "not a member of this format; there are {0}",
                  join(ArrayRef(members), ", "));
  return Error::success();
}

Error Reader::readNames() {
  for (const Knob &knob : file.space.getKnobs()) {
    if (is_contained(ownNames, StringRef(knob.name)))
      return makeError("{0}: knob '{1}': the name stands for something else in "
                       "commands; choose another",
                       file.path, knob.name);
    known.push_back(knob.name);
  }
  append_range(known, ownNames);
  SmallString<256> folder(file.path);
  if (std::error_code code = sys::fs::make_absolute(folder))
    return makeError("{0}: {1}", file.path, code.message());
  file.folder = sys::path::parent_path(folder).str();
  file.name = sys::path::stem(file.path).str();
  if (const json::Value *name = object.get("name")) {
    if (!name->getAsString() || name->getAsString()->empty())
      return fail("name", "{0} is not a text", *name);
    file.name = name->getAsString()->str();
  }
  return Error::success();
}

/// Given, or the first value of each knob; moved to what is valid only when
/// nothing was asked for.
Error Reader::readDefaults() {
  Configuration wanted;
  for (const Knob &knob : file.space.getKnobs())
    wanted.values.emplace_back(knob.name, knob.domain.at(0));
  const json::Value *given = object.get("defaults");
  if (given && !given->getAsObject())
    return fail("defaults", "{0} is not an object of knobs and values", *given);
  if (given)
    for (const auto &[name, value] : *given->getAsObject()) {
      auto knob = find_if(file.space.getKnobs(),
                          [&, n = StringRef(name)](const Knob &candidate) {
                            return candidate.name == n;
                          });
      if (knob == file.space.getKnobs().end())
        return fail("defaults", "there is no knob '{0}'", StringRef(name));
      auto read = knobValueFromJSON(value);
      if (!read)
        return fail("defaults", read.takeError());
      auto index = knob->domain.indexOf(*read);
      if (!index)
        return fail("defaults", "{0} is not a value of '{1}' ({2})", value,
                    StringRef(name), knob->domain.describe());
      wanted.values[knob - file.space.getKnobs().begin()].second =
          knob->domain.at(*index);
    }
  file.defaults = file.space.nearest(wanted);
  if (given)
    for (const auto &[name, value] : file.defaults.values)
      if (given->getAsObject()->get(name) && *wanted.find(name) != value)
        return fail("defaults",
                    "not a valid configuration; the nearest one has {0} = {1}",
                    name, toString(value));
  return Error::success();
}

Error Reader::readCommand(StringRef member, const json::Value &value,
                          CommandLine &line) {
  const json::Array *array = value.getAsArray();
  if (!array || array->empty())
    return fail(member, "give a list: the program, then its arguments");
  for (const json::Value &argument : *array) {
    auto text = argument.getAsString();
    if (!text)
      return fail(member, "{0} is not a text", argument);
    auto parsed = Template::parse(*text, known);
    if (!parsed)
      return fail(member, parsed.takeError());
    line.arguments.push_back(std::move(*parsed));
  }
  // What is not there now would fail each candidate.
  const Template &program = line.arguments.front();
  std::string name = program.fill({});
  if (program.isConstant() && !StringRef(name).contains('/') &&
      !sys::findProgramByName(name))
    return fail(member,
                "{0}: no such program in PATH; install it, or give its path",
                name);
  return Error::success();
}

Error Reader::readCommands() {
  if (const json::Value *build = object.get("build"))
    if (Error error = readCommand("build", *build, file.build))
      return error;
  const json::Value *run = object.get("run");
  if (!run)
    return makeError("{0}: \"run\" is missing: the command that is timed, a "
                     "list of texts",
                     file.path);
  return readCommand("run", *run, file.run);
}

Error Reader::readEnvironment() {
  const json::Value *value = object.get("environment");
  if (!value)
    return Error::success();
  const json::Object *variables = value->getAsObject();
  if (!variables)
    return fail("environment", "{0} is not an object of texts", *value);
  for (const auto &[name, entry] : *variables) {
    auto text = entry.getAsString();
    if (!text)
      return fail("environment", "{0} is not a text", entry);
    auto parsed = Template::parse(*text, known);
    if (!parsed)
      return fail("environment", parsed.takeError());
    file.environment.emplace_back(StringRef(name).str(), std::move(*parsed));
  }
  return Error::success();
}

Error Reader::readUnit(StringRef unit) {
  struct Unit {
    StringLiteral name;
    double scale;
    bool isRate;
  };
  static constexpr Unit units[] = {{"seconds", 1, false},
                                   {"milliseconds", 1e-3, false},
                                   {"microseconds", 1e-6, false},
                                   {"nanoseconds", 1e-9, false},
                                   {"flops", 1, true},
                                   {"gflops", 1e9, true}};
  const auto *found = find_if(
      units, [&](const Unit &candidate) { return candidate.name == unit; });
  if (found == std::end(units))
    return fail("metric",
                "'{0}' is no unit; there are seconds, milliseconds, "
                "microseconds, nanoseconds, flops and gflops",
                unit);
  file.metric.scale = found->scale;
  file.metric.isRate = found->isRate;
  return Error::success();
}

Error Reader::readMetric(const json::Object &metric) {
  auto regex = metric.getString("regex"), field = metric.getString("json");
  if (regex.has_value() == field.has_value())
    return fail("metric", "give one of \"regex\" and \"json\"");
  std::string unit = metric.getString("unit").value_or("seconds").str();
  if (regex) {
    auto pattern = LinePattern::parse(*regex);
    if (!pattern)
      return fail("metric", pattern.takeError());
    if (!pattern->getName().empty())
      unit = pattern->getName();
    file.metric.kind = Metric::Kind::Pattern;
    file.metric.pattern = std::move(*pattern);
  } else {
    file.metric.kind = Metric::Kind::Field;
    file.metric.field = field->str();
  }
  if (const json::Value *operations = metric.get("operations")) {
    file.metric.operations = operations->getAsNumber().value_or(0);
    if (!(file.metric.operations > 0))
      return fail("metric", "\"operations\" is {0}, not a positive number",
                  *operations);
  }
  return readUnit(unit);
}

Error Reader::readMetric() {
  const json::Value *metric = object.get("metric");
  if (!metric || metric->getAsString() == StringRef("wallSeconds"))
    return Error::success();
  if (metric->getAsString() == StringRef("cpuSeconds")) {
    file.metric.kind = Metric::Kind::CpuSeconds;
    return Error::success();
  }
  if (const json::Object *described = metric->getAsObject())
    return readMetric(*described);
  return fail("metric",
              "{0} is none; give \"wallSeconds\", \"cpuSeconds\", "
              "{{\"regex\": ...} or {{\"json\": ...}",
              *metric);
}

Error Reader::readCheck() {
  const json::Value *check = object.get("check");
  if (!check)
    return Error::success();
  const json::Object *described = check->getAsObject();
  if (!described)
    return readCommand("check", *check, file.check);
  if (auto same = described->getString("same")) {
    auto pattern = LinePattern::parse(*same);
    if (!pattern)
      return fail("check", pattern.takeError());
    file.same = std::move(*pattern);
  }
  if (auto expected = described->getString("expect"))
    for (StringRef line : llvm::split(expected->trim("\n"), '\n'))
      file.expected.push_back(line.rtrim().str());
  if (!file.same && file.expected.empty())
    return fail("check", "give a command (a list), or an object with "
                         "\"expect\" or \"same\"");
  return Error::success();
}

Error Reader::readPositive(StringRef member, double &number) {
  const json::Value *value = object.get(member);
  if (!value)
    return Error::success();
  number = value->getAsNumber().value_or(0);
  if (!(number > 0) || number > 1e15)
    return fail(member, "{0} is not a positive number", *value);
  return Error::success();
}

Error Reader::readLimits() {
  if (Error error = readPositive("limitSeconds", file.limitSeconds))
    return error;
  file.buildLimitSeconds = std::max(60.0, file.limitSeconds);
  if (Error error = readPositive("buildLimitSeconds", file.buildLimitSeconds))
    return error;
  double bytes = static_cast<double>(file.limitBytes);
  if (Error error = readPositive("limitBytes", bytes))
    return error;
  file.limitBytes = static_cast<uint64_t>(bytes);
  return Error::success();
}

Error Reader::addFile(StringRef member, StringRef path, std::string &all) {
  auto hash = hashFileHex(path);
  if (!hash)
    return fail(member, hash.takeError());
  all += *hash;
  return Error::success();
}

/// Times of yesterday's source are not today's.
Error Reader::fingerprint() {
  json::Object commands;
  for (StringRef member : {"build", "run", "metric", "check", "environment"})
    if (const json::Value *value = object.get(member))
      commands[member] = *value;
  std::string all = formatv("{0} {1}", json::Value(std::move(commands)),
                            toString(file.defaults))
                        .str();
  if (const json::Value *files = object.get("files")) {
    if (!files->getAsArray())
      return fail("files", "{0} is not a list of paths", *files);
    for (const json::Value &entry : *files->getAsArray()) {
      SmallString<256> path(entry.getAsString().value_or(""));
      sys::path::make_absolute(file.folder, path);
      if (Error error = addFile("files", path, all))
        return error;
    }
  }
  StringMap<std::string> values = file.valuesOf(file.defaults, "", 1);
  for (const CommandLine *line : {&file.build, &file.run, &file.check})
    for (auto [index, argument] : enumerate(line->fill(values))) {
      std::string path = argument;
      if (index == 0 && !StringRef(path).contains('/'))
        if (auto program = sys::findProgramByName(path))
          path = *program;
      if (sys::path::is_absolute(path) && sys::fs::is_regular_file(path))
        if (Error error = addFile("run", path, all))
          return error;
    }
  file.fingerprint = hashHex(all);
  return Error::success();
}

Expected<CommandFile> Reader::read() {
  for (auto step :
       {&Reader::checkMembers, &Reader::readNames, &Reader::readDefaults,
        &Reader::readCommands, &Reader::readEnvironment, &Reader::readCheck,
        &Reader::readLimits, &Reader::fingerprint})
    if (Error error = (this->*step)())
      return std::move(error);
  if (Error error = readMetric())
    return std::move(error);
  return std::move(file);
}

Expected<CommandFile> attune::readCommandFile(StringRef path) {
  auto text = readFile(path);
  if (!text)
    return text.takeError();
  // Says what is wrong with JSON, knobs and constraints.
  auto space = parseSpace(*text, path);
  if (!space)
    return space.takeError();
  auto json = parseJson(*text);
  if (!json)
    return makeError("{0}: {1}", path, llvm::toString(json.takeError()));
  return Reader(path, std::move(*text), std::move(*json->getAsObject()),
                std::move(*space))
      .read();
}
