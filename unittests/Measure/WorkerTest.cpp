//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Workers that misbehave as processes: shell scripts that speak the protocol
// badly. Candidates that misbehave are in ExecutorTest.cpp.

#include "attune/Measure/Worker.h"

#include "Faults.h"
#include "attune/Support/Clock.h"
#include "attune/Support/Interrupt.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <csignal>
#include <unistd.h>

using namespace attune;
using testing::HasSubstr;
namespace json = llvm::json;

static const char *const hello = R"(echo '{"version":1,"kind":"hello"}' >&4; )";

/// A worker that runs `script` after its hello. `$id` is the job's after `job`.
static WorkerOptions script(const std::string &text,
                            JobPhase phase = JobPhase::Run) {
  WorkerOptions options;
  options.arguments = {
      "/bin/bash", "-c",
      std::string(hello) +
          R"(job() { read -r line <&3 || exit 0; id=${line#*\"id\":}; id=${id%%[,\}]*}; }
             ok() { echo "{\"version\":1,\"id\":$id,\"outcome\":\"ok\"$1}" >&4; }
          )" +
          text};
  options.phase = phase;
  options.startSeconds = 10;
  return options;
}

static JobResult call(WorkerProcess &worker, const Limits &limits = {}) {
  llvm::Expected<JobResult> result =
      worker.call(json::Object{{"kind", "x"}}, limits);
  if (result)
    return std::move(*result);
  JobResult failed;
  failed.reason = "error: " + llvm::toString(result.takeError());
  return failed;
}

static std::string startError(WorkerOptions options) {
  WorkerProcess worker(std::move(options));
  llvm::Error error = worker.start();
  return error ? llvm::toString(std::move(error)) : "started";
}

TEST(Worker, IsReusedWhileHealthy) {
  WorkerProcess worker(script("while job; do ok ',\"n\":1'; done"));
  for (int i = 0; i < 5; ++i) {
    JobResult result = call(worker);
    EXPECT_EQ(result.outcome, Outcome::Ok) << result.reason;
    EXPECT_EQ(result.answer.getInteger("n"), 1);
  }
  EXPECT_EQ(worker.getStartCount(), 1u);
}

TEST(Worker, IsReplacedAfterSoManyJobs) {
  WorkerOptions options = script("while job; do ok; done");
  options.jobsPerProcess = 2;
  WorkerProcess worker(options);
  for (int i = 0; i < 5; ++i)
    call(worker);
  EXPECT_EQ(worker.getStartCount(), 3u);
}

TEST(Worker, IsReplacedWhenItAsksTo) {
  WorkerProcess worker(script("while job; do ok ',\"replace\":true'; done"));
  EXPECT_EQ(call(worker).outcome, Outcome::Ok);
  EXPECT_EQ(worker.getPid(), 0);
}

TEST(Worker, ADeadWorkerIsReplaced) {
  WorkerProcess worker(script("while job; do ok; done"));
  call(worker);
  ::kill(worker.getPid(), SIGKILL);
  ::usleep(50000);
  EXPECT_EQ(call(worker).outcome, Outcome::Ok);
  EXPECT_EQ(worker.getStartCount(), 2u);
}

FAULT_TEST(Worker, KilledInTheMiddleOfAJobItIsTriedAgain, "Workers",
           "worker killed in the middle of a job",
           "kill -9 during the first try of a job", "ok",
           "nothing: the job is done again") {
  TemporaryFolder folder = llvm::cantFail(TemporaryFolder::create());
  std::string marker = folder.file("second");
  WorkerProcess worker(script("job; if [ -e " + marker +
                              " ]; then ok; else > " + marker +
                              "; kill -9 $$; fi"));
  JobResult result = call(worker);
  EXPECT_EQ(result.reason, "");
  expectFault(toString(result.outcome), "nothing: the job is done again");
  EXPECT_EQ(worker.getStartCount(), 2u);
}

FAULT_TEST(
    Worker, KilledTwiceIsAnOutcome, "Workers",
    "worker killed in every try of a job",
    "kill -9 during both tries, as the kernel does when memory ends",
    "outOfMemory",
    "killed from outside, twice; the machine may have run out of memory") {
  WorkerProcess worker(script("job; kill -9 $$"));
  JobResult result = call(worker);
  expectFault(toString(result.outcome), result.reason);
  EXPECT_EQ(worker.getStartCount(), 2u);
}

FAULT_TEST(Worker, ThePhaseNamesTheOutcome, "Compile jobs",
           "the compiler crashes",
           "a compile worker prints a line and dies of SIGSEGV", "compileError",
           "SIGSEGV (Segmentation fault): bad things") {
  WorkerProcess crashing(
      script("job; echo bad things >&2; kill -SEGV $$", JobPhase::Compile));
  JobResult result = call(crashing);
  expectFault(toString(result.outcome), result.reason);
  EXPECT_EQ(result.detail, "bad things\n");
}

FAULT_TEST(Worker, ACompilerThatHangs, "Compile jobs", "the compiler hangs",
           "a compile worker that sleeps", "compileTimeout",
           "no end within 0.2 s") {
  Limits limits;
  limits.wallSeconds = 0.2;
  WorkerProcess hanging(script("job; sleep 1000", JobPhase::Compile));
  JobResult result = call(hanging, limits);
  expectFault(toString(result.outcome), result.reason);
}

FAULT_TEST(Worker, ACompilerThatTakesAllMemory, "Compile jobs",
           "the compiler uses endless memory",
           "a compile worker whose variable grows", "outOfMemory",
           "used more than 105 MB of memory") {
  Limits limits;
  limits.memoryBytes = 100 << 20;
  WorkerProcess growing(
      script("job; x=xxxxxxxx; while :; do x=$x$x; done", JobPhase::Compile));
  JobResult result = call(growing, limits);
  expectFault(toString(result.outcome), result.reason);
}

FAULT_TEST(Worker, AnotherProtocolVersion, "Workers",
           "a worker of another version", "a hello of protocol version 2",
           "error",
           "...: cannot be used as a worker: a message of protocol version 2; "
           "this is version 1") {
  WorkerOptions options;
  options.arguments = {"/bin/sh", "-c",
                       R"(echo '{"version":2,"kind":"hello"}' >&4; sleep 10)"};
  expectFault("error", startError(options));
}

FAULT_TEST(
    Worker, AnAnswerOfAnotherVersion, "Workers", "an answer of another version",
    "an answer of protocol version 2", "crash",
    "damaged answer: a message of protocol version 2; this is version 1") {
  WorkerProcess worker(script("job; echo '{\"version\":2}' >&4; sleep 10"));
  JobResult result = call(worker);
  expectFault(toString(result.outcome), result.reason);
}

FAULT_TEST(Worker, GarbageForAnAnswer, "Workers", "garbage for an answer",
           "a line that is no JSON", "crash",
           "damaged answer: not a message: 'garbage'") {
  WorkerProcess worker(script("job; echo garbage >&4; sleep 10"));
  JobResult result = call(worker);
  expectFault(toString(result.outcome), result.reason);
}

FAULT_TEST(Worker, ShortWrites, "Workers", "short writes",
           "an answer in pieces of one byte", "ok",
           "nothing: the pieces are put together") {
  WorkerProcess worker(
      script(R"(job; answer="{\"version\":1,\"id\":$id,\"outcome\":\"ok\"}";
      for ((i = 0; i < ${#answer}; ++i)); do printf %s "${answer:i:1}" >&4; done; echo >&4; job)"));
  JobResult result = call(worker);
  EXPECT_EQ(result.reason, "");
  expectFault(toString(result.outcome), "nothing: the pieces are put together");
}

FAULT_TEST(Worker, MissingProgram, "Workers", "attune-runner is missing",
           "a path that does not exist", "error",
           "/no/such/attune-runner: cannot start: No such file or directory") {
  WorkerOptions options;
  options.arguments = {"/no/such/attune-runner"};
  expectFault("error", startError(options));
}

FAULT_TEST(
    Worker, DiesAtItsStart, "Workers", "the worker dies at its start",
    "a library of it is missing", "error",
    "...: cannot be used as a worker: exit status 127: libLLVM.so not found") {
  WorkerOptions options;
  options.arguments = {"/bin/sh", "-c", "echo libLLVM.so not found; exit 127"};
  expectFault("error", startError(options));
}

TEST(Worker, DamagedAnswers) {
  auto reasonOf = [](const std::string &answer) {
    WorkerProcess worker(script("job; printf '" + answer + "' >&4; sleep 10"));
    JobResult result = call(worker);
    EXPECT_EQ(result.outcome, Outcome::Crash);
    EXPECT_EQ(worker.getPid(), 0); // not used again
    return result.reason;
  };
  EXPECT_THAT(reasonOf("garbage\\n"), HasSubstr("damaged answer"));
  EXPECT_THAT(reasonOf("[1]\\n"), HasSubstr("damaged answer"));
  EXPECT_THAT(reasonOf("{}\\n"), HasSubstr("without a version"));
  EXPECT_THAT(reasonOf("{\"version\":2}\\n"), HasSubstr("protocol version 2"));
  EXPECT_EQ(reasonOf("{\"version\":1,\"id\":77,\"outcome\":\"ok\"}\\n"),
            "an answer to another job");
  EXPECT_EQ(reasonOf("{\"version\":1,\"id\":1,\"outcome\":\"fine\"}\\n"),
            "an answer without an outcome");
}

FAULT_TEST(Worker, HalfALine, "Workers", "half a line",
           "the worker ends in the middle of its answer", "crash",
           "ended in the middle of its answer (exit status 0)") {
  WorkerProcess worker(script("job; printf '{\"version\":1,' >&4; exit 0"));
  JobResult result = call(worker);
  expectFault(toString(result.outcome), result.reason);
}

FAULT_TEST(Worker, AnEndlessLine, "Workers", "an answer without end",
           "a line over 64 MiB", "crash", "answered with an endless line") {
  WorkerProcess worker(script("job; exec cat /dev/zero >&4"));
  JobResult result = call(worker);
  expectFault(toString(result.outcome), result.reason);
}

TEST(Worker, AnErrorAnswerIsAnError) {
  WorkerProcess worker(script(
      R"(while job; do echo "{\"version\":1,\"id\":$id,\"error\":\"no such job\"}" >&4; done)"));
  EXPECT_EQ(call(worker).reason, "error: no such job");
  EXPECT_EQ(call(worker).reason, "error: no such job");
  EXPECT_EQ(worker.getStartCount(), 1u);
}

TEST(Worker, WhatCannotStartSaysWhy) {
  WorkerOptions options;
  options.arguments = {"/bin/sleep", "100"};
  options.startSeconds = 0.2;
  EXPECT_THAT(startError(options), HasSubstr("no answer within"));
}

TEST(Worker, TwoInterruptsEndTheCall) {
  WorkerProcess worker(script("while job; do sleep 1000; done"));
  llvm::cantFail(worker.start());
  requestInterrupt(Interrupt::Now);
  EXPECT_EQ(call(worker).reason, "error: interrupted");
  EXPECT_EQ(worker.getPid(), 0);
  requestInterrupt(Interrupt::None);
}

TEST(Worker, OneInterruptDoesNot) {
  WorkerProcess worker(script("while job; do sleep 0.1; ok; done"));
  requestInterrupt(Interrupt::Stop);
  EXPECT_EQ(call(worker).outcome, Outcome::Ok);
  requestInterrupt(Interrupt::None);
}

TEST(Worker, ItsFolderIsItsOwnAndGoesAway) {
  std::string path;
  {
    WorkerProcess worker(script(
        "while job; do > left-over; ok \",\\\"at\\\":\\\"$PWD $TMPDIR\\\"\"; "
        "done"));
    JobResult result = call(worker);
    llvm::StringRef at = result.answer.getString("at").value_or("");
    path = at.split(' ').first.str();
    EXPECT_EQ(path, at.split(' ').second);
    EXPECT_EQ(::access((path + "/left-over").c_str(), F_OK), 0);
  }
  EXPECT_NE(::access(path.c_str(), F_OK), 0);
}

TEST(WorkerPool, ResultsComeInOrder) {
  // Later jobs are quicker.
  WorkerPool pool(script(R"(while job; do n=${line#*\"n\":}; n=${n%%[,\}]*};
      sleep 0.$((3 - n)); ok ",\"n\":$n"; done)"),
                  3);
  for (int i = 0; i < 4; ++i)
    pool.submit(json::Object{{"kind", "x"}, {"n", i % 4}});
  EXPECT_EQ(pool.pending(), 4u);
  for (int i = 0; i < 4; ++i) {
    JobResult result = llvm::cantFail(pool.next());
    EXPECT_EQ(result.answer.getInteger("n"), i);
  }
  EXPECT_EQ(pool.pending(), 0u);
}

TEST(WorkerPool, ErrorsComeThroughAndTheEndDoesNotWait) {
  SystemClock clock;
  double begin = clock.now();
  {
    WorkerPool pool(script("job; sleep 1000"), 2);
    for (int i = 0; i < 10; ++i)
      pool.submit(json::Object{{"kind", "x"}});
    ::usleep(200000);
    EXPECT_FALSE(pool.isReady());
  }
  EXPECT_LT(clock.now() - begin, 10);
  WorkerOptions missing;
  missing.arguments = {"/no/such/worker"};
  WorkerPool pool(missing, 1);
  pool.submit(json::Object{{"kind", "x"}});
  EXPECT_THAT(llvm::toString(pool.next().takeError()),
              HasSubstr("/no/such/worker"));
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

static std::string parseError(llvm::StringRef line) {
  llvm::Expected<json::Object> message = parseMessage(line);
  return message ? "" : llvm::toString(message.takeError());
}

TEST(Protocol, MessagesAreLinesAndComeBack) {
  std::string line =
      formatMessage(json::Object{{"kind", "x"}, {"text", "a\nb\"]]"}});
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  json::Object back = llvm::cantFail(parseMessage(line));
  EXPECT_EQ(back.getString("text"), llvm::StringRef("a\nb\"]]"));
}

TEST(Protocol, DeepNestingIsRefusedBeforeParsing) {
  EXPECT_THAT(parseError(std::string(10'000'000, '[')),
              HasSubstr("not a message"));
  std::string quoted =
      R"({"version":1,"x":"\"[[)" + std::string(100, '{') + R"(\\"})";
  EXPECT_EQ(parseError(quoted), "");
  EXPECT_THAT(parseError("\"\\"), HasSubstr("not a message"));
}
