//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Our extension of the transform dialect: see AttuneTransformOps.td.

#ifndef ATTUNE_DIALECT_ATTUNETRANSFORMOPS_H
#define ATTUNE_DIALECT_ATTUNETRANSFORMOPS_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Transform/IR/TransformDialect.h"
#include "mlir/Dialect/Transform/IR/TransformTypes.h"
#include "mlir/Dialect/Transform/Interfaces/MatchInterfaces.h"
#include "mlir/Dialect/Transform/Interfaces/TransformInterfaces.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#define GET_OP_CLASSES
#include "attune/Dialect/AttuneTransformOps.h.inc"

namespace attune {

/// A register tile for an m by n result (-1: unknown), in elements. With
/// `wholeTiles` a rest costs as much as a tile.
struct RegisterTile {
  int64_t m, n;
};
RegisterTile chooseRegisterTile(int64_t m, int64_t n, int64_t elementBytes,
                                int64_t vectorBytes, int64_t vectorRegisters,
                                bool wholeTiles);

void registerTransformExtension(mlir::DialectRegistry &registry);

} // namespace attune

#endif // ATTUNE_DIALECT_ATTUNETRANSFORMOPS_H
