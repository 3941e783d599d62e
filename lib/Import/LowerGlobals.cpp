//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// ml_program.global: what never changes is a constant; what does (the seed of a
// random generator) is a memref.global, which lives as long as the library is
// loaded.

#include "Steps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/MLProgram/IR/MLProgram.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace attune;
using namespace attune::import;
using llvm::Error;

namespace {

/// One ml_program.global and what becomes of it.
struct Global {
  ml_program::GlobalOp op;
  ElementsAttr value;
  RankedTensorType type;
  SmallVector<Operation *> loads, stores;
};

class GlobalLowering {
public:
  explicit GlobalLowering(Program &program)
      : program(program), symbols(*program.module) {}
  Error run();

private:
  Error collect();
  Error read(Global &global);
  void inlineConstant(Global &global);
  void makeVariable(Global &global);
  void lowerLoad(Operation *load, memref::GlobalOp variable);
  void lowerStore(Operation *store, memref::GlobalOp variable);

  Program &program;
  SymbolTable symbols;
  llvm::MapVector<StringAttr, Global> globals;
};

} // namespace

static StringAttr globalName(Operation *op) {
  SymbolRefAttr name = op->getAttrOfType<SymbolRefAttr>("global");
  return name ? name.getRootReference() : StringAttr();
}

Error GlobalLowering::collect() {
  program.module->walk(
      [&](ml_program::GlobalOp op) { globals[op.getSymNameAttr()].op = op; });
  Operation *unknown = nullptr;
  program.module->walk([&](Operation *op) {
    bool isLoad =
        isa<ml_program::GlobalLoadOp, ml_program::GlobalLoadConstOp>(op);
    if (!isLoad && !isa<ml_program::GlobalStoreOp>(op))
      return;
    auto found = globals.find(globalName(op));
    if (found == globals.end())
      unknown = op;
    else
      (isLoad ? found->second.loads : found->second.stores).push_back(op);
  });
  if (unknown)
    return errorAt(unknown, program.file,
                   "{0} names a global that is not there", unknown->getName());
  return Error::success();
}

Error GlobalLowering::read(Global &global) {
  auto name = global.op.getSymName();
  global.value = dyn_cast_or_null<ElementsAttr>(global.op.getValueAttr());
  Type type = global.op.getType();
  global.type = dyn_cast<RankedTensorType>(type);
  if (!global.type && (type.isIntOrIndexOrFloat()))
    global.type = RankedTensorType::get({}, type);
  if (!global.value)
    if (auto scalar = dyn_cast_or_null<TypedAttr>(global.op.getValueAttr()))
      if (scalar.getType().isIntOrIndexOrFloat())
        global.value = DenseElementsAttr::get(global.type, Attribute(scalar));
  if (!global.type || !global.type.hasStaticShape())
    return errorAt(
        global.op, program.file,
        "global @{0} has type {1}; a global must have a static shape", name,
        type);
  if (!global.value)
    return errorAt(global.op, program.file,
                   "global @{0} has no value in this file; give it one", name);
  return Error::success();
}

void GlobalLowering::inlineConstant(Global &global) {
  for (Operation *load : global.loads) {
    OpBuilder builder(load);
    Type type = load->getResult(0).getType();
    TypedAttr value = cast<TypedAttr>(Attribute(global.value));
    if (!isa<ShapedType>(type))
      value = cast<TypedAttr>(*global.value.getValues<Attribute>().begin());
    load->getResult(0).replaceAllUsesWith(
        arith::ConstantOp::create(builder, load->getLoc(), value));
    load->erase();
  }
}

/// The value is copied out at the load: a later store must not change it.
void GlobalLowering::lowerLoad(Operation *load, memref::GlobalOp variable) {
  OpBuilder builder(load);
  Location loc = load->getLoc();
  auto buffer = memref::GetGlobalOp::create(builder, loc, variable.getType(),
                                            variable.getSymName());
  Type type = load->getResult(0).getType();
  Value value;
  if (variable.getType().getRank() == 0) {
    value = memref::LoadOp::create(builder, loc, buffer, ValueRange());
    if (isa<RankedTensorType>(type))
      value = tensor::FromElementsOp::create(builder, loc, type, value);
  } else {
    Value view = bufferization::ToTensorOp::create(builder, loc, type, buffer,
                                                   /*restrict=*/true);
    value = bufferization::AllocTensorOp::create(
        builder, loc, cast<RankedTensorType>(type), ValueRange(), view);
  }
  load->getResult(0).replaceAllUsesWith(value);
  load->erase();
}

void GlobalLowering::lowerStore(Operation *store, memref::GlobalOp variable) {
  OpBuilder builder(store);
  Location loc = store->getLoc();
  auto buffer = memref::GetGlobalOp::create(builder, loc, variable.getType(),
                                            variable.getSymName());
  Value value = cast<ml_program::GlobalStoreOp>(store).getValue();
  if (variable.getType().getRank() == 0) {
    if (isa<RankedTensorType>(value.getType()))
      value = tensor::ExtractOp::create(builder, loc, value, ValueRange());
    memref::StoreOp::create(builder, loc, value, buffer, ValueRange());
  } else {
    auto write = bufferization::MaterializeInDestinationOp::create(
        builder, loc, Type(), value, buffer);
    write.setRestrict(true);
    write.setWritable(true);
  }
  store->erase();
}

void GlobalLowering::makeVariable(Global &global) {
  OpBuilder builder(global.op);
  auto type =
      MemRefType::get(global.type.getShape(), global.type.getElementType());
  std::string name = (global.op.getSymName() + "_state").str();
  auto variable = memref::GlobalOp::create(
      builder, global.op.getLoc(), name, builder.getStringAttr("private"), type,
      global.value, /*constant=*/false, /*alignment=*/IntegerAttr());
  symbols.insert(variable);
  for (Operation *load : global.loads)
    lowerLoad(load, variable);
  for (Operation *store : global.stores)
    lowerStore(store, variable);
  program.notes.push_back(
      llvm::formatv("@{0} keeps its value from one call to the next",
                    global.op.getSymName())
          .str());
}

Error GlobalLowering::run() {
  if (Error error = collect())
    return error;
  for (auto &[name, global] : globals) {
    if (!global.loads.empty() || !global.stores.empty()) {
      if (Error error = read(global))
        return error;
      if (global.stores.empty())
        inlineConstant(global);
      else
        makeVariable(global);
    }
    global.op.erase();
  }
  return Error::success();
}

Error import::lowerGlobals(Program &program) {
  return GlobalLowering(program).run();
}
