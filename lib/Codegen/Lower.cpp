//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// From buffers, vectors and linalg to the LLVM dialect.

#include "Stages.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace attune::codegen {

/// The op that combines a reduction's element with what was there before, if
/// the body yields it directly.
static Operation *combinerOf(linalg::LinalgOp op, unsigned output) {
  Block &body = *op.getBlock();
  Value accumulator = body.getArgument(op.getNumDpsInputs() + output);
  Operation *combiner =
      body.getTerminator()->getOperand(output).getDefiningOp();
  if (!combiner || !llvm::is_contained(combiner->getOperands(), accumulator))
    return nullptr;
  return combiner;
}

void allowContraction(Operation *root) {
  auto allow = [](Operation *op, arith::FastMathFlags flags) {
    auto math = dyn_cast<arith::ArithFastMathInterface>(op);
    // Conversions have no flags unless they were given some.
    if (!math || !math.getFastMathFlagsAttr())
      return;
    flags = flags | math.getFastMathFlagsAttr().getValue();
    op->setAttr(math.getFastMathAttrName(),
                arith::FastMathFlagsAttr::get(op->getContext(), flags));
  };
  root->walk([&](Operation *op) { allow(op, arith::FastMathFlags::contract); });
  root->walk([&](linalg::LinalgOp op) {
    if (op.getNumReductionLoops() == 0)
      return;
    for (int64_t i = 0; i < op.getNumDpsInits(); ++i)
      if (Operation *combiner = combinerOf(op, i))
        allow(combiner, arith::FastMathFlags::reassoc);
  });
}

/// Copies that are left become linalg ops and then loops: memref.copy of a
/// strided buffer would need MLIR's runner library.
static void generalizeCopies(ModuleOp module) {
  SmallVector<memref::CopyOp> copies;
  module.walk([&](memref::CopyOp op) { copies.push_back(op); });
  for (memref::CopyOp op : copies) {
    OpBuilder builder(op);
    linalg::CopyOp::create(builder, op.getLoc(), op.getSource(),
                           op.getTarget());
    op.erase();
  }
}

static constexpr llvm::StringLiteral deallocation =
    "func.func(buffer-hoisting,buffer-loop-hoisting,"
    "promote-buffers-to-stack{max-alloc-size-in-bytes=4096}),"
    "ownership-based-buffer-deallocation,canonicalize,"
    "buffer-deallocation-simplification,bufferization-lower-deallocations,"
    "cse,canonicalize";

static std::string loopPipeline(bool parallel) {
  std::string text = "func.func(convert-linalg-to-loops),";
  text += parallel ? "func.func(scf-forall-to-parallel),"
                     "convert-scf-to-openmp,canonicalize,"
                   : "func.func(scf-forall-to-for),"
                     "func.func(scf-parallel-for-to-nested-fors),";
  return text + "func.func(lower-vector-multi-reduction{lowering-strategy="
                "inner-reduction},"
                "convert-vector-to-scf{full-unroll=true}),"
                "canonicalize,cse";
}

static constexpr llvm::StringLiteral mathPipeline =
    "convert-complex-to-standard,"
    "func.func(arith-emulate-unsupported-floats{source-types=bf16,f16 "
    "target-type=f32}),"
    "func.func(math-extend-to-supported-types{extra-types=f32 "
    "target-type=f32}),canonicalize";

static std::string llvmPipeline(bool reference) {
  std::string vectors =
      reference ? "convert-vector-to-llvm"
                : "convert-vector-to-llvm{reassociate-fp-reductions=true "
                  "vector-contract-lowering=outerproduct "
                  "vector-transpose-lowering=shuffle1d "
                  "enable-x86vector=true}";
  return "expand-realloc,expand-strided-metadata,lower-affine,"
         "convert-math-to-funcs{convert-ctlz=false},"
         "arith-expand{include-bf16=true},"
         "convert-scf-to-cf," +
         vectors +
         ",canonicalize,cse,"
         "convert-math-to-llvm,convert-math-to-libm,"
         "convert-complex-to-libm,convert-complex-to-llvm,"
         "convert-index-to-llvm,convert-arith-to-llvm,"
         "finalize-memref-to-llvm{use-generic-functions=true},"
         "convert-func-to-llvm,convert-openmp-to-llvm,convert-cf-to-llvm,"
         "convert-ub-to-llvm,reconcile-unrealized-casts";
}

static bool hasParallelLoops(ModuleOp module) {
  return module
      .walk([](Operation *op) {
        return op->getName().getStringRef() == "scf.forall"
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

llvm::Error lowerToLLVM(ModuleOp module, const CodegenOptions &options) {
  auto dump = [&](StringRef stage) {
    if (options.afterStage)
      options.afterStage(stage, module);
  };
  generalizeCopies(module);
  if (llvm::Error error =
          runPipeline(module, deallocation, "placing of buffers failed"))
    return error;
  generalizeCopies(module);
  moveNarrowVectorsAsBytes(module);
  dump("buffers");
  if (options.reference)
    orderReferenceLoops(module);
  bool parallel = options.threads != 1 && hasParallelLoops(module);
  if (llvm::Error error = runPipeline(module, loopPipeline(parallel),
                                      "lowering to loops failed"))
    return error;
  if (options.reference)
    outlineLoops(module);
  dump("loops");
  if (llvm::Error error =
          runPipeline(module, mathPipeline, "lowering of math failed"))
    return error;
  if (!options.reference)
    approximateMath(module);
  if (llvm::Error error = runPipeline(module, llvmPipeline(options.reference),
                                      "lowering to LLVM failed"))
    return error;
  dump("llvm");
  return llvm::Error::success();
}

} // namespace attune::codegen
