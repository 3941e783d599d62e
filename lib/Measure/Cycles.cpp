//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Measure/Cycles.h"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace attune;

PerfCycles::PerfCycles() {
  perf_event_attr attributes = {};
  attributes.size = sizeof(attributes);
  attributes.type = PERF_TYPE_HARDWARE;
  attributes.config = PERF_COUNT_HW_CPU_CYCLES;
  attributes.inherit = 1;
  // Also an ordinary user may count what is outside the kernel.
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  file = static_cast<int>(::syscall(SYS_perf_event_open, &attributes, 0, -1, -1,
                                    PERF_FLAG_FD_CLOEXEC));
}

PerfCycles::~PerfCycles() {
  if (file >= 0)
    ::close(file);
}

std::optional<uint64_t> PerfCycles::read() {
  uint64_t count = 0;
  if (file < 0 || ::read(file, &count, sizeof(count)) != sizeof(count))
    return std::nullopt;
  return count;
}
