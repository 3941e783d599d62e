//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Codegen/Passes.h"

#include "Arena.h"
#include "Stages.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace attune;

namespace {

/// What all have in common: the dialects they may make ops of, and an error
/// becomes a diagnostic of the module.
struct StagePass : OperationPass<ModuleOp> {
  using OperationPass::OperationPass;
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, bufferization::BufferizationDialect,
                    linalg::LinalgDialect, memref::MemRefDialect,
                    scf::SCFDialect, tensor::TensorDialect>();
  }
  virtual llvm::Error runStage(ModuleOp module) = 0;
  void runOnOperation() override {
    if (llvm::Error error = runStage(getOperation())) {
      getOperation().emitError(llvm::toString(std::move(error)));
      signalPassFailure();
    }
  }
};

struct DecomposePass : PassWrapper<DecomposePass, StagePass> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(DecomposePass)
  StringRef getArgument() const final { return "attune-decompose"; }
  StringRef getDescription() const final {
    return "Take apart what bufferization or the loops do not know";
  }
  llvm::Error runStage(ModuleOp module) final {
    return codegen::decompose(module);
  }
};

struct BufferizeDispatchPass : PassWrapper<BufferizeDispatchPass, StagePass> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(BufferizeDispatchPass)
  StringRef getArgument() const final { return "attune-bufferize-dispatch"; }
  StringRef getDescription() const final {
    return "Put every function, a dispatch, on buffers";
  }
  llvm::Error runStage(ModuleOp module) final {
    for (auto func : module.getOps<func::FuncOp>())
      if (!func.isExternal())
        if (llvm::Error error = codegen::bufferizeDispatch(func))
          return error;
    return llvm::Error::success();
  }
};

struct PlanArenaPass : PassWrapper<PlanArenaPass, StagePass> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PlanArenaPass)
  StringRef getArgument() const final { return "attune-plan-arena"; }
  StringRef getDescription() const final {
    return "Put the allocations of every function into its first argument, and "
           "say on it how many bytes that takes";
  }
  llvm::Error runStage(ModuleOp module) final {
    Builder builder(module.getContext());
    for (auto func : module.getOps<func::FuncOp>())
      if (!func.isExternal())
        func->setAttr("attune.arena_bytes",
                      builder.getI64IntegerAttr(
                          codegen::moveAllocationsToArena(func, 0)));
    return llvm::Error::success();
  }
};

} // namespace

void attune::registerCodegenPasses() {
  PassRegistration<DecomposePass>();
  PassRegistration<BufferizeDispatchPass>();
  PassRegistration<PlanArenaPass>();
}
