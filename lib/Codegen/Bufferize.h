//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// What the bufferization of dispatches and of entries shares.

#ifndef ATTUNE_LIB_CODEGEN_BUFFERIZE_H
#define ATTUNE_LIB_CODEGEN_BUFFERIZE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/Error.h"

namespace attune::codegen {

enum class Access { Read, Write };

/// The buffer of a tensor that is passed between functions: identity layout.
mlir::MemRefType bufferType(mlir::RankedTensorType type);

/// The contents of `buffer`, which nothing else names, as a tensor.
mlir::Value readBuffer(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value buffer, mlir::RankedTensorType type,
                       Access access);

/// Puts `tensor` into `buffer`.
void writeBuffer(mlir::OpBuilder &builder, mlir::Location loc,
                 mlir::Value tensor, mlir::Value buffer);

/// One-shot bufferization of a function whose arguments are buffers already.
llvm::Error bufferizeBody(mlir::func::FuncOp func);

} // namespace attune::codegen

#endif // ATTUNE_LIB_CODEGEN_BUFFERIZE_H
