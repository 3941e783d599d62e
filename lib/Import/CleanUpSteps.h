//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// The steps of cleanUp. Private to this room.

#ifndef ATTUNE_LIB_IMPORT_CLEANUPSTEPS_H
#define ATTUNE_LIB_IMPORT_CLEANUPSTEPS_H

#include "Evaluate.h"
#include "attune/Import/CleanUp.h"

namespace attune::import {

/// Evaluates ops on constants; returns how many.
int64_t foldConstants(Program &program, const CleanUpOptions &options);

/// Elementwise chains y = a·x + b (a, b constant, one number for each channel)
/// after a convolution or contraction with constant filters: a goes into the
/// filter, b into one addition. So does a bias that is the op's initial value.
/// Returns how many.
int64_t foldScales(Program &program);

/// Elementwise ops read the source of a broadcast instead of its result.
int64_t foldBroadcasts(mlir::ModuleOp module);

/// A batched product with a filter that is the same for every batch becomes one
/// product of more rows.
int64_t foldBatches(mlir::ModuleOp module);

/// Transposes move down through elementwise ops, to meet others that undo them.
int64_t sinkTransposes(mlir::ModuleOp module);

/// The input of a generic that only moves elements: parallel loops, one input
/// that is yielded, an identity result map. Null otherwise.
mlir::OpOperand *findMovedInput(mlir::linalg::LinalgOp op);

} // namespace attune::import

#endif // ATTUNE_LIB_IMPORT_CLEANUPSTEPS_H
