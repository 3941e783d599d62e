//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Other forms of a dispatch that schedules may ask for: the same computation,
// another root op.

#ifndef ATTUNE_LIB_SCHEDULE_FORM_H
#define ATTUNE_LIB_SCHEDULE_FORM_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/Support/Error.h"

namespace attune {

/// Makes the root, a convolution of known sizes, a product of matrices: the
/// elements that each window reads are copied side by side first (Chellapilla,
/// Puri, Simard, "High Performance Convolutional Neural Networks for Document
/// Processing", 2006). Rows and columns of the image become one loop, as do the
/// window and the input channels. Fails, with the function untouched, where the
/// root is none or the layout does not allow it.
llvm::Error convolutionToProduct(mlir::func::FuncOp dispatch);

/// Leads the results of a dispatch back into its destinations, which rewrites
/// of elementwise ops forget.
void restoreDestinations(mlir::func::FuncOp dispatch,
                         mlir::IRRewriter &rewriter);

} // namespace attune

#endif // ATTUNE_LIB_SCHEDULE_FORM_H
