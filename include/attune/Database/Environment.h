//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// What the machine was doing while something was measured.

#ifndef ATTUNE_DATABASE_ENVIRONMENT_H
#define ATTUNE_DATABASE_ENVIRONMENT_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"
#include <cstdint>
#include <string>
#include <vector>

namespace attune {

/// A moment of the machine. What the kernel does not tell stays at its default.
struct Environment {
  double load1 = -1;       ///< Load average of the last minute; -1 unknown.
  double load5 = -1;       ///< Load average of the last five minutes.
  std::string governor;    ///< cpufreq governor of core 0, empty if unknown.
  double megahertz = -1;   ///< Clock of core 0 now; -1 unknown.
  int threadsPerCore = -1; ///< 2: core 0 has an SMT sibling; -1 unknown.
  int64_t stealTicks = -1; ///< CPU time a hypervisor gave to others since boot.
  int64_t totalTicks = -1; ///< All CPU time since boot, in the same ticks.
  int64_t freeMemoryBytes = -1; ///< MemAvailable.
  /// What bounds candidates (describe(Bounds) in Measure); sample() does not
  /// know it.
  std::string bounds;

  /// Reads /proc and /sys; `root` is put before both (tests give a folder).
  static Environment sample(llvm::StringRef root = "");

  bool operator==(const Environment &other) const = default;
};

/// The share of CPU time that was stolen between two samples, 0 to 1; -1 if
/// either does not know.
double stealFraction(const Environment &before, const Environment &after);

/// The machine between two samples, for people: `load 0.31, clock governor
/// performance at 2500 MHz, one thread a core, 0.0 % of CPU time stolen`.
std::string describe(const Environment &before, const Environment &after);

/// What makes times noisy there, a line each. `cores` are those we may use.
std::vector<std::string> findDisturbances(const Environment &before,
                                          const Environment &after,
                                          int64_t cores);

llvm::json::Value toJSON(const Environment &environment);
llvm::Expected<Environment> environmentFromJSON(const llvm::json::Value &json);

} // namespace attune

#endif // ATTUNE_DATABASE_ENVIRONMENT_H
