//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Database/Database.h"

#include "Impl.h"
#include "Schema.h"
#include "attune/Support/Error.h"
#include "attune/Support/Json.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <chrono>
#include <random>
#include <thread>

using namespace llvm;
using namespace attune;
using namespace attune::sqlite;

//===----------------------------------------------------------------------===//
// Opening
//===----------------------------------------------------------------------===//

Database::Database(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
Database::Database(Database &&) = default;
Database &Database::operator=(Database &&) = default;
Database::~Database() = default;

const std::string &Database::getPath() const { return impl->path; }

static DatabaseOptions withDefaults(DatabaseOptions options) {
  if (!options.now)
    options.now = [] {
      return std::chrono::duration<double>(
                 std::chrono::system_clock::now().time_since_epoch())
          .count();
    };
  return options;
}

/// Write-ahead logging where the file system can (readers and a writer at
/// once); a rollback journal elsewhere. Either way a commit is on disk when it
/// returns. Changing the mode needs the file for a moment and does not wait for
/// it by itself.
static Error makeDurable(const Connection &connection, double timeoutSeconds) {
  for (double waited = 0;; waited += 0.05) {
    std::string mode;
    Error error =
        connection.each("PRAGMA journal_mode = WAL", [&](Statement &row) {
          mode = row.text(0);
          return Error::success();
        });
    if (!error) {
      bool logged = StringRef(mode).equals_insensitive("wal");
      return connection.run(logged ? "PRAGMA synchronous = FULL"
                                   : "PRAGMA synchronous = EXTRA");
    }
    if ((sqlite3_errcode(connection.getHandle()) & 0xff) != SQLITE_BUSY ||
        waited >= timeoutSeconds)
      return error;
    consumeError(std::move(error));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

static Expected<std::unique_ptr<Connection>>
openInMemory(double busyTimeoutSeconds) {
  return Connection::open(
      ":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
      busyTimeoutSeconds);
}

/// All pages of `from`, in a database of this process.
static Expected<std::unique_ptr<Connection>> copyIn(const Connection &from,
                                                    double timeoutSeconds) {
  auto to = openInMemory(timeoutSeconds);
  if (!to)
    return to.takeError();
  sqlite3_backup *backup =
      sqlite3_backup_init((*to)->getHandle(), "main", from.getHandle(), "main");
  if (!backup)
    return (*to)->failure(sqlite3_errcode((*to)->getHandle()));
  int status = sqlite3_backup_step(backup, -1);
  sqlite3_backup_finish(backup);
  if (status != SQLITE_DONE)
    return from.failure(status);
  return to;
}

/// Opens for reading. A database in a folder we may not write to has no place
/// for its lock file; if nobody has unsaved pages, it is read as it lies there.
static Expected<std::unique_ptr<Connection>> openToRead(const std::string &path,
                                                        double timeoutSeconds) {
  auto connection =
      Connection::open(path, SQLITE_OPEN_READONLY, timeoutSeconds);
  if (!connection)
    return connection;
  auto version = (*connection)->integer("PRAGMA user_version");
  auto tables = (*connection)->integer("SELECT count(*) FROM sqlite_schema");
  if (version && tables)
    return connection;
  int code = sqlite3_errcode((*connection)->getHandle()) & 0xff;
  Error error = joinErrors(version.takeError(), tables.takeError());
  uint64_t logBytes = 0;
  bool hasLog = !sys::fs::file_size(path + "-wal", logBytes) && logBytes > 0;
  if ((code != SQLITE_CANTOPEN && code != SQLITE_READONLY) || hasLog) {
    consumeError(std::move(error));
    return (*connection)->failure(code);
  }
  consumeError(std::move(error));
  std::string uri = "file:";
  for (char c : path)
    uri += isAlnum(c) || StringRef("/._-").contains(c)
               ? std::string(1, c)
               : formatv("%{0:X-2}", static_cast<unsigned char>(c)).str();
  return Connection::open(uri + "?immutable=1",
                          SQLITE_OPEN_READONLY | SQLITE_OPEN_URI,
                          timeoutSeconds);
}

/// A reader cannot bring an old file up to date in place: it does so in memory.
static Error updateCopy(std::unique_ptr<Connection> &connection,
                        double timeoutSeconds) {
  Expected<int64_t> version = schemaVersion(*connection, migrations());
  if (!version)
    return version.takeError();
  if (*version == static_cast<int64_t>(migrations().size()))
    return Error::success();
  auto copy = copyIn(*connection, timeoutSeconds);
  if (!copy)
    return copy.takeError();
  connection = std::move(*copy);
  return migrate(*connection, migrations());
}

/// SQLite tries other ways to open when the first fails, and then has the
/// reason of the last.
static Error checkFolder(StringRef path) {
  SmallString<128> folder(path);
  sys::fs::make_absolute(folder);
  sys::path::remove_filename(folder);
  if (std::error_code code =
          sys::fs::access(folder, sys::fs::AccessMode::Write))
    return makeError("{0}: cannot be made in its folder ({1})", path,
                     code.message());
  return Error::success();
}

static Expected<std::unique_ptr<Connection>>
openToWrite(const std::string &path, double timeoutSeconds) {
  if (!sys::fs::exists(path))
    if (Error error = checkFolder(path))
      return error;
  auto connection = Connection::open(
      path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, timeoutSeconds);
  if (!connection)
    return connection;
  if (sqlite3_db_readonly((*connection)->getHandle(), "main") == 1)
    return makeError("{0}: cannot be written (read-only file or folder)", path);
  // Before the first write: a file of somebody else stays untouched.
  Expected<int64_t> version = schemaVersion(**connection, migrations());
  if (!version)
    return version.takeError();
  if (Error error = makeDurable(**connection, timeoutSeconds))
    return error;
  if (Error error = (*connection)->run("PRAGMA foreign_keys = ON"))
    return error;
  if (Error error = migrate(**connection, migrations()))
    return error;
  return connection;
}

Expected<Database> Database::open(StringRef path, OpenMode mode,
                                  DatabaseOptions given) {
  auto impl = std::make_unique<Impl>();
  impl->options = withDefaults(std::move(given));
  impl->path = path.str();
  double timeout = impl->options.busyTimeoutSeconds;
  sys::fs::file_status status;
  std::error_code code = sys::fs::status(path, status);
  if (code &&
      (mode == OpenMode::Read || code != std::errc::no_such_file_or_directory))
    return makeError("{0}: {1}", path, code.message());
  if (!code && sys::fs::is_directory(status))
    return makeError("{0}: is a folder, not a trial database", path);
  auto connection = mode == OpenMode::Read ? openToRead(impl->path, timeout)
                                           : openToWrite(impl->path, timeout);
  if (!connection)
    return connection.takeError();
  impl->connection = std::move(*connection);
  if (mode == OpenMode::Read)
    if (Error error = updateCopy(impl->connection, timeout))
      return error;
  return Database(std::move(impl));
}

Expected<Database> Database::inMemory(DatabaseOptions given) {
  auto impl = std::make_unique<Impl>();
  impl->options = withDefaults(std::move(given));
  impl->path = "(in memory)";
  auto connection = openInMemory(impl->options.busyTimeoutSeconds);
  if (!connection)
    return connection.takeError();
  impl->connection = std::move(*connection);
  if (Error error = impl->connection->run("PRAGMA foreign_keys = ON"))
    return error;
  if (Error error = migrate(*impl->connection, migrations()))
    return error;
  return Database(std::move(impl));
}

Expected<Database> Database::copyToMemory() const {
  auto copy = std::make_unique<Impl>();
  copy->options = impl->options;
  copy->path = impl->path + " (in memory)";
  auto connection = copyIn(*impl->connection, impl->options.busyTimeoutSeconds);
  if (!connection)
    return connection.takeError();
  copy->connection = std::move(*connection);
  if (Error error = copy->connection->run("PRAGMA foreign_keys = ON"))
    return error;
  return Database(std::move(copy));
}

//===----------------------------------------------------------------------===//
// Sessions
//===----------------------------------------------------------------------===//

static std::string makeUid() {
  std::random_device random;
  std::string uid;
  for (int i = 0; i < 4; ++i)
    uid += formatv("{0:x-8}", static_cast<uint32_t>(random())).str();
  return uid;
}

Expected<int64_t> Database::beginSession(const SessionStart &start) {
  const Connection &connection = *impl->connection;
  Transaction transaction(connection);
  if (Error error = transaction.begin())
    return error;
  auto program =
      db::internProgram(connection, start.programHash, start.programName);
  if (!program)
    return program.takeError();
  auto target =
      db::internTarget(connection, db::toText(toJSON(start.conditions.target)));
  if (!target)
    return target.takeError();
  if (Error error = connection.run(
          "INSERT INTO sessions (uid, program_id, target_id, threads, versions,"
          " seed, budget, command, owner, started_at, status) VALUES (?, ?, ?, "
          "?, ?, ?, ?, ?, ?, ?, '')",
          makeUid(), *program, *target, start.conditions.threads,
          db::toText(start.conditions.versions), std::to_string(start.seed),
          start.budget, start.command, db::describeOwner(), impl->now()))
    return error;
  int64_t id = sqlite3_last_insert_rowid(connection.getHandle());
  if (Error error = transaction.commit())
    return error;
  return id;
}

static constexpr char sessionSelect[] =
    "SELECT s.id, s.uid, p.hash, p.name, g.target, s.threads, s.versions, "
    "s.seed, s.budget, s.command, s.started_at, s.ended_at, s.status, "
    "(SELECT count(*) FROM trials t WHERE t.session_id = s.id), "
    "(SELECT total(wall_seconds) FROM trials t WHERE t.session_id = s.id), "
    "s.owner FROM sessions s JOIN programs p ON p.id = s.program_id "
    "JOIN targets g ON g.id = s.target_id ";

static Expected<SessionInfo> readSession(const Statement &row) {
  SessionInfo info;
  info.id = row.integer(0);
  info.uid = row.text(1);
  info.programHash = row.text(2);
  info.programName = row.text(3);
  auto targetJSON = parseJson(row.text(4));
  if (!targetJSON)
    return targetJSON.takeError();
  auto target = targetFromJSON(*targetJSON);
  if (!target)
    return target.takeError();
  info.conditions.target = std::move(*target);
  info.conditions.threads = row.integer(5);
  auto versions = db::versionsFromText(row.text(6));
  if (!versions)
    return versions.takeError();
  info.conditions.versions = std::move(*versions);
  if (StringRef(row.text(7)).getAsInteger(10, info.seed))
    return makeError("session {0} has the seed '{1}'", info.id, row.text(7));
  info.budget = row.text(8);
  info.command = row.text(9);
  info.startedAt = row.real(10);
  if (!row.isNull(11))
    info.endedAt = row.real(11);
  info.status = row.text(12);
  info.trials = row.integer(13);
  info.spentSeconds = row.real(14);
  return info;
}

Expected<std::optional<SessionInfo>>
Database::resumeSession(const SessionStart &start) {
  const Connection &connection = *impl->connection;
  Transaction transaction(connection);
  if (Error error = transaction.begin())
    return error;
  std::optional<SessionInfo> found;
  std::string select = std::string(sessionSelect) +
                       "WHERE (s.ended_at IS NULL OR s.status = 'interrupted') "
                       "AND p.hash = ? AND s.command = ? AND s.seed = ? AND "
                       "g.target = ? AND s.threads = ? "
                       "AND s.versions = ? ORDER BY s.id DESC";
  auto take = [&](Statement &row) -> Error {
    if (found || db::isOwnerAlive(row.text(15)))
      return Error::success();
    Expected<SessionInfo> info = readSession(row);
    if (!info)
      return info.takeError();
    found = std::move(*info);
    return Error::success();
  };
  if (Error error = connection.each(select, take, start.programHash,
                                    start.command, std::to_string(start.seed),
                                    db::toText(toJSON(start.conditions.target)),
                                    start.conditions.threads,
                                    db::toText(start.conditions.versions)))
    return error;
  if (!found)
    return found;
  if (Error error = connection.run("UPDATE sessions SET owner = ?, ended_at = "
                                   "NULL, status = '' WHERE id = ?",
                                   db::describeOwner(), found->id))
    return error;
  if (Error error = transaction.commit())
    return error;
  return found;
}

Error Database::endSession(int64_t session, StringRef status) {
  if (Error error = impl->connection->run(
          "UPDATE sessions SET ended_at = ?, status = ? WHERE id = ?",
          impl->now(), status, session))
    return error;
  if (sqlite3_changes(impl->connection->getHandle()) == 0)
    return makeError("{0}: there is no session {1}", impl->path, session);
  return Error::success();
}

Expected<std::vector<SessionInfo>> Database::sessions() const {
  std::vector<SessionInfo> result;
  Error error = impl->connection->each(
      std::string(sessionSelect) + "ORDER BY s.id",
      [&](Statement &row) -> Error {
        Expected<SessionInfo> info = readSession(row);
        if (!info)
          return makeError("{0}: session {1} is damaged: {2}", impl->path,
                           row.integer(0), toString(info.takeError()));
        result.push_back(std::move(*info));
        return Error::success();
      });
  if (error)
    return error;
  return result;
}

//===----------------------------------------------------------------------===//
// Recording
//===----------------------------------------------------------------------===//

Error Database::recordDispatch(int64_t session, const DispatchKey &dispatch,
                               StringRef name, int64_t count) {
  const Connection &connection = *impl->connection;
  Transaction transaction(connection);
  if (Error error = transaction.begin())
    return error;
  auto id = db::internDispatch(connection, dispatch);
  if (!id)
    return id.takeError();
  if (Error error =
          db::insertProgramDispatch(connection, session, *id, name, count))
    return error;
  return transaction.commit();
}

Error Database::recordEnvironment(int64_t session,
                                  const Environment &environment) {
  return impl->connection->run(
      "INSERT INTO environments (session_id, at, environment) VALUES (?, ?, ?)",
      session, impl->now(), db::toText(toJSON(environment)));
}

Expected<int64_t> Database::record(int64_t session, const TrialRecord &record) {
  if (Error error = db::validate(record.trial))
    return makeError("{0}: {1}", impl->path, toString(std::move(error)));
  const Connection &connection = *impl->connection;
  Transaction transaction(connection);
  if (Error error = transaction.begin())
    return error;
  auto exists =
      connection.integer("SELECT id FROM sessions WHERE id = ?", session);
  if (!exists)
    return exists.takeError();
  if (!*exists)
    return makeError("{0}: there is no session {1}", impl->path, session);
  auto last = connection.integer(
      "SELECT max(number) FROM trials WHERE session_id = ?", session);
  if (!last)
    return last.takeError();
  db::TrialRow row{session, last->value_or(0) + 1, impl->now()};
  Expected<bool> inserted = db::insertTrial(connection, row, record);
  if (!inserted)
    return inserted.takeError();
  if (Error error = transaction.commit())
    return error;
  return row.number;
}
