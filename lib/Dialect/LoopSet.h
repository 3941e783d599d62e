//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Loops of a linalg op as sets of bits. Internal to the room.

#ifndef ATTUNE_LIB_DIALECT_LOOPSET_H
#define ATTUNE_LIB_DIALECT_LOOPSET_H

#include "mlir/IR/AffineMap.h"
#include "llvm/ADT/SmallBitVector.h"

namespace attune {

using LoopSet = llvm::SmallBitVector;

/// The loops that subscripts of `map` name.
inline LoopSet loopsIn(mlir::AffineMap map) {
  LoopSet set(map.getNumDims());
  for (mlir::AffineExpr expr : map.getResults())
    expr.walk([&](mlir::AffineExpr e) {
      if (auto dim = llvm::dyn_cast<mlir::AffineDimExpr>(e))
        set.set(dim.getPosition());
    });
  return set;
}

} // namespace attune

#endif // ATTUNE_LIB_DIALECT_LOOPSET_H
