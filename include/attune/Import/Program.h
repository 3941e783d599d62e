//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// From a file to a program that the other rooms can work on: what
// docs/architecture.md calls "Imported".

#ifndef ATTUNE_IMPORT_PROGRAM_H
#define ATTUNE_IMPORT_PROGRAM_H

#include "attune/Import/Weights.h"
#include "attune/Support/Sizes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <optional>

namespace attune {

/// One input or result of an entry.
struct ValueSignature {
  /// A scalar (f32, i1, index, ...) has rank 0, like a 0-d tensor.
  TensorType type;
  bool isScalar = false;
  /// Of a result: the input whose new contents it is (a program on memrefs that
  /// writes its argument), else -1.
  int64_t updates = -1;
  /// Of an input: a .npy file with values for it, which a program that Attune
  /// wrote may name; else empty.
  std::string file;
};

/// What a caller passes to an entry function and gets from it.
struct EntrySignature {
  /// The function's name; may have spaces and other odd characters.
  std::string name;
  std::vector<ValueSignature> inputs;
  std::vector<ValueSignature> outputs;
  /// The function still works on memrefs (it could not be lifted to tensors):
  /// it has no results, and `outputs` are the arguments that it writes, each
  /// with `updates`. It can be compiled as a whole and has no dispatches.
  bool onBuffers = false;
  /// Of a variant: the entry that it is of, and the sizes that it is for.
  std::string variantOf;
  std::vector<SizeRange> sizes;

  bool isVariant() const { return !variantOf.empty(); }
  /// Of its inputs, with unknown sizes.
  int64_t openDimensions() const;
};

/// An imported program. The module belongs to the context it was imported into.
struct Program {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  WeightStore weights;
  /// In the order of the file; each is a public func.func with `attune.entry`.
  /// Variants for certain sizes are among them.
  std::vector<EntrySignature> entries;
  /// The path that was given; for messages.
  std::string file;
  /// One line each, for people: what was made up, dropped or is unusual.
  std::vector<std::string> notes;

  /// Null when there is no such entry. Without a name: the only entry, or
  /// `main`. Never a variant.
  const EntrySignature *findEntry(llvm::StringRef name = "") const;
  /// A deep copy (weights are shared), in the same context.
  Program clone() const;
};

struct ImportOptions {
  /// The one function to import; empty: every public one.
  std::string entry;
  /// Constants with more elements than this become weights.
  int64_t maxInlineElements = 64;
  /// Of the values made up for weights that the file left out.
  uint64_t seed = 0;
};

/// Reads MLIR text (.mlir) or bytecode (.mlirbc): linalg, arith, math, scf,
/// tensor, cf, affine, memref, ml_program, TOSA. The context must have been
/// made with registerAllDialects. Errors are one line: `FILE:LINE: what is
/// wrong; what to do`.
llvm::Expected<Program> importProgram(mlir::MLIRContext &context,
                                      llvm::StringRef path,
                                      const ImportOptions &options = {});

/// The same for text or bytecode in memory; `name` stands for the file in
/// messages.
llvm::Expected<Program>
importProgramFromString(mlir::MLIRContext &context, llvm::StringRef contents,
                        llvm::StringRef name,
                        const ImportOptions &options = {});

/// `tensor<4x?xf32>`, `memref<4xf32>` or a scalar type as a signature; an error
/// names the type when no input of a program can have it.
llvm::Expected<ValueSignature> signatureOf(mlir::Type type);
/// The same for weights and other tensors: the element type as ours.
llvm::Expected<ElementType> elementTypeOf(mlir::Type type);
mlir::Type toMlir(mlir::MLIRContext &context, ElementType type);

} // namespace attune

#endif // ATTUNE_IMPORT_PROGRAM_H
