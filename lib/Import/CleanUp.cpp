//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CleanUpSteps.h"
#include "Steps.h"

#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace attune;
using namespace attune::import;
using llvm::Error;

/// What range analysis proves (a size is never negative), then what follows.
static Error prove(ModuleOp module, StringRef file) {
  Error error =
      runPasses(module, file, "range analysis", [](OpPassManager &all) {
        all.addPass(arith::createIntRangeOptimizationsPass());
      });
  return error ? std::move(error) : simplify(module, file);
}

Error attune::cleanUp(Program &program, const CleanUpOptions &options) {
  ModuleOp module = *program.module;
  if (Error error = prove(module, program.file))
    return error;
  // Each step makes work for the others; every round removes ops, so it ends.
  int64_t scales = 0;
  for (int round = 0; round < 8; ++round) {
    int64_t changes = sinkTransposes(module);
    changes += foldBroadcasts(module);
    changes += foldConstants(program, options);
    changes += foldBatches(module);
    int64_t folded = foldScales(program);
    scales += folded;
    changes += folded;
    if (Error error = simplify(module, program.file))
      return error;
    if (!changes)
      break;
  }
  compactWeights(program, ImportOptions().maxInlineElements);
  if (scales)
    program.notes.push_back(llvm::formatv(
        "{0} scale{1} or bias{2} after convolutions and products were "
        "folded into the weights",
        scales, scales == 1 ? "" : "s", scales == 1 ? "" : "es"));
  FirstError first(*module.getContext(), program.file);
  if (failed(verify(module)))
    return makeError("{0} (after clean-up; please report this)", first.text());
  return Error::success();
}
