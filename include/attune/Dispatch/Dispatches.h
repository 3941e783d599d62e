//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// A program is split into dispatches: what docs/architecture.md calls
// "Dispatched".

#ifndef ATTUNE_DISPATCH_DISPATCHES_H
#define ATTUNE_DISPATCH_DISPATCHES_H

#include "attune/Import/Program.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace attune {

/// The version of dispatch formation: programs split by another version may
/// have other dispatches under the same fingerprints' names.
inline constexpr int64_t dispatchVersion = 1;

/// Splits an imported (and cleaned-up) program in place. Every linalg op ends
/// up in a dispatch together with what is fused with it; equal dispatches share
/// one function. Entries on buffers are left as they are.
llvm::Error formDispatches(Program &program);

/// One dispatch function.
struct DispatchInfo {
  std::string name;
  std::string fingerprint; ///< 16 hexadecimal digits.
  std::string rootOp;      ///< `contraction`, `reduction`, ...
  std::string shapes;      ///< Of the root's loops: `4x10x784xf32`.
  int64_t calls = 0;       ///< Call sites in the program.
  mlir::func::FuncOp function;
};

/// In the order of their first call.
std::vector<DispatchInfo> listDispatches(mlir::ModuleOp program);

/// A dispatch's identity: structure, shapes, types and constants by value;
/// weights only as "a constant of this type"; not names, locations or
/// discardable attributes.
std::string computeFingerprint(mlir::func::FuncOp dispatch);

/// A program with one entry `main` that takes the dispatch's inputs and calls
/// it once. It has no weights: constant inputs are inputs like others.
llvm::Expected<Program> extractDispatch(const Program &program,
                                        llvm::StringRef name);

} // namespace attune

#endif // ATTUNE_DISPATCH_DISPATCHES_H
