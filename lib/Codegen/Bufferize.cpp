//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Dispatch functions on tensors become functions on buffers, in
// destination-passing style.

#include "Bufferize.h"
#include "Stages.h"
#include "attune/Dialect/Attune.h"
#include "attune/Support/Error.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Bufferization/Transforms/Transforms.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
namespace bfz = mlir::bufferization;

namespace attune::codegen {

MemRefType bufferType(RankedTensorType type) {
  return MemRefType::get(type.getShape(), type.getElementType());
}

Value readBuffer(OpBuilder &builder, Location loc, Value buffer,
                 RankedTensorType type, Access access) {
  return bfz::ToTensorOp::create(builder, loc, type, buffer, /*restrict=*/true,
                                 /*writable=*/access == Access::Write);
}

void writeBuffer(OpBuilder &builder, Location loc, Value tensor, Value buffer) {
  bfz::MaterializeInDestinationOp::create(builder, loc, Type(), tensor, buffer,
                                          /*restrict=*/true, /*writable=*/true);
}

/// Copies as linalg ops: unlike memref.copy they become plain loops, which
/// LLVM turns into vector code or memcpy.
static LogicalResult createCopy(OpBuilder &builder, Location loc, Value from,
                                Value to) {
  linalg::CopyOp::create(builder, loc, from, to);
  return success();
}

llvm::Error bufferizeBody(func::FuncOp func) {
  DiagnosticCollector diagnostics(*func.getContext());
  IRRewriter rewriter(func.getContext());
  if (failed(bfz::eliminateEmptyTensors(rewriter, func)))
    return diagnostics.error("cannot place results in their destinations");
  bfz::OneShotBufferizationOptions options;
  options.allowReturnAllocsFromLoops = true;
  options.memCpyFn = createCopy;
  options.unknownTypeConverterFn = [](mlir::TensorType type, Attribute space,
                                      const bfz::BufferizationOptions &) {
    return bfz::getMemRefTypeWithStaticIdentityLayout(type, space);
  };
  bfz::BufferizationState state;
  if (failed(bfz::runOneShotBufferize(func, options, state)))
    return diagnostics.error("bufferization failed");
  return llvm::Error::success();
}

/// Gives `func` the arguments `types`, in place of those it has; `rewire` gets
/// the new arguments and the old ones (still in use), which are erased after
/// it.
static void
replaceArguments(func::FuncOp func, ArrayRef<Type> types,
                 function_ref<void(ValueRange, ValueRange)> rewire) {
  Block &body = func.front();
  unsigned count = body.getNumArguments();
  SmallVector<Location> locations(types.size(), func.getLoc());
  body.addArguments(types, locations);
  rewire(body.getArguments().drop_front(count),
         body.getArguments().take_front(count));
  body.eraseArguments(0, count);
}

llvm::Error bufferizeDispatch(func::FuncOp func) {
  unsigned resultCount = func.getNumResults();
  unsigned inputCount = func.getNumArguments() - resultCount;
  SmallVector<Type> types;
  for (Type type : func.getArgumentTypes()) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    types.push_back(tensor ? Type(bufferType(tensor)) : type);
  }
  auto returnOp = cast<func::ReturnOp>(func.front().getTerminator());
  replaceArguments(func, types, [&](ValueRange fresh, ValueRange old) {
    OpBuilder builder = OpBuilder::atBlockBegin(&func.front());
    for (auto [index, pair] : llvm::enumerate(llvm::zip(fresh, old))) {
      auto [argument, value] = pair;
      auto tensor = dyn_cast<RankedTensorType>(value.getType());
      value.replaceAllUsesWith(
          tensor ? readBuffer(builder, func.getLoc(), argument, tensor,
                              index < inputCount ? Access::Read : Access::Write)
                 : Value(argument));
    }
    builder.setInsertionPoint(returnOp);
    for (auto [result, buffer] :
         llvm::zip(returnOp.getOperands(), fresh.drop_front(inputCount)))
      writeBuffer(builder, func.getLoc(), result, buffer);
    returnOp->setOperands({});
  });
  func.removeArgAttrsAttr();
  func.removeResAttrsAttr();
  func.setType(FunctionType::get(func.getContext(), types, {}));
  return bufferizeBody(func);
}

} // namespace attune::codegen
