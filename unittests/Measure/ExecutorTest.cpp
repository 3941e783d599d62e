//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Programs that behave in every way a candidate can, compiled from a few lines
// of C, run by the real attune-runner.

#include "Faults.h"
#include "Leftovers.h"

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

TEST_F(MeasureTest, RunWritesTheEventsOfDispatches) {
  RunJob run;
  run.library = library("if (hooks.begin) { hooks.begin(hooks.user, 1); "
                        "hooks.end(hooks.user, 1); }" +
                        std::string(good));
  run.inputs = job.inputs;
  run.repetitions = 3;
  run.hooks = true;
  run.events = folder.file("events.jsonl");
  llvm::cantFail(executor.run(run, limits));
  std::string text = llvm::cantFail(readFile(run.events));
  llvm::SmallVector<llvm::StringRef> lines;
  llvm::StringRef(text).trim().split(lines, '\n');
  ASSERT_THAT(lines, SizeIs(4)) << "run and dispatch, twice";
  double runBegin = 0, begin = 0;
  auto whole = llvm::cantFail(llvm::json::parse(lines[0]));
  auto part = llvm::cantFail(llvm::json::parse(lines[1]));
  EXPECT_EQ(whole.getAsObject()->getInteger("dispatch"), -1);
  EXPECT_EQ(part.getAsObject()->getInteger("dispatch"), 1);
  runBegin = *whole.getAsObject()->getNumber("beginSeconds");
  begin = *part.getAsObject()->getNumber("beginSeconds");
  EXPECT_GE(begin, runBegin);
  EXPECT_LE(*part.getAsObject()->getNumber("endSeconds"),
            *whole.getAsObject()->getNumber("endSeconds"));
}

TEST_F(MeasureTest, MoreEventsThanThereIsPlaceForAreAllCounted) {
  RunJob run;
  run.library = library("for (int d = 0; hooks.begin && d < 50000; ++d) { "
                        "hooks.begin(hooks.user, 0); hooks.end(hooks.user, 0); "
                        "}" +
                        std::string(good));
  run.inputs = job.inputs;
  run.repetitions = 2;
  run.hooks = true;
  RunResult result = llvm::cantFail(executor.run(run, limits));
  EXPECT_THAT(result.seconds, SizeIs(2));
  EXPECT_EQ(result.dispatchCalls, (std::vector<double>{50000, 0}));
}

TEST_F(MeasureTest, CountersThatTheMachineLacksAreAnError) {
  RunJob run;
  run.library = library(good);
  run.inputs = job.inputs;
  run.hooks = run.counters = true;
  auto result = executor.run(run, limits);
  if (result)
    EXPECT_THAT(result->dispatchCounters, SizeIs(2 * ATTUNE_MAX_COUNTERS));
  else
    EXPECT_THAT(llvm::toString(result.takeError()),
                testing::HasSubstr("recording dispatches"));
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

FAULT_TEST_F(MeasureFaults, WrongResult, "Results", "wrong result",
             "one element of the result is wrong", "wrongResult",
             "output 0: [3] is 4.5, not 4 (allowed error 5e-06)") {
  Measurement result = measure(library(std::string(good) + "out[3] = 4.5;"));
  expectFault(toString(result.outcome), result.reason);
  EXPECT_TRUE(result.seconds.empty());
  EXPECT_DOUBLE_EQ(result.maxErrors.at(0), 0.5);
  expectNextIsFine();
}

FAULT_TEST_F(MeasureFaults, WrongForOtherInputs, "Results",
             "wrong for other inputs only",
             "a result that is wrong when the first input is large",
             "wrongResult",
             "output 0 with inputs 2: [0] is 0, not 1001 (allowed error ...)") {
  Tensor input = Tensor::zeros(ElementType::F32, {16}), output = input;
  for (int i = 0; i < 16; ++i) {
    input.set(i, 1000 + i);
    output.set(i, 1001 + i);
  }
  CheckedInputs more = job;
  more.inputs = {folder.file("large.npy")};
  more.references = {folder.file("large-ref.npy")};
  llvm::cantFail(writeNpy(more.inputs[0], input));
  llvm::cantFail(writeNpy(more.references[0], output));
  job.moreInputs = {more};
  EXPECT_EQ(measure(library(good)).outcome, Outcome::Ok);
  Measurement result =
      measure(library(std::string(good) + "if (in[0] > 500) out[0] = 0;"));
  expectFault(toString(result.outcome), result.reason);
}

FAULT_TEST_F(MeasureFaults, ResultNotWritten, "Results",
             "part of a result is not written",
             "the last element is left out; results are filled with NaN before",
             "wrongResult",
             "output 0: [15] is nan, not 16 (allowed error ...)") {
  Measurement result =
      measure(library("for (int k = 0; k < 15; ++k) out[k] = in[k] + 1;"));
  expectFault(toString(result.outcome), result.reason);
}

FAULT_TEST_F(MeasureFaults, RightOnlyTheFirstTimes, "Results",
             "right at first, wrong later",
             "the 21st call gives something else", "wrongResult",
             "output 0 after many runs: [0] is 7, not 1 (allowed error ...)") {
  Measurement result =
      measure(library(std::string(good) + "if (calls > 20) out[0] = 7;"));
  expectFault(toString(result.outcome), result.reason);
}

FAULT_TEST_F(MeasureFaults, UninitialisedWorkspaceShows, "Results",
             "workspace is read before it is written",
             "checked runs fill the workspace with NaN", "wrongResult",
             "output 0: [0] is nan, not 1 (allowed error ...)") {
  Measurement result = measure(
      library(std::string(good) + "if (checked) out[0] = 0.0f / 0.0f;"));
  expectFault(toString(result.outcome), result.reason);
}

FAULT_TEST_F(
    MeasureFaults, WriteAfterTheEnd, "Results",
    "write after the end of a buffer",
    "one element after the result is written", "crash",
    "SIGSEGV (Segmentation fault): access 0 bytes after the end of output 0") {
  Measurement result = measure(library(std::string(good) + "out[16] = 1;"));
  expectFault(toString(result.outcome), result.reason);
  expectNextIsFine();
}

FAULT_TEST_F(
    MeasureFaults, ReadAfterTheEnd, "Results", "read after the end of a buffer",
    "an element two after the input is read", "crash",
    "SIGSEGV (Segmentation fault): access 8 bytes after the end of input 0") {
  Measurement result =
      measure(library(std::string(good) + "volatile float x = in[18];"));
  expectFault(toString(result.outcome), result.reason);
}

FAULT_TEST_F(MeasureFaults, WriteBeforeTheBegin, "Results",
             "write before the begin of a buffer",
             "two elements before the result are written", "wrongResult",
             "wrote outside of output 0") {
  Measurement result = measure(library(std::string(good) + "out[-2] = 1;"));
  expectFault(toString(result.outcome), result.reason);
  expectNextIsFine();
  EXPECT_EQ(executor.getWorker().getStartCount(), 2u);
}

FAULT_TEST_F(MeasureFaults, InputChanged, "Results", "an input is changed",
             "an element of the input is written", "wrongResult",
             "changed input 0") {
  Measurement result = measure(library(std::string(good) + "in[2] = 9;"));
  expectFault(toString(result.outcome), result.reason);
}

FAULT_TEST_F(MeasureFaults, NullPointer, "Candidates", "segmentation fault",
             "a write through a null pointer", "crash",
             "SIGSEGV (Segmentation fault)") {
  Measurement result = measure(library("*(volatile int *)8 = 1;"));
  expectFault(toString(result.outcome), result.reason);
}

FAULT_TEST_F(MeasureFaults, FullStack, "Candidates", "the stack is full",
             "64 MB of local variables", "crash",
             "SIGSEGV (Segmentation fault): the stack is full") {
  Measurement result = measure(library("volatile char *big = alloca(1 << 20); "
                                       "for (int k = 0; k < 64; ++k) { big "
                                       "= alloca(1 << 20); big[0] = 1; }"));
  expectFault(toString(result.outcome), result.reason);
}

// Data need only be aligned to its element.
FAULT_TEST_F(
    MeasureFaults, MisalignedAccess, "Candidates", "a misaligned access",
    "an aligned load of an address that is not", "crash",
    "SIGSEGV (Segmentation fault): a misaligned or impossible address") {
  Measurement result = measure(library(
      "__asm__ volatile(\"movaps (%0), %%xmm0\" : : \"r\"((char *)in + 4) : "
      "\"xmm0\");"));
  expectFault(toString(result.outcome), result.reason);
}

FAULT_TEST_F(MeasureFaults, IllegalInstruction, "Candidates",
             "an illegal instruction", "ud2", "crash",
             "SIGILL (Illegal instruction)") {
  Measurement result = measure(library("__builtin_trap();"));
  expectFault(toString(result.outcome), result.reason);
}

FAULT_TEST_F(MeasureFaults, DivisionByZero, "Candidates",
             "an integer division by zero", "idiv by zero", "crash",
             "SIGFPE (Floating point exception)") {
  Measurement result =
      measure(library("__asm__ volatile(\"xor %%ecx, %%ecx; idiv %%ecx\" : : : "
                      "\"ecx\", \"eax\", \"edx\");"));
  expectFault(toString(result.outcome), result.reason);
}

FAULT_TEST_F(MeasureFaults, AssertionTextIsKept, "Candidates",
             "an assertion fails",
             "prints a line and calls abort, as cf.assert does", "crash",
             "SIGABRT (Aborted): expected size 4") {
  Measurement result = measure(
      library("printf(\"expected size 4\\n\"); abort();")); // as cf.assert does
  expectFault(toString(result.outcome), result.reason);
  EXPECT_EQ(result.detail, "expected size 4\n");
}

FAULT_TEST_F(MeasureFaults, EndlessLoop, "Limits", "an endless loop",
             "a loop without end", "runTimeout", "no end within 0.3 s") {
  limits.wallSeconds = 0.3;
  Measurement result = measure(library("for (volatile int k = 0;; ++k);"));
  expectFault(toString(result.outcome), result.reason);
  expectNextIsFine();
}

FAULT_TEST_F(MeasureFaults, ExitWithoutAResult, "Candidates",
             "exit 0 without a result", "the program calls exit(0)", "crash",
             "the process ended without an answer (exit status 0)") {
  Measurement result = measure(library("exit(0);"));
  expectFault(toString(result.outcome), result.reason);
}

TEST_F(MeasureFaults, PrintingIsHarmless) {
  Measurement result =
      measure(library(std::string("write(1, \"}{garbage\\n\", 10);") + good));
  EXPECT_EQ(result.outcome, Outcome::Ok);
  EXPECT_THAT(result.detail, HasSubstr("}{garbage"));
}

FAULT_TEST_F(MeasureFaults, EndlessOutput, "Limits", "endless output",
             "prints without end on descriptor 2", "crash",
             "printed more than 21 MB") {
  limits.outputBytes = 20 << 20;
  Measurement result = measure(
      library("static char text[4096]; for (;;) write(2, text, 4096);"));
  expectFault(toString(result.outcome), result.reason);
  EXPECT_LT(result.detail.size(), 1u << 20);
}

FAULT_TEST_F(MeasureFaults, EndlessMemory, "Limits", "endless memory",
             "allocates and writes without end", "outOfMemory",
             "used more than 315 MB of memory") {
  limits.memoryBytes = 300 << 20;
  Measurement result =
      measure(library("for (;;) { char *volatile more = malloc(1 << 20); "
                      "memset(more, 1, 1 << 20); "
                      "usleep(200); }"));
  expectFault(toString(result.outcome), result.reason);
}

FAULT_TEST_F(MeasureFaults, EndlessFile, "Limits", "an endless file",
             "writes a file without end", "crash",
             "wrote a file over the size limit") {
  limits.fileBytes = 1 << 20;
  Measurement result = measure(
      library("FILE *f = fopen(\"big\", \"w\"); for (;;) fputs(\"text\", f);"));
  expectFault(toString(result.outcome), result.reason);
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
