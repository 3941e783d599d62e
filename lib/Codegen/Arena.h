//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// The buffers of an entry in one arena: planned by liveness.

#ifndef ATTUNE_LIB_CODEGEN_ARENA_H
#define ATTUNE_LIB_CODEGEN_ARENA_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <cstdint>
#include <vector>

namespace attune::codegen {

/// A buffer that is in use from operation `first` to operation `last`.
struct Lifetime {
  int64_t bytes = 0;
  int64_t first = 0;
  int64_t last = 0;
};

/// Offsets (multiples of 64) such that buffers in use at the same time do not
/// overlap; `total` gets the size of the arena. Greedy by size, each at the
/// lowest offset that fits (Pisarchyk and Lee, "Efficient Memory Management for
/// Deep Neural Net Inference", 2020).
std::vector<int64_t> planArena(const std::vector<Lifetime> &lifetimes,
                               int64_t &total);

/// Replaces the allocations of static size in the body of `func` by views of
/// its argument number `argument` (memref<?xi8>); returns the arena's bytes.
int64_t moveAllocationsToArena(mlir::func::FuncOp func, unsigned argument);

} // namespace attune::codegen

#endif // ATTUNE_LIB_CODEGEN_ARENA_H
