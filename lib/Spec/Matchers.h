//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Entries that are for whatever a named sequence of match ops takes. Internal
// to the room.

#ifndef ATTUNE_LIB_SPEC_MATCHERS_H
#define ATTUNE_LIB_SPEC_MATCHERS_H

#include "attune/Dialect/Matcher.h"
#include "attune/Spec/Spec.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace attune {

/// A context for specs alone, which are small and come from anywhere: one
/// thread, and no dialects but those that a spec may use.
std::unique_ptr<mlir::MLIRContext> makeSpecContext();

/// Whether an op of a spec is a matcher.
bool isMatcher(mlir::Operation *op);

/// The text of a matcher of a spec. It has match ops only: what a stranger
/// wrote must not change a program.
llvm::Expected<std::string> readMatcher(mlir::ModuleOp spec,
                                        llvm::StringRef name);

/// Adds an entry's matcher, if it has one, to a spec unless it is there.
void addMatcher(mlir::ModuleOp spec, const SpecEntry &entry);

/// Gives a matcher another name.
std::string renameMatcher(llvm::StringRef matcher, llvm::StringRef name);

/// A matcher in the context of a program.
Matcher makeMatcher(mlir::MLIRContext *context, llvm::StringRef text);
/// Whether it takes a dispatch.
bool takesDispatch(const Matcher &matcher, mlir::func::FuncOp dispatch);

} // namespace attune

#endif // ATTUNE_LIB_SPEC_MATCHERS_H
