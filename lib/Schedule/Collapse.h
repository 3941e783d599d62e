//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTUNE_LIB_SCHEDULE_COLLAPSE_H
#define ATTUNE_LIB_SCHEDULE_COLLAPSE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"

namespace attune {

/// Makes one loop of reductions over neighbouring dimensions of the dispatch's
/// arguments, so that 7x7 is 49 elements in a row and not seven short rows.
void collapseReductions(mlir::func::FuncOp dispatch,
                        mlir::IRRewriter &rewriter);

} // namespace attune

#endif // ATTUNE_LIB_SCHEDULE_COLLAPSE_H
