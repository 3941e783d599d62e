//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Flags.h"

#include "attune/Support/Error.h"
#include "attune/Support/Json.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <unistd.h>

using namespace llvm;

namespace attune::cli {

//===----------------------------------------------------------------------===//
// What a command is
//===----------------------------------------------------------------------===//

/// What decides how a program runs, and nothing private.
static bool matters(StringRef variable) {
  for (StringRef prefix :
       {"OMP_", "KMP_", "GOMP_", "IREE_", "ATTUNE_", "OPENBLAS_", "MKL_"})
    if (variable.starts_with(prefix))
      return true;
  return variable == "LD_LIBRARY_PATH" || variable == "LD_PRELOAD";
}

RecordedCommand describeCommand(std::vector<std::string> command) {
  RecordedCommand recorded;
  recorded.command = std::move(command);
  SmallString<256> folder;
  if (!sys::fs::current_path(folder))
    recorded.folder = std::string(folder);
  for (char **variable = environ; *variable; ++variable) {
    auto [name, value] = StringRef(*variable).split('=');
    if (matters(name))
      recorded.environment[name.str()] = value.str();
  }
  recorded.versions = {{"attune", ATTUNE_VERSION},
                       {"llvm", LLVM_VERSION_STRING}};
  return recorded;
}

//===----------------------------------------------------------------------===//
// What a command says
//===----------------------------------------------------------------------===//

/// `path` as it was meant in the folder of the command.
static std::string absolute(StringRef folder, StringRef path) {
  if (path.empty() || sys::path::is_absolute(path))
    return path.str();
  SmallString<256> full(folder);
  sys::path::append(full, path);
  return std::string(full);
}

static std::string absoluteInput(StringRef folder, StringRef input) {
  if (input.consume_front("@"))
    return "@" + absolute(folder, input);
  return input.str();
}

/// Arguments as names and values: `--name=value`, `--name value` (for the names
/// in `separate`), and those without a name.
static std::vector<std::pair<StringRef, StringRef>>
splitArguments(ArrayRef<std::string> arguments, ArrayRef<StringRef> separate) {
  std::vector<std::pair<StringRef, StringRef>> split;
  for (size_t i = 0; i < arguments.size(); ++i) {
    StringRef text = arguments[i];
    if (!text.starts_with("-") || text == "-") {
      split.emplace_back("", text);
      continue;
    }
    auto [name, value] = text.split('=');
    if (!text.contains('=') && is_contained(separate, name) &&
        i + 1 < arguments.size())
      value = arguments[++i];
    split.emplace_back(name, value);
  }
  return split;
}

static void readOurs(const RecordedCommand &command, CommandMeaning &meaning) {
  auto arguments = splitArguments(
      ArrayRef(command.command).drop_front(),
      {"--input", "--entry", "--threads", "--target-cpu", "--seed", "-o",
       "--output", "--spec", "--budget", "--search", "--seconds", "--format",
       "--profile", "--coverage", "--check", "--tolerance", "--dump-to"});
  bool isFirst = true;
  for (auto [name, value] : arguments) {
    if (name == "--input")
      meaning.inputs.push_back(absoluteInput(command.folder, value));
    else if (name == "--entry")
      meaning.entry = value.str();
    else if (name == "--target-cpu")
      meaning.targetCPU = value.str();
    else if (name == "--threads")
      (void)value.getAsInteger(10, meaning.threads);
    else if (name == "--seed")
      (void)value.getAsInteger(10, meaning.seed);
    else if (name.empty() && isFirst)
      isFirst = false; // the name of the command
    else if (name.empty() && meaning.model.empty())
      meaning.model = absolute(command.folder, value);
  }
  // A compiled library is nothing to tune; how it was run still counts.
  if (StringRef(meaning.model).ends_with(".so"))
    meaning.model.clear();
}

/// A flag of iree-compile that says what the program is compiled to, not where.
static bool isKept(StringRef name) {
  return name.starts_with("--") && name != "--output" &&
         !name.starts_with("--compile-") &&
         !name.starts_with("--iree-hal-dump-");
}

/// `--name=value`; a file as it was meant in the folder of the command.
static std::string keptFlag(StringRef folder, StringRef name, StringRef value) {
  if (name == "--iree-codegen-tuning-spec-path")
    return (name + "=" + absolute(folder, value)).str();
  if (auto [scope, file] = value.split('=');
      name == "--parameters" && !file.empty())
    return (name + "=" + scope + "=" + absolute(folder, file)).str();
  if (name == "--parameters")
    return (name + "=" + absolute(folder, value)).str();
  return value.empty() ? name.str() : (name + "=" + value).str();
}

static void readIree(const RecordedCommand &command, CommandMeaning &meaning) {
  auto arguments =
      splitArguments(ArrayRef(command.command).drop_front(),
                     {"-o", "--module", "--function", "--input", "--device"});
  bool isCompiler = meaning.tool == "iree-compile";
  for (auto [name, value] : arguments) {
    if (isCompiler && isKept(name))
      meaning.ireeFlags.push_back(keptFlag(command.folder, name, value));
    else if (name.starts_with("--parameter"))
      meaning.ireeRunFlags.push_back(keptFlag(command.folder, name, value));
    if (name == "--input")
      meaning.inputs.push_back(absoluteInput(command.folder, value));
    else if (name == "--function")
      meaning.entry = value.str();
    else if (name == "--iree-llvmcpu-target-cpu")
      meaning.targetCPU = value.str();
    else if (name == "--task_topology_max_group_count")
      (void)value.getAsInteger(10, meaning.threads);
    else if (name == "--device" && value == "local-sync")
      meaning.threads = 1;
    else if (name.empty() && isCompiler)
      meaning.model = absolute(command.folder, value);
  }
}

CommandMeaning interpret(const RecordedCommand &command) {
  CommandMeaning meaning;
  if (command.command.empty())
    return meaning;
  StringRef name = sys::path::filename(command.command.front());
  if (name == "attune") {
    meaning.tool = name.str();
    readOurs(command, meaning);
  } else if (name == "iree-compile" || name == "iree-run-module" ||
             name == "iree-benchmark-module") {
    meaning.tool = name.str();
    readIree(command, meaning);
  }
  return meaning;
}

//===----------------------------------------------------------------------===//
// The file
//===----------------------------------------------------------------------===//

static json::Object toJSON(const std::map<std::string, std::string> &texts) {
  json::Object object;
  for (const auto &[name, value] : texts)
    object[json::fixUTF8(name)] = json::fixUTF8(value);
  return object;
}

static json::Value toJSON(const RecordedCommand &command) {
  json::Array words;
  for (const std::string &word : command.command)
    words.push_back(json::fixUTF8(word));
  json::Object object{{"command", std::move(words)},
                      {"folder", json::fixUTF8(command.folder)},
                      {"environment", toJSON(command.environment)},
                      {"versions", toJSON(command.versions)},
                      {"status", command.status}};
  CommandMeaning meaning = interpret(command);
  if (!meaning.tool.empty())
    object["meaning"] = json::Object{
        {"tool", meaning.tool},       {"model", meaning.model},
        {"entry", meaning.entry},     {"inputs", json::Array(meaning.inputs)},
        {"threads", meaning.threads}, {"targetCpu", meaning.targetCPU}};
  return object;
}

static std::map<std::string, std::string> readTexts(const json::Object *from) {
  std::map<std::string, std::string> texts;
  if (from)
    for (const auto &[name, value] : *from)
      texts[name.str()] = value.getAsString().value_or("").str();
  return texts;
}

Expected<std::vector<RecordedCommand>> readFlagFile(StringRef path) {
  auto text = readFile(path);
  if (!text)
    return text.takeError();
  auto value = parseJson(*text);
  if (!value)
    return makeError("{0}: {1}", path, toString(value.takeError()));
  const json::Object *object = value->getAsObject();
  const json::Array *commands = object ? object->getArray("commands") : nullptr;
  if (!commands || object->getInteger("version") != 1)
    return makeError("{0}: not a flag file of this version of Attune (attune "
                     "record, or --save-flags, writes one)",
                     path);
  std::vector<RecordedCommand> recorded;
  for (const json::Value &item : *commands) {
    const json::Object *from = item.getAsObject();
    const json::Array *words = from ? from->getArray("command") : nullptr;
    if (!words)
      return makeError("{0}: an entry without a command", path);
    RecordedCommand command;
    for (const json::Value &word : *words)
      command.command.push_back(word.getAsString().value_or("").str());
    command.folder = from->getString("folder").value_or("").str();
    command.environment = readTexts(from->getObject("environment"));
    command.versions = readTexts(from->getObject("versions"));
    command.status = from->getInteger("status").value_or(0);
    recorded.push_back(std::move(command));
  }
  return recorded;
}

Error appendToFlagFile(StringRef path, const RecordedCommand &command) {
  std::vector<RecordedCommand> commands;
  if (sys::fs::exists(path)) {
    auto known = readFlagFile(path);
    if (!known)
      return known.takeError();
    commands = std::move(*known);
  }
  commands.push_back(command);
  json::Array list;
  for (const RecordedCommand &each : commands)
    list.push_back(toJSON(each));
  json::Value file =
      json::Object{{"version", 1}, {"commands", std::move(list)}};
  return writeFile(path, formatv("{0:2}\n", file).str());
}

Error applyFlagFile(StringRef path, ModelFlags &flags) {
  auto commands = readFlagFile(path);
  if (!commands)
    return commands.takeError();
  CommandMeaning all;
  for (const RecordedCommand &command : *commands) {
    CommandMeaning one = interpret(command);
    if (!one.model.empty())
      all.model = one.model;
    if (!one.entry.empty())
      all.entry = one.entry;
    if (!one.inputs.empty())
      all.inputs = one.inputs;
    if (!one.targetCPU.empty())
      all.targetCPU = one.targetCPU;
    if (one.threads)
      all.threads = one.threads;
    if (one.seed)
      all.seed = one.seed;
  }
  if (flags.model.empty())
    flags.model = all.model;
  if (flags.model.empty())
    return makeError("{0}: no command in it names a program to tune; give one",
                     path);
  if (flags.entry.empty())
    flags.entry = all.entry;
  if (flags.inputs.empty())
    flags.inputs = all.inputs;
  if (flags.targetCPU == "host" && !all.targetCPU.empty())
    flags.targetCPU = all.targetCPU;
  if (!flags.threads)
    flags.threads = all.threads;
  if (!flags.seed)
    flags.seed = all.seed;
  return Error::success();
}

} // namespace attune::cli
