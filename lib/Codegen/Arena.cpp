//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Arena.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/Transforms/BufferViewFlowAnalysis.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <numeric>

using namespace mlir;

namespace attune::codegen {

static constexpr int64_t alignment = 64;

std::vector<int64_t> planArena(const std::vector<Lifetime> &lifetimes,
                               int64_t &total) {
  std::vector<size_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return lifetimes[a].bytes > lifetimes[b].bytes;
  });
  std::vector<int64_t> offsets(lifetimes.size(), 0);
  std::vector<size_t> placed; // by offset
  total = 0;
  for (size_t index : order) {
    const Lifetime &lifetime = lifetimes[index];
    int64_t offset = 0;
    for (size_t other : placed) {
      const Lifetime &neighbour = lifetimes[other];
      if (neighbour.last < lifetime.first || lifetime.last < neighbour.first)
        continue;
      if (offset + lifetime.bytes <= offsets[other])
        break;
      int64_t end = offsets[other] + neighbour.bytes;
      offset = std::max<int64_t>(offset, llvm::alignTo(end, alignment));
    }
    offsets[index] = offset;
    total = std::max(total, offset + lifetime.bytes);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), index,
                                   [&](size_t a, size_t b) {
                                     return offsets[a] < offsets[b];
                                   }),
                  index);
  }
  total = llvm::alignTo(total, alignment);
  return offsets;
}

static int64_t bytesOf(MemRefType type) {
  Type element = type.getElementType();
  int64_t bytes = 8; // index
  if (element.isIntOrFloat())
    bytes = llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
  else if (auto complex = dyn_cast<ComplexType>(element))
    bytes = 2 * llvm::divideCeil(
                    complex.getElementType().getIntOrFloatBitWidth(), 8);
  return std::max<int64_t>(1, type.getNumElements() * bytes);
}

int64_t moveAllocationsToArena(func::FuncOp func, unsigned argument) {
  Block &body = func.front();
  llvm::DenseMap<Operation *, int64_t> positions;
  for (auto [index, op] : llvm::enumerate(body))
    positions[&op] = index;

  BufferViewFlowAnalysis aliases(func);
  SmallVector<memref::AllocOp> allocations;
  std::vector<Lifetime> lifetimes;
  for (auto alloc : body.getOps<memref::AllocOp>()) {
    if (!alloc.getType().hasStaticShape() ||
        !alloc.getType().getLayout().isIdentity())
      continue;
    Lifetime lifetime;
    lifetime.bytes = bytesOf(alloc.getType());
    lifetime.first = lifetime.last = positions[alloc];
    for (Value alias : aliases.resolve(alloc))
      for (Operation *user : alias.getUsers())
        if (Operation *ancestor = body.findAncestorOpInBlock(*user))
          lifetime.last = std::max(lifetime.last, positions[ancestor]);
    allocations.push_back(alloc);
    lifetimes.push_back(lifetime);
  }
  int64_t total = 0;
  std::vector<int64_t> offsets = planArena(lifetimes, total);
  for (auto [alloc, offset] : llvm::zip(allocations, offsets)) {
    OpBuilder builder(alloc);
    Value start =
        arith::ConstantIndexOp::create(builder, alloc.getLoc(), offset);
    Value view =
        memref::ViewOp::create(builder, alloc.getLoc(), alloc.getType(),
                               body.getArgument(argument), start, ValueRange());
    alloc.replaceAllUsesWith(view);
    alloc.erase();
  }
  return total;
}

} // namespace attune::codegen
