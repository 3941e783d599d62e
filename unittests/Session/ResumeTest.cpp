//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Sessions that are killed, at every moment there is, and given again; programs
// that change between two sessions.

#include "Fixture.h"
#include "attune/Measure/Final.h"

#include "gmock/gmock.h"
#include <csignal>
#include <fstream>
#include <set>
#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;
using namespace attune;
using namespace attune::fakes;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

namespace {

class ResumeTest : public SessionTest {
protected:
  ResumeTest() {
    world.dispatches = {{"hot", 2e-3, steep}, {"warm", 1e-3, tilted}};
    world.tiles = 5;
    world.sameTimesAgain = true;
    options.budget.trials = 25; // all 15 of one dispatch, 10 of the other
  }

  static Behaviour steep(int64_t tile, int64_t unroll) {
    return valley(6 * tile, unroll);
  }
  /// With failures of both kinds in it.
  static Behaviour tilted(int64_t tile, int64_t unroll) {
    Behaviour behaviour = steep(6 - tile, unroll);
    if (tile == 3)
      behaviour.run = Outcome::Crash;
    if (tile == 5)
      behaviour.compile = Outcome::CompileError;
    return behaviour;
  }

  std::string databasePath() const { return folder.file("trials.db"); }

  /// The command in a process of its own, which kills itself at the moment
  /// `killAt` (never: -1). Moments are everything that is asked of the backend
  /// and the executors, and each trial that was recorded. True: it ended.
  bool runCommand(int64_t killAt) {
    sys::fs::remove_directories(folder.file("work1")); // Temporary.
    pid_t child = fork();
    if (child == 0) {
      int64_t moment = 0;
      auto next = [&](StringRef what) {
        if (what.starts_with("measure candidate"))
          append("measured", what);
        if (moment++ == killAt)
          ::kill(getpid(), SIGKILL);
      };
      world.onCall = next;
      onEvent = [&](json::Object event) {
        if (event.getString("event") == "trial")
          append("reported", std::to_string(*event.getInteger("number")));
        next("event");
      };
      database = cantFail(Database::open(databasePath(), OpenMode::Write));
      SessionReport report = mustTune();
      cantFail(writeFile(folder.file("result"), describe(report)));
      cantFail(writeFile(folder.file("notes"), join(report.notes, "\n")));
      cantFail(writeFile(folder.file("moments"), std::to_string(moment)));
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(status == 0 ||
                (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL))
        << status;
    return status == 0;
  }

  void append(StringRef name, StringRef line) {
    std::ofstream(folder.file(name), std::ios::app) << line.str() << "\n";
  }
  std::vector<std::string> lines(StringRef name) {
    std::ifstream file(folder.file(name));
    std::vector<std::string> result;
    for (std::string line; std::getline(file, line);)
      result.push_back(line);
    return result;
  }

  /// All that a session found, without when and how.
  std::string describe(const SessionReport &report) {
    std::string text = cantFail(readFile(options.resultFolder + "/spec.mlir"));
    raw_string_ostream out(text);
    for (const DispatchReport &row : report.dispatches) {
      out << formatv("{0}: {1}, {2} ok of {3}, {4} reused, {5}\n", row.name,
                     row.reason, row.trials[Outcome::Ok], row.trials.total(),
                     row.reusedTrials,
                     row.configuration ? toString(*row.configuration) : "none");
      out << formatv("  {0} {1} {2} {3}\n", row.speedup.value, row.speedup.low,
                     row.baselineSeconds, row.tunedSeconds);
      for (double speedup : row.bestSpeedupAfterTrial)
        out << formatv(" {0}", speedup);
    }
    out << formatv("\n{0}: {1}\n", report.stopReason,
                   report.program.speedup.value);
    return text;
  }

  /// Trials as they are in the database.
  std::string storedTrials() {
    Database stored = cantFail(Database::open(databasePath(), OpenMode::Read));
    EXPECT_THAT(cantFail(stored.check()), IsEmpty());
    std::string text;
    cantFail(stored.exportLines([&](StringRef line) {
      json::Value value = cantFail(json::parse(line));
      json::Object &object = *value.getAsObject();
      if (object.getString("kind") == "trial") {
        object.erase("session");
        object.erase("finishedAt");
        object.erase("wallSeconds"); // A batch that was cut in two costs more.
        object.getObject("trial")->erase("compileSeconds");
        text += formatv("{0}\n", value);
      }
      return Error::success();
    }));
    return text;
  }

  /// A new folder, so that nothing of before is known.
  void forget() {
    for (StringRef name :
         {"trials.db", "trials.db-wal", "trials.db-shm", "result", "notes",
          "moments", "measured", "reported"})
      sys::fs::remove(folder.file(name));
    sys::fs::remove_directories(folder.file("out"));
    options.resultFolder = folder.file("out");
    cantFail(createFolder(options.resultFolder));
  }

  /// The uninterrupted session: what it found and recorded, its moments.
  struct Whole {
    std::string result, trials;
    int64_t moments = 0;
    size_t measured = 0;
  };
  Whole runWhole() {
    forget();
    EXPECT_TRUE(runCommand(-1));
    Whole whole;
    whole.result = cantFail(readFile(folder.file("result")));
    whole.trials = storedTrials();
    whole.measured = lines("measured").size();
    StringRef(cantFail(readFile(folder.file("moments"))))
        .getAsInteger(10, whole.moments);
    return whole;
  }

  void expectSame(const Whole &whole, StringRef when) {
    EXPECT_EQ(cantFail(readFile(folder.file("result"))), whole.result)
        << when.str();
    EXPECT_TRUE(storedTrials() == whole.trials) << when.str();
    // Nothing that was reported is reported, or made, again.
    std::vector<std::string> reported = lines("reported");
    std::set<std::string> distinct(reported.begin(), reported.end());
    EXPECT_EQ(distinct.size(), reported.size()) << when.str();
  }
};

TEST_F(ResumeTest, KilledAtAnyMomentItFindsTheSame) {
  Whole whole = runWhole();
  ASSERT_GT(whole.moments, 80);
  ASSERT_THAT(whole.result, HasSubstr("attune.apply"));
  for (int64_t moment = 0; moment < whole.moments; ++moment) {
    forget();
    std::string when = "killed at moment " + std::to_string(moment);
    EXPECT_FALSE(runCommand(moment)) << when;
    ASSERT_TRUE(runCommand(-1)) << when;
    expectSame(whole, when);
    // Only what was under way is made again.
    EXPECT_LE(lines("measured").size(), whole.measured + 1) << when;
    if (HasFailure())
      break;
  }
}

TEST_F(ResumeTest, KilledAgainAndAgainItFindsTheSame) {
  Whole whole = runWhole();
  std::mt19937 random(11);
  for (int round = 0; round < 5; ++round) {
    forget();
    size_t kills = 0;
    std::uniform_int_distribution<int64_t> moment(20, whole.moments);
    while (!runCommand(moment(random)))
      ASSERT_LT(++kills, 200u);
    expectSame(whole, formatv("round {0}, {1} kills", round, kills).str());
    EXPECT_LE(lines("measured").size(), whole.measured + kills);
  }
}

TEST_F(ResumeTest, ABudgetInTimeCountsWhatWasSpent) {
  options.budget.trials.reset();
  options.budget.seconds = 60;
  world.tiles = 32;
  Whole whole = runWhole();
  size_t trials = StringRef(whole.trials).count('\n');
  ASSERT_GT(trials, 20u);
  for (int64_t moment : {whole.moments / 3, 2 * whole.moments / 3}) {
    forget();
    EXPECT_FALSE(runCommand(moment));
    ASSERT_TRUE(runCommand(-1));
    size_t now = StringRef(storedTrials()).count('\n');
    EXPECT_LE(now, trials + 4);
    EXPECT_GE(now, trials - 4);
  }
}

TEST_F(ResumeTest, TheReportSaysWhatWasNotMadeAgain) {
  Whole whole = runWhole();
  forget();
  runCommand(2 * whole.moments / 3);
  size_t before = StringRef(storedTrials()).count('\n');
  ASSERT_GT(before, 10u);
  ASSERT_TRUE(runCommand(-1));
  EXPECT_THAT(
      cantFail(readFile(folder.file("notes"))),
      HasSubstr(
          formatv("interrupted session: {0} of its trials", before).str()));
}

TEST_F(ResumeTest, ReplayedOnlyDispatchesAreNotPreparedAgain) {
  Whole whole = runWhole();
  forget();
  runCommand(whole.moments - 2); // Everything but the very end was done.
  database = cantFail(Database::open(databasePath(), OpenMode::Write));
  std::vector<std::string> calls;
  world.onCall = [&](StringRef what) { calls.push_back(what.str()); };
  mustTune();
  EXPECT_THAT(calls, Not(Contains(HasSubstr("measure candidate"))));
  EXPECT_THAT(calls, Not(Contains(HasSubstr("build dispatch"))));
}

TEST_F(ResumeTest, AnInterruptedSessionGoesOnWithItsBudget) {
  forget();
  pid_t child = fork();
  if (child == 0) {
    database = cantFail(Database::open(databasePath(), OpenMode::Write));
    world.beforeMeasure = [](int64_t number) {
      if (number == 7)
        requestInterrupt(Interrupt::Stop);
    };
    _exit(mustTune().stopReason == "interrupted" ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  ASSERT_EQ(status, 0);
  database = cantFail(Database::open(databasePath(), OpenMode::Write));
  SessionReport report = mustTune();
  EXPECT_THAT(cantFail(database.sessions()), SizeIs(1));
  EXPECT_EQ(report.stopReason, "budget spent");
  EXPECT_EQ(row(report, "hot").trials.total() +
                row(report, "warm").trials.total(),
            25);
  EXPECT_THAT(report.notes,
              Contains(HasSubstr("went on with an interrupted session")));
}

TEST_F(ResumeTest, InterruptedTwiceStopsAtOnce) {
  world.beforeMeasure = [](int64_t number) {
    if (number == 7)
      requestInterrupt(Interrupt::Now);
  };
  auto report = tune();
  ASSERT_FALSE(report);
  EXPECT_THAT(llvm::toString(report.takeError()),
              HasSubstr("interrupted, and stopped at once; every trial that "
                        "was recorded is kept"));
  EXPECT_LE(world.measured, 9);
  EXPECT_EQ(cantFail(database.sessions()).front().status, "interrupted");
}

//===----------------------------------------------------------------------===//
// Changes between two sessions
//===----------------------------------------------------------------------===//

TEST_F(ResumeTest, AChangedProgramTunesOnlyWhatChanged) {
  options.budget.trials = 200;
  SessionReport first = mustTune();
  ASSERT_TRUE(row(first, "hot").configuration);
  world.dispatches[1].name = "changed";
  programHash = "other";
  world.compiled.clear();
  said.clear();
  SessionReport report = mustTune();
  EXPECT_EQ(row(report, "hot").reusedTrials, row(report, "hot").trials.total());
  EXPECT_EQ(row(report, "hot").configuration, row(first, "hot").configuration);
  EXPECT_EQ(row(report, "changed").reusedTrials, 0);
  EXPECT_EQ(row(report, "changed").trials.total(), 15);
  EXPECT_THAT(said, HasSubstr("hot: tuned for another program already"));
  // The best are compared again, in the new program's session; no search.
  EXPECT_LE(count_if(world.compiled,
                     [](const auto &entry) {
                       return StringRef(entry.first).starts_with("hot/");
                     }),
            FinalOptions().contenders);
}

TEST_F(ResumeTest, TheSameProgramAgainSearchesOn) {
  world.tiles = 32;
  SessionReport first = mustTune();
  SessionReport second = mustTune();
  EXPECT_GT(row(second, "hot").trials.total(),
            row(first, "hot").trials.total());
}

TEST_F(ResumeTest, AChangedScheduleIsSaid) {
  mustTune();
  scheduleVersion = "2";
  SessionReport report = mustTune();
  EXPECT_EQ(row(report, "hot").reusedTrials, 0);
  EXPECT_THAT(report.notes, Contains(AllOf(HasSubstr("trials not reused"),
                                           HasSubstr("schedule that "
                                                     "changed"))));
  EXPECT_THAT(said, HasSubstr("of a schedule that changed"));
}

TEST_F(ResumeTest, AnotherMachineIsSaid) {
  mustTune();
  options.target.cpu = "another";
  SessionReport report = mustTune();
  EXPECT_EQ(row(report, "hot").reusedTrials, 0);
  EXPECT_THAT(report.notes, Contains(HasSubstr("of another machine")));
}

TEST_F(ResumeTest, AnotherCompilerIsSaid) {
  mustTune();
  options.versions["llvm"] = "99";
  SessionReport report = mustTune();
  EXPECT_EQ(row(report, "hot").reusedTrials, 0);
  EXPECT_THAT(report.notes,
              Contains(HasSubstr("of another version of the tuner or "
                                 "compiler")));
}

TEST_F(ResumeTest, ResultsOfBeforeStayUntilThereAreBetter) {
  mustTune();
  ASSERT_FALSE(writtenSpec().entries.empty());
  bool kept = false;
  world.beforeMeasure = [&](int64_t) { kept = !writtenSpec().entries.empty(); };
  mustTune();
  EXPECT_TRUE(kept);
  EXPECT_FALSE(sys::fs::exists(options.resultFolder + "/rehearsal.tmp"));
}

TEST_F(ResumeTest, FinalsAndTheMachineAreInTheDatabase) {
  mustTune();
  int64_t finals = 0, environments = 0;
  cantFail(database.exportLines([&](StringRef line) {
    finals += line.contains("\"phase\":\"final\"");
    environments += line.contains("\"kind\":\"environment\"");
    return Error::success();
  }));
  EXPECT_GE(finals, 2);
  EXPECT_GE(environments, 3);
}

} // namespace
