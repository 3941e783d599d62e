//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Commands of every kind of failure, built and run.

#include "attune/Backend/Command.h"
#include "attune/Support/Json.h"
#include "llvm/Support/FileSystem.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace attune;
using testing::HasSubstr;

namespace {

/// One knob `what`, a text; what it means is said by the commands.
class CommandTest : public testing::Test {
protected:
  void SetUp() override {
    auto created = TemporaryFolder::create();
    ASSERT_TRUE(bool(created));
    folder.emplace(std::move(*created));
  }

  /// `script` is what `sh -c` runs, with `{what}` in it.
  void describe(llvm::StringRef values, llvm::StringRef build,
                llvm::StringRef run, llvm::StringRef rest = "") {
    std::string text =
        llvm::formatv(R"x({{"knobs": [{{"name": "what", "values": [{0}]}],
                        "build": ["sh", "-c", {1}], "run": ["sh", "-c", {2}],
                        "metric": {{"regex": "time (?<seconds>.*)"}{3}})x",
                      values, llvm::json::Value(build), llvm::json::Value(run),
                      rest)
            .str();
    std::string path = folder->file("a.json");
    ASSERT_FALSE(bool(writeFile(path, text)));
    auto created = CommandBackend::create({path, 1, 2, folder->getPath()});
    ASSERT_TRUE(bool(created)) << llvm::toString(created.takeError());
    backend = std::move(*created);
    executor = backend->createExecutor();
  }

  CompiledCandidate compile(const char *what) {
    Configuration configuration;
    configuration.values.emplace_back("what", std::string(what));
    auto compiled = backend->compileCandidates(backend->dispatches().front(),
                                               configuration);
    if (!compiled) {
      ADD_FAILURE() << llvm::toString(compiled.takeError());
      return {};
    }
    return std::move(compiled->front());
  }

  /// Of a candidate next to the default.
  Measurement measure(const char *what) {
    CompiledCandidate candidate = compile(what);
    EXPECT_EQ(candidate.outcome, Outcome::Ok) << candidate.reason;
    auto baseline = backend->buildProgram(Build::Baseline);
    if (!baseline) {
      ADD_FAILURE() << llvm::toString(baseline.takeError());
      return {};
    }
    MeasureJob job = makeMeasureJob(candidate.library, *baseline, {}, 1, 0);
    job.timing.minRepetitions = 3;
    job.timing.minSeconds = 0;
    auto measured = executor->measure(job, {});
    if (!measured) {
      ADD_FAILURE() << llvm::toString(measured.takeError());
      return {};
    }
    return std::move(*measured);
  }

  std::optional<TemporaryFolder> folder;
  std::unique_ptr<CommandBackend> backend;
  std::unique_ptr<Executor> executor;
};

TEST_F(CommandTest, TimesArePaired) {
  describe(R"("2", "1")", "echo built {what} >file", "echo time 0.{what}");
  Measurement measured = measure("1");
  ASSERT_EQ(measured.outcome, Outcome::Ok) << measured.reason;
  EXPECT_EQ(measured.seconds, std::vector<double>({0.1, 0.1, 0.1}));
  EXPECT_EQ(measured.baselineSeconds, std::vector<double>({0.2, 0.2, 0.2}));
}

TEST_F(CommandTest, ACandidateHasAFolderOfItsOwn) {
  describe(R"("a", "b")", "echo {what} >file",
           "test $(cat file) = {what} && echo time 1");
  CompiledCandidate a = compile("a"), b = compile("b");
  EXPECT_NE(a.library, b.library);
  double seconds = 0;
  EXPECT_EQ(backend->runOnce(a.library, 10, seconds).outcome, Outcome::Ok);
  EXPECT_EQ(backend->runOnce(b.library, 10, seconds).outcome, Outcome::Ok);
  EXPECT_EQ(seconds, 1);
  backend->removeLibrary(a.library);
  EXPECT_FALSE(llvm::sys::fs::exists(a.library));
  EXPECT_EQ(backend->runOnce(a.library, 10, seconds).outcome, Outcome::Crash);
}

TEST_F(CommandTest, AFailedBuildSaysItsError) {
  describe(R"("true", "false")",
           "if ! {what}; then echo 'a.c:1: error: no'; echo more; exit 1; fi",
           "echo time 1");
  CompiledCandidate candidate = compile("false");
  EXPECT_EQ(candidate.outcome, Outcome::CompileError);
  EXPECT_EQ(candidate.reason, "exit status 1: a.c:1: error: no");
  EXPECT_TRUE(candidate.library.empty());
}

TEST_F(CommandTest, AnEndlessBuildIsEnded) {
  describe(R"("0", "60")", "sleep {what}", "echo time 1",
           R"(, "buildLimitSeconds": 0.2)");
  CompiledCandidate candidate = compile("60");
  EXPECT_EQ(candidate.outcome, Outcome::CompileTimeout);
  EXPECT_EQ(candidate.reason, "no end within 0.2 s");
}

TEST_F(CommandTest, CrashesAndEndlessRunsAreOutcomes) {
  describe(R"("true", "kill -SEGV $$", "exit 3", "sleep 60", "echo time nan;")",
           "true", "{what}; echo time 1", R"(, "limitSeconds": 0.5)");
  Measurement crashed = measure("kill -SEGV $$");
  EXPECT_EQ(crashed.outcome, Outcome::Crash);
  EXPECT_THAT(crashed.reason, HasSubstr("SIGSEGV"));
  EXPECT_EQ(measure("exit 3").outcome, Outcome::Crash);
  EXPECT_EQ(measure("sleep 60").outcome, Outcome::RunTimeout);
}

TEST_F(CommandTest, AMetricThatIsNoneIsAWrongResult) {
  describe(R"("1", "nan", "")", "true", "echo time {what}");
  Measurement measured = measure("nan");
  EXPECT_EQ(measured.outcome, Outcome::WrongResult);
  EXPECT_EQ(measured.reason, "the metric is nan, not a finite positive number");
}

TEST_F(CommandTest, MemoryIsLimited) {
  describe(R"("1", "400000000")", "true",
           "head -c {what} /dev/zero | tail -c {what} | wc -c; echo time 1",
           R"(, "limitBytes": 100e6)");
  Measurement measured = measure("400000000");
  EXPECT_EQ(measured.outcome, Outcome::OutOfMemory);
  EXPECT_EQ(measured.reason, "used more than 100 MB of memory");
}

TEST_F(CommandTest, OutputWithoutEndIsACrash) {
  describe(R"("true", "yes")", "true", "{what}; echo time 1");
  Measurement measured = measure("yes");
  EXPECT_EQ(measured.outcome, Outcome::Crash);
  EXPECT_EQ(measured.reason, "printed more than 67 MB");
}

TEST_F(CommandTest, ACheckSaysWhatIsRight) {
  describe(R"("1", "2")", "true", "echo sum {what}; echo time 1",
           R"(, "check": ["grep", "-q", "sum 1", "{output}"])");
  EXPECT_EQ(measure("1").outcome, Outcome::Ok);
  Measurement measured = measure("2");
  EXPECT_EQ(measured.outcome, Outcome::WrongResult);
  EXPECT_THAT(measured.reason, HasSubstr("the check: exit status 1"));
}

TEST_F(CommandTest, ExpectedLinesAreLookedFor) {
  describe(R"("1", "2")", "true", "echo sum {what}; echo time 1",
           R"(, "check": {"expect": "sum 1"})");
  EXPECT_EQ(measure("1").outcome, Outcome::Ok);
  EXPECT_EQ(measure("2").reason, "the output has no line 'sum 1'");
}

TEST_F(CommandTest, OutputsAreComparedWithThatOfTheDefaults) {
  describe(R"("1", "2")", "true", "echo sum {what}; echo time 1",
           R"x(, "check": {"same": "sum (.*)"})x");
  Measurement right = measure("1");
  EXPECT_EQ(right.outcome, Outcome::Ok) << right.reason;
  Measurement measured = measure("2");
  EXPECT_EQ(measured.outcome, Outcome::WrongResult);
  EXPECT_EQ(measured.reason, "the output has '2', that of the defaults '1'");
}

TEST_F(CommandTest, TheSpecHasValuesAndCommands) {
  describe(R"("1", "2")", "true", "echo time '{what}'");
  Spec spec;
  SpecEntry entry;
  entry.configuration.values.emplace_back("what", std::string("2"));
  spec.entries.push_back(entry);
  std::string path = folder->file("spec.json");
  ASSERT_FALSE(bool(backend->writeSpec(spec, path)));
  auto text = readFile(path);
  ASSERT_TRUE(bool(text));
  auto json = parseJson(*text);
  ASSERT_TRUE(bool(json));
  EXPECT_EQ(json->getAsObject()->getString("runLine"),
            "sh -c 'echo time '\\''2'\\'''");
  EXPECT_EQ(json->getAsObject()->getObject("values")->getString("what"), "2");
  EXPECT_EQ(json->getAsObject()->getBoolean("isDefault"), false);
}

} // namespace
