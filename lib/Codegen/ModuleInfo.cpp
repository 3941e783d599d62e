//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// The table in every library: module_info.h, as LLVM constants.

#include "Stages.h"
#include "attune/Runtime/module_info.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace attune::codegen {
namespace {

/// Builds the constants of one module's table.
class TableBuilder {
public:
  explicit TableBuilder(llvm::Module &module)
      : module(module), context(module.getContext()), builder(context) {}

  Constant *text(StringRef value) {
    return builder.CreateGlobalString(value, "attune.text", 0, &module);
  }
  Constant *i32(int64_t value) { return builder.getInt32(value); }
  Constant *i64(int64_t value) { return builder.getInt64(value); }

  /// A private array of equal constants, by address; null when empty.
  Constant *array(ArrayRef<Constant *> elements) {
    if (elements.empty())
      return ConstantPointerNull::get(builder.getPtrTy());
    auto *type = ArrayType::get(elements.front()->getType(), elements.size());
    return global(ConstantArray::get(type, elements));
  }

  GlobalVariable *global(Constant *value) {
    return new GlobalVariable(module, value->getType(), true,
                              GlobalValue::PrivateLinkage, value);
  }

  Constant *type(const TensorType &type) {
    SmallVector<Constant *> sizes;
    for (int64_t size : type.shape)
      sizes.push_back(i64(size));
    return ConstantStruct::getAnon({i32(static_cast<int>(type.type)),
                                    i32(type.shape.size()), array(sizes)});
  }

  Constant *numbers(ArrayRef<int32_t> values) {
    SmallVector<Constant *> elements;
    for (int32_t value : values)
      elements.push_back(i32(value));
    return array(elements);
  }

  Constant *types(ArrayRef<ValueSignature> values) {
    SmallVector<Constant *> elements;
    for (const ValueSignature &value : values)
      elements.push_back(type(value.type));
    return array(elements);
  }

  /// The least and the greatest size of each dimension of a variant's inputs;
  /// `general` is the entry that it is of.
  Constant *bounds(const EntrySignature &variant,
                   const EntrySignature &general) {
    SmallVector<Constant *> elements;
    const SizeRange *next = variant.sizes.data();
    for (const ValueSignature &input : general.inputs)
      for (int64_t size : input.type.shape) {
        SizeRange range = size < 0 ? *next++ : SizeRange{size, size};
        elements.push_back(i64(range.lower));
        elements.push_back(i64(range.upper));
      }
    return array(elements);
  }

  /// void attune.call.SYMBOL(ptr *descriptors): unpacks them into the arguments
  /// of the C wrapper that MLIR made. Null without a symbol.
  Constant *unpackingCall(StringRef symbol) {
    if (symbol.empty())
      return ConstantPointerNull::get(builder.getPtrTy());
    Function *callee = module.getFunction(("_mlir_ciface_" + symbol).str());
    auto *function = Function::Create(
        FunctionType::get(builder.getVoidTy(), {builder.getPtrTy()}, false),
        GlobalValue::PrivateLinkage, "attune.call." + symbol, module);
    builder.SetInsertPoint(BasicBlock::Create(context, "entry", function));
    SmallVector<Value *> arguments;
    for (unsigned i = 0; i < callee->arg_size(); ++i)
      arguments.push_back(builder.CreateLoad(
          builder.getPtrTy(), builder.CreateConstGEP1_64(
                                  builder.getPtrTy(), function->getArg(0), i)));
    builder.CreateCall(callee, arguments);
    builder.CreateRetVoid();
    return function;
  }

private:
  llvm::Module &module;
  LLVMContext &context;
  IRBuilder<> builder;
};

json::Array typeTexts(ArrayRef<ValueSignature> values) {
  json::Array array;
  for (const ValueSignature &value : values)
    array.push_back(json::Object{{"type", toString(value.type)}});
  return array;
}

std::string signature(const Program &program, ArrayRef<std::string> dispatches,
                      ArrayRef<LoweredDispatch> lowered, int threads) {
  json::Array made;
  for (const LoweredDispatch &dispatch : lowered)
    made.push_back(json::Object{{"name", dispatch.name},
                                {"how", dispatch.how},
                                {"code", dispatch.code}});
  json::Array entries;
  std::vector<EntrySizes> variants;
  for (const EntrySignature &entry : program.entries)
    if (entry.isVariant())
      variants.push_back({entry.variantOf, entry.sizes});
    else
      entries.push_back(json::Object{{"name", entry.name},
                                     {"inputs", typeTexts(entry.inputs)},
                                     {"outputs", typeTexts(entry.outputs)}});
  std::string text;
  raw_string_ostream(text) << json::Value(
      json::Object{{"version", 1},
                   {"entries", std::move(entries)},
                   {"variants", toJSON(variants)},
                   {"dispatches", json::Array(dispatches)},
                   {"lowered", std::move(made)},
                   {"threads", threads}});
  return text;
}

} // namespace

void addModuleInfo(llvm::Module &module, const Program &program,
                   ArrayRef<EntryLayout> layouts,
                   ArrayRef<std::string> dispatches,
                   ArrayRef<LoweredDispatch> lowered, int threads) {
  TableBuilder table(module);
  SmallVector<Constant *> entries;
  auto *pointer = PointerType::get(module.getContext(), 0);
  for (auto [entry, layout] : zip_equal(program.entries, layouts)) {
    const EntrySignature *general =
        entry.isVariant() ? program.findEntry(entry.variantOf) : nullptr;
    entries.push_back(ConstantStruct::getAnon(
        {table.text(general ? general->name : entry.name),
         table.unpackingCall(layout.symbol),
         table.unpackingCall(layout.prepack.symbol),
         table.i64(layout.arenaBytes), table.i64(layout.prepack.bytes),
         table.numbers(layout.prepack.inputs),
         table.i32(layout.prepack.inputs.size()),
         table.i32(entry.inputs.size()), table.i32(entry.outputs.size()),
         table.types(entry.inputs), table.types(entry.outputs),
         general ? table.bounds(entry, *general)
                 : ConstantPointerNull::get(pointer)}));
  }
  int64_t weightBytes = program.weights.blobBytes();
  Constant *weights = ConstantPointerNull::get(pointer);
  if (weightBytes) {
    auto *blob = new GlobalVariable(
        module, Type::getInt8Ty(module.getContext()), true,
        GlobalValue::ExternalLinkage, nullptr, "attune_weights");
    blob->setVisibility(GlobalValue::HiddenVisibility);
    weights = blob;
  }
  Constant *info = ConstantStruct::getAnon(
      {table.i32(ATTUNE_MODULE_INFO_VERSION), table.i32(entries.size()),
       table.array(entries),
       table.text(signature(program, dispatches, lowered, threads)), weights,
       table.i64(weightBytes), table.i32(dispatches.size()),
       table.i32(threads)});
  auto *global = new GlobalVariable(module, info->getType(), true,
                                    GlobalValue::ExternalLinkage, info,
                                    "attune_module_info");
  global->setVisibility(GlobalValue::HiddenVisibility);
}

} // namespace attune::codegen
