//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Weights are packed once: what a scheduled dispatch computes of constants
// alone (attr::constant) becomes a function of its own, which runs when a
// program is created.

#ifndef ATTUNE_LIB_CODEGEN_PREPACK_H
#define ATTUNE_LIB_CODEGEN_PREPACK_H

#include "attune/Dialect/Attune.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <map>
#include <string>
#include <vector>

namespace attune::codegen {

/// The second function of a dispatch's object, `NAME_prepack(constants...,
/// packed...)`, and what it gives: further inputs of the dispatch, behind its
/// own.
struct Prepack {
  std::vector<int64_t> constants; ///< Numbers of inputs of the dispatch.
  std::vector<std::string> types; ///< Of tensors, as MLIR writes them.

  bool empty() const { return types.empty(); }
};

llvm::json::Value toJSON(const Prepack &prepack);
bool fromJSON(const llvm::json::Value &value, Prepack &prepack,
              llvm::json::Path path);

std::string prepackName(llvm::StringRef dispatch);

/// Moves what depends on constants alone, and is worth keeping, out of a
/// dispatch function on tensors, into a function after it.
Prepack splitPrepack(mlir::func::FuncOp func);

/// Takes attr::constant from arguments of dispatches that some call gives
/// something else than a weight or an input of its entry: nothing could be
/// packed before such a call.
void dropUnknownConstants(mlir::ModuleOp module);

/// Where an entry's dispatches find what is packed.
struct PrepackLayout {
  std::string symbol; ///< Of the function that packs; empty: nothing to pack.
  int64_t bytes = 0;
  std::vector<int32_t> inputs; ///< Of the entry, which the function takes.
};

/// Gives the dispatches of an entry on tensors their further inputs: views of
/// a block, `block`, that a new function `symbol(weights, block, inputs...)`
/// fills. `weightOffsets` are the places of weights in the bytes `weights`;
/// dispatches are declared with their further inputs already.
PrepackLayout
addPrepackedInputs(mlir::func::FuncOp entry, mlir::Value block,
                   llvm::StringRef symbol,
                   const std::map<std::string, Prepack> &dispatches,
                   llvm::function_ref<int64_t(WeightOp)> weightOffset);

} // namespace attune::codegen

#endif // ATTUNE_LIB_CODEGEN_PREPACK_H
