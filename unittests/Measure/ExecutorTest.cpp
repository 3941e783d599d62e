//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Programs that behave in every way a candidate can, compiled from a few lines
// of C, run by the real attune-runner.

#include "Programs.h"

#include "attune/Support/Interrupt.h"
#include "llvm/Support/FileSystem.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <csignal>
#include <dirent.h>
#include <unistd.h>

using namespace attune;
using testing::HasSubstr;
using testing::SizeIs;

using MeasureFaults = MeasureTest;

//===----------------------------------------------------------------------===//
// What works
//===----------------------------------------------------------------------===//

TEST_F(MeasureTest, AGoodCandidateIsTimedNextToTheBaseline) {
  job.baseline = library(good);
  Measurement result = measure(library(good));
  EXPECT_EQ(result.outcome, Outcome::Ok) << result.reason;
  EXPECT_GE(result.seconds.size(), 5u);
  EXPECT_EQ(result.seconds.size(), result.baselineSeconds.size());
  EXPECT_THAT(result.maxErrors, SizeIs(1));
  // The same process goes on.
  expectNextIsFine();
  EXPECT_EQ(executor.getWorker().getStartCount(), 1u);
}

TEST_F(MeasureTest, WithoutABaselineItIsTimedAlone) {
  Measurement result = measure(library(good));
  EXPECT_EQ(result.outcome, Outcome::Ok) << result.reason;
  EXPECT_GE(result.seconds.size(), 5u);
  EXPECT_TRUE(result.baselineSeconds.empty());
}

TEST_F(MeasureTest, TheBaselineItselfCanBeTheCandidate) {
  job.baseline = library(good);
  EXPECT_EQ(measure(job.baseline).reason, "");
  EXPECT_EQ(measure(job.baseline).reason, "");
  EXPECT_EQ(executor.getWorker().getStartCount(), 1u);
}

TEST_F(MeasureTest, WithoutReferencesTheBaselineIsTheReference) {
  job.references.clear();
  job.baseline = library(good);
  EXPECT_EQ(measure(library(good)).outcome, Outcome::Ok);
  EXPECT_EQ(measure(library("memset(out, 0, 64);")).outcome,
            Outcome::WrongResult);
}

TEST_F(MeasureTest, AClearLoserIsStoppedEarly) {
  job.baseline = library(good);
  job.timing.minRepetitions = 50;
  Measurement result = measure(library(std::string("usleep(1000);") + good));
  EXPECT_EQ(result.outcome, Outcome::Ok) << result.reason;
  EXPECT_TRUE(result.stoppedEarly);
  EXPECT_EQ(result.seconds.size(), 3u);
}

TEST_F(MeasureTest, ResultsOfDynamicShapeAreTheLibrarys) {
  std::string body = "out = malloc(64); o[0].data = out; o[0].sizes[0] = 16; "
                     "o[0].strides[0] = 1;";
  Measurement result = measure(library(body + good, "?xf32"));
  EXPECT_EQ(result.outcome, Outcome::Ok) << result.reason;
  // Every other element of a wider array.
  result = measure(library("out = malloc(128); o[0].data = out; o[0].sizes[0] "
                           "= 16; o[0].strides[0] = 2; for (int k = 0; k < 16; "
                           "++k) out[2 * k] = in[k] + 1;",
                           "?xf32"));
  EXPECT_EQ(result.outcome, Outcome::Ok) << result.reason;
}

TEST_F(MeasureTest, RunWritesResultsAndTimesDispatches) {
  RunJob run;
  run.library = library(std::string("for (int d = 0; hooks.begin && d < 3; "
                                    "++d) { hooks.begin(hooks.user, d % 2); "
                                    "usleep(1000); hooks.end(hooks.user, d % "
                                    "2); }") +
                        good);
  run.inputs = job.inputs;
  run.outputs = {folder.file("out.npy")};
  run.repetitions = 3;
  run.hooks = true;
  RunResult result = llvm::cantFail(executor.run(run, limits));
  EXPECT_EQ(result.outcome, Outcome::Ok) << result.reason;
  EXPECT_THAT(result.seconds, SizeIs(3));
  EXPECT_EQ(result.dispatchCalls, (std::vector<double>{2, 1}));
  EXPECT_GT(result.dispatchSeconds[0], 0.0015);
  EXPECT_GT(result.dispatchSeconds[1], 0.0005);
  EXPECT_EQ(llvm::cantFail(readNpy(run.outputs[0])).bytes,
            llvm::cantFail(readNpy(job.references[0])).bytes);
}

TEST_F(MeasureTest, TheSignatureOfALibrary) {
  Signature signature =
      llvm::cantFail(executor.signature(library(good, "?xf32")));
  ASSERT_THAT(signature.entries, SizeIs(1));
  EXPECT_EQ(signature.entries[0].name, "main");
  EXPECT_EQ(toString(signature.entries[0].outputs.at(0)), "?xf32");
  EXPECT_EQ(signature.dispatches,
            (std::vector<std::string>{"first", "second"}));
  EXPECT_THAT(llvm::toString(executor.signature("/no/such.so").takeError()),
              HasSubstr("/no/such.so"));
}

TEST_F(MeasureTest, AChangedFileOfTheSameNameIsLoadedAnew) {
  std::string first = library(good), second = library("memset(out, 0, 64);");
  EXPECT_EQ(measure(first).outcome, Outcome::Ok);
  ASSERT_EQ(::rename(second.c_str(), first.c_str()), 0);
  EXPECT_EQ(measure(first).outcome, Outcome::WrongResult);
}

TEST_F(MeasureTest, AnotherNumberOfThreadsIsAnotherProcess) {
  std::string body = "if (strcmp(getenv(\"OMP_NUM_THREADS\"), \"3\")) abort();";
  std::string candidate = library(body + good);
  job.threads = 3;
  EXPECT_EQ(measure(candidate).reason, "");
  job.threads = 2;
  EXPECT_EQ(measure(candidate).outcome, Outcome::Crash);
  EXPECT_EQ(executor.getWorker().getStartCount(), 2u);
}

//===----------------------------------------------------------------------===//
// What candidates do wrong
//===----------------------------------------------------------------------===//

TEST_F(MeasureFaults, WrongResult) {
  Measurement result = measure(library(std::string(good) + "out[3] = 4.5;"));
  EXPECT_EQ(result.outcome, Outcome::WrongResult);
  EXPECT_EQ(result.reason, "output 0: [3] is 4.5, not 4 (allowed error 5e-06)");
  EXPECT_TRUE(result.seconds.empty());
  EXPECT_DOUBLE_EQ(result.maxErrors.at(0), 0.5);
  expectNextIsFine();
}

TEST_F(MeasureFaults, ResultNotWritten) {
  Measurement result =
      measure(library("for (int k = 0; k < 15; ++k) out[k] = in[k] + 1;"));
  EXPECT_EQ(result.outcome, Outcome::WrongResult);
  EXPECT_THAT(result.reason, HasSubstr("[15] is nan, not 16"));
}

TEST_F(MeasureFaults, RightOnlyTheFirstTimes) {
  Measurement result =
      measure(library(std::string(good) + "if (calls > 20) out[0] = 7;"));
  EXPECT_EQ(result.outcome, Outcome::WrongResult);
  EXPECT_THAT(result.reason, HasSubstr("after many runs: [0] is 7, not 1"));
}

TEST_F(MeasureFaults, UninitialisedWorkspaceShows) {
  Measurement result = measure(
      library(std::string(good) + "if (checked) out[0] = 0.0f / 0.0f;"));
  EXPECT_EQ(result.outcome, Outcome::WrongResult);
}

TEST_F(MeasureFaults, WriteAfterTheEnd) {
  Measurement result = measure(library(std::string(good) + "out[16] = 1;"));
  EXPECT_EQ(result.outcome, Outcome::Crash);
  EXPECT_EQ(result.reason, "SIGSEGV (Segmentation fault): access 0 bytes after "
                           "the end of output 0");
  expectNextIsFine();
}

TEST_F(MeasureFaults, ReadAfterTheEnd) {
  Measurement result =
      measure(library(std::string(good) + "volatile float x = in[18];"));
  EXPECT_EQ(result.outcome, Outcome::Crash);
  EXPECT_THAT(result.reason,
              HasSubstr("access 8 bytes after the end of input"));
}

TEST_F(MeasureFaults, WriteBeforeTheBegin) {
  Measurement result = measure(library(std::string(good) + "out[-2] = 1;"));
  EXPECT_EQ(result.outcome, Outcome::WrongResult);
  EXPECT_EQ(result.reason, "wrote outside of output 0");
  expectNextIsFine();
  EXPECT_EQ(executor.getWorker().getStartCount(), 2u);
}

TEST_F(MeasureFaults, InputChanged) {
  Measurement result = measure(library(std::string(good) + "in[2] = 9;"));
  EXPECT_EQ(result.outcome, Outcome::WrongResult);
  EXPECT_EQ(result.reason, "changed input 0");
}

TEST_F(MeasureFaults, NullPointer) {
  Measurement result = measure(library("*(volatile int *)8 = 1;"));
  EXPECT_EQ(result.outcome, Outcome::Crash);
  EXPECT_EQ(result.reason, "SIGSEGV (Segmentation fault)");
}

TEST_F(MeasureFaults, FullStack) {
  Measurement result = measure(library("volatile char *big = alloca(1 << 20); "
                                       "for (int k = 0; k < 64; ++k) { big "
                                       "= alloca(1 << 20); big[0] = 1; }"));
  EXPECT_EQ(result.outcome, Outcome::Crash);
  EXPECT_THAT(result.reason, HasSubstr("the stack is full"));
}

// Data need only be aligned to its element.
TEST_F(MeasureFaults, MisalignedAccess) {
  Measurement result = measure(library(
      "__asm__ volatile(\"movaps (%0), %%xmm0\" : : \"r\"((char *)in + 4) : "
      "\"xmm0\");"));
  EXPECT_EQ(result.outcome, Outcome::Crash);
  EXPECT_THAT(result.reason, HasSubstr("misaligned"));
}

TEST_F(MeasureFaults, IllegalInstruction) {
  EXPECT_EQ(measure(library("__builtin_trap();")).reason,
            "SIGILL (Illegal instruction)");
}

TEST_F(MeasureFaults, DivisionByZero) {
  EXPECT_EQ(measure(library("raise(SIGFPE);")).reason,
            "SIGFPE (Floating point exception)");
}

TEST_F(MeasureFaults, AssertionTextIsKept) {
  Measurement result = measure(
      library("printf(\"expected size 4\\n\"); abort();")); // as cf.assert does
  EXPECT_EQ(result.outcome, Outcome::Crash);
  EXPECT_EQ(result.reason, "SIGABRT (Aborted): expected size 4");
  EXPECT_EQ(result.detail, "expected size 4\n");
}

TEST_F(MeasureFaults, EndlessLoop) {
  limits.wallSeconds = 0.3;
  Measurement result = measure(library("for (volatile int k = 0;; ++k);"));
  EXPECT_EQ(result.outcome, Outcome::RunTimeout);
  EXPECT_EQ(result.reason, "no end within 0.3 s");
  limits.wallSeconds = 20;
  limits.cpuSeconds = 0.2;
  result = measure(library("for (volatile int k = 0;; ++k);"));
  EXPECT_EQ(result.outcome, Outcome::RunTimeout);
  EXPECT_THAT(result.reason, HasSubstr("processor time"));
  expectNextIsFine();
}

TEST_F(MeasureFaults, ExitWithoutAResult) {
  Measurement result = measure(library("exit(0);"));
  EXPECT_EQ(result.outcome, Outcome::Crash);
  EXPECT_EQ(result.reason,
            "the process ended without an answer (exit status 0)");
}

TEST_F(MeasureFaults, PrintingIsHarmless) {
  Measurement result =
      measure(library(std::string("write(1, \"}{garbage\\n\", 10);") + good));
  EXPECT_EQ(result.outcome, Outcome::Ok);
  EXPECT_THAT(result.detail, HasSubstr("}{garbage"));
}

TEST_F(MeasureFaults, EndlessOutput) {
  limits.outputBytes = 20 << 20;
  Measurement result = measure(
      library("static char text[4096]; for (;;) write(2, text, 4096);"));
  EXPECT_EQ(result.outcome, Outcome::Crash);
  EXPECT_EQ(result.reason, "printed more than 21 MB");
  EXPECT_LT(result.detail.size(), 1u << 20);
}

TEST_F(MeasureFaults, EndlessMemory) {
  limits.memoryBytes = 300 << 20;
  Measurement result =
      measure(library("for (;;) { char *volatile more = malloc(1 << 20); "
                      "memset(more, 1, 1 << 20); "
                      "usleep(200); }"));
  EXPECT_EQ(result.outcome, Outcome::OutOfMemory);
  EXPECT_EQ(result.reason, "used more than 315 MB of memory");
}

TEST_F(MeasureFaults, EndlessFile) {
  limits.fileBytes = 1 << 20;
  Measurement result = measure(
      library("FILE *f = fopen(\"big\", \"w\"); for (;;) fputs(\"text\", f);"));
  EXPECT_EQ(result.outcome, Outcome::Crash);
  EXPECT_EQ(result.reason, "wrote a file over the size limit");
}

TEST_F(MeasureFaults, AnErrorOfTheProgram) {
  Measurement result = measure(library("return 1;"));
  EXPECT_EQ(result.outcome, Outcome::Crash);
  EXPECT_EQ(result.reason, "it did not want to");
  result = measure(library(good, "16xf32", 1));
  EXPECT_EQ(result.outcome, Outcome::CompileError);
  EXPECT_THAT(result.reason, HasSubstr("it did not want to"));
}

TEST_F(MeasureFaults, ADamagedAnswerIsTheCandidatesFault) {
  Measurement result = measure(library("write(4, \"half\\n\", 5);"));
  EXPECT_EQ(result.outcome, Outcome::Crash);
  EXPECT_EQ(result.reason, "damaged answer: not a message: 'half'");
  result = measure(library("write(4, \"half\", 4); _exit(0);"));
  EXPECT_EQ(result.reason, "ended in the middle of its answer (exit status 0)");
  expectNextIsFine();
}

TEST_F(MeasureFaults, WhatDoesNotLoad) {
  llvm::cantFail(writeFile(folder.file("text.so"), "not a library"));
  Measurement result = measure(folder.file("text.so"));
  EXPECT_EQ(result.outcome, Outcome::CompileError);
  EXPECT_THAT(result.reason, HasSubstr("text.so"));
  EXPECT_EQ(measure("/lib/x86_64-linux-gnu/libm.so.6").reason,
            "cannot load /lib/x86_64-linux-gnu/libm.so.6: it has no "
            "attune_create; it was not made by Attune");
}

TEST_F(MeasureFaults, GrandchildrenDoNotOutliveTheWorker) {
  std::string pidFile = folder.file("pid");
  Measurement result =
      measure(library("if (fork() == 0) { FILE *f = fopen(\"" + pidFile +
                      "\", \"w\"); fprintf(f, \"%d\", getpid()); fclose(f); "
                      "for (;;) pause(); } "
                      "usleep(100000); abort();"));
  EXPECT_EQ(result.outcome, Outcome::Crash);
  int pid = std::stoi(llvm::cantFail(readFile(pidFile)));
  for (int i = 0; i < 500 && ::kill(pid, 0) == 0; ++i)
    ::usleep(10000);
  EXPECT_NE(::kill(pid, 0), 0);
}

//===----------------------------------------------------------------------===//
// Jobs that make no sense are errors, not outcomes
//===----------------------------------------------------------------------===//

TEST_F(MeasureTest, WrongJobsAreErrors) {
  std::string candidate = library(good);
  job.entry = "other";
  EXPECT_EQ(measure(candidate).reason,
            "error: no entry function 'other'; there are: main");
  job.entry = "main";
  llvm::cantFail(
      writeNpy(folder.file("short.npy"), Tensor::zeros(ElementType::F32, {4})));
  job.inputs = {folder.file("short.npy")};
  EXPECT_EQ(measure(candidate).reason, "error: " + folder.file("short.npy") +
                                           ": input 0 is 4xf32, the entry "
                                           "wants 16xf32");
  job.inputs = {};
  EXPECT_EQ(measure(candidate).reason,
            "error: 0 inputs were given, the entry has 1");
  job.inputs = {"/no/such.npy"};
  EXPECT_EQ(measure(candidate).reason,
            "error: /no/such.npy: No such file or directory");
  job.inputs = {folder.file("in.npy")};
  job.baseline = "/no/such.so";
  EXPECT_EQ(measure(candidate).reason,
            "error: the baseline: /no/such.so: No such file or directory");
  // None of them cost the process.
  EXPECT_EQ(executor.getWorker().getStartCount(), 1u);
}

TEST_F(MeasureTest, NothingIsLeftBehind) {
  int pid;
  {
    LocalExecutor other(ATTUNE_RUNNER);
    job.candidate = library(good);
    llvm::cantFail(other.measure(job, limits));
    job.candidate = library("abort();");
    llvm::cantFail(other.measure(job, limits));
    llvm::cantFail(other.getWorker().start());
    pid = other.getWorker().getPid();
    EXPECT_EQ(::kill(pid, 0), 0);
  }
  EXPECT_NE(::kill(pid, 0), 0);
  std::error_code code;
  for (llvm::sys::fs::directory_iterator it(folder.getPath(), code), end;
       !code && it != end; it.increment(code))
    EXPECT_FALSE(llvm::sys::fs::is_directory(it->path())) << it->path();
}

//===----------------------------------------------------------------------===//
// How long it takes: printed, not asserted
//===----------------------------------------------------------------------===//

TEST_F(MeasureTest, PrintsItsOverhead) {
  SystemClock clock;
  double begin = clock.now();
  llvm::cantFail(executor.getWorker().start());
  double start = clock.now() - begin;
  job.baseline = library(good);
  job.candidate = library(good);
  job.timing.minRepetitions = 0;
  llvm::cantFail(executor.measure(job, limits));
  constexpr int trials = 100;
  begin = clock.now();
  for (int i = 0; i < trials; ++i)
    EXPECT_EQ(llvm::cantFail(executor.measure(job, limits)).outcome,
              Outcome::Ok);
  double trial = (clock.now() - begin) / trials;
  std::printf("start of a runner: %.1f ms; a trial without its timing: %.2f "
              "ms\n",
              1e3 * start, 1e3 * trial);
}
