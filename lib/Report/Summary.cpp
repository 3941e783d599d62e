//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// summary.json, out and in.

#include "attune/Report/Report.h"
#include "attune/Support/Error.h"
#include "attune/Support/Files.h"
#include "attune/Support/Json.h"
#include <cmath>

using namespace llvm;
using namespace attune;

static_assert(std::size(outcomeNames) == outcomeCount);

static constexpr int64_t summaryVersion = 1;

//===----------------------------------------------------------------------===//
// Out
//===----------------------------------------------------------------------===//

/// JSON has no NaN; what was not measured is null.
static json::Value number(double value) {
  return std::isfinite(value) ? json::Value(value) : json::Value(nullptr);
}

static json::Object entryObject(const EntryReport &entry) {
  json::Object object{{"name", json::fixUTF8(entry.name)},
                      {"baselineSeconds", number(entry.baselineSeconds)},
                      {"tunedSeconds", number(entry.tunedSeconds)},
                      {"speedup", number(entry.speedup.value)},
                      {"speedupLow", number(entry.speedup.low)},
                      {"speedupHigh", number(entry.speedup.high)},
                      {"outputsAgree", entry.outputsAgree}};
  if (!entry.disagreement.empty())
    object["disagreement"] = json::fixUTF8(entry.disagreement);
  return object;
}

static json::Array failureArray(const std::vector<FailureExample> &failures) {
  json::Array array;
  for (const FailureExample &failure : failures)
    array.push_back(
        json::Object{{"outcome", toString(failure.outcome)},
                     {"configuration", toJSON(failure.configuration)},
                     {"reason", json::fixUTF8(failure.reason)},
                     {"detailPath", json::fixUTF8(failure.detailPath)}});
  return array;
}

static json::Object dispatchObject(const DispatchReport &dispatch) {
  json::Object trials;
  for (size_t i = 0; i < outcomeCount; ++i)
    trials[outcomeNames[i]] = dispatch.trials.counts[i];
  json::Value configuration = nullptr;
  if (dispatch.configuration)
    configuration = toJSON(*dispatch.configuration);
  json::Array best;
  for (double speedup : dispatch.bestSpeedupAfterTrial)
    best.push_back(number(speedup));
  return json::Object{{"name", json::fixUTF8(dispatch.name)},
                      {"fingerprint", json::fixUTF8(dispatch.fingerprint)},
                      {"rootOp", json::fixUTF8(dispatch.rootOp)},
                      {"shapes", json::fixUTF8(dispatch.shapes)},
                      {"share", number(dispatch.share)},
                      {"selection", json::fixUTF8(dispatch.selection)},
                      {"overRoofline", number(dispatch.overRoofline)},
                      {"count", dispatch.count},
                      {"baselineSeconds", number(dispatch.baselineSeconds)},
                      {"tunedSeconds", number(dispatch.tunedSeconds)},
                      {"speedup", number(dispatch.speedup.value)},
                      {"speedupLow", number(dispatch.speedup.low)},
                      {"speedupHigh", number(dispatch.speedup.high)},
                      {"configuration", std::move(configuration)},
                      {"reason", json::fixUTF8(dispatch.reason)},
                      {"trials", std::move(trials)},
                      {"reusedTrials", dispatch.reusedTrials},
                      {"bestSpeedupAfterTrial", std::move(best)},
                      {"failures", failureArray(dispatch.failures)}};
}

json::Value attune::summaryJSON(const SessionReport &report) {
  json::Array entries, dispatches, notes, warnings;
  for (const EntryReport &entry : report.entries)
    entries.push_back(entryObject(entry));
  for (const DispatchReport &dispatch : report.dispatches)
    dispatches.push_back(dispatchObject(dispatch));
  for (const std::string &note : report.notes)
    notes.push_back(json::fixUTF8(note));
  for (const std::string &warning : report.warnings)
    warnings.push_back(json::fixUTF8(warning));
  json::Object versions;
  for (const auto &[name, version] : report.versions)
    versions[name] = version;
  json::Object program = entryObject(report.program);
  if (report.overDefault) {
    program["speedupOverDefault"] = number(report.overDefault->value);
    program["speedupOverDefaultLow"] = number(report.overDefault->low);
    program["speedupOverDefaultHigh"] = number(report.overDefault->high);
  }
  return json::Object{{"version", summaryVersion},
                      {"model", json::fixUTF8(report.model)},
                      {"command", json::fixUTF8(report.command)},
                      {"resultFolder", json::fixUTF8(report.resultFolder)},
                      {"entries", std::move(entries)},
                      {"program", std::move(program)},
                      {"dispatches", std::move(dispatches)},
                      {"budget", report.budget},
                      {"elapsedSeconds", number(report.elapsedSeconds)},
                      {"startedAt", number(report.startedAt)},
                      {"seed", report.seed},
                      {"threads", report.threads},
                      {"target", toJSON(report.target)},
                      {"versions", std::move(versions)},
                      {"stopReason", json::fixUTF8(report.stopReason)},
                      {"notes", std::move(notes)},
                      {"warnings", std::move(warnings)}};
}

Error attune::writeLog(const SessionReport &report, StringRef folder) {
  std::string log, lines;
  raw_string_ostream logStream(log), linesStream(lines);
  printLog(report, logStream);
  printLogLines(report, linesStream);
  if (Error error = writeFile((folder + "/log.txt").str(), log))
    return error;
  return writeFile((folder + "/log.jsonl").str(), lines);
}

Error attune::writeReport(const SessionReport &report, StringRef folder) {
  std::string html;
  raw_string_ostream htmlStream(html);
  printHTML(report, htmlStream);
  if (Error error = writeLog(report, folder))
    return error;
  if (Error error = writeFile((folder + "/report.html").str(), html))
    return error;
  // The summary last: where it is, the others are too.
  return writeFile((folder + "/summary.json").str(),
                   formatv("{0:2}\n", summaryJSON(report)).str());
}

//===----------------------------------------------------------------------===//
// In
//===----------------------------------------------------------------------===//

namespace attune {

/// Null is what was not finite.
static bool mapNumber(json::ObjectMapper &map, StringLiteral key,
                      double &value) {
  std::optional<double> read;
  if (!map.mapOptional(key, read))
    return false;
  value = read.value_or(std::nan(""));
  return true;
}

static bool mapSpeedup(json::ObjectMapper &map, Speedup &speedup) {
  return mapNumber(map, "speedup", speedup.value) &&
         mapNumber(map, "speedupLow", speedup.low) &&
         mapNumber(map, "speedupHigh", speedup.high);
}

static bool fromJSON(const json::Value &value, EntryReport &entry,
                     json::Path path) {
  json::ObjectMapper map(value, path);
  return map && map.map("name", entry.name) &&
         mapNumber(map, "baselineSeconds", entry.baselineSeconds) &&
         mapNumber(map, "tunedSeconds", entry.tunedSeconds) &&
         mapSpeedup(map, entry.speedup) &&
         map.map("outputsAgree", entry.outputsAgree) &&
         map.mapOptional("disagreement", entry.disagreement);
}

static bool readConfiguration(const json::Value &value,
                              Configuration &configuration, json::Path path) {
  Expected<Configuration> read = configurationFromJSON(value);
  if (!read) {
    consumeError(read.takeError());
    path.report("not a configuration");
    return false;
  }
  configuration = std::move(*read);
  return true;
}

static bool fromJSON(const json::Value &value, FailureExample &failure,
                     json::Path path) {
  json::ObjectMapper map(value, path);
  std::string outcome;
  if (!map || !map.map("outcome", outcome) ||
      !map.map("reason", failure.reason) ||
      !map.mapOptional("detailPath", failure.detailPath))
    return false;
  auto known = outcomeFromString(outcome);
  if (!known) {
    path.field("outcome").report("unknown outcome");
    return false;
  }
  failure.outcome = *known;
  const json::Value *configuration = value.getAsObject()->get("configuration");
  return !configuration ||
         readConfiguration(*configuration, failure.configuration,
                           path.field("configuration"));
}

static bool fromJSON(const json::Value &value, TrialCounts &counts,
                     json::Path path) {
  json::ObjectMapper map(value, path);
  if (!map)
    return false;
  for (size_t i = 0; i < outcomeCount; ++i)
    if (!map.mapOptional(outcomeNames[i], counts.counts[i]))
      return false;
  return true;
}

static bool fromJSON(const json::Value &value, DispatchReport &dispatch,
                     json::Path path) {
  json::ObjectMapper map(value, path);
  if (!map || !map.map("name", dispatch.name) ||
      !map.map("fingerprint", dispatch.fingerprint) ||
      !map.map("rootOp", dispatch.rootOp) ||
      !map.map("shapes", dispatch.shapes) ||
      !mapNumber(map, "share", dispatch.share) ||
      !map.map("count", dispatch.count) ||
      !mapNumber(map, "baselineSeconds", dispatch.baselineSeconds) ||
      !mapNumber(map, "tunedSeconds", dispatch.tunedSeconds) ||
      !mapSpeedup(map, dispatch.speedup) ||
      !map.mapOptional("selection", dispatch.selection) ||
      !mapNumber(map, "overRoofline", dispatch.overRoofline) ||
      !map.map("reason", dispatch.reason) ||
      !map.map("trials", dispatch.trials) ||
      !map.mapOptional("reusedTrials", dispatch.reusedTrials) ||
      !map.mapOptional("failures", dispatch.failures))
    return false;
  std::vector<std::optional<double>> best;
  if (!map.mapOptional("bestSpeedupAfterTrial", best))
    return false;
  for (std::optional<double> speedup : best)
    dispatch.bestSpeedupAfterTrial.push_back(speedup.value_or(std::nan("")));
  const json::Value *configuration = value.getAsObject()->get("configuration");
  if (!configuration || configuration->kind() == json::Value::Null)
    return true;
  return readConfiguration(*configuration, dispatch.configuration.emplace(),
                           path.field("configuration"));
}

static bool fromJSON(const json::Value &value, SessionReport &report,
                     json::Path path) {
  json::ObjectMapper map(value, path);
  return map && map.mapOptional("model", report.model) &&
         map.mapOptional("command", report.command) &&
         map.mapOptional("resultFolder", report.resultFolder) &&
         map.map("entries", report.entries) &&
         map.map("program", report.program) &&
         map.map("dispatches", report.dispatches) &&
         map.map("budget", report.budget) &&
         mapNumber(map, "elapsedSeconds", report.elapsedSeconds) &&
         mapNumber(map, "startedAt", report.startedAt) &&
         map.map("seed", report.seed) &&
         map.mapOptional("threads", report.threads) &&
         map.map("versions", report.versions) &&
         map.mapOptional("stopReason", report.stopReason) &&
         map.mapOptional("notes", report.notes) &&
         map.mapOptional("warnings", report.warnings);
}

} // namespace attune

Expected<SessionReport> attune::readSummary(StringRef path) {
  Expected<std::string> text = readFile(path);
  if (!text)
    return text.takeError();
  Expected<json::Value> value = parseJson(*text);
  if (!value)
    return makeError("{0}: {1}", path, llvm::toString(value.takeError()));
  const json::Object *object = value->getAsObject();
  auto version = object ? object->getInteger("version") : std::nullopt;
  if (!version)
    return makeError("{0}: not a summary: no 'version'", path);
  if (*version > summaryVersion)
    return makeError("{0}: version {1} is newer than this Attune, which reads "
                     "up to {2}",
                     path, *version, summaryVersion);
  SessionReport report;
  json::Path::Root root("summary");
  if (!fromJSON(*value, report, root))
    return makeError("{0}: {1}", path, llvm::toString(root.getError()));
  const json::Value *target = object->get("target");
  Expected<Target> machine =
      targetFromJSON(target ? *target : json::Value(nullptr));
  if (!machine)
    return makeError("{0}: {1}", path, llvm::toString(machine.takeError()));
  report.target = std::move(*machine);
  const json::Object *program = object->getObject("program");
  if (auto gain = program->getNumber("speedupOverDefault"))
    report.overDefault = {
        *gain, program->getNumber("speedupOverDefaultLow").value_or(*gain),
        program->getNumber("speedupOverDefaultHigh").value_or(*gain)};
  return report;
}
