//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Impl.h"
#include "attune/Support/Error.h"
#include "attune/Support/Json.h"

using namespace llvm;
using namespace attune;
using namespace attune::db;
using namespace attune::sqlite;

//===----------------------------------------------------------------------===//
// Values as text
//===----------------------------------------------------------------------===//

std::string db::toText(const json::Value &value) {
  return formatv("{0}", value).str();
}

Expected<json::Value> db::fromText(StringRef text) { return parseJson(text); }

json::Value db::toJSON(const Versions &versions) {
  json::Object object;
  for (const auto &[name, version] : versions)
    object[name] = version;
  return object;
}

std::string db::toText(const Versions &versions) {
  return toText(db::toJSON(versions));
}

Expected<Versions> db::versionsFromText(StringRef text) {
  Expected<json::Value> value = parseJson(text);
  if (!value)
    return value.takeError();
  Versions result;
  json::Path::Root root("versions");
  if (!json::fromJSON(*value, result, root))
    return root.getError();
  return result;
}

std::string db::toText(const std::vector<double> &seconds) {
  return toText(json::Value(json::Array(seconds)));
}

Expected<std::vector<double>> db::secondsFromText(StringRef text) {
  Expected<json::Value> value = parseJson(text);
  if (!value)
    return value.takeError();
  std::vector<double> result;
  json::Path::Root root("seconds");
  if (!json::fromJSON(*value, result, root))
    return root.getError();
  return result;
}

StringRef db::toString(Phase phase) {
  return phase == Phase::Final ? "final" : "search";
}

std::optional<Phase> db::phaseFromString(StringRef text) {
  if (text == "search")
    return Phase::Search;
  if (text == "final")
    return Phase::Final;
  return std::nullopt;
}

static Error validateTimes(StringRef what, const std::vector<double> &times) {
  for (double seconds : times)
    if (!std::isfinite(seconds) || seconds <= 0)
      return makeError("{0} has a time of {1} s; times are finite and positive",
                       what, seconds);
  return Error::success();
}

Error db::validate(const Trial &trial) {
  std::string what = "the trial of '" + toString(trial.configuration) + "'";
  if (trial.outcome == Outcome::Ok && trial.seconds.empty())
    return makeError("{0} is ok but has no times", what);
  if (!trial.baselineSeconds.empty() &&
      trial.baselineSeconds.size() != trial.seconds.size())
    return makeError("{0} has {1} times and {2} of the baseline", what,
                     trial.seconds.size(), trial.baselineSeconds.size());
  if (Error error = validateTimes(what, trial.seconds))
    return error;
  if (Error error = validateTimes(what, trial.baselineSeconds))
    return error;
  if (!std::isfinite(trial.compileSeconds) || trial.compileSeconds < 0)
    return makeError("{0} has a compile time of {1} s", what,
                     trial.compileSeconds);
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// Inserts unless there, then finds the number.
template <typename... Keys>
static Expected<int64_t> findRow(const Connection &connection, StringRef select,
                                 const Keys &...keys) {
  auto id = connection.integer(select, keys...);
  if (!id)
    return id.takeError();
  if (!*id)
    return makeError("{0}: a row that was just written is missing",
                     connection.getPath());
  return **id;
}

Expected<int64_t> db::internProgram(const Connection &connection,
                                    StringRef hash, StringRef name) {
  if (Error error = connection.run("INSERT INTO programs (hash, name) VALUES "
                                   "(?, ?) ON CONFLICT DO NOTHING",
                                   hash, name))
    return error;
  return findRow(connection, "SELECT id FROM programs WHERE hash = ?", hash);
}

Expected<int64_t> db::internTarget(const Connection &connection,
                                   StringRef target) {
  if (Error error = connection.run("INSERT INTO targets (target) VALUES (?) "
                                   "ON CONFLICT DO NOTHING",
                                   target))
    return error;
  return findRow(connection, "SELECT id FROM targets WHERE target = ?", target);
}

Expected<int64_t> db::internDispatch(const Connection &connection,
                                     const DispatchKey &dispatch) {
  if (Error error = connection.run(
          "INSERT INTO dispatches (fingerprint, sizes, root_op, shapes) VALUES "
          "(?, ?, ?, ?) ON CONFLICT DO NOTHING",
          dispatch.fingerprint, dispatch.sizes, dispatch.rootOp,
          dispatch.shapes))
    return error;
  return findRow(connection,
                 "SELECT id FROM dispatches WHERE fingerprint = ? AND "
                 "sizes = ?",
                 dispatch.fingerprint, dispatch.sizes);
}

Error db::insertProgramDispatch(const Connection &connection, int64_t session,
                                int64_t dispatch, StringRef name,
                                int64_t count) {
  if (Error error = connection.run(
          "INSERT INTO program_dispatches (program_id, dispatch_id, name, "
          "count) SELECT program_id, ?, ?, ? FROM sessions WHERE id = ? "
          "ON CONFLICT DO UPDATE SET count = excluded.count",
          dispatch, name, count, session))
    return error;
  if (sqlite3_changes(connection.getHandle()) == 0)
    return makeError("{0}: there is no session {1}", connection.getPath(),
                     session);
  return Error::success();
}

Expected<int64_t> db::internConfiguration(const Connection &connection,
                                          StringRef configuration,
                                          StringRef version) {
  if (Error error = connection.run(
          "INSERT INTO configurations (configuration, schedule_version) VALUES "
          "(?, ?) ON CONFLICT DO NOTHING",
          configuration, version))
    return error;
  return findRow(connection,
                 "SELECT id FROM configurations WHERE configuration = ? AND "
                 "schedule_version = ?",
                 configuration, version);
}

/// At most detailLimit bytes, cut between characters.
static StringRef boundDetail(StringRef detail) {
  if (detail.size() <= detailLimit)
    return detail;
  size_t end = detailLimit;
  while (end > detailLimit - 4 &&
         (static_cast<unsigned char>(detail[end]) & 0xc0) == 0x80)
    --end;
  return detail.take_front(end);
}

Expected<bool> db::insertTrial(const Connection &connection,
                               const TrialRow &row, const TrialRecord &record) {
  const Trial &trial = record.trial;
  Expected<int64_t> dispatch = internDispatch(connection, record.dispatch);
  if (!dispatch)
    return dispatch.takeError();
  Expected<int64_t> configuration = internConfiguration(
      connection, toText(toJSON(trial.configuration)), record.scheduleVersion);
  if (!configuration)
    return configuration.takeError();
  if (Error error = connection.run(
          "INSERT INTO trials (session_id, number, dispatch_id, "
          "configuration_id, phase, outcome, reason, detail, seconds, "
          "baseline_seconds, compile_seconds, wall_seconds, finished_at) "
          "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
          "ON CONFLICT (session_id, number) DO NOTHING",
          row.session, row.number, *dispatch, *configuration,
          toString(record.phase), toString(trial.outcome), trial.reason,
          boundDetail(trial.detail), toText(trial.seconds),
          toText(trial.baselineSeconds), trial.compileSeconds,
          record.wallSeconds, row.finishedAt))
    return error;
  return sqlite3_changes(connection.getHandle()) > 0;
}

Expected<TrialRecord> db::readTrial(const Statement &row, int first) {
  TrialRecord record;
  record.dispatch = {row.text(first), row.text(first + 1), row.text(first + 2),
                     row.text(first + 3)};
  Expected<json::Value> value = parseJson(row.text(first + 4));
  if (!value)
    return value.takeError();
  Expected<Configuration> configuration = configurationFromJSON(*value);
  if (!configuration)
    return configuration.takeError();
  record.trial.configuration = std::move(*configuration);
  record.scheduleVersion = row.text(first + 5);
  auto phase = phaseFromString(row.text(first + 6));
  auto outcome = outcomeFromString(row.text(first + 7));
  if (!phase || !outcome)
    return makeError("unknown phase '{0}' or outcome '{1}'",
                     row.text(first + 6), row.text(first + 7));
  record.phase = *phase;
  record.trial.outcome = *outcome;
  record.trial.reason = row.text(first + 8);
  record.trial.detail = row.text(first + 9);
  auto seconds = secondsFromText(row.text(first + 10));
  if (!seconds)
    return seconds.takeError();
  auto baseline = secondsFromText(row.text(first + 11));
  if (!baseline)
    return baseline.takeError();
  record.trial.seconds = std::move(*seconds);
  record.trial.baselineSeconds = std::move(*baseline);
  record.trial.compileSeconds = row.real(first + 12);
  record.wallSeconds = row.real(first + 13);
  return record;
}
