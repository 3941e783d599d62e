//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// A database that a stranger prepared.

#include "Fixture.h"
#include <sqlite3.h>

using namespace attune;
using namespace llvm;
using testing::HasSubstr;

namespace {

class StrangerTest : public DatabaseTest {
protected:
  /// What a stranger can do with any tool.
  void change(const char *sql) {
    sqlite3 *database = nullptr;
    ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
    char *message = nullptr;
    EXPECT_EQ(sqlite3_exec(database, sql, nullptr, nullptr, &message),
              SQLITE_OK)
        << message;
    sqlite3_free(message);
    sqlite3_close(database);
  }
};

TEST_F(StrangerTest, ATriggerIsNotRun) {
  fill(2);
  change("CREATE TRIGGER evil AFTER INSERT ON trials BEGIN "
         "DELETE FROM trials WHERE id = 1; END");
  Database database = open();
  int64_t session = cantFail(database.beginSession(makeStart()));
  cantFail(database.record(session, makeRecord(9)));
  EXPECT_EQ(cantFail(database.summarize()).trials, 3);
}

TEST_F(StrangerTest, AViewInPlaceOfATableIsAnError) {
  fill(1);
  change("PRAGMA foreign_keys = OFF; ALTER TABLE trials RENAME TO hidden; "
         "CREATE VIEW trials AS SELECT * FROM hidden");
  DatabaseOptions options;
  auto database = Database::open(path, OpenMode::Read, options);
  if (!database)
    return consumeError(database.takeError());
  auto summary = database->summarize();
  ASSERT_FALSE(bool(summary));
  EXPECT_THAT(toString(summary.takeError()), HasSubstr("view"));
}

} // namespace
