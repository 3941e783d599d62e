//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Dispatch/Specialize.h"

#include "attune/Dialect/Attune.h"
#include "attune/Import/CleanUp.h"
#include "attune/Support/Error.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace attune {
namespace {

/// The argument types of a variant.
SmallVector<Type> variantTypes(func::FuncOp general,
                               ArrayRef<SizeRange> sizes) {
  SmallVector<Type> types;
  for (Type type : general.getArgumentTypes()) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor) {
      types.push_back(type);
      continue;
    }
    SmallVector<int64_t> shape(tensor.getShape());
    for (int64_t &size : shape)
      if (ShapedType::isDynamic(size)) {
        if (sizes.front().isOne())
          size = sizes.front().lower;
        sizes = sizes.drop_front();
      }
    types.push_back(tensor.clone(shape));
  }
  return types;
}

/// Gives the function these arguments; its body sees the old types.
void setArgumentTypes(func::FuncOp func, TypeRange types) {
  OpBuilder builder = OpBuilder::atBlockBegin(&func.front());
  for (auto [argument, type] : llvm::zip_equal(func.getArguments(), types)) {
    Type before = argument.getType();
    if (before == type)
      continue;
    argument.setType(type);
    auto cast =
        tensor::CastOp::create(builder, argument.getLoc(), before, argument);
    argument.replaceAllUsesExcept(cast, cast);
  }
  func.setType(
      FunctionType::get(func.getContext(), types, func.getResultTypes()));
}

/// Results whose sizes are known by now have static types.
void refineResults(func::FuncOp func) {
  auto returnOp = cast<func::ReturnOp>(func.front().getTerminator());
  for (OpOperand &operand : returnOp->getOpOperands())
    if (auto cast = operand.get().getDefiningOp<tensor::CastOp>())
      if (tensor::canFoldIntoConsumerOp(cast))
        operand.set(cast.getSource());
  func.setType(FunctionType::get(func.getContext(),
                                 TypeRange(func.getArguments()),
                                 returnOp.getOperandTypes()));
}

LogicalResult propagate(func::FuncOp func) {
  PassManager passes(func.getContext(), func.getOperationName());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  passes.addPass(createCanonicalizerPass());
  return passes.run(func);
}

llvm::Error describe(func::FuncOp func, const EntrySignature &general,
                     EntrySignature &variant) {
  variant = general;
  variant.name = func.getName().str();
  variant.variantOf = general.name;
  for (auto [values, types] :
       {std::pair(&variant.inputs, TypeRange(func.getArgumentTypes())),
        std::pair(&variant.outputs, TypeRange(func.getResultTypes()))})
    for (auto [value, type] : llvm::zip_equal(*values, types)) {
      auto signature = signatureOf(type);
      if (!signature)
        return signature.takeError();
      value.type = signature->type;
    }
  return llvm::Error::success();
}

/// `main_1_2_8` of `main` for `1,2..8`.
std::string variantName(StringRef entry, ArrayRef<SizeRange> sizes) {
  std::string name = entry.str();
  for (SizeRange range : sizes) {
    name += "_" + std::to_string(range.lower);
    if (!range.isOne())
      name += "_" + std::to_string(range.upper);
  }
  return name;
}

llvm::Error addVariant(Program &program, const EntrySignature &general,
                       ArrayRef<SizeRange> sizes) {
  ModuleOp module = *program.module;
  SymbolTable symbols(module);
  auto original = symbols.lookup<func::FuncOp>(general.name);
  auto func = cast<func::FuncOp>(original->clone());
  func.setName(variantName(general.name, sizes));
  // Behind those that were made before: they are tried in the module's order.
  Operation *after = original;
  for (const EntrySignature &known : program.entries)
    if (known.variantOf == general.name)
      after = symbols.lookup(known.name);
  symbols.insert(func, std::next(Block::iterator(after)));
  Builder builder(module.getContext());
  func->setAttr(attr::variantOf, builder.getStringAttr(general.name));
  func->setAttr(attr::sizes, builder.getStringAttr(toString(sizes)));
  setArgumentTypes(func, variantTypes(original, sizes));
  if (failed(propagate(func)))
    return makeError("{0}: '{1}' for sizes {2}: sizes cannot be put in; this "
                     "is a fault of Attune",
                     program.file, general.name, toString(sizes));
  refineResults(func);
  EntrySignature variant;
  if (llvm::Error error = describe(func, general, variant))
    return error;
  variant.sizes = sizes.vec();
  program.entries.push_back(std::move(variant));
  return llvm::Error::success();
}

} // namespace

llvm::Error specialize(Program &program, ArrayRef<EntrySizes> given) {
  std::vector<EntrySizes> sorted(given.begin(), given.end());
  sortSizes(sorted);
  bool changed = false;
  for (const EntrySizes &sizes : sorted) {
    const EntrySignature *found = program.findEntry(sizes.entry);
    if (!found || found->onBuffers ||
        found->openDimensions() != int64_t(sizes.sizes.size())) {
      program.notes.push_back(
          llvm::formatv("sizes {0} of '{1}' are not for this program",
                        toString(sizes.sizes), sizes.entry)
              .str());
      continue;
    }
    EntrySignature general = *found;
    if (llvm::Error error = addVariant(program, general, sizes.sizes))
      return error;
    changed = true;
  }
  // What is known now may fold what could not be folded before.
  return changed ? cleanUp(program) : llvm::Error::success();
}

} // namespace attune
