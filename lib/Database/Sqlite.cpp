//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Sqlite.h"

#include "attune/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <cerrno>
#include <cstring>

using namespace llvm;
using namespace attune;
using namespace attune::sqlite;

//===----------------------------------------------------------------------===//
// Statement
//===----------------------------------------------------------------------===//

Statement &Statement::bind(int64_t value) {
  if (int code = sqlite3_bind_int64(statement.get(), ++bound, value))
    status = code;
  return *this;
}

Statement &Statement::bind(double value) {
  if (int code = sqlite3_bind_double(statement.get(), ++bound, value))
    status = code;
  return *this;
}

Statement &Statement::bind(StringRef value) {
  std::string fixed;
  if (!json::isUTF8(value)) {
    fixed = json::fixUTF8(value);
    value = fixed;
  }
  // A null pointer would be NULL, not the empty text.
  const char *data = value.data() ? value.data() : "";
  if (int code =
          sqlite3_bind_text64(statement.get(), ++bound, data, value.size(),
                              SQLITE_TRANSIENT, SQLITE_UTF8))
    status = code;
  return *this;
}

Expected<bool> Statement::step() {
  if (status != SQLITE_OK)
    return connection->failure(status);
  int code = sqlite3_step(statement.get());
  if (code == SQLITE_ROW)
    return true;
  if (code == SQLITE_DONE)
    return false;
  return connection->failure(code);
}

Error Statement::run() {
  while (true) {
    Expected<bool> row = step();
    if (!row)
      return row.takeError();
    if (!*row)
      return Error::success();
  }
}

int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement.get(), column);
}

double Statement::real(int column) const {
  return sqlite3_column_double(statement.get(), column);
}

std::string Statement::text(int column) const {
  const unsigned char *data = sqlite3_column_text(statement.get(), column);
  int size = sqlite3_column_bytes(statement.get(), column);
  return data ? std::string(reinterpret_cast<const char *>(data), size)
              : std::string();
}

bool Statement::isNull(int column) const {
  return sqlite3_column_type(statement.get(), column) == SQLITE_NULL;
}

//===----------------------------------------------------------------------===//
// Connection
//===----------------------------------------------------------------------===//

Expected<std::unique_ptr<Connection>>
Connection::open(StringRef path, int flags, double busyTimeoutSeconds) {
  std::unique_ptr<Connection> connection(new Connection());
  // A URI is our own making and only for reading; people know its path.
  connection->path = path.str();
  connection->busyTimeoutSeconds = busyTimeoutSeconds;
  int code = sqlite3_open_v2(connection->path.c_str(), &connection->handle,
                             flags, nullptr);
  if (code != SQLITE_OK) {
    if (!connection->handle)
      return makeError("{0}: out of memory", path);
    return connection->failure(code);
  }
  sqlite3_extended_result_codes(connection->handle, 1);
  // A database may come from a stranger, and Attune's has only tables: nothing
  // that is in it acts by itself.
  for (int option :
       {SQLITE_DBCONFIG_ENABLE_TRIGGER, SQLITE_DBCONFIG_ENABLE_VIEW,
        SQLITE_DBCONFIG_TRUSTED_SCHEMA})
    sqlite3_db_config(connection->handle, option, 0, nullptr);
  sqlite3_db_config(connection->handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_busy_timeout(connection->handle,
                       static_cast<int>(busyTimeoutSeconds * 1000));
  return connection;
}

Expected<Statement> Connection::prepare(StringRef sql) const {
  Statement result;
  result.connection = this;
  sqlite3_stmt *statement = nullptr;
  int code = sqlite3_prepare_v2(
      handle, sql.data(), static_cast<int>(sql.size()), &statement, nullptr);
  result.statement.reset(statement);
  if (code != SQLITE_OK)
    return failure(code);
  return result;
}

Error Connection::run(StringRef sql) const {
  int code = sqlite3_exec(handle, sql.str().c_str(), nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? Error::success() : failure(code);
}

/// What went wrong below SQLite, if anything: a write that fails for lack of
/// room comes as an I/O error with the reason in errno.
static Error describeIO(StringRef path, int cause, const char *message) {
  switch (cause) {
  case ENOSPC:
  case EDQUOT:
  case EFBIG:
    return makeError("{0}: no room to write ({1}); free some space and run "
                     "the same command again: what was recorded is kept",
                     path, std::strerror(cause));
  case EROFS:
  case EACCES:
  case EPERM:
    return makeError("{0}: not allowed to write ({1})", path,
                     std::strerror(cause));
  case 0:
    return makeError("{0}: {1}", path, message);
  default:
    return makeError("{0}: {1} ({2})", path, message, std::strerror(cause));
  }
}

/// The errno behind an I/O error. SQLite keeps the one of opening with the
/// connection, and that of reading and writing with the file: the log (or
/// journal), or the database itself.
static int causeOf(sqlite3 *handle) {
  if (int cause = sqlite3_system_errno(handle))
    return cause;
  for (int pointer :
       {SQLITE_FCNTL_JOURNAL_POINTER, SQLITE_FCNTL_FILE_POINTER}) {
    sqlite3_file *file = nullptr;
    int cause = 0;
    if (sqlite3_file_control(handle, "main", pointer, &file) == SQLITE_OK &&
        file && file->pMethods &&
        file->pMethods->xFileControl(file, SQLITE_FCNTL_LAST_ERRNO, &cause) ==
            SQLITE_OK &&
        cause)
      return cause;
  }
  return 0;
}

Error Connection::failure(int status) const {
  const char *message = sqlite3_errmsg(handle);
  int cause = causeOf(handle);
  switch (status & 0xff) {
  case SQLITE_FULL:
    return makeError("{0}: the disk is full; free some space and run the same "
                     "command again: what was recorded is kept",
                     path);
  case SQLITE_IOERR:
    return describeIO(path, cause, message);
  case SQLITE_READONLY:
    return makeError("{0}: cannot be written (read-only file or folder)", path);
  case SQLITE_BUSY:
  case SQLITE_LOCKED:
    return makeError("{0}: locked by another process for more than {1} s; try "
                     "again when it is done",
                     path, busyTimeoutSeconds);
  case SQLITE_CORRUPT:
    return makeError("{0}: the database is damaged ({1}); keep the file, and "
                     "save what is readable with: sqlite3 FILE .recover",
                     path, message);
  case SQLITE_NOTADB:
    return makeError("{0}: not a trial database, or its first bytes are "
                     "damaged ({1})",
                     path, message);
  case SQLITE_CANTOPEN:
    return makeError("{0}: cannot be opened ({1})", path,
                     cause ? std::strerror(cause) : message);
  case SQLITE_NOMEM:
    return makeError("{0}: out of memory", path);
  default:
    return makeError("{0}: {1}", path, message);
  }
}

//===----------------------------------------------------------------------===//
// Transaction
//===----------------------------------------------------------------------===//

Transaction::~Transaction() {
  // Some failures roll back by themselves. That rolling back fails is of no
  // consequence: the next opening does it from the log.
  if (open && !sqlite3_get_autocommit(connection.getHandle()))
    sqlite3_exec(connection.getHandle(), "ROLLBACK", nullptr, nullptr, nullptr);
}

Error Transaction::begin() {
  if (Error error = connection.run("BEGIN IMMEDIATE"))
    return error;
  open = true;
  return Error::success();
}

Error Transaction::commit() {
  if (Error error = connection.run("COMMIT"))
    return error;
  open = false;
  return Error::success();
}
