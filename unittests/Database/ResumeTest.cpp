//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// What a session finds again that was interrupted, or whose program changed.

#include "../../lib/Database/Sqlite.h"
#include "Fixture.h"
#include "attune/Database/Commands.h"
#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;
using namespace attune;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {

const StringMap<std::string> schedules{{"contraction_packed", "1"}};

class ResumeTest : public DatabaseTest {
protected:
  /// A session of this process, of a program.
  int64_t begin(Database &database, StringRef program = "abc") {
    SessionStart start = makeStart();
    start.programHash = program.str();
    return cantFail(database.beginSession(start));
  }
  DispatchHistory openDispatch(Database &database, int64_t session) {
    return cantFail(
        database.openDispatch(session, matmulKey, makeConditions(), schedules));
  }
  /// Runs `body` in a process that is then killed.
  template <typename Body> void inKilledProcess(Body body) {
    pid_t child = fork();
    if (child == 0) {
      body();
      kill(getpid(), SIGKILL);
    }
    waitpid(child, nullptr, 0);
  }
};

TEST_F(ResumeTest, TrialsAreNumberedInTheirSession) {
  Database database = open();
  int64_t first = begin(database), second = begin(database);
  EXPECT_EQ(cantFail(database.record(first, makeRecord(1))), 1);
  EXPECT_EQ(cantFail(database.record(first, makeRecord(2))), 2);
  EXPECT_EQ(cantFail(database.record(second, makeRecord(1))), 1);
}

TEST_F(ResumeTest, InterruptedSessionsGoOn) {
  inKilledProcess([&] {
    Database database = open();
    int64_t session = begin(database);
    cantFail(database.record(session, makeRecord(1)));
    cantFail(database.endSession(session, "interrupted"));
  });
  Database database = open();
  auto resumed = cantFail(database.resumeSession(makeStart()));
  ASSERT_TRUE(resumed.has_value());
  SessionInfo now = cantFail(database.sessions())[0];
  EXPECT_FALSE(now.endedAt);
  EXPECT_EQ(now.status, "");
}

TEST_F(ResumeTest, ProfileComesBackAsItWas) {
  Database database = open();
  int64_t session = begin(database);
  EXPECT_FALSE(cantFail(database.sessionProfile(session)));
  SessionProfile profile;
  profile.programSeconds = 0.1;
  DispatchKey other{"0000000000000001", "m=8", "reduction", "8xf32"};
  profile.dispatches = {{matmulKey, "a", 1.0 / 3, 12}, {other, "b", 0, 0}};
  cantFail(database.recordProfile(session, profile));
  auto found = cantFail(database.sessionProfile(session));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->programSeconds, 0.1);
  ASSERT_EQ(found->dispatches.size(), 2u);
  EXPECT_EQ(found->dispatches[0].seconds, 1.0 / 3);
  EXPECT_EQ(found->dispatches[0].calls, 12);
  EXPECT_EQ(found->dispatches[1].key.fingerprint, other.fingerprint);
  EXPECT_EQ(found->dispatches[1].key.sizes, other.sizes);
  EXPECT_THAT(cantFail(database.check()), IsEmpty());
  EXPECT_THAT(toString(database.recordProfile(99, profile)),
              HasSubstr("there is no session 99"));
}

TEST_F(ResumeTest, ASessionKnowsWhatItKnewWhenItTurnedToADispatch) {
  Database database = open();
  int64_t before = begin(database), session = begin(database);
  cantFail(database.record(before, makeRecord(1)));
  EXPECT_EQ(openDispatch(database, session).earlier.records.size(), 1u);
  cantFail(database.record(session, makeRecord(2)));
  // Another tuner goes on beside it.
  cantFail(database.record(before, makeRecord(3)));
  TrialRecord final = makeRecord(2);
  final.phase = Phase::Final;
  cantFail(database.record(session, final));
  DispatchHistory again = openDispatch(database, session);
  ASSERT_EQ(again.earlier.records.size(), 1u);
  EXPECT_EQ(tileOf(again.earlier.records[0].trial), 1);
  ASSERT_EQ(again.own.size(), 2u);
  EXPECT_EQ(again.own[0].phase, Phase::Search);
  EXPECT_EQ(again.own[1].phase, Phase::Final);
}

TEST_F(ResumeTest, OwnTrialsOfAChangedScheduleAreLeftOut) {
  Database database = open();
  int64_t session = begin(database);
  openDispatch(database, session);
  cantFail(database.record(session, makeRecord(1)));
  StringMap<std::string> changed{{"contraction_packed", "2"}};
  DispatchHistory history = cantFail(
      database.openDispatch(session, matmulKey, makeConditions(), changed));
  EXPECT_THAT(history.own, IsEmpty());
  EXPECT_THAT(history.earlier.describeSkipped(),
              HasSubstr("1 trial not reused: 1 of a schedule that changed"));
}

TEST_F(ResumeTest, SettledByAnotherProgramOnly) {
  Database database = open();
  int64_t old = begin(database, "old");
  openDispatch(database, old);
  // Not to its end yet.
  EXPECT_FALSE(openDispatch(database, begin(database, "b")).settledElsewhere);
  cantFail(database.closeDispatch(old, matmulKey, "done"));
  int64_t session = begin(database, "new");
  EXPECT_TRUE(openDispatch(database, session).settledElsewhere);
  // The same program again is to search on.
  EXPECT_FALSE(openDispatch(database, begin(database, "old")).settledElsewhere);
  // What a session knew stays so, even when it is done itself.
  cantFail(database.closeDispatch(session, matmulKey, "done"));
  EXPECT_TRUE(openDispatch(database, session).settledElsewhere);
  EXPECT_EQ(openDispatch(database, old).endReason, "done");
  EXPECT_EQ(openDispatch(database, begin(database, "c")).endReason,
            std::nullopt);
  EXPECT_FALSE(openDispatch(database, begin(database, "new")).settledElsewhere);
}

TEST_F(ResumeTest, NotSettledUnderOtherConditions) {
  Database database = open();
  int64_t old = begin(database, "old");
  openDispatch(database, old);
  cantFail(database.closeDispatch(old, matmulKey, "done"));
  StringMap<std::string> changed{{"contraction_packed", "2"}};
  EXPECT_FALSE(cantFail(database.openDispatch(begin(database, "new"), matmulKey,
                                              makeConditions(), changed))
                   .settledElsewhere);
  Conditions other = makeConditions();
  other.threads = 7;
  EXPECT_FALSE(cantFail(database.openDispatch(begin(database, "new"), matmulKey,
                                              other, schedules))
                   .settledElsewhere);
}

TEST_F(ResumeTest, ClosingWhatWasNeverOpenedIsAnError) {
  Database database = open();
  EXPECT_THAT(
      toString(database.closeDispatch(begin(database), matmulKey, "done")),
      HasSubstr("never turned to the dispatch"));
}

TEST_F(ResumeTest, ProgressTravelsWithAnExport) {
  Database database = open();
  int64_t session = begin(database, "old");
  SessionProfile profile{0.5, {{matmulKey, "matmul", 0.25, 2}}};
  cantFail(database.recordProfile(session, profile));
  openDispatch(database, session);
  cantFail(database.record(session, makeRecord(1)));
  cantFail(database.closeDispatch(session, matmulKey, "done"));
  path = folder->file("other.db");
  Database other = open();
  cantFail(other.merge(database));
  cantFail(other.merge(database));
  auto found = cantFail(other.sessionProfile(1));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->programSeconds, 0.5);
  EXPECT_EQ(found->dispatches[0].calls, 2);
  EXPECT_TRUE(openDispatch(other, begin(other, "new")).settledElsewhere);
  EXPECT_THAT(cantFail(other.check()), IsEmpty());
}

TEST_F(ResumeTest, FirstVersionsFileGoesOn) {
  std::string text = cantFail(
      readFile(ATTUNE_SOURCE_DIR "/unittests/Database/Inputs/schema1.sql"));
  {
    auto connection = cantFail(sqlite::Connection::open(
        path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, 1));
    cantFail(connection->run(text));
    cantFail(
        connection->run("UPDATE sessions SET ended_at = NULL, status = ''"));
  }
  Database database = open();
  auto resumed = cantFail(database.resumeSession(makeStart()));
  ASSERT_TRUE(resumed.has_value());
  EXPECT_FALSE(cantFail(database.sessionProfile(resumed->id)));
  DispatchHistory history = openDispatch(database, resumed->id);
  EXPECT_EQ(history.own.size(), 2u);
  EXPECT_EQ(cantFail(database.summarize()).schemaVersion, 2);
  EXPECT_THAT(cantFail(database.check()), IsEmpty());
}

} // namespace
