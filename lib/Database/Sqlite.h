//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// SQLite as values and errors: nothing of it is seen outside this room.

#ifndef ATTUNE_LIB_DATABASE_SQLITE_H
#define ATTUNE_LIB_DATABASE_SQLITE_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <optional>
#include <sqlite3.h>
#include <string>

namespace attune::sqlite {

/// A statement with its values. Columns are read after step() said true.
class Statement {
public:
  /// Values are bound in order: 1, 2, ... Text is made valid UTF-8 first.
  Statement &bind(int64_t value);
  Statement &bind(int value) { return bind(static_cast<int64_t>(value)); }
  Statement &bind(double value);
  Statement &bind(llvm::StringRef value);
  Statement &bind(const char *value) { return bind(llvm::StringRef(value)); }
  Statement &bind(const std::string &value) {
    return bind(llvm::StringRef(value));
  }
  template <typename T> Statement &bind(const std::optional<T> &value) {
    if (value)
      return bind(*value);
    ++bound;
    return *this; // An unbound parameter is NULL.
  }

  /// True while there is a row.
  llvm::Expected<bool> step();
  /// For statements without rows, or whose rows are of no interest.
  llvm::Error run();

  int64_t integer(int column) const;
  double real(int column) const;
  std::string text(int column) const;
  bool isNull(int column) const;

private:
  friend class Connection;
  struct Finalize {
    void operator()(sqlite3_stmt *statement) const {
      sqlite3_finalize(statement);
    }
  };
  const class Connection *connection = nullptr;
  std::unique_ptr<sqlite3_stmt, Finalize> statement;
  int bound = 0;
  int status = SQLITE_OK; ///< First failure of a bind; step() reports it.
};

class Connection {
public:
  static llvm::Expected<std::unique_ptr<Connection>>
  open(llvm::StringRef path, int flags, double busyTimeoutSeconds);
  ~Connection() { sqlite3_close_v2(handle); }
  Connection(const Connection &) = delete;

  llvm::Expected<Statement> prepare(llvm::StringRef sql) const;
  /// One or more statements without values.
  llvm::Error run(llvm::StringRef sql) const;
  template <typename... Values>
  llvm::Error run(llvm::StringRef sql, const Values &...values) const {
    auto statement = prepare(sql);
    if (!statement)
      return statement.takeError();
    (statement->bind(values), ...);
    return statement->run();
  }
  /// The first column of the first row.
  template <typename... Values>
  llvm::Expected<std::optional<int64_t>>
  integer(llvm::StringRef sql, const Values &...values) const {
    auto statement = prepare(sql);
    if (!statement)
      return statement.takeError();
    (statement->bind(values), ...);
    llvm::Expected<bool> row = statement->step();
    if (!row)
      return row.takeError();
    if (!*row || statement->isNull(0))
      return std::nullopt;
    return statement->integer(0);
  }
  /// `row` is called for each row, and may end the loop with an error.
  template <typename... Values>
  llvm::Error each(llvm::StringRef sql,
                   llvm::function_ref<llvm::Error(Statement &)> row,
                   const Values &...values) const {
    auto statement = prepare(sql);
    if (!statement)
      return statement.takeError();
    (statement->bind(values), ...);
    while (true) {
      llvm::Expected<bool> more = statement->step();
      if (!more)
        return more.takeError();
      if (!*more)
        return llvm::Error::success();
      if (llvm::Error error = row(*statement))
        return error;
    }
  }

  /// The last failure of this connection as a line for a person.
  llvm::Error failure(int status) const;

  sqlite3 *getHandle() const { return handle; }
  const std::string &getPath() const { return path; }

private:
  Connection() = default;
  sqlite3 *handle = nullptr;
  std::string path; ///< As the user gave it, for messages.
  double busyTimeoutSeconds = 0;
};

/// Takes the write lock at once, so that nothing is read that another process
/// then changes; rolls back unless committed.
class Transaction {
public:
  explicit Transaction(const Connection &connection) : connection(connection) {}
  ~Transaction();
  llvm::Error begin();
  llvm::Error commit();

private:
  const Connection &connection;
  bool open = false;
};

} // namespace attune::sqlite

#endif // ATTUNE_LIB_DATABASE_SQLITE_H
