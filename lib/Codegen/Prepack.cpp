//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Prepack.h"

#include "Bufferize.h"
#include "attune/Dialect/Transforms.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace attune::codegen {

llvm::json::Value toJSON(const Prepack &prepack) {
  return llvm::json::Object{{"constants", prepack.constants},
                            {"types", prepack.types}};
}

bool fromJSON(const llvm::json::Value &value, Prepack &prepack,
              llvm::json::Path path) {
  llvm::json::ObjectMapper map(value, path);
  return map && map.map("constants", prepack.constants) &&
         map.map("types", prepack.types);
}

std::string prepackName(llvm::StringRef dispatch) {
  return (dispatch + "_prepack").str();
}

//===----------------------------------------------------------------------===//
// The dispatch
//===----------------------------------------------------------------------===//

namespace {

bool isView(Operation *op) {
  return isa_and_nonnull<tensor::ExtractSliceOp, tensor::ExpandShapeOp,
                         tensor::CollapseShapeOp, tensor::CastOp>(op);
}

/// Everything an op reads, its regions included.
llvm::SetVector<Value> usedValues(Operation *op) {
  llvm::SetVector<Value> used(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), used);
  return used;
}

/// Whether a value or a view of it is written over where it lies: it would be
/// copied in every call, instead of being made in every call.
bool isOverwritten(Value value) {
  return llvm::any_of(value.getUses(), [](OpOperand &use) {
    Operation *user = use.getOwner();
    if (isView(user))
      return isOverwritten(user->getResult(0));
    if (auto op = dyn_cast<DestinationStyleOpInterface>(user))
      return op.isDpsInit(&use);
    if (auto loop = dyn_cast<LoopLikeOpInterface>(user))
      return llvm::is_contained(loop.getInits(), use.get());
    return user->hasTrait<OpTrait::IsTerminator>();
  });
}

/// Splits one function. See splitPrepack.
class PrepackSplitter {
public:
  explicit PrepackSplitter(func::FuncOp func)
      : func(func), body(func.front()),
        inputCount(func.getNumArguments() - func.getNumResults()) {}

  Prepack run() {
    findConstantOps();
    findRoots();
    Prepack prepack;
    if (roots.empty())
      return prepack;
    for (Value root : roots)
      prepack.types.push_back(textOf(root.getType()));
    llvm::SetVector<Operation *> slice;
    for (Value root : roots)
      addSlice(root, slice);
    prepack.constants = argumentsOf(slice);
    build(prepack, slice);
    readPrepacked();
    return prepack;
  }

private:
  bool isConstant(Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value))
      return argument.getOwner() == &body &&
             func.getArgAttr(argument.getArgNumber(), attr::constant);
    return constantOps.contains(value.getDefiningOp());
  }

  /// Ops at the top that give the same in every call.
  void findConstantOps() {
    for (Operation &op : body.without_terminator())
      if (isMemoryEffectFree(&op) &&
          llvm::all_of(usedValues(&op), [&](Value v) { return isConstant(v); }))
        constantOps.insert(&op);
  }

  /// What the other ops read of these, views taken off, if packing it once is
  /// worth the memory.
  void findRoots() {
    for (Operation &op : body) {
      if (constantOps.contains(&op))
        continue;
      for (Value value : usedValues(&op)) {
        if (!isConstant(value))
          continue;
        while (isView(value.getDefiningOp()))
          value = value.getDefiningOp()->getOperand(0);
        if (isWorthwhile(value))
          roots.insert(value);
      }
    }
  }

  bool isWorthwhile(Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type || !type.hasStaticShape() || isa<BlockArgument>(value) ||
        !type.getElementType().isIntOrFloat() || isOverwritten(value))
      return false;
    llvm::SetVector<Operation *> slice;
    addSlice(value, slice);
    int64_t constantElements = 0;
    for (int64_t number : argumentsOf(slice)) {
      auto from = dyn_cast<RankedTensorType>(func.getArgumentTypes()[number]);
      if (from && from.hasStaticShape())
        constantElements += from.getNumElements();
    }
    // What was made larger, a bias for every row, is cheaper to make again
    // than to read.
    return type.getNumElements() <= 2 * constantElements;
  }

  /// The ops that make `value`, in their order once `slice` is sorted.
  void addSlice(Value value, llvm::SetVector<Operation *> &slice) {
    Operation *op = value.getDefiningOp();
    if (!op || slice.contains(op))
      return;
    for (Value used : usedValues(op))
      addSlice(used, slice);
    slice.insert(op);
  }

  std::vector<int64_t> argumentsOf(const llvm::SetVector<Operation *> &slice) {
    llvm::SmallSetVector<int64_t, 4> numbers;
    for (Operation *op : slice)
      for (Value value : usedValues(op))
        if (auto argument = dyn_cast<BlockArgument>(value))
          numbers.insert(argument.getArgNumber());
    std::vector<int64_t> sorted(numbers.begin(), numbers.end());
    llvm::sort(sorted);
    return sorted;
  }

  static std::string textOf(Type type) {
    std::string text;
    llvm::raw_string_ostream(text) << type;
    return text;
  }

  /// In destination-passing style, as dispatches are.
  void build(const Prepack &prepack,
             const llvm::SetVector<Operation *> &slice) {
    SmallVector<Type> types;
    for (int64_t number : prepack.constants)
      types.push_back(func.getArgumentTypes()[number]);
    SmallVector<Type> results(ValueRange(roots.getArrayRef()).getTypes());
    llvm::append_range(types, results);
    OpBuilder builder(func);
    builder.setInsertionPointAfter(func);
    auto made = func::FuncOp::create(builder, func.getLoc(),
                                     prepackName(func.getName()),
                                     builder.getFunctionType(types, results));
    IRMapping mapping;
    Block *block = made.addEntryBlock();
    for (auto [index, number] : llvm::enumerate(prepack.constants))
      mapping.map(body.getArgument(number), block->getArgument(index));
    builder.setInsertionPointToEnd(block);
    for (Operation *op : slice)
      builder.clone(*op, mapping);
    SmallVector<Value> values;
    for (Value root : roots)
      values.push_back(mapping.lookup(root));
    func::ReturnOp::create(builder, func.getLoc(), values);
  }

  void readPrepacked() {
    for (auto [index, value] : llvm::enumerate(roots)) {
      Value root = value;
      unsigned number = inputCount + index;
      (void)func.insertArgument(number, root.getType(), {}, func.getLoc());
      root.replaceAllUsesWith(body.getArgument(number));
    }
    // Iterators of the reversed range stand on the op that is erased.
    Operation *op = body.getTerminator()->getPrevNode();
    while (op) {
      Operation *before = op->getPrevNode();
      if (isOpTriviallyDead(op))
        op->erase();
      op = before;
    }
  }

  func::FuncOp func;
  Block &body;
  unsigned inputCount;
  llvm::DenseSet<Operation *> constantOps;
  llvm::SetVector<Value> roots;
};

} // namespace

Prepack splitPrepack(func::FuncOp func) { return PrepackSplitter(func).run(); }

//===----------------------------------------------------------------------===//
// Its callers
//===----------------------------------------------------------------------===//

/// The weight or the input of its entry that an input of a dispatch is; null:
/// neither.
static Value findConstant(Value value) {
  Value source = skipReshapes(value);
  if (source.getDefiningOp<WeightOp>())
    return source;
  auto argument = dyn_cast<BlockArgument>(value);
  bool isInput = argument && argument.getOwner()->isEntryBlock() &&
                 isa<func::FuncOp>(argument.getOwner()->getParentOp());
  return isInput ? value : Value();
}

void dropUnknownConstants(ModuleOp module) {
  SymbolTable symbols(module);
  module.walk([&](DispatchOp op) {
    auto func = symbols.lookup<func::FuncOp>(op.getCallee());
    for (auto [index, input] : llvm::enumerate(op.getInputs()))
      if (func && func.getArgAttr(index, attr::constant) &&
          !findConstant(input))
        func.removeArgAttr(index, attr::constant);
  });
}

namespace {

/// Rewrites one entry. See addPrepackedInputs.
class PrepackCaller {
public:
  PrepackCaller(func::FuncOp entry, Value block,
                const std::map<std::string, Prepack> &dispatches,
                llvm::function_ref<int64_t(WeightOp)> weightOffset)
      : entry(entry), block(block), dispatches(dispatches),
        weightOffset(weightOffset), atStart(entry.getContext()) {
    atStart.setInsertionPointToStart(&entry.front());
  }

  PrepackLayout run(llvm::StringRef symbol) {
    SmallVector<DispatchOp> ops;
    entry.walk([&](DispatchOp op) {
      auto found = dispatches.find(op.getCallee().str());
      if (found != dispatches.end() && !found->second.empty())
        ops.push_back(op);
    });
    if (ops.empty())
      return layout;
    layout.symbol = symbol;
    findInputs(ops);
    declare();
    for (DispatchOp op : ops)
      op.getInputsMutable().append(packedFor(op));
    OpBuilder end = OpBuilder::atBlockEnd(&packer.front());
    func::ReturnOp::create(end, entry.getLoc());
    return layout;
  }

private:
  const Prepack &prepackOf(DispatchOp op) const {
    return dispatches.at(op.getCallee().str());
  }

  /// Inputs of the entry that are packed.
  void findInputs(ArrayRef<DispatchOp> ops) {
    llvm::SmallSetVector<int32_t, 4> numbers;
    for (DispatchOp op : ops)
      for (int64_t number : prepackOf(op).constants)
        if (auto argument =
                dyn_cast<BlockArgument>(findConstant(op.getInputs()[number])))
          numbers.insert(argument.getArgNumber());
    layout.inputs.assign(numbers.begin(), numbers.end());
  }

  void declare() {
    SmallVector<Type> types = {block.getType(), block.getType()};
    for (int32_t number : layout.inputs)
      types.push_back(bufferType(
          cast<RankedTensorType>(entry.front().getArgument(number).getType())));
    OpBuilder builder(entry);
    packer = func::FuncOp::create(builder, entry.getLoc(), layout.symbol,
                                  builder.getFunctionType(types, {}));
    packer->setAttr(LLVM::LLVMDialect::getEmitCWrapperAttrName(),
                    builder.getUnitAttr());
    packer.addEntryBlock();
  }

  Value viewOf(OpBuilder &builder, Value bytes, int64_t offset,
               RankedTensorType type) {
    Value at = arith::ConstantIndexOp::create(builder, entry.getLoc(), offset);
    return memref::ViewOp::create(builder, entry.getLoc(), bufferType(type),
                                  bytes, at, ValueRange());
  }

  /// A constant input of a dispatch, in the function that packs.
  Value constantFor(OpBuilder &builder, Value input) {
    Value source = findConstant(input);
    auto type = cast<RankedTensorType>(input.getType());
    if (auto weight = source.getDefiningOp<WeightOp>())
      return viewOf(builder, packer.getArgument(0), weightOffset(weight), type);
    int32_t number = cast<BlockArgument>(source).getArgNumber();
    auto place = llvm::find(layout.inputs, number);
    return packer.getArgument(2 + (place - layout.inputs.begin()));
  }

  /// Weights from 0 on, inputs of the entry below.
  static int64_t numberOf(Value constant) {
    if (auto weight = constant.getDefiningOp<WeightOp>())
      return weight.getIndex();
    return -1 - int64_t(cast<BlockArgument>(constant).getArgNumber());
  }

  /// What a call of a dispatch reads; calls with the same weights share it.
  SmallVector<Value> packedFor(DispatchOp op) {
    const Prepack &prepack = prepackOf(op);
    SmallVector<int64_t> key;
    for (int64_t number : prepack.constants)
      key.push_back(numberOf(findConstant(op.getInputs()[number])));
    for (auto &[callee, constants, values] : known)
      if (callee == op.getCallee() && constants == key)
        return values;
    OpBuilder builder = OpBuilder::atBlockEnd(&packer.front());
    SmallVector<Value> arguments, values;
    for (int64_t number : prepack.constants)
      arguments.push_back(constantFor(builder, op.getInputs()[number]));
    for (const std::string &text : prepack.types) {
      auto type = cast<RankedTensorType>(parseType(text, entry.getContext()));
      layout.bytes = llvm::alignTo(layout.bytes, 64);
      arguments.push_back(
          viewOf(builder, packer.getArgument(1), layout.bytes, type));
      values.push_back(readBuffer(atStart, entry.getLoc(),
                                  viewOf(atStart, block, layout.bytes, type),
                                  type, Access::Read));
      layout.bytes += type.getNumElements() *
                      llvm::divideCeil(type.getElementTypeBitWidth(), 8);
    }
    std::string callee = prepackName(op.getCallee());
    declarePrepack(callee, ValueRange(arguments).getTypes());
    func::CallOp::create(builder, entry.getLoc(), callee, TypeRange(),
                         arguments);
    known.push_back({op.getCallee().str(), key, values});
    return values;
  }

  void declarePrepack(llvm::StringRef name, TypeRange types) {
    auto module = entry->getParentOfType<ModuleOp>();
    if (module.lookupSymbol(name))
      return;
    OpBuilder end = OpBuilder::atBlockEnd(module.getBody());
    func::FuncOp::create(end, entry.getLoc(), name,
                         end.getFunctionType(types, {}))
        .setPrivate();
  }

  struct Known {
    std::string callee;
    SmallVector<int64_t> constants;
    SmallVector<Value> values;
  };

  func::FuncOp entry;
  Value block;
  const std::map<std::string, Prepack> &dispatches;
  llvm::function_ref<int64_t(WeightOp)> weightOffset;
  OpBuilder atStart;
  func::FuncOp packer;
  PrepackLayout layout;
  std::vector<Known> known;
};

} // namespace

PrepackLayout
addPrepackedInputs(func::FuncOp entry, Value block, llvm::StringRef symbol,
                   const std::map<std::string, Prepack> &dispatches,
                   llvm::function_ref<int64_t(WeightOp)> weightOffset) {
  return PrepackCaller(entry, block, dispatches, weightOffset).run(symbol);
}

} // namespace attune::codegen
