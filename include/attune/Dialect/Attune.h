//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// The attune dialect: see AttuneAttrs.td and AttuneOps.td, or docs/dialect.md.

#ifndef ATTUNE_DIALECT_ATTUNE_H
#define ATTUNE_DIALECT_ATTUNE_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Attributes.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "attune/Dialect/AttuneDialect.h.inc"
#define GET_ATTRDEF_CLASSES
#include "attune/Dialect/AttuneAttrs.h.inc"
#define GET_OP_CLASSES
#include "attune/Dialect/AttuneOps.h.inc"

namespace attune {

/// Attribute names, one place for each spelling.
namespace attr {
/// On a dispatch function: dictionary with `fingerprint` and `root` (strings).
inline constexpr llvm::StringLiteral dispatch = "attune.dispatch";
/// On a dispatch function: #attune.config.
inline constexpr llvm::StringLiteral config = "attune.config";
/// On an argument of a dispatch function: every call passes a weight.
inline constexpr llvm::StringLiteral constant = "attune.constant";
/// On the module: the version of dispatch formation (integer).
inline constexpr llvm::StringLiteral dispatchVersion =
    "attune.dispatch_version";
/// On an entry function (unit).
inline constexpr llvm::StringLiteral entry = "attune.entry";
/// On a variant of an entry function: the entry's name (string).
inline constexpr llvm::StringLiteral variantOf = "attune.variant_of";
/// On a variant, and on dispatch functions of one that keeps open dimensions:
/// the sizes it is for, as in Support/Sizes.h (string).
inline constexpr llvm::StringLiteral sizes = "attune.sizes";
/// On an argument of a schedule: what is bound to it ("func", "root", "m",
/// ...).
inline constexpr llvm::StringLiteral bind = "attune.bind";
/// On an attune.dispatch: its number for hooks (integer).
inline constexpr llvm::StringLiteral hook = "attune.hook";
/// On an attune.dispatch: its inputs are captured (unit).
inline constexpr llvm::StringLiteral capture = "attune.capture";
/// On an argument of an entry that Attune wrote: a .npy file beside the program
/// with values for it.
inline constexpr llvm::StringLiteral input = "attune.input";
} // namespace attr

/// The function of the runtime that captures a tensor of `element`s.
std::string captureFunctionName(mlir::Type element);

/// Makes attune.dispatch bufferize to a call, with hooks around it.
void registerDispatchBufferization(mlir::DialectRegistry &registry);

/// Every dialect, extension and interface that Attune uses: all of upstream's
/// that a program may contain, the transform dialect, and our own.
void registerAllDialects(mlir::DialectRegistry &registry);

} // namespace attune

#endif // ATTUNE_DIALECT_ATTUNE_H
