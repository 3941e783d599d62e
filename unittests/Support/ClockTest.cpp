//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Support/Clock.h"
#include "attune/Support/Interrupt.h"

#include "gtest/gtest.h"
#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

using namespace attune;

TEST(Clock, GoesForward) {
  SystemClock clock;
  double before = clock.now();
  ::usleep(2000);
  EXPECT_GT(clock.now(), before + 0.001);
}

TEST(Clock, AFakeStandsStill) {
  FakeClock clock;
  EXPECT_EQ(clock.now(), 0);
  clock.advance(2.5);
  EXPECT_EQ(clock.now(), 2.5);
}

// In a child, since it changes what signals do.
TEST(Interrupt, OnceStopsTwiceIsNowThreeTimesEnds) {
  pid_t child = ::fork();
  if (child == 0) {
    catchInterrupts();
    bool right = interruptRequested() == Interrupt::None;
    ::raise(SIGINT);
    right &= interruptRequested() == Interrupt::Stop;
    ::raise(SIGTERM);
    right &= interruptRequested() == Interrupt::Now;
    if (!right)
      ::_exit(1);
    ::raise(SIGINT);
    ::_exit(2);
  }
  int status;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 130);
}

TEST(Interrupt, CanBeRequested) {
  requestInterrupt(Interrupt::Now);
  EXPECT_EQ(interruptRequested(), Interrupt::Now);
  requestInterrupt(Interrupt::None);
  EXPECT_EQ(interruptRequested(), Interrupt::None);
}
