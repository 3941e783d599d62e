//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Support/Interrupt.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <unistd.h>

using namespace attune;

// A signal handler can reach nothing but a global.
static std::atomic<int> interruptCount = 0;
static_assert(std::atomic<int>::is_always_lock_free);

static void countInterrupt(int) {
  if (++interruptCount > 2)
    ::_exit(130);
}

void attune::catchInterrupts() {
  struct sigaction action = {};
  action.sa_handler = countInterrupt;
  sigemptyset(&action.sa_mask);
  // No SA_RESTART: a poll that waits returns and its loop asks.
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction old;
    // nohup and background jobs of sh ignore some of these; they mean it.
    if (::sigaction(signal, nullptr, &old) == 0 && old.sa_handler != SIG_IGN)
      ::sigaction(signal, &action, nullptr);
  }
}

Interrupt attune::interruptRequested() {
  return static_cast<Interrupt>(std::min(2, interruptCount.load()));
}

void attune::requestInterrupt(Interrupt request) {
  interruptCount = static_cast<int>(request);
}
