//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// The stages of Codegen, in order. Internal to the room.

#ifndef ATTUNE_LIB_CODEGEN_STAGES_H
#define ATTUNE_LIB_CODEGEN_STAGES_H

#include "Prepack.h"
#include "attune/Codegen/Compile.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include <memory>

namespace attune::codegen {

/// Collects MLIR's diagnostics while it lives, so that an error can be told in
/// one line.
class DiagnosticCollector {
public:
  explicit DiagnosticCollector(mlir::MLIRContext &context);
  ~DiagnosticCollector();
  /// `what: first error`, or `what` alone.
  llvm::Error error(llvm::StringRef what) const;

private:
  mlir::MLIRContext &context;
  mlir::DiagnosticEngine::HandlerID handler;
  std::string first;
};

/// Runs a textual pass pipeline (of module passes) on a module.
llvm::Error runPipeline(mlir::ModuleOp module, llvm::StringRef pipeline,
                        llvm::StringRef what);

/// Takes apart what bufferization or the loops do not know: softmax, concat,
/// pack and unpack, pads with odd bodies.
llvm::Error decompose(mlir::ModuleOp module);

/// Fast-math flags that are allowed: contract everywhere, reassociation in the
/// combiners of reductions that linalg declares.
void allowContraction(mlir::Operation *root);

/// Replaces elementary functions of f32 by vector code; the others stay, and
/// go to libm.
void approximateMath(mlir::ModuleOp module);

/// A dispatch function on tensors becomes one on buffers that returns nothing:
/// inputs and destinations as memrefs with identity layout.
llvm::Error bufferizeDispatch(mlir::func::FuncOp func);

/// One argument or result of a lowered entry.
struct EntryLayout {
  std::string symbol; ///< of the lowered function
  int64_t arenaBytes = 0;
  PrepackLayout prepack;
};

/// Entries become functions on buffers `(weights, arena, prepacked, inputs...,
/// static outputs...)`. `prepacks` are those of dispatches that have one;
/// `dispatches` gets the callees' names in the order of their hook numbers.
llvm::Expected<std::vector<EntryLayout>>
bufferizeEntries(Program &program, bool capture,
                 const std::map<std::string, Prepack> &prepacks,
                 std::vector<std::string> &dispatches);

/// Vectors of i1 or i4 go to and from memory as vectors of bytes.
void moveNarrowVectorsAsBytes(mlir::Operation *root);

/// What functions made of loops are called, before a number.
inline constexpr llvm::StringLiteral outlinedLoop = "attune_loop_";
/// Every outer loop becomes a function, if there are many.
void outlineLoops(mlir::ModuleOp module);

/// Orders the loops of a reference so that rows run inside; sums stay as they
/// are.
void orderReferenceLoops(mlir::ModuleOp module);

/// Everything that is left becomes the LLVM dialect.
llvm::Error lowerToLLVM(mlir::ModuleOp module, const CodegenOptions &options);

/// LLVM IR of a module in the LLVM dialect.
llvm::Expected<std::unique_ptr<llvm::Module>>
translate(mlir::ModuleOp module, llvm::LLVMContext &context);

/// What became of a dispatch, as the library's signature says it.
struct LoweredDispatch {
  std::string name;
  /// The configuration that its schedule was applied with, as
  /// toString(Configuration) writes it, or `loops`.
  std::string how;
  std::string code; ///< Hash of its object.
  Prepack prepack;
};

/// Adds the packed entry points and the table of module_info.h.
void addModuleInfo(llvm::Module &module, const Program &program,
                   llvm::ArrayRef<EntryLayout> entries,
                   llvm::ArrayRef<std::string> dispatches,
                   llvm::ArrayRef<LoweredDispatch> lowered, int threads);

/// Objects are linked together and export nothing of their own: `symbols` are
/// visible to the other objects, everything else only inside its own.
void hideAllBut(llvm::Module &module, llvm::ArrayRef<std::string> symbols);

/// Schedules, lowers and emits one dispatch function, or takes the object from
/// the cache; gives the object's path. Beside it lies, with `.json` behind its
/// name, what readLowered reads.
llvm::Expected<std::string> compileDispatch(mlir::func::FuncOp func,
                                            const CodegenOptions &options,
                                            llvm::StringRef scratchFolder);

/// What became of the dispatch `name`, whose object is this.
llvm::Expected<LoweredDispatch> readLowered(llvm::StringRef name,
                                            llvm::StringRef objectPath);

/// Optimises and emits an object file.
llvm::Error emitObject(llvm::Module &module, const CodegenOptions &options,
                       llvm::StringRef path);

llvm::Error link(llvm::ArrayRef<std::string> objects, const Toolchain &tools,
                 int threads, llvm::StringRef outputPath);

} // namespace attune::codegen

#endif // ATTUNE_LIB_CODEGEN_STAGES_H
