//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// IREE's tools: where they are, and what one start of them gives.

#include "IreeImpl.h"
#include "attune/Measure/Statistics.h"
#include "attune/Support/Error.h"
#include "attune/Support/Installation.h"
#include "attune/Support/Json.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"

using namespace llvm;
using namespace attune;

//===----------------------------------------------------------------------===//
// Finding them
//===----------------------------------------------------------------------===//

static constexpr StringLiteral
    advice("install IREE 3.11 or later: pip install iree-base-compiler "
           "iree-base-runtime (in Attune's sources: ./dev setup iree)");

/// Folders that may have a tool, in order.
static std::vector<std::string> toolFolders() {
  std::vector<std::string> folders;
  if (auto environment = sys::Process::GetEnv("VIRTUAL_ENV"))
    folders.push_back(*environment + "/bin");
  for (StringRef folder = executableFolder(); !folder.empty();
       folder = sys::path::parent_path(folder))
    folders.push_back((folder + "/.venv/bin").str());
  return folders;
}

/// The wheels' scripts start Python to start the program: 0.1 s, and a limit
/// that hits the wrong process. The program itself, if `script` is one of them.
static std::string behindScript(StringRef script) {
  StringRef name = sys::path::filename(script);
  std::string packages =
      (sys::path::parent_path(sys::path::parent_path(script)) + "/lib").str();
  std::error_code code;
  for (sys::fs::directory_iterator python(packages, code), end;
       !code && python != end; python.increment(code))
    for (StringRef inside : {"compiler/_mlir_libs", "_runtime_libs"}) {
      std::string path =
          (python->path() + "/site-packages/iree/" + inside + "/" + name).str();
      if (sys::fs::can_execute(path))
        return path;
    }
  return script.str();
}

static Expected<std::string> findTool(StringRef name, StringRef only) {
  std::vector<std::string> folders = toolFolders();
  if (!only.empty())
    folders = {only.str()};
  else if (auto inPath = sys::findProgramByName(name))
    return behindScript(*inPath);
  std::vector<StringRef> places(folders.begin(), folders.end());
  if (auto elsewhere = sys::findProgramByName(name, places))
    return behindScript(*elsewhere);
  return makeError(
      "{0} was not found in {1}; {2}", name,
      only.empty() ? StringRef("PATH, $VIRTUAL_ENV or .venv") : only, advice);
}

/// `3.13.0rc20261016` of what iree-compile --version prints.
static Expected<std::string> askVersion(StringRef compiler) {
  Limits limits;
  limits.wallSeconds = 120;
  CommandPlace place;
  place.folder = "/tmp";
  CommandOutcome said =
      runCommand({compiler.str(), "--version"}, place, limits, JobPhase::Run);
  if (said.outcome != Outcome::Ok)
    return makeError("{0} --version: {1}; {2}", compiler, said.reason, advice);
  StringRef version =
      StringRef(said.output).split("compiler version ").second.split(' ').first;
  unsigned major = 0, minor = 0;
  auto [majorText, rest] = version.split('.');
  if (majorText.getAsInteger(10, major) ||
      rest.split('.').first.getAsInteger(10, minor))
    return makeError("{0} --version: no version in what it prints; {1}",
                     compiler, advice);
  if (major < 3 || (major == 3 && minor < 11))
    return makeError("{0} is version {1}, which is too old; {2}", compiler,
                     version.trim(), advice);
  return version.trim().str();
}

Expected<IreeTools> IreeTools::find(StringRef only) {
  IreeTools tools;
  for (auto [name, path] : {std::pair("iree-compile", &tools.compile),
                            {"iree-opt", &tools.opt},
                            {"iree-run-module", &tools.runModule},
                            {"iree-benchmark-module", &tools.benchmarkModule},
                            {"iree-profile", &tools.profile}}) {
    auto found = findTool(name, only);
    if (!found)
      return found.takeError();
    *path = std::move(*found);
  }
  auto version = askVersion(tools.compile);
  if (!version)
    return version.takeError();
  tools.version = std::move(*version);
  return tools;
}

//===----------------------------------------------------------------------===//
// Starting them
//===----------------------------------------------------------------------===//

std::string IreeBackend::Impl::newPath(StringRef ending) {
  return formatv("{0}/iree-{1}{2}", options.workFolder, counter++, ending);
}

CommandOutcome IreeBackend::Impl::start(std::vector<std::string> arguments,
                                        double limitSeconds, JobPhase phase) {
  CommandPlace place;
  place.folder = options.workFolder;
  Limits limits;
  limits.wallSeconds = limitSeconds;
  limits.memoryBytes = 8ull << 30;
  CommandOutcome ended = runCommand(std::move(arguments), place, limits, phase);
  // What follows it is what IREE guesses that was meant.
  if (ended.outcome != Outcome::Ok)
    for (StringRef line : split(ended.output, '\n'))
      if (line.contains("Unknown command line argument"))
        ended.reason = line.split("  Try:").first.trim().str();
  return ended;
}

/// Ten times what candidates usually take; until that is known, what the
/// program took, or more.
double IreeBackend::Impl::compileLimit() const {
  double most = std::max(options.compileSeconds, 10 * programCompileSeconds);
  if (compileTimes.size() < 3)
    return most;
  return std::clamp(10 * median(compileTimes), 5.0, most);
}

static std::vector<std::string> readFolder(StringRef folder) {
  std::vector<std::string> texts, paths;
  std::error_code code;
  for (sys::fs::directory_iterator file(folder, code), end;
       !code && file != end; file.increment(code))
    paths.push_back(file->path());
  llvm::sort(paths); // The order of a folder is that of chance.
  for (const std::string &path : paths) {
    auto text = readFile(path);
    if (text)
      texts.push_back(std::move(*text));
    else
      consumeError(text.takeError()); // What is not there did not arrive.
  }
  return texts;
}

IreeBackend::Impl::Compiled
IreeBackend::Impl::compile(StringRef from, ArrayRef<std::string> flags,
                           StringRef spec, double limitSeconds) {
  Compiled result;
  std::string dumps = newPath("-dump");
  result.library = newPath(".vmfb");
  if (Error error = createFolder(dumps)) {
    result.outcome.outcome = Outcome::CompileError;
    result.outcome.reason = llvm::toString(std::move(error));
    return result;
  }
  std::vector<std::string> arguments = {
      options.tools.compile, from.str(), "-o", result.library,
      "--iree-hal-dump-executable-configurations-to=" + dumps};
  if (from == sources)
    arguments.push_back("--compile-from=executable-sources");
  append_range(arguments, iree::allFlags(flags, options.flags));
  if (spec.empty())
    spec = userSpec;
  if (!spec.empty())
    arguments.push_back("--iree-codegen-tuning-spec-path=" + spec.str());
  result.outcome = start(std::move(arguments), limitSeconds, JobPhase::Compile);
  if (result.outcome.outcome == Outcome::Ok)
    result.dumps = readFolder(dumps);
  sys::fs::remove_directories(dumps);
  if (result.outcome.outcome != Outcome::Ok)
    sys::fs::remove(std::exchange(result.library, ""));
  return result;
}

CommandOutcome IreeBackend::Impl::writeSpecFile(ArrayRef<iree::SpecRow> rows,
                                                StringRef path) {
  CommandOutcome written;
  std::string text = iree::printTuningSpec(rows);
  bool isAlone = userSpec.empty();
  std::string nested = newPath(".mlir");
  if (Error error =
          isAlone ? writeFile(path, text)
                  : writeFile(nested, iree::nestSpecs(userSpecText, text))) {
    written.outcome = Outcome::CompileError;
    written.reason = llvm::toString(std::move(error));
    return written;
  }
  if (!isAlone)
    written = start(
        {options.tools.opt, nested, "-o", path.str(),
         "--pass-pipeline=builtin.module(iree-codegen-link-tuning-specs)"},
        120, JobPhase::Compile);
  sys::fs::remove(nested);
  return written;
}

IreeBackend::Impl::Compiled
IreeBackend::Impl::compileWith(ArrayRef<iree::SpecRow> rows, StringRef from) {
  Compiled result;
  std::string spec = newPath(".mlir");
  result.outcome = writeSpecFile(rows, spec);
  if (result.outcome.outcome == Outcome::Ok)
    result = compile(from, sets[specBase].flags, spec, compileLimit());
  sys::fs::remove(spec);
  if (result.outcome.outcome != Outcome::Ok)
    return result;
  std::string missing = iree::explainMissing(rows, result.dumps);
  if (missing.empty())
    return result;
  result.outcome.outcome = Outcome::Rejected;
  result.outcome.reason = std::move(missing);
  sys::fs::remove(std::exchange(result.library, ""));
  return result;
}

CommandOutcome IreeBackend::Impl::run(StringRef library,
                                      ArrayRef<std::string> outputs,
                                      double limitSeconds,
                                      ArrayRef<std::string> more) {
  std::vector<std::string> arguments = {
      options.tools.runModule, "--module=" + library.str(),
      "--function=" + entry.name, "--device=local-task",
      formatv("--task_topology_max_group_count={0}", options.threads)};
  for (const std::string &file : inputFiles)
    arguments.push_back("--input=@" + file);
  for (const std::string &file : outputs)
    arguments.push_back("--output=@" + file);
  append_range(arguments, options.runFlags);
  append_range(arguments, more);
  return start(std::move(arguments), limitSeconds, JobPhase::Run);
}

CommandOutcome IreeBackend::Impl::check(StringRef library,
                                        double limitSeconds) {
  std::vector<std::string> files;
  for (size_t i = 0; i < references.size(); ++i)
    files.push_back(newPath(".npy"));
  CommandOutcome ran = run(library, files, limitSeconds);
  for (size_t i = 0; i < files.size() && ran.outcome == Outcome::Ok; ++i) {
    auto tensor = readNpy(files[i]);
    std::string wrong;
    if (tensor) {
      CheckResult result = checkResult(*tensor, references[i], tolerances[i]);
      wrong = result.reason;
    } else {
      wrong = llvm::toString(tensor.takeError());
    }
    if (!wrong.empty()) {
      ran.outcome = Outcome::WrongResult;
      ran.reason = formatv("result {0}: {1}", i, wrong);
    }
  }
  for (const std::string &file : files)
    sys::fs::remove(file);
  return ran;
}

/// Seconds of a call in one row of --benchmark_format=json.
static std::optional<double> readRow(const json::Object *row) {
  if (!row || row->getString("run_type").value_or("iteration") != "iteration")
    return std::nullopt; // A mean or median of rows.
  auto value = row->getNumber("real_time");
  double scale = StringSwitch<double>(row->getString("time_unit").value_or(""))
                     .Case("ns", 1e-9)
                     .Case("us", 1e-6)
                     .Case("ms", 1e-3)
                     .Case("s", 1)
                     .Default(0);
  if (!value || !(*value * scale > 0) || !std::isfinite(*value))
    return std::nullopt;
  return *value * scale;
}

/// The least of the repetitions: whatever else runs only adds to a time.
static std::optional<double> readBenchmark(StringRef output) {
  size_t begin = output.find("{\n"), end = output.rfind('}');
  if (begin == StringRef::npos || end == StringRef::npos || end < begin)
    return std::nullopt;
  auto json = parseJson(output.slice(begin, end + 1));
  if (!json) {
    consumeError(json.takeError());
    return std::nullopt;
  }
  const json::Object *object = json->getAsObject();
  const json::Array *rows = object ? object->getArray("benchmarks") : nullptr;
  std::optional<double> least;
  for (const json::Value &row : rows ? *rows : json::Array())
    if (auto seconds = readRow(row.getAsObject()))
      least = std::min(least.value_or(*seconds), *seconds);
  return least;
}

CommandOutcome IreeBackend::Impl::time(StringRef library, double minSeconds,
                                       double limitSeconds, double &seconds,
                                       ArrayRef<std::string> more) {
  constexpr int repetitions = 4;
  std::vector<std::string> arguments = {
      options.tools.benchmarkModule,
      "--module=" + library.str(),
      "--function=" + entry.name,
      "--device=local-task",
      formatv("--task_topology_max_group_count={0}", options.threads),
      formatv("--benchmark_min_time={0}s", minSeconds / repetitions),
      formatv("--benchmark_repetitions={0}", repetitions),
      "--benchmark_format=json"};
  for (const std::string &file : inputFiles)
    arguments.push_back("--input=@" + file);
  append_range(arguments, options.runFlags);
  append_range(arguments, more);
  CommandOutcome ran = start(std::move(arguments), limitSeconds, JobPhase::Run);
  if (ran.outcome != Outcome::Ok)
    return ran;
  auto read = readBenchmark(ran.output);
  if (!read) {
    ran.outcome = Outcome::Crash;
    ran.reason = "iree-benchmark-module printed no time";
    return ran;
  }
  seconds = *read;
  return ran;
}
