//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Database/Commands.h"

#include "Impl.h"
#include "attune/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include <ctime>

using namespace llvm;
using namespace attune;
using namespace attune::db;

/// Local time, to the second.
static std::string formatTime(double at) {
  std::time_t seconds = static_cast<std::time_t>(at);
  std::tm parts = {};
  char text[32] = "";
  if (localtime_r(&seconds, &parts))
    std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
  return text;
}

static std::string plural(int64_t count, StringRef one, StringRef many) {
  return formatv("{0} {1}", count, count == 1 ? one : many).str();
}

static void print(raw_ostream &out, json::Object object) {
  out << formatv("{0:2}\n", json::Value(std::move(object)));
}

Error db::show(StringRef path, Format format, raw_ostream &out) {
  Expected<Database> database = Database::open(path, OpenMode::Read);
  if (!database)
    return database.takeError();
  Expected<DatabaseSummary> summary = database->summarize();
  if (!summary)
    return summary.takeError();
  if (format == Format::Json) {
    json::Object outcomes;
    for (const auto &[name, count] : summary->outcomes)
      outcomes[name] = count;
    json::Value last = nullptr;
    if (summary->lastTrialAt)
      last = *summary->lastTrialAt;
    print(out, json::Object{{"version", 1},
                            {"schemaVersion", summary->schemaVersion},
                            {"programs", summary->programs},
                            {"dispatches", summary->dispatches},
                            {"targets", summary->targets},
                            {"sessions", summary->sessions},
                            {"configurations", summary->configurations},
                            {"trials", summary->trials},
                            {"outcomes", std::move(outcomes)},
                            {"lastTrialAt", std::move(last)}});
    return Error::success();
  }
  out << path << ": " << plural(summary->trials, "trial", "trials") << " of "
      << plural(summary->dispatches, "dispatch", "dispatches") << " in "
      << plural(summary->sessions, "session", "sessions") << ", "
      << plural(summary->programs, "program", "programs") << ", "
      << plural(summary->targets, "machine", "machines") << "\n";
  for (const auto &[name, count] : summary->outcomes)
    if (count)
      out << formatv("  {0,-15} {1}\n", name, count);
  if (summary->lastTrialAt)
    out << "last trial: " << formatTime(*summary->lastTrialAt) << "\n";
  return Error::success();
}

static json::Object sessionObject(const SessionInfo &info) {
  json::Value ended = nullptr;
  if (info.endedAt)
    ended = *info.endedAt;
  return json::Object{{"uid", info.uid},
                      {"program", info.programName},
                      {"programHash", info.programHash},
                      {"command", info.command},
                      {"seed", info.seed},
                      {"budget", info.budget},
                      {"cpu", info.conditions.target.cpu},
                      {"threads", info.conditions.threads},
                      {"versions", db::toJSON(info.conditions.versions)},
                      {"startedAt", info.startedAt},
                      {"endedAt", std::move(ended)},
                      {"status", info.status},
                      {"trials", info.trials},
                      {"spentSeconds", info.spentSeconds}};
}

static json::Object dispatchObject(const DispatchSummary &summary) {
  json::Value best = nullptr;
  if (summary.best)
    best = toJSON(*summary.best);
  return json::Object{{"fingerprint", summary.dispatch.fingerprint},
                      {"sizes", summary.dispatch.sizes},
                      {"rootOp", summary.dispatch.rootOp},
                      {"shapes", summary.dispatch.shapes},
                      {"trials", summary.trials},
                      {"failures", summary.failures},
                      {"best", std::move(best)},
                      {"bestSpeedup", summary.bestSpeedup},
                      {"bestSeconds", summary.bestSeconds}};
}

Error db::list(StringRef path, Format format, raw_ostream &out) {
  Expected<Database> database = Database::open(path, OpenMode::Read);
  if (!database)
    return database.takeError();
  auto sessions = database->sessions();
  if (!sessions)
    return sessions.takeError();
  auto dispatches = database->summarizeDispatches();
  if (!dispatches)
    return dispatches.takeError();
  if (format == Format::Json) {
    json::Array sessionArray, dispatchArray;
    for (const SessionInfo &info : *sessions)
      sessionArray.push_back(sessionObject(info));
    for (const DispatchSummary &summary : *dispatches)
      dispatchArray.push_back(dispatchObject(summary));
    print(out, json::Object{{"version", 1},
                            {"sessions", std::move(sessionArray)},
                            {"dispatches", std::move(dispatchArray)}});
    return Error::success();
  }
  for (const SessionInfo &info : *sessions)
    out << formatv("session {0}  {1}  {2}  {3}, {4}  {5}\n", info.id,
                   formatTime(info.startedAt), info.programName,
                   plural(info.trials, "trial", "trials"),
                   info.endedAt ? info.status : std::string("not ended"),
                   info.command);
  for (const DispatchSummary &summary : *dispatches) {
    out << formatv("dispatch {0}  {1} {2}{3}  {4}, {5} failed",
                   summary.dispatch.fingerprint, summary.dispatch.rootOp,
                   summary.dispatch.shapes,
                   summary.dispatch.sizes.empty()
                       ? ""
                       : " (" + summary.dispatch.sizes + ")",
                   plural(summary.trials, "trial", "trials"), summary.failures);
    if (summary.best)
      out << formatv("  best {0:f2}x: {1}", summary.bestSpeedup,
                     toString(*summary.best));
    out << "\n";
  }
  return Error::success();
}

Error db::check(StringRef path, Format format, raw_ostream &out) {
  Expected<Database> database = Database::open(path, OpenMode::Read);
  if (!database)
    return database.takeError();
  auto findings = database->check();
  if (!findings)
    return findings.takeError();
  if (format == Format::Json)
    print(out, json::Object{{"version", 1},
                            {"ok", findings->empty()},
                            {"findings", json::Array(*findings)}});
  else if (findings->empty())
    out << path << ": ok\n";
  else
    for (const std::string &finding : *findings)
      out << path << ": " << finding << "\n";
  if (findings->empty())
    return Error::success();
  return makeError(
      "{0}: {1}; keep the file, and save what is readable with: "
      "attune db export",
      path, plural(findings->size(), "thing is wrong", "things are wrong"));
}

Error db::exportTo(StringRef path, raw_ostream &out) {
  Expected<Database> database = Database::open(path, OpenMode::Read);
  if (!database)
    return database.takeError();
  return database->exportLines([&](StringRef line) {
    out << line << "\n";
    return Error::success();
  });
}

static void printCounts(Database::ImportCounts counts, StringRef from,
                        Format format, raw_ostream &out) {
  if (format == Format::Json)
    return print(out, json::Object{{"version", 1},
                                   {"sessions", counts.sessions},
                                   {"trials", counts.trials},
                                   {"known", counts.known}});
  out << from << ": " << plural(counts.trials, "new trial", "new trials")
      << " of " << plural(counts.sessions, "new session", "new sessions")
      << ", " << counts.known << " known already\n";
}

Error db::importFrom(StringRef path, StringRef from, Format format,
                     raw_ostream &out) {
  auto buffer = MemoryBuffer::getFileOrSTDIN(from);
  if (!buffer)
    return makeError("{0}: {1}", from, buffer.getError().message());
  Expected<Database> database = Database::open(path, OpenMode::Write);
  if (!database)
    return database.takeError();
  auto counts = database->importLines((*buffer)->getBuffer(), from);
  if (!counts)
    return counts.takeError();
  printCounts(*counts, from, format, out);
  return Error::success();
}

Error db::merge(StringRef path, ArrayRef<std::string> others, Format format,
                raw_ostream &out) {
  // All are opened before the first is merged: a wrong name changes nothing.
  std::vector<Database> sources;
  for (const std::string &other : others) {
    Expected<Database> source = Database::open(other, OpenMode::Read);
    if (!source)
      return source.takeError();
    sources.push_back(std::move(*source));
  }
  Expected<Database> database = Database::open(path, OpenMode::Write);
  if (!database)
    return database.takeError();
  Database::ImportCounts total;
  for (const Database &source : sources) {
    auto counts = database->merge(source);
    if (!counts)
      return counts.takeError();
    if (format == Format::Text)
      printCounts(*counts, source.getPath(), format, out);
    total.sessions += counts->sessions;
    total.trials += counts->trials;
    total.known += counts->known;
  }
  if (format == Format::Json)
    printCounts(total, path, format, out);
  return Error::success();
}

Error db::prune(StringRef path, const PruneOptions &options, Format format,
                raw_ostream &out) {
  Expected<Database> existing = Database::open(path, OpenMode::Read);
  if (!existing) // Pruning does not make a file.
    return existing.takeError();
  Expected<Database> database = Database::open(path, OpenMode::Write);
  if (!database)
    return database.takeError();
  Expected<int64_t> removed = database->prune(options);
  if (!removed)
    return removed.takeError();
  if (format == Format::Json)
    print(out, json::Object{{"version", 1}, {"removed", *removed}});
  else
    out << path << ": " << plural(*removed, "trial", "trials") << " removed\n";
  return Error::success();
}
