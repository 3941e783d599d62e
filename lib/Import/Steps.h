//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// The steps of importProgram, in their order. Private to this room.

#ifndef ATTUNE_LIB_IMPORT_STEPS_H
#define ATTUNE_LIB_IMPORT_STEPS_H

#include "attune/Dialect/Attune.h"
#include "attune/Import/Program.h"
#include "attune/Support/Error.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/MemoryBuffer.h"

namespace attune::import {

/// `FILE:LINE` of an op, or just the file where the op has no place in it.
std::string placeOf(mlir::Operation *op, llvm::StringRef file);
/// A one-line error: "FILE:LINE: text".
template <typename... Args>
llvm::Error errorAt(mlir::Operation *op, llvm::StringRef file,
                    const char *format, Args &&...args) {
  return makeError("{0}: {1}", placeOf(op, file),
                   llvm::formatv(format, std::forward<Args>(args)...).str());
}

/// Keeps the diagnostics of its scope from the terminal, and remembers the
/// first error as one line.
class FirstError {
public:
  explicit FirstError(mlir::MLIRContext &context, llvm::StringRef file);
  bool any() const { return !message.empty(); }
  /// "FILE:LINE: message"
  std::string text() const;
  std::string message;
  std::string place;

private:
  std::string file;
  mlir::ScopedDiagnosticHandler handler;
};

/// Runs `passes` on the module; an error says what was being done.
llvm::Error runPasses(mlir::ModuleOp module, llvm::StringRef file,
                      llvm::StringRef doing,
                      llvm::function_ref<void(mlir::OpPassManager &)> passes);

/// Text or bytecode to a verified module. Ops of unregistered dialects end
/// here.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
parseModule(mlir::MLIRContext &context,
            std::unique_ptr<llvm::MemoryBuffer> buffer, llvm::StringRef file);

/// What to do about a program with ops of this dialect; starts with "use",
/// "run".
std::string wayOutOf(llvm::StringRef dialect);
/// An error for the first op that Attune cannot take (after all lowerings).
llvm::Error checkDialects(mlir::ModuleOp module, llvm::StringRef file);

/// Constants become attune.weight. Those whose values the file left out get
/// negative indices until `generateLeftOutWeights`.
llvm::Error extractWeights(Program &program, const ImportOptions &options);
/// Makes up values for the weights left out, from what they are used for.
llvm::Error generateLeftOutWeights(Program &program,
                                   const ImportOptions &options);
/// Small or uniform weights become arith.constant again, others are renumbered
/// without gaps and what nothing uses is dropped.
void compactWeights(Program &program, int64_t maxInlineElements);

bool hasTosa(mlir::ModuleOp module);
llvm::Error lowerTosa(mlir::ModuleOp module, llvm::StringRef file);
/// shape dialect to arith and tensor, as far as upstream can.
llvm::Error lowerShape(mlir::ModuleOp module, llvm::StringRef file);
/// ml_program.global: constants inlined, variables as memref.global.
llvm::Error lowerGlobals(Program &program);

/// Chooses the entries, inlines what they call, drops the rest.
llvm::Error chooseEntries(Program &program, const ImportOptions &options);
/// Pads by constants below zero become slices.
void cropPads(mlir::ModuleOp module);
/// Complex inputs and results become pairs of numbers in a last dimension of 2.
llvm::Error splitComplex(Program &program);
/// Functions on memrefs without control flow become functions on tensors.
/// Fills `updates` of the entry's signature.
llvm::Error liftBuffers(Program &program);
/// Canonicalisation and common subexpressions, without folding anything large.
llvm::Error simplify(mlir::ModuleOp module, llvm::StringRef file);

} // namespace attune::import

#endif // ATTUNE_LIB_IMPORT_STEPS_H
