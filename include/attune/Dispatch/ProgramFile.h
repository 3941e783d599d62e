//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// A program between processes: its module as text, its weights beside it.

#ifndef ATTUNE_DISPATCH_PROGRAMFILE_H
#define ATTUNE_DISPATCH_PROGRAMFILE_H

#include "attune/Import/Program.h"

namespace attune {

/// `path` with `.weights` behind it.
std::string weightsPathFor(llvm::StringRef path);

/// Writes an imported or dispatched program to `path`, and its weights, if it
/// has any, to weightsPathFor(path).
llvm::Error writeProgram(const Program &program, llvm::StringRef path);

/// Reads what writeProgram wrote. Errors name the file.
llvm::Expected<Program> readProgram(mlir::MLIRContext &context,
                                    llvm::StringRef path);

} // namespace attune

#endif // ATTUNE_DISPATCH_PROGRAMFILE_H
