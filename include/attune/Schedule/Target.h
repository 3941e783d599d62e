//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// The machine a candidate is compiled for and runs on.

#ifndef ATTUNE_SCHEDULE_TARGET_H
#define ATTUNE_SCHEDULE_TARGET_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <cstdint>
#include <string>

namespace attune {

struct Target {
  std::string triple;   ///< LLVM target triple.
  std::string cpu;      ///< LLVM CPU name, e.g. "znver4".
  std::string features; ///< LLVM feature string, e.g. "+avx2,+fma,-avx512f".
  int64_t vectorBytes = 16;     ///< Bytes of the widest vector register used.
  int64_t vectorRegisters = 16; ///< Number of such registers.
  int64_t cores = 1;            ///< Cores this process may use.
  int64_t l1Bytes = 32 << 10;   ///< Data cache of one core.
  int64_t l2Bytes = 512 << 10;  ///< Cache of one core.
  int64_t l3Bytes = 8 << 20;    ///< Cache that cores share.

  /// This machine: LLVM's host detection, cache sizes from sysfs (getconf is
  /// wrong on some machines), cores from the affinity mask.
  static Target host();

  /// `cpu` is an LLVM CPU name or "host"; an error names what is known.
  static llvm::Expected<Target> forCPU(llvm::StringRef cpu);

  bool operator==(const Target &other) const = default;
};

llvm::json::Value toJSON(const Target &target);
llvm::Expected<Target> targetFromJSON(const llvm::json::Value &json);

} // namespace attune

#endif // ATTUNE_SCHEDULE_TARGET_H
