//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// JSON lines out and in. Each line is an object with a `kind`; lines refer to
// each other by what is the same in all files (hashes, uids), never by rows.

#include "Impl.h"
#include "attune/Support/Error.h"
#include "attune/Support/Json.h"
#include "llvm/ADT/DenseSet.h"

using namespace llvm;
using namespace attune;
using namespace attune::db;
using namespace attune::sqlite;

static constexpr StringLiteral formatName = "attune-trials";
static constexpr int64_t formatVersion = 2;

//===----------------------------------------------------------------------===//
// Out
//===----------------------------------------------------------------------===//

using LineSink = function_ref<Error(StringRef)>;

static Error put(LineSink sink, json::Object object) {
  return sink(toText(json::Value(std::move(object))));
}

static Error exportPrograms(const Connection &connection, LineSink sink) {
  auto program = [&](Statement &row) -> Error {
    return put(sink, json::Object{{"kind", "program"},
                                  {"hash", row.text(0)},
                                  {"name", row.text(1)}});
  };
  if (Error error = connection.each(
          "SELECT hash, name FROM programs ORDER BY hash", program))
    return error;
  auto dispatch = [&](Statement &row) -> Error {
    return put(sink, json::Object{{"kind", "dispatch"},
                                  {"fingerprint", row.text(0)},
                                  {"sizes", row.text(1)},
                                  {"rootOp", row.text(2)},
                                  {"shapes", row.text(3)}});
  };
  if (Error error = connection.each(
          "SELECT fingerprint, sizes, root_op, shapes FROM dispatches ORDER BY "
          "fingerprint, sizes",
          dispatch))
    return error;
  auto use = [&](Statement &row) -> Error {
    return put(sink, json::Object{{"kind", "programDispatch"},
                                  {"program", row.text(0)},
                                  {"fingerprint", row.text(1)},
                                  {"sizes", row.text(2)},
                                  {"name", row.text(3)},
                                  {"count", row.integer(4)}});
  };
  return connection.each(
      "SELECT p.hash, d.fingerprint, d.sizes, u.name, u.count FROM "
      "program_dispatches u JOIN programs p ON p.id = u.program_id JOIN "
      "dispatches d ON d.id = u.dispatch_id ORDER BY p.hash, u.name",
      use);
}

static json::Object sessionLine(const SessionInfo &info) {
  json::Object object{{"kind", "session"},
                      {"uid", info.uid},
                      {"program", info.programHash},
                      {"command", info.command},
                      {"seed", std::to_string(info.seed)},
                      {"budget", info.budget},
                      {"target", toJSON(info.conditions.target)},
                      {"threads", info.conditions.threads},
                      {"versions", db::toJSON(info.conditions.versions)},
                      {"startedAt", info.startedAt},
                      {"status", info.status}};
  if (info.endedAt)
    object["endedAt"] = *info.endedAt;
  return object;
}

/// A session's profile, and how far it came with its dispatches.
static Error exportProgress(const Connection &connection, LineSink sink) {
  auto dispatch = [&](Statement &row) -> Error {
    json::Object object{
        {"kind", "sessionDispatch"},  {"session", row.text(0)},
        {"fingerprint", row.text(2)}, {"sizes", row.text(3)},
        {"name", row.text(4)},        {"seconds", row.real(5)},
        {"calls", row.integer(6)},    {"schedules", row.text(7)}};
    if (!row.isNull(1))
      object["programSeconds"] = row.real(1);
    if (!row.isNull(8)) {
      object["endedAt"] = row.real(8);
      object["endReason"] = row.text(9);
    }
    return put(sink, std::move(object));
  };
  return connection.each(
      "SELECT s.uid, s.program_seconds, d.fingerprint, d.sizes, u.name, "
      "u.seconds, u.calls, u.schedules, u.ended_at, u.end_reason FROM "
      "session_dispatches u "
      "JOIN sessions s ON s.id = u.session_id JOIN dispatches d ON d.id = "
      "u.dispatch_id ORDER BY s.id, u.name",
      dispatch);
}

static Error exportTrials(const Connection &connection, LineSink sink) {
  auto environment = [&](Statement &row) -> Error {
    Expected<json::Value> value = parseJson(row.text(2));
    if (!value)
      return value.takeError();
    return put(sink, json::Object{{"kind", "environment"},
                                  {"session", row.text(0)},
                                  {"at", row.real(1)},
                                  {"environment", std::move(*value)}});
  };
  if (Error error = connection.each(
          "SELECT s.uid, e.at, e.environment FROM environments e JOIN sessions "
          "s ON s.id = e.session_id ORDER BY e.id",
          environment))
    return error;
  auto trial = [&](Statement &row) -> Error {
    Expected<TrialRecord> record = readTrial(row, 0);
    if (!record)
      return record.takeError();
    return put(sink,
               json::Object{{"kind", "trial"},
                            {"session", row.text(trialColumnCount)},
                            {"number", row.integer(trialColumnCount + 1)},
                            {"finishedAt", row.real(trialColumnCount + 2)},
                            {"fingerprint", record->dispatch.fingerprint},
                            {"sizes", record->dispatch.sizes},
                            {"phase", db::toString(record->phase)},
                            {"scheduleVersion", record->scheduleVersion},
                            {"wallSeconds", record->wallSeconds},
                            {"trial", toJSON(record->trial)}});
  };
  return connection.each(std::string("SELECT ") + trialColumns +
                             ", s.uid, t.number, t.finished_at FROM " +
                             trialTables + " ORDER BY t.id",
                         trial);
}

Error Database::exportLines(LineSink sink) const {
  const Connection &connection = *impl->connection;
  // One view of the file, even while another process goes on writing.
  if (Error error = connection.run("BEGIN"))
    return error;
  auto writeAll = [&]() -> Error {
    if (Error error = put(sink, json::Object{{"kind", "header"},
                                             {"format", formatName},
                                             {"version", formatVersion}}))
      return error;
    if (Error error = exportPrograms(connection, sink))
      return error;
    auto list = sessions();
    if (!list)
      return list.takeError();
    for (const SessionInfo &info : *list)
      if (Error error = put(sink, sessionLine(info)))
        return error;
    if (Error error = exportProgress(connection, sink))
      return error;
    return exportTrials(connection, sink);
  };
  Error error = writeAll(), end = connection.run("END");
  if (!error)
    return end;
  // Of a damaged file both say the same.
  consumeError(std::move(end));
  return error;
}

//===----------------------------------------------------------------------===//
// In
//===----------------------------------------------------------------------===//

namespace {

/// Takes lines in any order in which what is referred to comes first.
class Importer {
public:
  explicit Importer(const Connection &connection) : connection(connection) {}
  Error take(StringRef line);
  Database::ImportCounts counts;

private:
  Error takeHeader(const json::Object &object);
  Error takeProgramDispatch(const json::Object &object);
  Error takeSession(const json::Object &object);
  Error takeSessionDispatch(const json::Object &object);
  Error takeEnvironment(const json::Object &object);
  Error takeTrial(const json::Object &object);
  Expected<int64_t> findSession(const json::Object &object);

  const Connection &connection;
  bool sawHeader = false;
  StringMap<int64_t> sessions;
  /// Sessions that came with this import: only theirs are new environments.
  DenseSet<int64_t> newSessions;
};

} // namespace

/// Fields of a line; what is missing or of another type is collected.
namespace {
class Fields {
public:
  explicit Fields(const json::Object &object) : object(object) {}
  std::string text(StringRef key) {
    auto value = object.getString(key);
    return value ? value->str() : (missing(key), std::string());
  }
  int64_t integer(StringRef key) {
    auto value = object.getInteger(key);
    return value ? *value : (missing(key), 0);
  }
  double real(StringRef key) {
    auto value = object.getNumber(key);
    return value ? *value : (missing(key), 0.0);
  }
  const json::Value &any(StringRef key) {
    static const json::Value null(nullptr);
    const json::Value *value = object.get(key);
    return value ? *value : (missing(key), null);
  }
  Error take() {
    if (wrong.empty())
      return Error::success();
    return makeError("'{0}' is missing or of the wrong type", wrong);
  }

private:
  void missing(StringRef key) {
    if (wrong.empty())
      wrong = key.str();
  }
  const json::Object &object;
  std::string wrong;
};
} // namespace

Error Importer::take(StringRef line) {
  Expected<json::Value> value = parseJson(line);
  if (!value)
    return value.takeError();
  const json::Object *object = value->getAsObject();
  std::optional<StringRef> kind =
      object ? object->getString("kind") : std::nullopt;
  if (!kind)
    return makeError("not an object with a 'kind'");
  if (*kind == "header")
    return takeHeader(*object);
  if (!sawHeader)
    return makeError("no header: the first line of an export is {{\"kind\": "
                     "\"header\", \"format\": \"{0}\", ...}",
                     formatName);
  Fields fields(*object);
  if (*kind == "program") {
    std::string hash = fields.text("hash"), name = fields.text("name");
    if (Error error = fields.take())
      return error;
    return db::internProgram(connection, hash, name).takeError();
  }
  if (*kind == "dispatch") {
    DispatchKey key{fields.text("fingerprint"), fields.text("sizes"),
                    fields.text("rootOp"), fields.text("shapes")};
    if (Error error = fields.take())
      return error;
    return db::internDispatch(connection, key).takeError();
  }
  if (*kind == "programDispatch")
    return takeProgramDispatch(*object);
  if (*kind == "session")
    return takeSession(*object);
  if (*kind == "sessionDispatch")
    return takeSessionDispatch(*object);
  if (*kind == "environment")
    return takeEnvironment(*object);
  if (*kind == "trial")
    return takeTrial(*object);
  return makeError("unknown kind '{0}'", *kind);
}

Error Importer::takeHeader(const json::Object &object) {
  Fields fields(object);
  std::string format = fields.text("format");
  int64_t version = fields.integer("version");
  if (Error error = fields.take())
    return error;
  if (format != formatName)
    return makeError("format '{0}' instead of '{1}'", format, formatName);
  if (version > formatVersion)
    return makeError("version {0} of the format is newer than this Attune, "
                     "which reads up to {1}",
                     version, formatVersion);
  sawHeader = true;
  return Error::success();
}

Error Importer::takeProgramDispatch(const json::Object &object) {
  Fields fields(object);
  std::string program = fields.text("program");
  DispatchKey key{fields.text("fingerprint"), fields.text("sizes"), "", ""};
  std::string name = fields.text("name");
  int64_t count = fields.integer("count");
  if (Error error = fields.take())
    return error;
  auto id = db::internDispatch(connection, key);
  if (!id)
    return id.takeError();
  return connection.run(
      "INSERT INTO program_dispatches (program_id, dispatch_id, name, count) "
      "SELECT id, ?, ?, ? FROM programs WHERE hash = ? ON CONFLICT DO NOTHING",
      *id, name, count, program);
}

Error Importer::takeSession(const json::Object &object) {
  Fields fields(object);
  std::string uid = fields.text("uid"), hash = fields.text("program");
  Expected<Target> target = targetFromJSON(fields.any("target"));
  if (!target)
    return target.takeError();
  auto versions = versionsFromText(toText(fields.any("versions")));
  if (!versions)
    return versions.takeError();
  std::string seed = fields.text("seed");
  uint64_t number;
  if (StringRef(seed).getAsInteger(10, number))
    return makeError("the seed '{0}' is not a number", seed);
  std::optional<double> endedAt;
  if (object.get("endedAt"))
    endedAt = fields.real("endedAt");
  auto program = db::internProgram(connection, hash, "");
  if (!program)
    return program.takeError();
  auto targetRow = db::internTarget(connection, toText(toJSON(*target)));
  if (!targetRow)
    return targetRow.takeError();
  // Without an owner: nobody who lives here began it.
  Error error = connection.run(
      "INSERT INTO sessions (uid, program_id, target_id, threads, versions, "
      "seed, budget, command, owner, started_at, ended_at, status) VALUES (?, "
      "?, ?, ?, ?, ?, ?, ?, '', ?, ?, ?) ON CONFLICT (uid) DO NOTHING",
      uid, *program, *targetRow, fields.integer("threads"), toText(*versions),
      seed, fields.text("budget"), fields.text("command"),
      fields.real("startedAt"), endedAt, fields.text("status"));
  if (Error wrong = fields.take()) {
    consumeError(std::move(error)); // It follows from what is missing.
    return wrong;
  }
  if (error)
    return error;
  if (sqlite3_changes(connection.getHandle()) > 0) {
    ++counts.sessions;
    newSessions.insert(sqlite3_last_insert_rowid(connection.getHandle()));
  }
  return Error::success();
}

Expected<int64_t> Importer::findSession(const json::Object &object) {
  Fields fields(object);
  std::string uid = fields.text("session");
  if (Error error = fields.take())
    return error;
  if (auto known = sessions.find(uid); known != sessions.end())
    return known->second;
  auto id = connection.integer("SELECT id FROM sessions WHERE uid = ?", uid);
  if (!id)
    return id.takeError();
  if (!*id)
    return makeError("no session '{0}' comes before this line", uid);
  sessions[uid] = **id;
  return **id;
}

Error Importer::takeSessionDispatch(const json::Object &object) {
  Expected<int64_t> session = findSession(object);
  if (!session)
    return session.takeError();
  Fields fields(object);
  DispatchKey key{fields.text("fingerprint"), fields.text("sizes"), "", ""};
  std::string name = fields.text("name"), schedules = fields.text("schedules");
  double seconds = fields.real("seconds");
  int64_t calls = fields.integer("calls");
  std::optional<double> programSeconds, endedAt;
  std::optional<std::string> endReason;
  if (object.get("programSeconds"))
    programSeconds = fields.real("programSeconds");
  if (object.get("endedAt")) {
    endedAt = fields.real("endedAt");
    endReason = fields.text("endReason");
  }
  if (Error error = fields.take())
    return error;
  auto dispatch = db::internDispatch(connection, key);
  if (!dispatch)
    return dispatch.takeError();
  if (Error error = connection.run("UPDATE sessions SET program_seconds = ? "
                                   "WHERE id = ? AND program_seconds IS NULL",
                                   programSeconds, *session))
    return error;
  // Which trials it knew is of the other file: row numbers do not travel.
  return connection.run(
      "INSERT INTO session_dispatches (session_id, dispatch_id, name, seconds, "
      "calls, schedules, ended_at, end_reason) VALUES (?, ?, ?, ?, ?, ?, ?, ?) "
      "ON CONFLICT DO "
      "NOTHING",
      *session, *dispatch, name, seconds, calls, schedules, endedAt, endReason);
}

Error Importer::takeEnvironment(const json::Object &object) {
  Expected<int64_t> session = findSession(object);
  if (!session)
    return session.takeError();
  if (!newSessions.contains(*session))
    return Error::success();
  Fields fields(object);
  double at = fields.real("at");
  auto environment = environmentFromJSON(fields.any("environment"));
  if (!environment)
    return environment.takeError();
  if (Error error = fields.take())
    return error;
  return connection.run("INSERT INTO environments (session_id, at, "
                        "environment) VALUES (?, ?, ?)",
                        *session, at, toText(toJSON(*environment)));
}

Error Importer::takeTrial(const json::Object &object) {
  Expected<int64_t> session = findSession(object);
  if (!session)
    return session.takeError();
  Fields fields(object);
  TrialRow row{*session, fields.integer("number"), fields.real("finishedAt")};
  TrialRecord record;
  record.dispatch = {fields.text("fingerprint"), fields.text("sizes"), "", ""};
  std::string phase = fields.text("phase");
  record.scheduleVersion = fields.text("scheduleVersion");
  record.wallSeconds = fields.real("wallSeconds");
  if (Error error = fields.take())
    return error;
  auto knownPhase = phaseFromString(phase);
  if (!knownPhase)
    return makeError("unknown phase '{0}'", phase);
  record.phase = *knownPhase;
  Expected<Trial> trial = trialFromJSON(fields.any("trial"));
  if (!trial)
    return trial.takeError();
  record.trial = std::move(*trial);
  if (Error error = validate(record.trial))
    return error;
  Expected<bool> inserted = insertTrial(connection, row, record);
  if (!inserted)
    return inserted.takeError();
  ++(*inserted ? counts.trials : counts.known);
  return Error::success();
}

Expected<Database::ImportCounts> Database::importLines(StringRef text,
                                                       StringRef name) {
  Transaction transaction(*impl->connection);
  if (Error error = transaction.begin())
    return error;
  Importer importer(*impl->connection);
  for (int64_t number = 1; !text.empty(); ++number) {
    StringRef line;
    std::tie(line, text) = text.split('\n');
    if (line.trim().empty())
      continue;
    if (Error error = importer.take(line))
      return makeError("{0}:{1}: {2}", name, number,
                       toString(std::move(error)));
  }
  if (Error error = transaction.commit())
    return error;
  return importer.counts;
}

Expected<Database::ImportCounts> Database::merge(const Database &other) {
  Transaction transaction(*impl->connection);
  if (Error error = transaction.begin())
    return error;
  Importer importer(*impl->connection);
  if (Error error = other.exportLines(
          [&](StringRef line) { return importer.take(line); }))
    return makeError("merging {0}: {1}", other.getPath(),
                     toString(std::move(error)));
  if (Error error = transaction.commit())
    return error;
  return importer.counts;
}
