//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Fixture.h"

#include "attune/Database/Commands.h"
#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;
using namespace attune;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {

std::string messageOf(Error error) { return toString(std::move(error)); }

TEST_F(DatabaseTest, TrialComesBackAsItWas) {
  TrialRecord good = makeRecord(6);
  TrialRecord bad = makeRecord(7);
  bad.trial.outcome = Outcome::Crash;
  bad.trial.reason = "died of SIGSEGV";
  bad.trial.detail = "line 1\nline 2\n";
  bad.trial.seconds.clear();
  bad.trial.baselineSeconds.clear();
  bad.phase = Phase::Final;
  {
    Database database = open();
    int64_t session = cantFail(database.beginSession(makeStart()));
    cantFail(database.record(session, good));
    cantFail(database.record(session, bad));
  }
  Database database = open(OpenMode::Read);
  StoredTrials stored = cantFail(database.trials(matmulKey, makeConditions()));
  ASSERT_EQ(stored.records.size(), 2u);
  const TrialRecord &first = stored.records[0], &second = stored.records[1];
  EXPECT_EQ(first.trial.configuration, good.trial.configuration);
  EXPECT_EQ(first.trial.seconds, good.trial.seconds); // To the last bit.
  EXPECT_EQ(first.trial.baselineSeconds, good.trial.baselineSeconds);
  EXPECT_EQ(first.trial.compileSeconds, 0.25);
  EXPECT_EQ(first.wallSeconds, 0.5);
  EXPECT_EQ(first.dispatch.rootOp, "contraction");
  EXPECT_EQ(second.trial.outcome, Outcome::Crash);
  EXPECT_EQ(second.trial.reason, "died of SIGSEGV");
  EXPECT_EQ(second.trial.detail, "line 1\nline 2\n");
  EXPECT_EQ(second.phase, Phase::Final);
  EXPECT_EQ(stored.describeSkipped(), "");
}

TEST_F(DatabaseTest, TrialsAreReusedAcrossProgramsOnly) {
  Database database = open();
  SessionStart other = makeStart();
  other.programHash = "another program";
  int64_t session = cantFail(database.beginSession(other));
  cantFail(database.record(session, makeRecord(1)));

  auto reused = [&](Conditions conditions) {
    return cantFail(database.trials(matmulKey, conditions));
  };
  EXPECT_EQ(reused(makeConditions()).records.size(), 1u);

  Conditions target = makeConditions();
  target.target.cpu = "skylake";
  EXPECT_EQ(reused(target).records.size(), 0u);
  EXPECT_EQ(reused(target).describeSkipped(),
            "1 trial not reused: 1 of another machine");
  Conditions threads = makeConditions();
  threads.threads = 1;
  EXPECT_EQ(reused(threads).otherThreads, 1);
  Conditions versions = makeConditions();
  versions.versions["llvm"] = "23";
  EXPECT_EQ(reused(versions).otherVersions, 1);

  DispatchKey otherSize = matmulKey;
  otherSize.sizes = "m=8";
  EXPECT_THAT(cantFail(database.trials(otherSize, makeConditions())).records,
              IsEmpty());
}

TEST_F(DatabaseTest, ChangedScheduleLosesOnlyItsOwnTrials) {
  Database database = open();
  int64_t session = cantFail(database.beginSession(makeStart()));
  cantFail(database.record(session, makeRecord(1)));
  TrialRecord fallback = makeRecord(2);
  fallback.trial.configuration.schedule = "fallback";
  cantFail(database.record(session, fallback));
  StringMap<std::string> schedules{{"contraction_packed", "2"},
                                   {"fallback", "1"}};
  StoredTrials stored =
      cantFail(database.trials(matmulKey, makeConditions(), schedules));
  ASSERT_EQ(stored.records.size(), 1u);
  EXPECT_EQ(stored.trials()[0].configuration.schedule, "fallback");
  EXPECT_EQ(stored.otherSchedule, 1);
}

TEST_F(DatabaseTest, TimesThatAreNoTimesAreRefused) {
  Database database = open();
  int64_t session = cantFail(database.beginSession(makeStart()));
  for (double wrong : {0.0, -1.0, double(NAN), double(INFINITY)}) {
    TrialRecord record = makeRecord(1);
    record.trial.seconds[1] = wrong;
    EXPECT_THAT(messageOf(database.record(session, record).takeError()),
                HasSubstr("times are finite and positive"));
  }
  TrialRecord none = makeRecord(1);
  none.trial.seconds.clear();
  none.trial.baselineSeconds.clear();
  EXPECT_THAT(messageOf(database.record(session, none).takeError()),
              HasSubstr("is ok but has no times"));
  TrialRecord unpaired = makeRecord(1);
  unpaired.trial.baselineSeconds.pop_back();
  EXPECT_THAT(messageOf(database.record(session, unpaired).takeError()),
              HasSubstr("3 times and 2 of the baseline"));
  EXPECT_EQ(cantFail(database.summarize()).trials, 0);
}

TEST_F(DatabaseTest, DetailIsBoundedAndMadeText) {
  Database database = open();
  int64_t session = cantFail(database.beginSession(makeStart()));
  TrialRecord record = makeRecord(1);
  record.trial.outcome = Outcome::CompileError;
  // Two-byte characters, so that the limit falls into one; then not UTF-8.
  record.trial.detail = "x";
  for (int i = 0; i < 100000; ++i)
    record.trial.detail += "\xc3\xa9";
  record.trial.reason = "bad \xff byte, and a zero: ";
  record.trial.reason += '\0';
  cantFail(database.record(session, record));
  Trial trial =
      cantFail(database.trials(matmulKey, makeConditions())).trials()[0];
  EXPECT_EQ(trial.detail.size(), 65535u);
  EXPECT_TRUE(json::isUTF8(trial.detail));
  EXPECT_TRUE(json::isUTF8(trial.reason));
  EXPECT_EQ(trial.reason.back(), '\0');
  EXPECT_THAT(cantFail(database.check()), IsEmpty());
}

TEST_F(DatabaseTest, UnknownSessionIsAnError) {
  Database database = open();
  EXPECT_THAT(messageOf(database.record(7, makeRecord(1)).takeError()),
              HasSubstr("there is no session 7"));
  EXPECT_THAT(messageOf(database.endSession(7, "")),
              HasSubstr("there is no session 7"));
  EXPECT_THAT(messageOf(database.recordDispatch(7, matmulKey, "d", 1)),
              HasSubstr("there is no session 7"));
  EXPECT_THAT(messageOf(database.recordEnvironment(7, {})),
              HasSubstr("FOREIGN KEY"));
}

//===----------------------------------------------------------------------===//
// Sessions
//===----------------------------------------------------------------------===//

TEST_F(DatabaseTest, SessionComesBackAsItWas) {
  Database database = open();
  int64_t id = cantFail(database.beginSession(makeStart()));
  cantFail(database.record(id, makeRecord(1)));
  cantFail(database.record(id, makeRecord(2)));
  cantFail(database.endSession(id, "finished"));
  auto sessions = cantFail(database.sessions());
  ASSERT_EQ(sessions.size(), 1u);
  EXPECT_EQ(sessions[0].seed, makeStart().seed);
  EXPECT_EQ(sessions[0].command, makeStart().command);
  EXPECT_EQ(sessions[0].conditions.target, makeConditions().target);
  EXPECT_EQ(sessions[0].conditions.versions, makeConditions().versions);
  EXPECT_EQ(sessions[0].trials, 2);
  EXPECT_EQ(sessions[0].spentSeconds, 1.0);
  EXPECT_EQ(sessions[0].startedAt, 1000);
  EXPECT_EQ(sessions[0].endedAt, 1003);
  EXPECT_EQ(sessions[0].status, "finished");
}

/// Runs `body` in a process that then ends without any cleaning up.
template <typename Body> void runInProcess(Body body) {
  pid_t child = fork();
  if (child == 0) {
    body();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_EQ(status, 0);
}

TEST_F(DatabaseTest, KilledSessionGoesOnOnce) {
  runInProcess([&] {
    Database database = open();
    int64_t id = cantFail(database.beginSession(makeStart()));
    cantFail(database.record(id, makeRecord(1)));
    _exit(0); // No destructor.
  });
  Database database = open();
  SessionStart other = makeStart();
  other.command += " --budget=2m";
  EXPECT_EQ(cantFail(database.resumeSession(other)), std::nullopt);
  other = makeStart();
  other.conditions.versions["llvm"] = "23";
  EXPECT_EQ(cantFail(database.resumeSession(other)), std::nullopt);

  auto resumed = cantFail(database.resumeSession(makeStart()));
  ASSERT_TRUE(resumed.has_value());
  EXPECT_EQ(resumed->spentSeconds, 0.5);
  cantFail(database.record(resumed->id, makeRecord(2)));
  EXPECT_EQ(cantFail(database.summarize()).sessions, 1);
  // It is this process's now, and this process lives.
  EXPECT_EQ(cantFail(database.resumeSession(makeStart())), std::nullopt);
}

TEST_F(DatabaseTest, EndedSessionIsNotResumed) {
  runInProcess([&] {
    Database database = open();
    int64_t id = cantFail(database.beginSession(makeStart()));
    cantFail(database.endSession(id, "finished"));
  });
  Database database = open();
  EXPECT_EQ(cantFail(database.resumeSession(makeStart())), std::nullopt);
}

//===----------------------------------------------------------------------===//
// Commands
//===----------------------------------------------------------------------===//

template <typename Command> std::string outputOf(Command command) {
  std::string text;
  raw_string_ostream out(text);
  cantFail(command(out));
  return text;
}

TEST_F(DatabaseTest, ShowCountsAndSaysWhen) {
  fill(3);
  auto shown = cantFail(json::parse(outputOf([&](raw_ostream &out) {
    return db::show(path, db::Format::Json, out);
  })));
  const json::Object &object = *shown.getAsObject();
  EXPECT_EQ(object.getInteger("trials"), 3);
  EXPECT_EQ(object.getInteger("sessions"), 1);
  EXPECT_EQ(object.getInteger("dispatches"), 1);
  EXPECT_EQ(object.getNumber("lastTrialAt"), 1003);
  EXPECT_EQ(object.getObject("outcomes")->getInteger("ok"), 3);
  EXPECT_EQ(object.getObject("outcomes")->getInteger("crash"), 0);
  EXPECT_THAT(outputOf([&](raw_ostream &out) {
                return db::show(path, db::Format::Text, out);
              }),
              HasSubstr("3 trials of 1 dispatch in 1 session, 1 program"));
}

TEST_F(DatabaseTest, ShowOfAnEmptyFileHasNoLastTrial) {
  open();
  auto shown = cantFail(json::parse(outputOf([&](raw_ostream &out) {
    return db::show(path, db::Format::Json, out);
  })));
  EXPECT_TRUE(shown.getAsObject()->getNull("lastTrialAt").has_value());
}

TEST_F(DatabaseTest, ListNamesTheBest) {
  {
    Database database = open();
    int64_t session = cantFail(database.beginSession(makeStart()));
    cantFail(database.record(session, makeRecord(1, 1.25)));
    cantFail(database.record(session, makeRecord(2, 1.5)));
    cantFail(database.record(session, makeRecord(3, 1.0)));
    TrialRecord failed = makeRecord(4);
    failed.trial.outcome = Outcome::WrongResult;
    cantFail(database.record(session, failed));
  }
  std::string text = outputOf(
      [&](raw_ostream &out) { return db::list(path, db::Format::Text, out); });
  EXPECT_THAT(text, HasSubstr("mlp.mlir  4 trials, not ended"));
  EXPECT_THAT(text, HasSubstr("9f86d081884c7d65  contraction 4x784x10xf32  4 "
                              "trials, 1 failed  best 1.50x: "
                              "contraction_packed m_tile=2"));
  auto listed = cantFail(json::parse(outputOf([&](raw_ostream &out) {
    return db::list(path, db::Format::Json, out);
  })));
  EXPECT_EQ(listed.getAsObject()->getArray("dispatches")->size(), 1u);
}

TEST_F(DatabaseTest, ExportAndImportKeepEverything) {
  fill(2);
  {
    Database database = open();
    int64_t session = cantFail(database.sessions())[0].id;
    cantFail(database.recordDispatch(session, matmulKey, "matmul_0", 3));
    cantFail(database.recordEnvironment(session, Environment::sample()));
    cantFail(database.endSession(session, "finished"));
  }
  auto exportOf = [](StringRef file) {
    return outputOf([&](raw_ostream &out) { return db::exportTo(file, out); });
  };
  std::string lines = exportOf(path), copyPath = folder->file("copy.db");
  std::string linesPath = folder->file("trials.jsonl");
  cantFail(writeFile(linesPath, lines));
  std::string first = outputOf([&](raw_ostream &out) {
    return db::importFrom(copyPath, linesPath, db::Format::Text, out);
  });
  EXPECT_THAT(first, HasSubstr("2 new trials of 1 new session, 0 known"));
  EXPECT_EQ(exportOf(copyPath), lines);
  std::string second = outputOf([&](raw_ostream &out) {
    return db::importFrom(copyPath, linesPath, db::Format::Text, out);
  });
  EXPECT_THAT(second, HasSubstr("0 new trials of 0 new sessions, 2 known"));
  EXPECT_EQ(exportOf(copyPath), lines);
}

TEST_F(DatabaseTest, MergeAddsWhatIsNew) {
  fill(2);
  std::string firstPath = path;
  path = folder->file("second.db");
  fill(3);
  std::string mergedPath = folder->file("merged.db");
  for (int i = 0; i < 2; ++i)
    outputOf([&](raw_ostream &out) {
      return db::merge(mergedPath, {firstPath, path}, db::Format::Text, out);
    });
  path = mergedPath;
  EXPECT_EQ(countTrials(), 5);
  std::string text;
  raw_string_ostream out(text);
  EXPECT_THAT(messageOf(db::merge(mergedPath, {folder->file("none.db")},
                                  db::Format::Text, out)),
              HasSubstr("none.db: No such file"));
}

TEST_F(DatabaseTest, BadImportNamesTheLineAndChangesNothing) {
  fill(1);
  std::string lines =
      outputOf([&](raw_ostream &out) { return db::exportTo(path, out); });
  path = folder->file("other.db");
  Database database = open();
  auto errorOf = [&](const std::string &text) {
    auto counts = database.importLines(text, "x.jsonl");
    EXPECT_FALSE(static_cast<bool>(counts));
    return counts ? "" : messageOf(counts.takeError());
  };
  EXPECT_THAT(errorOf(lines + "{\"kind\": \"trial\"}\n"),
              HasSubstr("x.jsonl:6: 'session' is missing"));
  EXPECT_THAT(errorOf(lines.substr(0, lines.size() - 20)),
              HasSubstr("x.jsonl:5: "));
  EXPECT_THAT(errorOf("{\"kind\": \"program\"}\n"), HasSubstr("no header"));
  EXPECT_THAT(errorOf("[1]"), HasSubstr("x.jsonl:1: not an object"));
  EXPECT_THAT(errorOf("{\"kind\":\"header\",\"format\":\"attune-trials\","
                      "\"version\":9}"),
              HasSubstr("version 9 of the format is newer"));
  EXPECT_EQ(cantFail(database.summarize()).trials, 0);
  EXPECT_EQ(cantFail(database.summarize()).programs, 0);
}

TEST_F(DatabaseTest, PruneRemovesOldTrialsAndWhatOnlyTheyUsed) {
  {
    Database database = open();
    int64_t old = cantFail(database.beginSession(makeStart()));
    cantFail(database.recordDispatch(old, matmulKey, "matmul_0", 1));
    cantFail(database.recordEnvironment(old, {}));
    TrialRecord record = makeRecord(1);
    record.dispatch.fingerprint = "0000000000000001";
    cantFail(database.record(old, record));
    cantFail(database.endSession(old, "finished"));
    time = 5000;
    SessionStart start = makeStart();
    start.programHash = "new";
    int64_t session = cantFail(database.beginSession(start));
    cantFail(database.record(session, makeRecord(2)));
  }
  PruneOptions options;
  options.before = 2000;
  EXPECT_THAT(outputOf([&](raw_ostream &out) {
                return db::prune(path, options, db::Format::Text, out);
              }),
              HasSubstr("1 trial removed"));
  Database database = open(OpenMode::Read);
  DatabaseSummary summary = cantFail(database.summarize());
  EXPECT_EQ(summary.trials, 1);
  EXPECT_EQ(summary.sessions, 1);
  EXPECT_EQ(summary.programs, 1);
  EXPECT_EQ(summary.dispatches, 1);
  EXPECT_EQ(summary.configurations, 1);
  EXPECT_THAT(cantFail(database.check()), IsEmpty());
}

TEST_F(DatabaseTest, PruneKeepsTheVersionsAskedFor) {
  fill(2);
  Database database = open();
  PruneOptions options;
  options.keepOnly = makeConditions().versions;
  EXPECT_EQ(cantFail(database.prune(options)), 0);
  options.keepOnly = Versions{{"attune", "2"}};
  EXPECT_EQ(cantFail(database.prune(options)), 2);
}

TEST(EnvironmentTest, ReadsAMachine) {
  auto folder = cantFail(TemporaryFolder::create());
  cantFail(createFolder(folder.file("proc")));
  std::string cpufreq = folder.file("sys/devices/system/cpu/cpu0/cpufreq");
  cantFail(createFolder(cpufreq));
  cantFail(writeFile(folder.file("proc/loadavg"), "0.50 1.25 2.00 1/99 7\n"));
  cantFail(writeFile(folder.file("proc/stat"),
                     "cpu  100 0 50 800 10 0 5 35 7 0\ncpu0 1 2\n"));
  cantFail(writeFile(folder.file("proc/meminfo"),
                     "MemTotal: 10 kB\nMemAvailable:    2048 kB\n"));
  cantFail(writeFile(cpufreq + "/scaling_governor", "powersave\n"));
  cantFail(writeFile(cpufreq + "/scaling_cur_freq", "2500000\n"));
  std::string topology = cpufreq + "/../topology";
  cantFail(createFolder(topology));
  cantFail(writeFile(topology + "/thread_siblings_list", "0,4\n"));
  Environment environment = Environment::sample(folder.getPath());
  EXPECT_EQ(environment.load1, 0.5);
  EXPECT_EQ(environment.load5, 1.25);
  EXPECT_EQ(environment.governor, "powersave");
  EXPECT_EQ(environment.megahertz, 2500);
  EXPECT_EQ(environment.threadsPerCore, 2);
  EXPECT_EQ(environment.totalTicks, 1000);
  EXPECT_EQ(environment.stealTicks, 35);
  EXPECT_EQ(environment.freeMemoryBytes, 2048 * 1024);
  EXPECT_EQ(cantFail(environmentFromJSON(toJSON(environment))), environment);
  Environment later = environment;
  later.totalTicks += 100;
  later.stealTicks += 25;
  EXPECT_EQ(stealFraction(environment, later), 0.25);
  environment.bounds = "memory by a watchdog";
  EXPECT_EQ(describe(environment, later),
            "load 0.50, clock governor powersave at 2500 MHz, 2 threads a "
            "core, 25.0 % of CPU time stolen, memory by a watchdog");
  EXPECT_EQ(findDisturbances(environment, later, 2),
            (std::vector<std::string>{
                "25.0 % of CPU time went to other guests of this host: tune "
                "longer, or on a quieter host",
                "the clock changes with the load (governor powersave): "
                "cpupower frequency-set -g performance"}));
  later.load1 = 3;
  EXPECT_EQ(findDisturbances(later, later, 2).size(), 2u);
  EXPECT_EQ(stealFraction(environment, environment), -1);
}

TEST(EnvironmentTest, MachineThatTellsNothingIsUnknown) {
  EXPECT_EQ(Environment::sample("/nowhere"), Environment());
}

} // namespace
