//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Backend/Command.h"

#include "CommandRun.h"
#include "attune/Support/Error.h"
#include "attune/Support/Interrupt.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include <atomic>
#include <thread>

using namespace llvm;
using namespace attune;

Expected<std::unique_ptr<CommandBackend>>
CommandBackend::create(CommandOptions options) {
  auto file = readCommandFile(options.file);
  if (!file)
    return file.takeError();
  return std::unique_ptr<CommandBackend>(
      new CommandBackend(std::move(options), std::move(*file)));
}

CommandBackend::CommandBackend(CommandOptions given, CommandFile read)
    : options(std::move(given)), file(std::move(read)) {
  entryList.push_back({"main"});
  BackendDispatch dispatch;
  dispatch.name = file.name;
  dispatch.fingerprint = file.fingerprint;
  dispatch.rootOp = "command";
  dispatch.calls = 1;
  dispatch.location = file.path;
  dispatch.isProgram = true;
  dispatchList.push_back(std::move(dispatch));
}

Expected<std::vector<CandidateSpace>>
CommandBackend::spaces(const BackendDispatch &) {
  std::vector<CandidateSpace> spaces;
  spaces.push_back({"", file.fingerprint, file.space, file.defaults});
  return spaces;
}

//===----------------------------------------------------------------------===//
// Commands in a candidate's folder
//===----------------------------------------------------------------------===//

CommandOutcome CommandBackend::start(const CommandLine &line,
                                     const Configuration &configuration,
                                     StringRef folder, double limitSeconds) {
  StringMap<std::string> values =
      file.valuesOf(configuration, folder, options.threads);
  CommandPlace place;
  place.folder = folder.str();
  for (const auto &[name, text] : file.environment)
    place.environment.push_back(name + "=" + text.fill(values));
  Limits limits;
  limits.wallSeconds = limitSeconds;
  limits.memoryBytes = file.limitBytes;
  limits.processes = 1000; // A build may start as many as there are cores.
  return runCommand(line.fill(values), place, limits,
                    &line == &file.build ? JobPhase::Compile : JobPhase::Run);
}

/// What is wrong with a run that ended well.
CommandOutcome CommandBackend::checkOutput(const Configuration &configuration,
                                           StringRef folder, StringRef output) {
  CommandOutcome wrong;
  wrong.outcome = Outcome::WrongResult;
  wrong.output = output.str();
  StringSet<> lines;
  for (StringRef line : split(output, '\n'))
    lines.insert(line.rtrim());
  for (const std::string &expected : file.expected)
    if (!lines.contains(expected)) {
      wrong.reason = formatv("the output has no line '{0}'", expected);
      return wrong;
    }
  if (file.same) {
    auto text = file.same->find(output);
    if (!sameText)
      sameText = text;
    if (!text || text != sameText) {
      wrong.reason =
          text ? formatv("the output has '{0}', that of the defaults '{1}'",
                         *text, *sameText)
                     .str()
               : "no line of the output matches what is compared";
      return wrong;
    }
  }
  if (file.check.arguments.empty())
    return {};
  std::string path = (folder + "/output.txt").str();
  if (Error error = writeFile(path, output)) {
    wrong.reason = llvm::toString(std::move(error));
    return wrong;
  }
  CommandOutcome checked =
      start(file.check, configuration, folder, file.limitSeconds);
  if (checked.outcome != Outcome::Ok) {
    checked.reason = "the check: " + checked.reason;
    if (checked.outcome == Outcome::Crash)
      checked.outcome = Outcome::WrongResult;
  }
  return checked;
}

CommandOutcome CommandBackend::runOnce(StringRef library, double limitSeconds,
                                       double &seconds) {
  auto found = candidates.find(library.str());
  if (found == candidates.end()) {
    CommandOutcome gone;
    gone.outcome = Outcome::Crash;
    gone.reason = formatv("{0}: not a candidate that was built", library);
    return gone;
  }
  const Configuration &configuration = found->second.configuration;
  CommandOutcome ran = start(file.run, configuration, library,
                             std::min(limitSeconds, file.limitSeconds));
  if (ran.outcome != Outcome::Ok)
    return ran;
  CommandOutcome checked = checkOutput(configuration, library, ran.output);
  if (checked.outcome != Outcome::Ok)
    return checked;
  auto read = file.metric.read(ran.output, ran.wallSeconds, ran.cpuSeconds);
  if (!read) {
    ran.outcome = Outcome::WrongResult;
    ran.reason = llvm::toString(read.takeError());
    return ran;
  }
  seconds = *read;
  return ran;
}

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

/// Each thread lives as long as what it starts.
void CommandBackend::buildSideBySide(
    MutableArrayRef<CompiledCandidate> results) {
  std::atomic<size_t> next = 0;
  auto work = [&] {
    for (size_t i; (i = next++) < results.size();) {
      CompiledCandidate &result = results[i];
      CommandOutcome built =
          start(file.build, candidates.at(result.library).configuration,
                result.library, file.buildLimitSeconds);
      result.outcome = built.outcome;
      result.reason = std::move(built.reason);
      result.detail = std::move(built.output);
      result.compileSeconds = built.wallSeconds;
    }
  };
  std::vector<std::thread> threads;
  size_t count = std::min<size_t>(options.builders, results.size());
  for (size_t i = 1; i < count; ++i)
    threads.emplace_back(work);
  work();
  for (std::thread &thread : threads)
    thread.join();
}

Expected<std::vector<CompiledCandidate>>
CommandBackend::compileCandidates(const BackendDispatch &,
                                  ArrayRef<Configuration> configurations) {
  std::vector<CompiledCandidate> results(configurations.size());
  for (auto [configuration, result] : zip_equal(configurations, results)) {
    auto folder = TemporaryFolder::create(options.workFolder);
    if (!folder)
      return folder.takeError();
    result.library = folder->getPath();
    candidates.emplace(result.library,
                       Candidate{std::move(*folder), configuration});
  }
  if (!file.build.arguments.empty())
    buildSideBySide(results);
  if (interruptRequested() == Interrupt::Now)
    return makeError("interrupted");
  for (CompiledCandidate &result : results)
    if (result.outcome != Outcome::Ok)
      removeLibrary(std::exchange(result.library, ""));
  return results;
}

void CommandBackend::removeLibrary(StringRef library) {
  candidates.erase(library.str());
}

Expected<std::string>
CommandBackend::buildOne(const Configuration &configuration) {
  auto built = compileCandidates(dispatchList.front(), configuration);
  if (!built)
    return built.takeError();
  CompiledCandidate &result = built->front();
  if (result.outcome == Outcome::Ok)
    return std::move(result.library);
  return makeError("{0}: building with {1}: {2}", file.path,
                   configuration == file.defaults ? "the defaults"
                                                  : toString(configuration),
                   result.reason);
}

Expected<std::string> CommandBackend::buildProgram(Build) {
  if (!baseline.empty())
    return baseline;
  auto built = buildOne(file.defaults);
  if (built)
    baseline = *built;
  return built;
}

Expected<std::string> CommandBackend::buildDispatch(const BackendDispatch &,
                                                    Build build) {
  return buildProgram(build);
}

Expected<std::string>
CommandBackend::buildTuned(const Spec &spec, ApplyResult &applied, StringRef) {
  if (spec.entries.empty())
    return buildProgram(Build::Baseline);
  for (const SpecEntry &entry : spec.entries)
    applied.entries.push_back({&entry, {file.name}, ""});
  // A spec keeps its knobs by name; here they are in the file's order again.
  return buildOne(inOrder(spec.entries.front().configuration));
}

Configuration
CommandBackend::inOrder(const Configuration &configuration) const {
  Configuration ordered;
  for (const Knob &knob : file.space.getKnobs())
    if (const KnobValue *value = configuration.find(knob.name))
      ordered.values.emplace_back(knob.name, *value);
  return ordered;
}

Error CommandBackend::dumpDispatch(const BackendDispatch &, StringRef path,
                                   ArrayRef<std::string>) {
  return makeError("{0}: {1} describes commands; there is no program to write",
                   path, file.path);
}

//===----------------------------------------------------------------------===//
// The result
//===----------------------------------------------------------------------===//

Error CommandBackend::writeSpec(const Spec &spec, StringRef path) const {
  bool isTuned = !spec.entries.empty();
  Configuration best =
      isTuned ? inOrder(spec.entries.front().configuration) : file.defaults;
  json::Object values;
  for (const auto &[name, value] : best.values)
    values[name] = attune::toJSON(value);
  StringMap<std::string> texts = file.valuesOf(best, ".", options.threads);
  json::Object environment;
  for (const auto &[name, text] : file.environment)
    environment[name] = text.fill(texts);
  std::vector<std::string> build = file.build.fill(texts),
                           run = file.run.fill(texts);
  json::Object object{{"version", 1},
                      {"file", file.path},
                      {"isDefault", !isTuned},
                      {"values", std::move(values)},
                      {"environment", std::move(environment)},
                      {"build", json::Array(build)},
                      {"run", json::Array(run)},
                      {"buildLine", quoteForShell(build)},
                      {"runLine", quoteForShell(run)}};
  if (isTuned) {
    object["baselineSeconds"] = spec.entries.front().baselineSeconds;
    object["tunedSeconds"] = spec.entries.front().tunedSeconds;
  }
  return writeFile(path,
                   formatv("{0:2}\n", json::Value(std::move(object))).str());
}
