//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// attune.dispatch becomes a call of the dispatch function on buffers.

#include "attune/Dialect/Attune.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::bufferization;

namespace attune {
namespace {

/// Dispatch functions take buffers with identity layout.
bool isIdentity(MemRefType type) { return type.getLayout().isIdentity(); }

FailureOr<Value> allocateLike(OpBuilder &builder, Location loc, Value buffer,
                              MemRefType type,
                              const BufferizationOptions &options) {
  SmallVector<Value> sizes;
  for (int64_t i = 0; i < type.getRank(); ++i)
    if (type.isDynamicDim(i))
      sizes.push_back(memref::DimOp::create(builder, loc, buffer, i));
  return options.createAlloc(builder, loc, type, sizes);
}

void callHook(OpBuilder &builder, DispatchOp op, StringRef hook) {
  auto number = op->getAttrOfType<IntegerAttr>(attr::hook);
  if (!number)
    return;
  Value id = arith::ConstantOp::create(
      builder, op.getLoc(), builder.getI32IntegerAttr(number.getInt()));
  func::CallOp::create(builder, op.getLoc(), hook, TypeRange(), id);
}

/// Hands an input to the runtime before the call; scalars in a buffer of rank
/// 0.
void callCapture(OpBuilder &builder, DispatchOp op, unsigned index,
                 Value argument) {
  Location loc = op.getLoc();
  auto number = op->getAttrOfType<IntegerAttr>(attr::hook);
  if (!number || !op->hasAttr(attr::capture))
    return;
  if (!isa<MemRefType>(argument.getType())) {
    Value cell = memref::AllocaOp::create(
        builder, loc, MemRefType::get({}, argument.getType()));
    memref::StoreOp::create(builder, loc, argument, cell, ValueRange());
    argument = cell;
  }
  Type element = getElementTypeOrSelf(argument.getType());
  Value any = memref::CastOp::create(
      builder, loc, UnrankedMemRefType::get(element, {}), argument);
  Value dispatch = arith::ConstantOp::create(
      builder, loc, builder.getI32IntegerAttr(number.getInt()));
  Value place =
      arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(index));
  func::CallOp::create(builder, loc, captureFunctionName(element), TypeRange(),
                       ValueRange{dispatch, place, any});
}

struct DispatchBufferization
    : DstBufferizableOpInterfaceExternalModel<DispatchBufferization,
                                              DispatchOp> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const AnalysisState &) const {
    return cast<DispatchOp>(op).isDpsInput(&operand);
  }

  LogicalResult bufferize(Operation *operation, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto op = cast<DispatchOp>(operation);
    Location loc = op.getLoc();
    rewriter.setInsertionPoint(op);
    SmallVector<Value> arguments, results;
    SmallVector<std::pair<Value, Value>> copiesBack;
    for (OpOperand &operand : op->getOpOperands()) {
      auto tensor = dyn_cast<RankedTensorType>(operand.get().getType());
      if (!tensor) {
        arguments.push_back(operand.get());
        continue;
      }
      FailureOr<Value> buffer =
          getBuffer(rewriter, operand.get(), options, state);
      if (failed(buffer))
        return failure();
      auto wanted = MemRefType::get(tensor.getShape(), tensor.getElementType());
      Value argument = *buffer;
      bool isInput = op.isDpsInput(&operand);
      if (!isIdentity(cast<MemRefType>(buffer->getType()))) {
        FailureOr<Value> dense =
            allocateLike(rewriter, loc, *buffer, wanted, options);
        if (failed(dense))
          return failure();
        if (!isInput)
          copiesBack.emplace_back(*dense, *buffer);
        else if (failed(options.createMemCpy(rewriter, loc, *buffer, *dense)))
          return failure();
        argument = *dense;
      } else if (buffer->getType() != wanted) {
        argument = memref::CastOp::create(rewriter, loc, wanted, *buffer);
      }
      arguments.push_back(argument);
      if (!isInput)
        results.push_back(*buffer);
    }
    for (unsigned i = 0; i < op.getInputs().size(); ++i)
      callCapture(rewriter, op, i, arguments[i]);
    callHook(rewriter, op, "attune_rt_begin");
    func::CallOp::create(rewriter, loc, op.getCallee(), TypeRange(), arguments);
    callHook(rewriter, op, "attune_rt_end");
    for (auto [from, to] : copiesBack)
      if (failed(options.createMemCpy(rewriter, loc, from, to)))
        return failure();
    replaceOpWithBufferizedValues(rewriter, op, results);
    return success();
  }
};

} // namespace

std::string captureFunctionName(Type element) {
  std::string text;
  llvm::raw_string_ostream(text) << "attune_rt_capture_" << element;
  return text;
}

void registerDispatchBufferization(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, AttuneDialect *) {
    DispatchOp::attachInterface<DispatchBufferization>(*context);
  });
}

} // namespace attune
