//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// TOSA and the shape dialect to linalg, with upstream's passes.

#include "Steps.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Conversion/TosaToLinalg/TosaToLinalg.h"
#include "mlir/Dialect/Shape/IR/Shape.h"
#include "mlir/Dialect/Shape/Transforms/Passes.h"
#include "mlir/Dialect/Tosa/IR/TosaOps.h"
#include "mlir/Dialect/Tosa/Transforms/Passes.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace attune;
using namespace attune::import;
using llvm::Error;

template <typename DialectT> static bool hasDialect(ModuleOp module) {
  return module
      .walk([](Operation *op) {
        return isa_and_nonnull<DialectT>(op->getDialect())
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

bool import::hasTosa(ModuleOp module) {
  return hasDialect<tosa::TosaDialect>(module);
}

/// Not upstream's tosa-to-linalg-pipeline: that one validates against a profile
/// and so rejects programs that lower perfectly well (f64 constants, for one).
Error import::lowerTosa(ModuleOp module, StringRef file) {
  return runPasses(
      module, file, "the lowering of TOSA", [](OpPassManager &all) {
        OpPassManager &first = all.nest<func::FuncOp>();
        first.addPass(tosa::createTosaConvertIntegerTypeToSignless());
        first.addPass(tosa::createTosaInferShapesPass());
        first.addPass(tosa::createTosaMakeBroadcastablePass());
        first.addPass(tosa::createTosaToLinalgNamed());
        first.addPass(createCanonicalizerPass());
        first.addPass(tosa::createTosaLayerwiseConstantFoldPass());
        first.addPass(tosa::createTosaMakeBroadcastablePass());
        OpPassManager &second = all.nest<func::FuncOp>();
        second.addPass(tosa::createTosaToLinalg());
        second.addPass(createTosaToSCFPass());
        TosaToArithPassOptions arith;
        arith.includeApplyRescale = true;
        second.addPass(createTosaToArithPass(arith));
        second.addPass(createTosaToTensorPass());
        all.addPass(createTosaToMLProgram());
        all.addPass(createCanonicalizerPass());
        all.addPass(createCSEPass());
      });
}

Error import::lowerShape(ModuleOp module, StringRef file) {
  if (!hasDialect<shape::ShapeDialect>(module))
    return Error::success();
  return runPasses(module, file, "the lowering of the shape dialect",
                   [](OpPassManager &all) {
                     OpPassManager &func = all.nest<func::FuncOp>();
                     func.addPass(createShapeToShapeLoweringPass());
                     func.addPass(createConvertShapeConstraintsPass());
                     all.addPass(createConvertShapeToStandardPass());
                     all.addPass(createCanonicalizerPass());
                   });
}
