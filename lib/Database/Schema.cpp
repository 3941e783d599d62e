//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Schema.h"

#include "attune/Support/Error.h"

using namespace llvm;
using namespace attune;
using namespace attune::sqlite;

// Times are seconds since 1970; lists of times, targets, versions and
// configurations are JSON, so that any SQLite client can read them.
static constexpr StringLiteral versionOne = R"sql(
CREATE TABLE programs (
  id INTEGER PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL);
CREATE TABLE targets (
  id INTEGER PRIMARY KEY,
  target TEXT NOT NULL UNIQUE);
CREATE TABLE dispatches (
  id INTEGER PRIMARY KEY,
  fingerprint TEXT NOT NULL,
  sizes TEXT NOT NULL,
  root_op TEXT NOT NULL,
  shapes TEXT NOT NULL,
  UNIQUE (fingerprint, sizes));
CREATE TABLE program_dispatches (
  program_id INTEGER NOT NULL REFERENCES programs (id),
  dispatch_id INTEGER NOT NULL REFERENCES dispatches (id),
  name TEXT NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (program_id, dispatch_id, name)) WITHOUT ROWID;
CREATE TABLE sessions (
  id INTEGER PRIMARY KEY,
  uid TEXT NOT NULL UNIQUE,
  program_id INTEGER NOT NULL REFERENCES programs (id),
  target_id INTEGER NOT NULL REFERENCES targets (id),
  threads INTEGER NOT NULL,
  versions TEXT NOT NULL,
  seed TEXT NOT NULL,
  budget TEXT NOT NULL,
  command TEXT NOT NULL,
  owner TEXT NOT NULL,
  started_at REAL NOT NULL,
  ended_at REAL,
  status TEXT NOT NULL);
CREATE TABLE configurations (
  id INTEGER PRIMARY KEY,
  schedule_version TEXT NOT NULL,
  configuration TEXT NOT NULL,
  UNIQUE (configuration, schedule_version));
CREATE TABLE trials (
  id INTEGER PRIMARY KEY,
  session_id INTEGER NOT NULL REFERENCES sessions (id),
  number INTEGER NOT NULL,
  dispatch_id INTEGER NOT NULL REFERENCES dispatches (id),
  configuration_id INTEGER NOT NULL REFERENCES configurations (id),
  phase TEXT NOT NULL,
  outcome TEXT NOT NULL,
  reason TEXT NOT NULL,
  detail TEXT NOT NULL,
  seconds TEXT NOT NULL,
  baseline_seconds TEXT NOT NULL,
  compile_seconds REAL NOT NULL,
  wall_seconds REAL NOT NULL,
  finished_at REAL NOT NULL,
  UNIQUE (session_id, number));
CREATE INDEX trials_by_dispatch ON trials (dispatch_id);
CREATE INDEX trials_by_configuration ON trials (configuration_id);
CREATE INDEX sessions_by_program ON sessions (program_id);
CREATE TABLE environments (
  id INTEGER PRIMARY KEY,
  session_id INTEGER NOT NULL REFERENCES sessions (id),
  at REAL NOT NULL,
  environment TEXT NOT NULL);
CREATE INDEX environments_by_session ON environments (session_id);
)sql";

// What a session that was interrupted needs to go on as if it had not been:
// the profile that decided the order of its dispatches, and what was known of a
// dispatch (trials up to known_trial) when it turned to it.
static constexpr StringLiteral versionTwo = R"sql(
ALTER TABLE sessions ADD COLUMN program_seconds REAL;
CREATE TABLE session_dispatches (
  session_id INTEGER NOT NULL REFERENCES sessions (id),
  dispatch_id INTEGER NOT NULL REFERENCES dispatches (id),
  name TEXT NOT NULL,
  seconds REAL NOT NULL,
  calls INTEGER NOT NULL,
  schedules TEXT NOT NULL DEFAULT '',
  known_trial INTEGER,
  settled_elsewhere INTEGER NOT NULL DEFAULT 0,
  ended_at REAL,
  end_reason TEXT,
  PRIMARY KEY (session_id, dispatch_id)) WITHOUT ROWID;
CREATE INDEX session_dispatches_by_dispatch
  ON session_dispatches (dispatch_id);
)sql";

ArrayRef<StringLiteral> sqlite::migrations() {
  static constexpr StringLiteral steps[] = {versionOne, versionTwo};
  return steps;
}

Expected<int64_t> sqlite::schemaVersion(const Connection &connection,
                                        ArrayRef<StringLiteral> known) {
  // In one statement, so that it is one moment of the file: another process may
  // be making it just now.
  int64_t version = 0, application = 0, tables = 0;
  if (Error error = connection.each(
          "SELECT (SELECT count(*) FROM sqlite_schema), (SELECT user_version "
          "FROM pragma_user_version), (SELECT application_id FROM "
          "pragma_application_id)",
          [&](Statement &row) -> Error {
            tables = row.integer(0);
            version = row.integer(1);
            application = row.integer(2);
            return Error::success();
          }))
    return error;
  if (tables == 0 && version == 0)
    return 0;
  if (application != applicationId)
    return makeError("{0}: a SQLite database, but not one of Attune's",
                     connection.getPath());
  if (version > static_cast<int64_t>(known.size()))
    return makeError("{0}: written by a newer Attune (schema {1}, this one "
                     "knows up to {2}); update Attune, or use another file",
                     connection.getPath(), version, known.size());
  return version;
}

Error sqlite::migrate(const Connection &connection,
                      ArrayRef<StringLiteral> steps) {
  Transaction transaction(connection);
  if (Error error = transaction.begin())
    return error;
  // Under the lock: another process may just have done it.
  Expected<int64_t> version = schemaVersion(connection, steps);
  if (!version)
    return version.takeError();
  if (*version == static_cast<int64_t>(steps.size()))
    return Error::success();
  for (StringLiteral step : steps.drop_front(*version))
    if (Error error = connection.run(step))
      return error;
  std::string stamp = formatv("PRAGMA application_id = {0}; "
                              "PRAGMA user_version = {1}",
                              applicationId, steps.size());
  if (Error error = connection.run(stamp))
    return error;
  return transaction.commit();
}
