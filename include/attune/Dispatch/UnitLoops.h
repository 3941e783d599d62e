//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Loops that run once tell schedules nothing.

#ifndef ATTUNE_DISPATCH_UNITLOOPS_H
#define ATTUNE_DISPATCH_UNITLOOPS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace attune {

/// Removes the loops of extent 1 from generics, and the dimensions of size 1
/// that go with them, which become views. A loop of a window stays where an
/// input is larger than what is read of it (upstream's pass would make invalid
/// code there), or where the window would turn into a stride.
mlir::LogicalResult dropUnitLoops(mlir::func::FuncOp func);

} // namespace attune

#endif // ATTUNE_DISPATCH_UNITLOOPS_H
