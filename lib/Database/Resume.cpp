//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// What lets an interrupted session go on as if it had not been interrupted.

#include "Impl.h"
#include "attune/Support/Error.h"

using namespace llvm;
using namespace attune;
using namespace attune::db;
using namespace attune::sqlite;

//===----------------------------------------------------------------------===//
// Profile
//===----------------------------------------------------------------------===//

Error Database::recordProfile(int64_t session, const SessionProfile &profile) {
  const Connection &connection = *impl->connection;
  Transaction transaction(connection);
  if (Error error = transaction.begin())
    return error;
  if (Error error = connection.run(
          "DELETE FROM session_dispatches WHERE session_id = ?", session))
    return error;
  if (Error error =
          connection.run("UPDATE sessions SET program_seconds = ? WHERE id = ?",
                         profile.programSeconds, session))
    return error;
  if (sqlite3_changes(connection.getHandle()) == 0)
    return makeError("{0}: there is no session {1}", impl->path, session);
  for (const SessionProfile::Dispatch &dispatch : profile.dispatches) {
    auto id = internDispatch(connection, dispatch.key);
    if (!id)
      return id.takeError();
    if (Error error = insertProgramDispatch(connection, session, *id,
                                            dispatch.name, dispatch.calls))
      return error;
    if (Error error = connection.run(
            "INSERT INTO session_dispatches (session_id, dispatch_id, name, "
            "seconds, calls) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            session, *id, dispatch.name, dispatch.seconds, dispatch.calls))
      return error;
  }
  return transaction.commit();
}

Expected<std::optional<SessionProfile>>
Database::sessionProfile(int64_t session) const {
  std::optional<SessionProfile> profile;
  auto takeProgram = [&](Statement &row) -> Error {
    if (!row.isNull(0))
      profile.emplace().programSeconds = row.real(0);
    return Error::success();
  };
  if (Error error = impl->connection->each(
          "SELECT program_seconds FROM sessions WHERE id = ?", takeProgram,
          session))
    return error;
  if (!profile)
    return profile;
  auto takeDispatch = [&](Statement &row) -> Error {
    profile->dispatches.push_back(
        {{row.text(0), row.text(1), row.text(2), row.text(3)},
         row.text(4),
         row.real(5),
         row.integer(6)});
    return Error::success();
  };
  if (Error error = impl->connection->each(
          "SELECT d.fingerprint, d.sizes, d.root_op, d.shapes, u.name, "
          "u.seconds, u.calls FROM session_dispatches u JOIN dispatches d ON "
          "d.id = u.dispatch_id WHERE u.session_id = ? ORDER BY u.name",
          takeDispatch, session))
    return error;
  return profile;
}

//===----------------------------------------------------------------------===//
// Turning to a dispatch
//===----------------------------------------------------------------------===//

/// Of today's schedules, in an order of its own.
static std::string describeSchedules(const StringMap<std::string> &versions) {
  Versions sorted;
  for (const auto &entry : versions)
    sorted[entry.getKey().str()] = entry.getValue();
  return toText(sorted);
}

/// Another program's session tuned it to its end, with the same schedules, and
/// none of this program did.
static Expected<bool> isSettledElsewhere(const Connection &connection,
                                         int64_t session, int64_t dispatch,
                                         const Conditions &conditions,
                                         StringRef schedules) {
  auto count = [&](const char *comparison) {
    return connection.integer(
        std::string("SELECT count(*) FROM session_dispatches u JOIN sessions s "
                    "ON s.id = u.session_id JOIN targets g ON g.id = "
                    "s.target_id WHERE u.dispatch_id = ? AND u.ended_at IS NOT "
                    "NULL AND u.schedules = ? AND g.target = ? AND s.threads = "
                    "? AND s.versions = ? AND s.program_id ") +
            comparison + " (SELECT program_id FROM sessions WHERE id = ?)",
        dispatch, schedules, toText(toJSON(conditions.target)),
        conditions.threads, toText(conditions.versions), session);
  };
  auto elsewhere = count("<>");
  if (!elsewhere)
    return elsewhere.takeError();
  auto here = count("=");
  if (!here)
    return here.takeError();
  return **elsewhere > 0 && **here == 0;
}

namespace {
/// A row of session_dispatches as far as it matters here.
struct Opening {
  bool isOpen = false;
  int64_t knownTrial = 0;
  bool settledElsewhere = false;
  std::optional<std::string> endReason;
};
} // namespace

static Expected<Opening> findOpening(const Connection &connection,
                                     int64_t session, int64_t dispatch) {
  Opening opening;
  Error error = connection.each(
      "SELECT known_trial, settled_elsewhere, end_reason FROM "
      "session_dispatches "
      "WHERE "
      "session_id = ? AND dispatch_id = ?",
      [&](Statement &row) -> Error {
        opening = {!row.isNull(0), row.integer(0), row.integer(1) != 0,
                   std::nullopt};
        if (!row.isNull(2))
          opening.endReason = row.text(2);
        return Error::success();
      },
      session, dispatch);
  if (error)
    return error;
  return opening;
}

/// Keeps what is known now as what this session knew of the dispatch.
static Expected<Opening> keepOpening(const Connection &connection,
                                     int64_t session, int64_t dispatch,
                                     const DispatchKey &key,
                                     const Conditions &conditions,
                                     StringRef schedules) {
  auto last = connection.integer("SELECT max(id) FROM trials");
  if (!last)
    return last.takeError();
  auto settled =
      isSettledElsewhere(connection, session, dispatch, conditions, schedules);
  if (!settled)
    return settled.takeError();
  if (Error error = connection.run(
          "INSERT INTO session_dispatches (session_id, dispatch_id, name, "
          "seconds, calls, schedules, known_trial, settled_elsewhere) VALUES "
          "(?, ?, ?, 0, 0, ?, ?, ?) ON CONFLICT DO UPDATE SET schedules = "
          "excluded.schedules, known_trial = excluded.known_trial, "
          "settled_elsewhere = excluded.settled_elsewhere",
          session, dispatch, key.fingerprint, schedules, last->value_or(0),
          static_cast<int64_t>(*settled)))
    return error;
  return Opening{true, last->value_or(0), *settled, std::nullopt};
}

/// What this session itself recorded, in order.
static Error readOwn(const Connection &connection, int64_t session,
                     int64_t dispatch,
                     const StringMap<std::string> &scheduleVersions,
                     DispatchHistory &history) {
  return connection.each(
      std::string("SELECT ") + trialColumns + " FROM " + trialTables +
          " WHERE t.session_id = ? AND t.dispatch_id = ? ORDER BY t.number",
      [&](Statement &row) -> Error {
        Expected<TrialRecord> record = readTrial(row, 0);
        if (!record)
          return makeError("{0}: a trial of session {1} is damaged: {2}",
                           connection.getPath(), session,
                           toString(record.takeError()));
        auto known =
            scheduleVersions.find(record->trial.configuration.schedule);
        if (known == scheduleVersions.end() ||
            known->second != record->scheduleVersion)
          ++history.earlier.otherSchedule;
        else
          history.own.push_back(std::move(*record));
        return Error::success();
      },
      session, dispatch);
}

Expected<DispatchHistory>
Database::openDispatch(int64_t session, const DispatchKey &key,
                       const Conditions &conditions,
                       const StringMap<std::string> &scheduleVersions) {
  const Connection &connection = *impl->connection;
  Transaction transaction(connection);
  if (Error error = transaction.begin())
    return error;
  auto dispatch = internDispatch(connection, key);
  if (!dispatch)
    return dispatch.takeError();
  auto opening = findOpening(connection, session, *dispatch);
  if (opening && !opening->isOpen)
    opening = keepOpening(connection, session, *dispatch, key, conditions,
                          describeSchedules(scheduleVersions));
  if (!opening)
    return opening.takeError();
  auto earlier = readTrials(connection, key, conditions, scheduleVersions,
                            {session, opening->knownTrial});
  if (!earlier)
    return earlier.takeError();
  DispatchHistory history;
  history.earlier = std::move(*earlier);
  history.settledElsewhere = opening->settledElsewhere;
  history.endReason = opening->endReason;
  if (Error error =
          readOwn(connection, session, *dispatch, scheduleVersions, history))
    return error;
  if (Error error = transaction.commit())
    return error;
  return history;
}

Error Database::closeDispatch(int64_t session, const DispatchKey &key,
                              StringRef reason) {
  if (Error error = impl->connection->run(
          "UPDATE session_dispatches SET ended_at = ?, end_reason = ? WHERE "
          "session_id = ? AND "
          "dispatch_id = (SELECT id FROM dispatches WHERE fingerprint = ? AND "
          "sizes = ?)",
          impl->now(), reason, session, key.fingerprint, key.sizes))
    return error;
  if (sqlite3_changes(impl->connection->getHandle()) == 0)
    return makeError("{0}: session {1} never turned to the dispatch {2}",
                     impl->path, session, key.fingerprint);
  return Error::success();
}
