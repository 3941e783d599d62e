//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// A dispatch as a program of its own.

#include "attune/Dispatch/Dispatches.h"

#include "Outline.h"
#include "attune/Support/Error.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace attune {
namespace {

/// Removes what nothing uses, from the end.
void eraseDeadOps(Block &block) {
  Operation *op = block.getTerminator()->getPrevNode();
  while (op) {
    Operation *before = op->getPrevNode();
    if (isOpTriviallyDead(op))
      op->erase();
    op = before;
  }
}

/// Destinations of the sizes that the dispatch's results have. The sizes follow
/// from the inputs: the body is cloned into `main`, asked for the dims of its
/// results, and removed again.
FailureOr<SmallVector<Value>> createDestinations(func::FuncOp main,
                                                 func::FuncOp dispatch) {
  Block &body = main.front();
  OpBuilder builder = OpBuilder::atBlockBegin(&body);
  unsigned inputCount = body.getNumArguments();
  IRMapping mapping;
  for (BlockArgument argument : dispatch.getArguments())
    mapping.map(argument,
                argument.getArgNumber() < inputCount
                    ? body.getArgument(argument.getArgNumber())
                    : body.addArgument(argument.getType(), argument.getLoc()));
  for (Operation &op : dispatch.front().without_terminator())
    builder.clone(op, mapping);
  SmallVector<Value> destinations;
  for (Value result : dispatch.front().getTerminator()->getOperands()) {
    Value value = mapping.lookupOrDefault(result);
    auto type = cast<RankedTensorType>(value.getType());
    SmallVector<Value> sizes;
    for (int64_t i = 0; i < type.getRank(); ++i)
      if (type.isDynamicDim(i))
        sizes.push_back(
            tensor::DimOp::create(builder, dispatch.getLoc(), value, i));
    destinations.push_back(
        tensor::EmptyOp::create(builder, dispatch.getLoc(), type, sizes));
  }
  // The destinations must survive the clean-up: keep them in use.
  func::ReturnOp::create(builder, dispatch.getLoc(), destinations);
  resolveDims(main);
  eraseDeadOps(body);
  destinations = llvm::to_vector(body.getTerminator()->getOperands());
  body.getTerminator()->erase();
  for (unsigned i = inputCount; i < body.getNumArguments(); ++i)
    if (!body.getArgument(i).use_empty())
      return failure();
  body.eraseArguments(inputCount, body.getNumArguments() - inputCount);
  return destinations;
}

llvm::Error addSignature(Program &program, func::FuncOp main) {
  EntrySignature entry;
  entry.name = main.getName().str();
  for (auto [types, values] :
       {std::pair(TypeRange(main.getArgumentTypes()), &entry.inputs),
        std::pair(TypeRange(main.getResultTypes()), &entry.outputs)})
    for (Type type : types) {
      auto value = signatureOf(type);
      if (!value)
        return value.takeError();
      values->push_back(*value);
    }
  program.entries.push_back(std::move(entry));
  return llvm::Error::success();
}

} // namespace

llvm::Expected<Program> extractDispatch(const Program &program,
                                        StringRef name) {
  ModuleOp whole = *program.module;
  auto dispatch = whole.lookupSymbol<func::FuncOp>(name);
  if (!dispatch || !dispatch->hasAttr(attr::dispatch))
    return makeError("{0}: there is no dispatch '{1}'", program.file, name);
  Program result;
  result.file = program.file;
  result.module = ModuleOp::create(dispatch.getLoc());
  (*result.module)->setAttrs(whole->getAttrs());
  OpBuilder builder = OpBuilder::atBlockEnd(result.module->getBody());
  unsigned inputCount = dispatch.getNumArguments() - dispatch.getNumResults();
  auto main = func::FuncOp::create(
      builder, dispatch.getLoc(), "main",
      builder.getFunctionType(
          dispatch.getArgumentTypes().take_front(inputCount),
          dispatch.getResultTypes()));
  main->setAttr(attr::entry, builder.getUnitAttr());
  builder.clone(*dispatch);

  Block *body = main.addEntryBlock();
  FailureOr<SmallVector<Value>> destinations =
      createDestinations(main, dispatch);
  if (failed(destinations))
    return makeError("{0}: the sizes of dispatch '{1}' do not follow from its "
                     "inputs: it cannot run alone",
                     program.file, name);
  builder.setInsertionPointToEnd(body);
  auto call = DispatchOp::create(
      builder, dispatch.getLoc(), dispatch.getResultTypes(),
      FlatSymbolRefAttr::get(dispatch.getContext(), name),
      SmallVector<Value>(body->getArguments()), *destinations);
  func::ReturnOp::create(builder, dispatch.getLoc(), call.getResults());
  if (llvm::Error error = addSignature(result, main))
    return std::move(error);
  return result;
}

} // namespace attune
