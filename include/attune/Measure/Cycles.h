//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// The processor's own count of cycles, where the machine lets us have it.

#ifndef ATTUNE_MEASURE_CYCLES_H
#define ATTUNE_MEASURE_CYCLES_H

#include <cstdint>
#include <optional>

namespace attune {

class CycleCounter {
public:
  virtual ~CycleCounter() = default;
  /// Since some moment; nothing where there is no such counter.
  virtual std::optional<uint64_t> read() = 0;
};

/// Cycles outside of the kernel, of this thread and those that it starts after
/// this (perf_event_open(2)). Most virtual machines have none.
class PerfCycles final : public CycleCounter {
public:
  PerfCycles();
  PerfCycles(const PerfCycles &) = delete;
  PerfCycles &operator=(const PerfCycles &) = delete;
  ~PerfCycles() override;
  std::optional<uint64_t> read() override;

private:
  int file = -1;
};

} // namespace attune

#endif // ATTUNE_MEASURE_CYCLES_H
