//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Entry functions on tensors become functions on buffers.

#include "Bufferize.h"
#include "Stages.h"
#include "attune/Dialect/Attune.h"
#include "attune/Runtime/program.h"
#include "attune/Support/Error.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace attune::codegen {
namespace {

MemRefType bytesType(MLIRContext *context) {
  return MemRefType::get({ShapedType::kDynamic}, IntegerType::get(context, 8));
}

/// The buffer in which a value of an entry's signature travels.
MemRefType boundaryType(Type type) {
  if (auto memref = dyn_cast<MemRefType>(type))
    return memref;
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return bufferType(tensor);
  return MemRefType::get({}, type);
}

/// Rewrites one entry. See bufferizeEntries.
class EntryRewriter {
public:
  EntryRewriter(func::FuncOp func, const EntrySignature &signature,
                const WeightStore &weights)
      : func(func), signature(signature), weights(weights),
        builder(func.getContext()), loc(func.getLoc()) {}

  /// `packer` is what the function is called that packs for this entry.
  llvm::Error run(const std::map<std::string, Prepack> &prepacks,
                  llvm::StringRef packer, PrepackLayout &layout) {
    if (!func.getBody().hasOneBlock())
      return makeError("'{0}' branches between blocks (cf.br); structured "
                       "control flow (scf) is needed",
                       signature.name);
    builder.setInsertionPointToStart(&func.front());
    addBoundary();
    layout = addPrepackedInputs(
        func, argument(2), packer, prepacks,
        [&](WeightOp op) { return weights[op.getIndex()].offset; });
    builder.setInsertionPointToStart(&func.front());
    bindWeights();
    bindInputs();
    bindResults();
    finish();
    return signature.onBuffers ? llvm::Error::success() : bufferizeBody(func);
  }

private:
  void addBoundary() {
    Block &body = func.front();
    oldCount = body.getNumArguments();
    SmallVector<Type> types(fixedCount, bytesType(func.getContext()));
    for (Type type : func.getArgumentTypes())
      types.push_back(boundaryType(type));
    for (auto [index, output] : llvm::enumerate(signature.outputs))
      if (output.type.isStatic())
        types.push_back(boundaryType(outputType(index)));
    SmallVector<Location> locations(types.size(), loc);
    body.addArguments(types, locations);
  }

  Type outputType(size_t index) {
    return signature.onBuffers
               ? func.getArgumentTypes()[signature.outputs[index].updates]
               : func.getResultTypes()[index];
  }
  Value argument(unsigned index) {
    return func.front().getArgument(oldCount + index);
  }
  Value weightBytes() { return argument(0); }
  Value input(unsigned index) { return argument(fixedCount + index); }

  void bindWeights() {
    llvm::MapVector<int64_t, Value> views;
    SmallVector<WeightOp> ops;
    func.walk([&](WeightOp op) { ops.push_back(op); });
    for (WeightOp op : ops) {
      auto type = cast<RankedTensorType>(op.getType());
      Value &view = views[op.getIndex()];
      if (!view) {
        Value offset = arith::ConstantIndexOp::create(
            builder, loc, weights[op.getIndex()].offset);
        view = memref::ViewOp::create(builder, loc, bufferType(type),
                                      weightBytes(), offset, ValueRange());
        view = readBuffer(builder, loc, view, type, Access::Read);
      }
      op.replaceAllUsesWith(view);
    }
    // Only now: one of them may be where the builder stands.
    for (WeightOp op : ops)
      op.erase();
    builder.setInsertionPointToStart(&func.front());
  }

  void bindInputs() {
    for (unsigned i = 0; i < oldCount; ++i) {
      Value old = func.front().getArgument(i);
      Value buffer = input(i);
      if (auto tensor = dyn_cast<RankedTensorType>(old.getType()))
        buffer = readBuffer(builder, loc, buffer, tensor, Access::Read);
      else if (!isa<MemRefType>(old.getType()))
        buffer = memref::LoadOp::create(builder, loc, buffer, ValueRange());
      old.replaceAllUsesWith(buffer);
    }
  }

  void bindResults() {
    if (signature.onBuffers)
      return updateCopies();
    auto returnOp = cast<func::ReturnOp>(func.front().getTerminator());
    builder.setInsertionPoint(returnOp);
    unsigned next = fixedCount + oldCount;
    for (auto [index, result] : llvm::enumerate(returnOp.getOperands())) {
      auto tensor = dyn_cast<RankedTensorType>(result.getType());
      if (!tensor)
        memref::StoreOp::create(builder, loc, result, argument(next++),
                                ValueRange());
      else if (tensor.hasStaticShape())
        writeBuffer(builder, loc, result, argument(next++));
      else
        writeBuffer(builder, loc, result, dynamicOutput(index, result));
    }
    returnOp->setOperands({});
  }

  /// An argument that the program writes is a result to its caller: the callee
  /// works on the result's buffer, which starts as a copy.
  void updateCopies() {
    unsigned next = fixedCount + oldCount;
    for (const ValueSignature &output : signature.outputs) {
      Value from = input(output.updates), to = argument(next++);
      from.replaceAllUsesWith(to);
      linalg::CopyOp::create(builder, loc, from, to);
    }
  }

  /// Asks the runtime for a buffer, now that the sizes are known.
  Value dynamicOutput(size_t index, Value result) {
    auto tensor = cast<RankedTensorType>(result.getType());
    auto sizesType = MemRefType::get({tensor.getRank()}, builder.getI64Type());
    Value sizes = memref::AllocaOp::create(builder, loc, sizesType);
    SmallVector<Value> dynamicSizes;
    for (int64_t i = 0; i < tensor.getRank(); ++i) {
      Value size = tensor::DimOp::create(builder, loc, result, i);
      if (tensor.isDynamicDim(i))
        dynamicSizes.push_back(size);
      Value number =
          arith::IndexCastOp::create(builder, loc, builder.getI64Type(), size);
      Value at = arith::ConstantIndexOp::create(builder, loc, i);
      memref::StoreOp::create(builder, loc, number, sizes, at);
    }
    Value number = arith::ConstantOp::create(builder, loc,
                                             builder.getI64IntegerAttr(index));
    Value anySizes = memref::CastOp::create(
        builder, loc,
        MemRefType::get({ShapedType::kDynamic}, builder.getI64Type()), sizes);
    auto call = func::CallOp::create(builder, loc, "attune_rt_output",
                                     TypeRange{builder.getI64Type()},
                                     ValueRange{number, anySizes});
    Value bytes = bufferAt(call.getResult(0));
    Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
    return memref::ViewOp::create(builder, loc, bufferType(tensor), bytes, zero,
                                  dynamicSizes);
  }

  /// A memref<?xi8> at an address, made by hand: a buffer that came from a call
  /// would count as ours to free.
  Value bufferAt(Value address) {
    MLIRContext *context = func.getContext();
    auto pointer = LLVM::LLVMPointerType::get(context);
    Type i64 = builder.getI64Type();
    auto array = LLVM::LLVMArrayType::get(i64, 1);
    auto type = LLVM::LLVMStructType::getLiteral(
        context, {pointer, pointer, i64, array, array});
    Value data = LLVM::IntToPtrOp::create(builder, loc, pointer, address);
    auto number = [&](int64_t value) -> Value {
      return LLVM::ConstantOp::create(builder, loc, i64,
                                      builder.getI64IntegerAttr(value));
    };
    Value descriptor = LLVM::UndefOp::create(builder, loc, type);
    auto set = [&](Value value, ArrayRef<int64_t> position) {
      descriptor = LLVM::InsertValueOp::create(builder, loc, descriptor, value,
                                               position);
    };
    set(data, {0});
    set(data, {1});
    set(number(0), {2});
    set(number(std::numeric_limits<int64_t>::max()), {3, 0});
    set(number(1), {4, 0});
    return UnrealizedConversionCastOp::create(builder, loc, bytesType(context),
                                              descriptor)
        .getResult(0);
  }

  void finish() {
    func.front().eraseArguments(0, oldCount);
    func.removeArgAttrsAttr();
    func.removeResAttrsAttr();
    func.setType(FunctionType::get(func.getContext(),
                                   TypeRange(func.front().getArguments()), {}));
    func->setAttr(LLVM::LLVMDialect::getEmitCWrapperAttrName(),
                  builder.getUnitAttr());
  }

  /// Weights, arena, prepacked.
  static constexpr unsigned fixedCount = 3;

  func::FuncOp func;
  const EntrySignature &signature;
  const WeightStore &weights;
  OpBuilder builder;
  Location loc;
  unsigned oldCount = 0;
};

/// Declares a function of the runtime.
void declare(ModuleOp module, StringRef name, TypeRange inputs,
             TypeRange results) {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto func = func::FuncOp::create(builder, module.getLoc(), name,
                                   builder.getFunctionType(inputs, results));
  func.setPrivate();
  if (!results.empty())
    func->setAttr(LLVM::LLVMDialect::getEmitCWrapperAttrName(),
                  builder.getUnitAttr());
}

/// Bodies of dispatches are compiled on their own; what stays is a declaration
/// on buffers, with further inputs for what is prepacked.
void declareDispatch(func::FuncOp func, const Prepack &prepack) {
  SmallVector<Type> types, all(func.getArgumentTypes());
  auto *destinations = all.end() - func.getNumResults();
  SmallVector<Type> packed;
  for (const std::string &text : prepack.types)
    packed.push_back(parseType(text, func.getContext()));
  all.insert(destinations, packed.begin(), packed.end());
  for (Type type : all) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    types.push_back(tensor ? Type(bufferType(tensor)) : type);
  }
  func.getBody().dropAllReferences();
  func.getBody().getBlocks().clear();
  func.removeArgAttrsAttr();
  func.removeResAttrsAttr();
  func.setType(FunctionType::get(func.getContext(), types, {}));
}

llvm::Error checkRanks(const EntrySignature &entry) {
  for (auto [role, values] : {std::pair("input", ArrayRef(entry.inputs)),
                              std::pair("output", ArrayRef(entry.outputs))})
    for (auto [index, value] : llvm::enumerate(values))
      if (value.type.shape.size() > ATTUNE_MAX_RANK)
        return makeError("'{0}': {1} {2} has {3} dimensions, and the C "
                         "interface describes up to {4}",
                         entry.name, role, index, value.type.shape.size(),
                         ATTUNE_MAX_RANK);
  return llvm::Error::success();
}

void numberDispatches(ModuleOp module, std::vector<std::string> &dispatches) {
  Builder builder(module.getContext());
  llvm::MapVector<StringRef, int32_t> numbers;
  module.walk([&](DispatchOp op) {
    auto [entry, fresh] = numbers.insert({op.getCallee(), numbers.size()});
    op->setAttr(attr::hook, builder.getI32IntegerAttr(entry->second));
    if (fresh)
      dispatches.push_back(op.getCallee().str());
  });
}

/// One function of the runtime for each element type that is captured: they
/// differ in nothing but their names and types.
void declareCaptures(ModuleOp module) {
  Builder builder(module.getContext());
  llvm::SetVector<Type> elements;
  module.walk([&](DispatchOp op) {
    op->setAttr(attr::capture, builder.getUnitAttr());
    for (Value input : op.getInputs())
      elements.insert(getElementTypeOrSelf(input.getType()));
  });
  Type i32 = builder.getI32Type();
  for (Type element : elements) {
    std::string name = captureFunctionName(element);
    declare(module, name, {i32, i32, UnrankedMemRefType::get(element, {})}, {});
    module.lookupSymbol(name)->setAttr(
        LLVM::LLVMDialect::getEmitCWrapperAttrName(), builder.getUnitAttr());
  }
}

} // namespace

llvm::Expected<std::vector<EntryLayout>>
bufferizeEntries(Program &program, bool capture,
                 const std::map<std::string, Prepack> &prepacks,
                 std::vector<std::string> &dispatches) {
  ModuleOp module = *program.module;
  MLIRContext *context = module.getContext();
  numberDispatches(module, dispatches);
  if (capture)
    declareCaptures(module);
  for (auto func : module.getOps<func::FuncOp>())
    if (func->hasAttr(attr::dispatch)) {
      auto found = prepacks.find(func.getName().str());
      declareDispatch(func,
                      found == prepacks.end() ? Prepack() : found->second);
    }
  Type i32 = IntegerType::get(context, 32), i64 = IntegerType::get(context, 64);
  declare(module, "attune_rt_begin", i32, {});
  declare(module, "attune_rt_end", i32, {});
  declare(module, "attune_rt_output",
          {i64, MemRefType::get({ShapedType::kDynamic}, i64)}, i64);

  std::vector<EntryLayout> layouts;
  SymbolTable symbols(module);
  for (const EntrySignature &entry : program.entries) {
    auto func = symbols.lookup<func::FuncOp>(entry.name);
    if (!func)
      return makeError("the program has no function '{0}'", entry.name);
    if (llvm::Error error = checkRanks(entry))
      return std::move(error);
    EntryLayout layout;
    layout.symbol = "attune_entry_" + std::to_string(layouts.size());
    std::string packer = "attune_prepack_" + std::to_string(layouts.size());
    if (llvm::Error error = EntryRewriter(func, entry, program.weights)
                                .run(prepacks, packer, layout.prepack))
      return std::move(error);
    func.setName(layout.symbol);
    func.setPublic();
    layouts.push_back(layout);
  }
  return layouts;
}

} // namespace attune::codegen
