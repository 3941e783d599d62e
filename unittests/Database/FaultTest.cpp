//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// What goes wrong around a database, and that nothing is lost by it.

#include "../../lib/Database/Schema.h"
#include "Fixture.h"
#include "attune/Database/Commands.h"
#include "attune/Support/Error.h"
#include "llvm/Support/FileSystem.h"
#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <sched.h>
#include <set>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;
using namespace attune;
using testing::AllOf;
using testing::AnyOf;
using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

namespace {

/// What `body` returns in a process of its own, so that limits and users are
/// only its; `died` if it did not end in peace.
template <typename Body> std::string inProcess(Body body) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    std::string text = body();
    ssize_t written = write(ends[1], text.data(), text.size());
    _exit(written == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, n);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return status == 0 ? text : "died: " + text;
}

/// Records until it fails; "N: message".
std::string recordUntilError(Database &database, int64_t session) {
  TrialRecord record = makeRecord(1);
  record.trial.outcome = Outcome::CompileError;
  record.trial.detail = std::string(1000, 'x');
  for (int64_t i = 0; i < 10000; ++i)
    if (auto number = database.record(session, record); !number)
      return std::to_string(i) + ": " + toString(number.takeError());
  return "no error";
}

TEST_F(DatabaseTest, FullDiskLosesNothing) {
  std::string result = inProcess([&] {
    Database database = open();
    int64_t session = cantFail(database.beginSession(makeStart()));
    signal(SIGXFSZ, SIG_IGN);
    rlimit limit{300 << 10, 300 << 10};
    setrlimit(RLIMIT_FSIZE, &limit);
    return recordUntilError(database, session);
  });
  auto [count, message] = StringRef(result).split(": ");
  int64_t recorded = 0;
  ASSERT_FALSE(count.getAsInteger(10, recorded)) << result;
  EXPECT_GT(recorded, 3);
  EXPECT_THAT(message.str(), AllOf(HasSubstr("trials.db: no room to write"),
                                   HasSubstr("what was recorded is kept")));
  EXPECT_EQ(message.count('\n'), 0u);
  EXPECT_EQ(countTrials(), recorded);
}

TEST_F(DatabaseTest, FullFileSystemLosesNothing) {
  std::string result = inProcess([&]() -> std::string {
    std::string small = folder->file("small");
    cantFail(createFolder(small));
    if (unshare(CLONE_NEWNS) ||
        mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) ||
        mount("none", small.c_str(), "tmpfs", 0, "size=400k"))
      return "skip";
    path = small + "/trials.db";
    Database database = open();
    int64_t session = cantFail(database.beginSession(makeStart()));
    std::string failure = recordUntilError(database, session);
    // The session goes on in memory, with all that was there.
    Database rest = cantFail(database.copyToMemory());
    cantFail(rest.record(session, makeRecord(2)));
    int64_t inMemory = cantFail(rest.summarize()).trials;
    return failure + "|" + std::to_string(inMemory) + "|" +
           std::to_string(countTrials());
  });
  if (result == "skip")
    GTEST_SKIP() << "mounting is not allowed here";
  SmallVector<StringRef> parts;
  StringRef(result).split(parts, '|');
  ASSERT_EQ(parts.size(), 3u) << result;
  auto [count, message] = parts[0].split(": ");
  int64_t recorded = 0;
  ASSERT_FALSE(count.getAsInteger(10, recorded));
  EXPECT_THAT(message.str(), HasSubstr("the disk is full"));
  EXPECT_EQ(parts[1], std::to_string(recorded + 1));
  EXPECT_EQ(parts[2], std::to_string(recorded));
}

/// Becomes a user who may only what the file's mode allows to all.
bool becomeNobody() { return getuid() != 0 || setuid(65534) == 0; }

TEST_F(DatabaseTest, ReadOnlyFileIsReadAndNotWritten) {
  fill(2);
  ASSERT_EQ(chmod(path.c_str(), 0444), 0);
  ASSERT_EQ(chmod(folder->getPath().c_str(), 0555), 0);
  std::string result = inProcess([&]() -> std::string {
    if (!becomeNobody())
      return "skip";
    return openError(OpenMode::Write) + "|" + std::to_string(countTrials());
  });
  chmod(folder->getPath().c_str(), 0755);
  if (result == "skip")
    GTEST_SKIP() << "cannot become another user";
  EXPECT_THAT(result, HasSubstr("trials.db: cannot be written (read-only file "
                                "or folder)|2"));
}

TEST_F(DatabaseTest, FolderWithoutPermissionIsSaid) {
  ASSERT_EQ(chmod(folder->getPath().c_str(), 0555), 0);
  std::string result = inProcess([&]() -> std::string {
    return becomeNobody() ? openError(OpenMode::Write) : "skip";
  });
  chmod(folder->getPath().c_str(), 0755);
  if (result == "skip")
    GTEST_SKIP() << "cannot become another user";
  EXPECT_THAT(result,
              HasSubstr("trials.db: cannot be made in its folder (Permission "
                        "denied)"));
}

TEST_F(DatabaseTest, WriteThroughAReaderIsAnError) {
  fill(1);
  Database database = open(OpenMode::Read);
  EXPECT_THAT(toString(database.record(1, makeRecord(2)).takeError()),
              HasSubstr("cannot be written"));
}

TEST_F(DatabaseTest, LockedFileCanBeRead) {
  fill(1);
  auto holder =
      cantFail(sqlite::Connection::open(path, SQLITE_OPEN_READWRITE, 1));
  cantFail(holder->run("BEGIN IMMEDIATE"));
  EXPECT_EQ(countTrials(), 1);
}

TEST_F(DatabaseTest, LockedFileCannotBeOpenedToWrite) {
  fill(1);
  auto holder =
      cantFail(sqlite::Connection::open(path, SQLITE_OPEN_READWRITE, 1));
  cantFail(holder->run("BEGIN IMMEDIATE"));
  EXPECT_THAT(openError(OpenMode::Write, 0.1),
              HasSubstr("locked by another process"));
}

TEST_F(DatabaseTest, LockedFileStopsAWriter) {
  fill(1);
  Database database = open(OpenMode::Write, 0.1);
  auto holder =
      cantFail(sqlite::Connection::open(path, SQLITE_OPEN_READWRITE, 1));
  cantFail(holder->run("BEGIN IMMEDIATE"));
  EXPECT_THAT(toString(database.record(1, makeRecord(2)).takeError()),
              HasSubstr("locked by another process for more than 0.1"));
  cantFail(holder->run("COMMIT"));
  cantFail(database.record(1, makeRecord(2)));
  EXPECT_EQ(countTrials(), 2);
}

void overwrite(const std::string &path, int64_t at, size_t count) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(at);
  file << std::string(count, '\x5a');
  ASSERT_TRUE(file.good());
}

TEST_F(DatabaseTest, DamagedHeaderIsSaid) {
  fill(1);
  overwrite(path, 0, 64);
  for (OpenMode mode : {OpenMode::Read, OpenMode::Write})
    EXPECT_THAT(openError(mode), HasSubstr("trials.db: not a trial database, "
                                           "or its first bytes are damaged"));
}

TEST_F(DatabaseTest, DamagedPagesAreFound) {
  fill(50);
  uint64_t size = 0;
  ASSERT_FALSE(sys::fs::file_size(path, size));
  ASSERT_GT(size, 40u << 10);
  std::string before = cantFail(readFile(path));
  overwrite(path, size / 2, size / 2 - 4096);
  std::string text;
  raw_string_ostream out(text);
  EXPECT_THAT(toString(db::check(path, db::Format::Text, out)),
              HasSubstr("wrong; keep the file"));
  Database database = open(OpenMode::Read);
  // Each is a line, said once; whose file it is says the command.
  std::vector<std::string> findings = cantFail(database.check());
  EXPECT_THAT(findings, Not(IsEmpty()));
  EXPECT_THAT(findings, Each(Not(AnyOf(HasSubstr("\n"), HasSubstr(path)))));
  EXPECT_EQ(std::set<std::string>(findings.begin(), findings.end()).size(),
            findings.size());
  EXPECT_EQ(StringRef(text).count('\n'), findings.size());
  // What cannot be exported is one error.
  std::string exported = toString(database.exportLines(
      [](StringRef) -> Error { return Error::success(); }));
  EXPECT_THAT(exported, AllOf(HasSubstr("damaged"), Not(HasSubstr("\n"))));
  std::string list;
  raw_string_ostream listOut(list);
  EXPECT_THAT(toString(db::list(path, db::Format::Text, listOut)),
              HasSubstr("damaged"));
}

TEST_F(DatabaseTest, DamagedValuesAreFound) {
  fill(2);
  {
    auto connection =
        cantFail(sqlite::Connection::open(path, SQLITE_OPEN_READWRITE, 1));
    cantFail(connection->run("UPDATE trials SET seconds = '[-1.0, 2, 3]' WHERE "
                             "id = 1; UPDATE trials SET outcome = 'fine' "
                             "WHERE id = 2; DELETE FROM dispatches"));
  }
  Database database = open(OpenMode::Read);
  auto findings = cantFail(database.check());
  // Without their dispatch the trials cannot be looked at any further.
  EXPECT_THAT(findings, Contains(HasSubstr("of trials names a row of "
                                           "dispatches that is missing")));
}

TEST_F(DatabaseTest, ImpossibleValuesAreFound) {
  fill(2);
  {
    auto connection =
        cantFail(sqlite::Connection::open(path, SQLITE_OPEN_READWRITE, 1));
    cantFail(connection->run("UPDATE trials SET seconds = '[-1.0, 2, 3]' WHERE "
                             "id = 1; UPDATE trials SET outcome = 'fine' "
                             "WHERE id = 2"));
  }
  Database database = open(OpenMode::Read);
  auto findings = cantFail(database.check());
  EXPECT_THAT(findings, Contains(HasSubstr("trial 1: the trial of")));
  EXPECT_THAT(findings, Contains(HasSubstr("outcome 'fine'")));
  EXPECT_THAT(
      toString(database.trials(matmulKey, makeConditions()).takeError()),
      HasSubstr("trial 2 is damaged"));
}

TEST_F(DatabaseTest, NewerSchemaIsSaidAndLeftAlone) {
  fill(1);
  {
    auto connection =
        cantFail(sqlite::Connection::open(path, SQLITE_OPEN_READWRITE, 1));
    cantFail(connection->run("PRAGMA user_version = 99"));
  }
  std::string before = cantFail(readFile(path));
  for (OpenMode mode : {OpenMode::Read, OpenMode::Write})
    EXPECT_THAT(openError(mode), HasSubstr("written by a newer Attune (schema "
                                           "99"));
  EXPECT_EQ(cantFail(readFile(path)), before);
}

TEST_F(DatabaseTest, OtherFilesAreLeftAlone) {
  {
    auto connection = cantFail(sqlite::Connection::open(
        path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, 1));
    cantFail(connection->run("CREATE TABLE photos (id INTEGER)"));
  }
  std::string before = cantFail(readFile(path));
  EXPECT_THAT(openError(OpenMode::Write),
              HasSubstr("a SQLite database, but not one of Attune's"));
  EXPECT_EQ(cantFail(readFile(path)), before);
  cantFail(writeFile(path, "module {}\n"));
  EXPECT_THAT(openError(OpenMode::Write), HasSubstr("not a trial database"));
  EXPECT_EQ(cantFail(readFile(path)), "module {}\n");
  path = folder->getPath();
  EXPECT_THAT(openError(OpenMode::Write), HasSubstr("is a folder"));
  path = folder->file("missing.db");
  EXPECT_THAT(openError(OpenMode::Read), HasSubstr("No such file"));
  path = folder->file("no/such/folder.db");
  EXPECT_THAT(openError(OpenMode::Write),
              HasSubstr("cannot be made in its folder (No such file"));
}

//===----------------------------------------------------------------------===//
// Processes
//===----------------------------------------------------------------------===//

TEST_F(DatabaseTest, KilledWriterLosesNothingItReported) {
  int64_t reported = 0;
  for (int round = 0; round < 5; ++round) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    pid_t writer = fork();
    if (writer == 0) {
      Database database = open();
      int64_t session = cantFail(database.beginSession(makeStart()));
      for (int64_t i = 1;; ++i) {
        cantFail(database.record(session, makeRecord(i)));
        if (write(ends[1], "x", 1) != 1)
          _exit(1);
      }
    }
    close(ends[1]);
    // Different moments: after the 3rd, 10th, 17th, ... report.
    char report;
    for (int i = 0; i < 3 + 7 * round; ++i)
      ASSERT_EQ(read(ends[0], &report, 1), 1);
    usleep(137 * round);
    kill(writer, SIGKILL);
    waitpid(writer, nullptr, 0);
    reported += 3 + 7 * round;
    while (read(ends[0], &report, 1) == 1)
      ++reported;
    close(ends[0]);
    int64_t found = countTrials();
    EXPECT_GE(found, reported);
    EXPECT_LE(found, reported + round + 1); // Recorded, killed before report.
  }
}

TEST_F(DatabaseTest, TwoTunersShareAFile) {
  constexpr int64_t each = 40;
  pid_t tuners[2];
  for (pid_t &tuner : tuners) {
    tuner = fork();
    if (tuner == 0) { // Both also make the file.
      Database database = open();
      int64_t session = cantFail(database.beginSession(makeStart()));
      for (int64_t i = 1; i <= each; ++i)
        cantFail(database.record(session, makeRecord(i)));
      cantFail(database.endSession(session, "finished"));
      _exit(0);
    }
  }
  for (pid_t tuner : tuners) {
    int status = 0;
    waitpid(tuner, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(countTrials(), 2 * each);
  Database database = open(OpenMode::Read);
  EXPECT_EQ(cantFail(database.summarize()).sessions, 2);
  EXPECT_EQ(cantFail(database.summarize()).configurations, each);
}

//===----------------------------------------------------------------------===//
// Schema
//===----------------------------------------------------------------------===//

TEST_F(DatabaseTest, MigrationsRunOnceAndInOrder) {
  auto connection = cantFail(sqlite::Connection::open(
      path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, 1));
  StringLiteral first = "CREATE TABLE a (x INTEGER); INSERT INTO a VALUES (1);";
  StringLiteral second = "ALTER TABLE a ADD COLUMN y INTEGER DEFAULT 7;";
  cantFail(sqlite::migrate(*connection, {first}));
  cantFail(sqlite::migrate(*connection, {first}));
  cantFail(sqlite::migrate(*connection, {first, second}));
  EXPECT_EQ(cantFail(connection->integer("SELECT sum(y) FROM a")), 7);
  EXPECT_EQ(cantFail(sqlite::schemaVersion(*connection, {first, second})), 2);
  EXPECT_THAT(toString(sqlite::migrate(*connection, {first})),
              HasSubstr("schema 2, this one knows up to 1"));
}

TEST_F(DatabaseTest, FailedMigrationChangesNothing) {
  auto connection = cantFail(sqlite::Connection::open(
      path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, 1));
  StringLiteral first = "CREATE TABLE a (x INTEGER);";
  StringLiteral broken = "CREATE TABLE b (x INTEGER); CREATE TABLE a (y);";
  cantFail(sqlite::migrate(*connection, {first}));
  EXPECT_THAT(toString(sqlite::migrate(*connection, {first, broken})),
              HasSubstr("already exists"));
  EXPECT_EQ(cantFail(sqlite::schemaVersion(*connection, {first, broken})), 1);
  EXPECT_EQ(cantFail(connection->integer(
                "SELECT count(*) FROM sqlite_schema WHERE name = 'b'")),
            0);
}

TEST_F(DatabaseTest, OldestFileIsReadAndUpdated) {
  std::string text = cantFail(
      readFile(ATTUNE_SOURCE_DIR "/unittests/Database/Inputs/schema1.sql"));
  {
    auto connection = cantFail(sqlite::Connection::open(
        path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, 1));
    cantFail(connection->run(text));
  }
  EXPECT_EQ(countTrials(), 2);
  Database database = open();
  StoredTrials stored = cantFail(database.trials(matmulKey, makeConditions()));
  ASSERT_EQ(stored.records.size(), 2u);
  EXPECT_EQ(tileOf(stored.records[1].trial), 2);
}

} // namespace
