//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Candidates that start processes, want more than they may have, or the
// network.

#include "Faults.h"
#include "Leftovers.h"

#include "gmock/gmock.h"
#include <netinet/in.h>
#include <sys/socket.h>

using namespace attune;
using testing::HasSubstr;

/// A process that leaves its parent, its group and its session.
static const char *const daemonCode =
    "if (fork() == 0) { setsid(); if (fork() == 0) for (;;) pause(); _exit(0); "
    "} ";

// It would end by itself at 1024: no test may take the machine down.
FAULT_TEST_F(MeasureFaults, ForkBomb, "Limits", "a fork bomb",
             "a program that doubles itself again and again", "crash",
             "started more than 64 processes") {
  Measurement result =
      measure(library("for (int k = 0; k < 10; ++k) fork(); sleep(20);"));
  expectFault(toString(result.outcome), result.reason);
  EXPECT_EQ(livingProcesses(), std::vector<std::string>());
  expectNextIsFine();
}

FAULT_TEST_F(MeasureFaults, Daemon, "Candidates", "a daemon is left",
             "a program that forks twice and calls setsid", "ok",
             "nothing: it ends with its worker, which is replaced") {
  Measurement result =
      measure(library(std::string("if (calls == 1) ") + daemonCode + good));
  EXPECT_EQ(result.reason, "");
  EXPECT_EQ(executor.getWorker().getPid(), 0);
  EXPECT_EQ(livingProcesses(), std::vector<std::string>());
  expectFault(toString(result.outcome),
              "nothing: it ends with its worker, which is replaced");
}

FAULT_TEST_F(MeasureFaults, DaemonAndCrash, "Candidates",
             "a crash that leaves a daemon",
             "a program that forks twice, calls setsid and aborts", "crash",
             "SIGABRT (Aborted)") {
  Measurement result =
      measure(library(std::string(daemonCode) + "usleep(50000); abort();"));
  EXPECT_EQ(livingProcesses(), std::vector<std::string>());
  expectFault(toString(result.outcome), result.reason);
}

FAULT_TEST_F(MeasureFaults, MemoryOfChildren, "Limits",
             "endless memory in other processes",
             "four children that have left the process group write 100 MB each",
             "outOfMemory", "used more than 315 MB of memory") {
  limits.memoryBytes = 300 << 20;
  Measurement result = measure(
      library("for (int c = 0; c < 4; ++c) if (fork() == 0) { setsid(); char "
              "*volatile more = malloc(100 << 20); memset(more, 1, 100 << 20); "
              "for (;;) pause(); } for (;;) pause();"));
  expectFault(toString(result.outcome), result.reason);
}

FAULT_TEST_F(MeasureFaults, ProcessorTime, "Limits", "too much processor time",
             "a loop without end, with a limit on processor time", "runTimeout",
             "no end within 0.2 s of processor time") {
  limits.cpuSeconds = 0.2;
  Measurement result = measure(library("for (volatile int k = 0;; ++k);"));
  expectFault(toString(result.outcome), result.reason);
}

FAULT_TEST_F(MeasureFaults, Stopped, "Limits", "a process that is stopped",
             "a program that stops itself with SIGSTOP", "runTimeout",
             "no end within 0.3 s") {
  limits.wallSeconds = 0.3;
  Measurement result = measure(library("raise(SIGSTOP);"));
  expectFault(toString(result.outcome), result.reason);
}

FAULT_TEST_F(MeasureFaults, AGigabyteOfOutput, "Limits", "1 GB of output",
             "a program that prints 1 GB and would go on", "crash",
             "printed more than 67 MB") {
  Measurement result = measure(
      library(std::string("static char text[1 << 20]; if (calls == 1) for (int "
                          "k = 0; k < 1024; ++k) write(1, text, 1 << 20);") +
              good));
  expectFault(toString(result.outcome), result.reason);
}

FAULT_TEST_F(MeasureFaults, TruncatedLibrary, "Candidates",
             "a compiled library that was cut short",
             "the second half of the file is missing", "compileError",
             "cannot load ...: file too short") {
  std::string path = library(good);
  uint64_t size;
  ASSERT_FALSE(llvm::sys::fs::file_size(path, size));
  ASSERT_EQ(::truncate(path.c_str(), size / 2), 0);
  Measurement result = measure(path);
  expectFault(toString(result.outcome), result.reason);
  expectNextIsFine();
}

FAULT_TEST_F(MeasureFaults, NoNetwork, "Candidates",
             "a program that wants the network",
             "connects to a server on this machine", "crash",
             "it did not want to") {
  llvm::cantFail(executor.getWorker().start());
  if (executor.getWorker().getContainment() != Containment::Namespace)
    GTEST_SKIP() << "the kernel permits no namespaces here";
  int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  ASSERT_EQ(::bind(server, reinterpret_cast<sockaddr *>(&address), length), 0);
  ASSERT_EQ(::listen(server, 1), 0);
  ::getsockname(server, reinterpret_cast<sockaddr *>(&address), &length);
  std::string body =
      "int socket(int, int, int), connect(int, const void *, unsigned); struct "
      "{ short family; unsigned short port; unsigned address; char "
      "rest[8]; } to = {2, " +
      std::to_string(address.sin_port) + ", " +
      std::to_string(address.sin_addr.s_addr) +
      "}; int s = socket(2, 1, 0); if (connect(s, (void *)&to, 16)) return 1;";
  Measurement result = measure(library(body + good));
  ::close(server);
  expectFault(toString(result.outcome), result.reason);
}
