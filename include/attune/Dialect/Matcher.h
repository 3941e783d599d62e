//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Named sequences of match ops, as text that people write.

#ifndef ATTUNE_DIALECT_MATCHER_H
#define ATTUNE_DIALECT_MATCHER_H

#include "mlir/Dialect/Transform/IR/TransformOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/Error.h"

namespace attune {

/// On a module that named sequences may be in.
inline constexpr llvm::StringLiteral namedSequencesName =
    "transform.with_named_sequence";

/// A matcher has one argument, and match ops only: what a stranger wrote must
/// not change a program.
llvm::Error checkMatcher(mlir::transform::NamedSequenceOp sequence);

/// A named sequence that an op is handed to.
class Matcher {
public:
  explicit Matcher(mlir::transform::NamedSequenceOp sequence);

  std::string getName() const;
  /// What its argument's `attune.bind` says: `root` (the default) or `last`.
  std::string getBound() const;
  bool takes(mlir::Operation *op) const;

private:
  mlir::OwningOpRef<mlir::ModuleOp> module; ///< With it alone.
};

/// All matchers of a module's text; `file` stands for it in errors. The context
/// must have been made with registerAllDialects, or have the transform
/// extension at least.
llvm::Expected<std::vector<Matcher>> parseMatchers(mlir::MLIRContext &context,
                                                   llvm::StringRef text,
                                                   llvm::StringRef file);

} // namespace attune

#endif // ATTUNE_DIALECT_MATCHER_H
