//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Support/Subprocess.h"

#include "attune/Support/Clock.h"
#include "attune/Support/Files.h"
#include "llvm/Support/FileSystem.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <csignal>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace attune;
using testing::HasSubstr;
using Event = Subprocess::Event;

static ProcessOptions shell(const char *script,
                            LineChannel channel = LineChannel::None) {
  ProcessOptions options;
  options.arguments = {"/bin/sh", "-c", script};
  options.channel = channel;
  return options;
}

static ProcessResult run(const ProcessOptions &options, double seconds = 20) {
  return llvm::cantFail(runProcess(options, seconds));
}

static bool isAlive(int pid) {
  auto status = readFile("/proc/" + std::to_string(pid) + "/stat");
  if (!status) {
    llvm::consumeError(status.takeError());
    return false;
  }
  return status->find(") Z") == std::string::npos;
}

/// Waits for a process that is on its way out.
static bool goesAway(int pid) {
  for (int i = 0; i < 500 && isAlive(pid); ++i)
    ::usleep(10000);
  return !isAlive(pid);
}

TEST(Subprocess, CapturesBothStreamsInOrder) {
  ProcessResult result = run(shell("echo a; echo b >&2; echo c; exit 3"));
  EXPECT_EQ(result.output, "a\nb\nc\n");
  EXPECT_EQ(result.end.describe(), "exit status 3");
  EXPECT_FALSE(result.end.succeeded());
}

TEST(Subprocess, ArgumentsAreDataNotShell) {
  ProcessOptions options;
  options.arguments = {"printf", "%s|", "$(id); rm -rf *", "", "a b"};
  EXPECT_EQ(run(options).output, "$(id); rm -rf *||a b|");
}

TEST(Subprocess, EnvironmentAndFolder) {
  ::setenv("ATTUNE_TEST_KEPT", "kept", 1);
  ::setenv("ATTUNE_TEST_CHANGED", "old", 1);
  ProcessOptions options =
      shell("echo $ATTUNE_TEST_KEPT $ATTUNE_TEST_CHANGED; pwd");
  options.environment = {"ATTUNE_TEST_CHANGED=new"};
  options.workingFolder = "/usr";
  EXPECT_EQ(run(options).output, "kept new\n/usr\n");
}

TEST(Subprocess, WhatCannotStartIsNamed) {
  ProcessOptions options;
  options.arguments = {"no-such-program-here"};
  EXPECT_EQ(llvm::toString(Subprocess::spawn(options).takeError()),
            "no-such-program-here: no such program in PATH; install it, or "
            "give its path");
  options.arguments = {"/etc/passwd"};
  EXPECT_EQ(llvm::toString(Subprocess::spawn(options).takeError()),
            "/etc/passwd: cannot start: Permission denied");
  options.arguments = {"/bin/true"};
  options.workingFolder = "/no/such";
  EXPECT_EQ(llvm::toString(Subprocess::spawn(options).takeError()),
            "/bin/true: cannot enter its folder: No such file or directory");
}

TEST(Subprocess, MayBeKeptOnSomeCores) {
  ProcessOptions options = shell("grep Cpus_allowed_list /proc/self/status");
  options.cores = {0};
  EXPECT_EQ(run(options).output, "Cpus_allowed_list:\t0\n");
  options.cores = {1000};
  EXPECT_THAT(llvm::toString(Subprocess::spawn(options).takeError()),
              HasSubstr("cannot run on the cores"));
}

TEST(Subprocess, SignalsHaveNames) {
  EXPECT_EQ(run(shell("kill -SEGV $$")).end.describe(),
            "SIGSEGV (Segmentation fault)");
}

TEST(Subprocess, ATimeoutKillsTheWholeGroup) {
  ProcessResult result = run(shell("sleep 1000 & echo $!; wait"), 0.3);
  EXPECT_TRUE(result.timedOut);
  EXPECT_EQ(result.end.signal, SIGKILL);
  EXPECT_TRUE(goesAway(std::stoi(result.output)));
}

TEST(Subprocess, ChildrenLeftBehindAreKilledAndNotWaitedFor) {
  ProcessResult result = run(shell("sleep 1000 & echo $!"));
  EXPECT_FALSE(result.timedOut);
  EXPECT_TRUE(result.end.succeeded());
  EXPECT_TRUE(goesAway(std::stoi(result.output)));
}

TEST(Subprocess, EndlessOutputIsBounded) {
  ProcessOptions options =
      shell("echo first; head -c 100000000 /dev/zero; echo last");
  Subprocess process = llvm::cantFail(Subprocess::spawn(options));
  while (process.wait(20) != Event::Ended)
    ;
  EXPECT_EQ(process.outputBytes(), 100000011u);
  std::string output = process.takeOutput();
  EXPECT_LT(output.size(), 70000u);
  EXPECT_TRUE(llvm::StringRef(output).starts_with("first\n"));
  EXPECT_TRUE(llvm::StringRef(output).ends_with("last\n"));
  EXPECT_THAT(output, HasSubstr("bytes left out"));
}

TEST(Subprocess, LimitsOnFilesAndTime) {
  TemporaryFolder folder = llvm::cantFail(TemporaryFolder::create());
  ProcessOptions options = shell("exec head -c 100000 /dev/zero > big");
  options.workingFolder = folder.getPath();
  options.limits.fileBytes = 1000;
  EXPECT_EQ(run(options).end.signal, SIGXFSZ);
  options = shell("while :; do :; done");
  options.limits.cpuSeconds = 1;
  EXPECT_EQ(run(options).end.signal, SIGXCPU);
  EXPECT_EQ(run(shell("ulimit -c")).output, "0\n");
}

TEST(Subprocess, LinesOnDescriptorsThreeAndFour) {
  Subprocess process = llvm::cantFail(Subprocess::spawn(
      shell("while read line <&3; do echo printed; echo got $line >&4; done",
            LineChannel::Descriptors)));
  process.send("one\ntwo\n");
  ASSERT_EQ(process.wait(20), Event::Line);
  EXPECT_EQ(process.takeLine(), "got one");
  ASSERT_EQ(process.wait(20), Event::Line);
  EXPECT_EQ(process.takeLine(), "got two");
  EXPECT_EQ(process.wait(0.05), Event::Timeout);
  EXPECT_EQ(process.takeOutput(), "printed\nprinted\n");
}

TEST(Subprocess, LinesOnStandardInputAndOutput) {
  Subprocess process = llvm::cantFail(Subprocess::spawn(shell(
      "read line; echo error >&2; echo got $line", LineChannel::Standard)));
  process.send("one\n");
  ASSERT_EQ(process.wait(20), Event::Line);
  EXPECT_EQ(process.takeLine(), "got one");
  ASSERT_EQ(process.wait(20), Event::Ended);
  EXPECT_EQ(process.takeOutput(), "error\n");
}

TEST(Subprocess, LongMessagesDoNotBlockEitherSide) {
  Subprocess process = llvm::cantFail(
      Subprocess::spawn(shell("exec cat <&3 >&4", LineChannel::Descriptors)));
  std::string line(20 << 20, 'x');
  process.send(line + "\n");
  ASSERT_EQ(process.wait(20), Event::Line);
  EXPECT_EQ(process.takeLine(), line);
}

TEST(Subprocess, HalfALineAndLongLines) {
  Subprocess half = llvm::cantFail(Subprocess::spawn(
      shell("echo whole >&4; printf half >&4", LineChannel::Descriptors)));
  ASSERT_EQ(half.wait(20), Event::Line);
  half.takeLine();
  ASSERT_EQ(half.wait(20), Event::Ended);
  EXPECT_EQ(half.unfinishedLine(), "half");

  ProcessOptions options =
      shell("exec cat /dev/zero >&4", LineChannel::Descriptors);
  options.lineBytes = 1 << 20;
  Subprocess endless = llvm::cantFail(Subprocess::spawn(options));
  EXPECT_EQ(endless.wait(0.3), Event::Timeout);
  EXPECT_TRUE(endless.isLineTooLong());
}

TEST(Subprocess, WritingToAProgramThatEndedIsHarmless) {
  Subprocess process = llvm::cantFail(
      Subprocess::spawn(shell("exit 0", LineChannel::Descriptors)));
  ASSERT_EQ(process.wait(20), Event::Ended);
  process.send(std::string(1 << 20, 'x')); // no SIGPIPE
  EXPECT_EQ(process.wait(0), Event::Ended);
}

TEST(Subprocess, OtherDescriptorsAreNotInherited) {
  int leak = ::dup(1); // without O_CLOEXEC
  EXPECT_EQ(run(shell("ls /proc/self/fd | wc -l")).output, "4\n");
  ::close(leak);
}

TEST(Subprocess, UsageIsOfTheRunningProgram) {
  Subprocess process =
      llvm::cantFail(Subprocess::spawn(shell("while :; do :; done")));
  process.wait(0.3);
  EXPECT_GT(process.usage().residentBytes, 100000u);
  EXPECT_GT(process.usage().cpuSeconds, 0.01);
}

TEST(Subprocess, TheDestructorLeavesNothing) {
  int pid;
  {
    Subprocess process =
        llvm::cantFail(Subprocess::spawn(shell("sleep 1000; true")));
    pid = process.getPid();
    EXPECT_TRUE(isAlive(pid));
  }
  EXPECT_TRUE(goesAway(pid));
}

TEST(Subprocess, AProgramDoesNotOutliveUs) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  pid_t child = ::fork();
  if (child == 0) {
    Subprocess process =
        llvm::cantFail(Subprocess::spawn(shell("sleep 1000; true")));
    int pid = process.getPid();
    (void)!::write(ends[1], &pid, sizeof(pid));
    ::kill(::getpid(), SIGKILL);
  }
  int pid = 0, status;
  ASSERT_EQ(::read(ends[0], &pid, sizeof(pid)), ssize_t(sizeof(pid)));
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(goesAway(pid));
  ::close(ends[0]);
  ::close(ends[1]);
}

//===----------------------------------------------------------------------===//
// Contained programs
//===----------------------------------------------------------------------===//

namespace {
class Contained : public testing::TestWithParam<Containment> {
protected:
  ProcessOptions shell(const std::string &script,
                       LineChannel channel = LineChannel::None) {
    ProcessOptions options = ::shell(script.c_str(), channel);
    options.containment = GetParam();
    return options;
  }

  /// A script that leaves a daemon, and the number of its process in a file.
  std::string daemon() {
    return "setsid sh -c 'sleep 1000 & readlink /proc/self > " +
           folder.file("before") + "; exec sleep 1000' & " + "while ! [ -s " +
           folder.file("before") + " ]; do sleep 0.01; done; ";
  }

  /// Processes that we started: they have our mark in their environment.
  int living() {
    int count = 0;
    std::error_code code;
    for (llvm::sys::fs::directory_iterator it("/proc", code), end;
         !code && it != end; it.increment(code)) {
      auto environment = readFile(it->path() + "/environ");
      if (environment)
        count += llvm::StringRef(*environment)
                     .contains("ATTUNE_TEST_FOLDER=" + folder.getPath());
      else
        llvm::consumeError(environment.takeError());
    }
    return count;
  }

  void SetUp() override {
    ::setenv("ATTUNE_TEST_FOLDER", folder.getPath().c_str(), 1);
  }
  void TearDown() override { ::unsetenv("ATTUNE_TEST_FOLDER"); }

  TemporaryFolder folder = llvm::cantFail(TemporaryFolder::create());
};
} // namespace

TEST_P(Contained, EndsAndOutputAreTheProgramsOwn) {
  EXPECT_EQ(run(shell("echo a; echo b >&2; exit 3")).end.describe(),
            "exit status 3");
  EXPECT_EQ(run(shell("echo a; echo b >&2; exit 3")).output, "a\nb\n");
  EXPECT_EQ(run(shell("kill -SEGV $$")).end.signal, SIGSEGV);
  EXPECT_EQ(run(shell("kill -ABRT $$")).end.signal, SIGABRT);
  EXPECT_EQ(run(shell("kill -KILL $$")).end.signal, SIGKILL);
  EXPECT_EQ(run(shell("ls /proc/self/fd | wc -l")).output, "4\n");
  ProcessOptions options;
  options.containment = GetParam();
  options.arguments = {"/etc/passwd"};
  EXPECT_EQ(llvm::toString(Subprocess::spawn(options).takeError()),
            "/etc/passwd: cannot start: Permission denied");
  options.arguments = {"/bin/true"};
  options.workingFolder = "/no/such";
  EXPECT_EQ(llvm::toString(Subprocess::spawn(options).takeError()),
            "/bin/true: cannot enter its folder: No such file or directory");
}

TEST_P(Contained, LinesAndLimits) {
  ProcessOptions options = shell(
      "read line <&3; echo got $line >&4; exec head -c 100000 /dev/zero > big",
      LineChannel::Descriptors);
  options.workingFolder = folder.getPath();
  Subprocess process = llvm::cantFail(Subprocess::spawn(options));
  process.limitFileBytes(1000);
  process.send("one\n");
  ASSERT_EQ(process.wait(20), Event::Line);
  EXPECT_EQ(process.takeLine(), "got one");
  ASSERT_EQ(process.wait(20), Event::Ended);
  EXPECT_EQ(process.getEnd()->signal, SIGXFSZ);
}

TEST_P(Contained, ADaemonEndsWithTheProgram) {
  Subprocess process = llvm::cantFail(Subprocess::spawn(shell(
      daemon() + "echo >&4; sleep 0.2; exit 5", LineChannel::Descriptors)));
  ASSERT_EQ(process.wait(20), Event::Line);
  process.takeLine();
  EXPECT_GE(process.usage().processes, 3u); // it counts
  ASSERT_EQ(process.wait(20), Event::Ended);
  EXPECT_EQ(process.getEnd()->exitCode, 5);
  EXPECT_EQ(living(), 0);
}

TEST_P(Contained, ADaemonEndsWhenTheProgramIsKilled) {
  Subprocess process = llvm::cantFail(Subprocess::spawn(
      shell(daemon() + "echo >&4; sleep 1000", LineChannel::Descriptors)));
  ASSERT_EQ(process.wait(20), Event::Line);
  process.takeLine();
  process.kill();
  ASSERT_EQ(process.wait(20), Event::Ended);
  EXPECT_EQ(process.getEnd()->signal, SIGKILL);
  EXPECT_EQ(living(), 0);
}

TEST_P(Contained, ADaemonEndsWithUs) {
  pid_t child = ::fork();
  if (child == 0) {
    Subprocess process = llvm::cantFail(Subprocess::spawn(
        shell(daemon() + "echo >&4; sleep 1000", LineChannel::Descriptors)));
    process.wait(20);
    ::kill(::getpid(), SIGKILL);
  }
  int status;
  ::waitpid(child, &status, 0);
  for (int i = 0; i < 500 && living() != 0; ++i)
    ::usleep(10000);
  EXPECT_EQ(living(), 0);
}

INSTANTIATE_TEST_SUITE_P(Modes, Contained,
                         testing::Values(Containment::Subreaper,
                                         Containment::Namespace),
                         [](const auto &info) {
                           return info.param == Containment::Namespace
                                      ? "Namespace"
                                      : "Subreaper";
                         });
