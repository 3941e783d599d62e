//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// In memory every element takes whole bytes, an i1 or i4 one: so users pass
// them, and so scalar code reads them. LLVM packs vectors of them into bits,
// so that vectors must pass through vectors of bytes.

#include "Stages.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace attune::codegen {
namespace {

/// The bytes in which the elements of `type` live; null if they fill theirs.
Type storageOf(Type element) {
  auto integer = dyn_cast<IntegerType>(element);
  if (!integer || integer.getWidth() % 8 == 0 || integer.getWidth() > 8)
    return {};
  return IntegerType::get(element.getContext(), 8);
}

/// The same buffer, seen as bytes: both become the same descriptor in LLVM.
Value asBytes(OpBuilder &builder, Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  Type bytes = MemRefType::Builder(type).setElementType(
      storageOf(type.getElementType()));
  return UnrealizedConversionCastOp::create(builder, buffer.getLoc(), bytes,
                                            buffer)
      .getResult(0);
}

VectorType withElement(VectorType type, Type element) {
  return VectorType::get(type.getShape(), element, type.getScalableDims());
}

bool touchesNarrow(Value buffer, Type moved) {
  auto type = dyn_cast<MemRefType>(buffer.getType());
  auto vector = dyn_cast<VectorType>(moved);
  return type && vector && storageOf(type.getElementType()) &&
         type.getElementType() == vector.getElementType();
}

Value widen(OpBuilder &builder, Location loc, Value narrow, Type type) {
  return arith::ExtUIOp::create(builder, loc, type, narrow);
}

void readThroughBytes(Operation *op, OpOperand &buffer, OpOperand *other) {
  OpBuilder builder(op);
  Location loc = op->getLoc();
  auto type = cast<VectorType>(op->getResult(0).getType());
  VectorType bytes = withElement(type, builder.getI8Type());
  buffer.set(asBytes(builder, buffer.get()));
  if (other) { // the padding, or what masked-off lanes get
    bool vector = isa<VectorType>(other->get().getType());
    other->set(widen(builder, loc, other->get(),
                     vector ? Type(bytes) : builder.getI8Type()));
  }
  op->getResult(0).setType(bytes);
  builder.setInsertionPointAfter(op);
  auto back = arith::TruncIOp::create(builder, loc, type, op->getResult(0));
  op->getResult(0).replaceAllUsesExcept(back, back);
}

void writeThroughBytes(Operation *op, OpOperand &buffer, OpOperand &value) {
  OpBuilder builder(op);
  auto type = cast<VectorType>(value.get().getType());
  value.set(widen(builder, op->getLoc(), value.get(),
                  withElement(type, builder.getI8Type())));
  buffer.set(asBytes(builder, buffer.get()));
}

} // namespace

void moveNarrowVectorsAsBytes(Operation *root) {
  SmallVector<Operation *> ops;
  root->walk([&](Operation *op) { ops.push_back(op); });
  for (Operation *op : ops) {
    if (auto read = dyn_cast<vector::TransferReadOp>(op)) {
      if (touchesNarrow(read.getBase(), read.getType()))
        readThroughBytes(op, read.getBaseMutable(), &read.getPaddingMutable());
    } else if (auto write = dyn_cast<vector::TransferWriteOp>(op)) {
      if (touchesNarrow(write.getBase(), write.getVectorType()))
        writeThroughBytes(op, write.getBaseMutable(),
                          write.getValueToStoreMutable());
    } else if (auto load = dyn_cast<vector::LoadOp>(op)) {
      if (touchesNarrow(load.getBase(), load.getType()))
        readThroughBytes(op, load.getBaseMutable(), nullptr);
    } else if (auto store = dyn_cast<vector::StoreOp>(op)) {
      if (touchesNarrow(store.getBase(), store.getVectorType()))
        writeThroughBytes(op, store.getBaseMutable(),
                          store.getValueToStoreMutable());
    } else if (auto load = dyn_cast<vector::MaskedLoadOp>(op)) {
      if (touchesNarrow(load.getBase(), load.getType()))
        readThroughBytes(op, load.getBaseMutable(), &load.getPassThruMutable());
    } else if (auto store = dyn_cast<vector::MaskedStoreOp>(op)) {
      if (touchesNarrow(store.getBase(), store.getVectorType()))
        writeThroughBytes(op, store.getBaseMutable(),
                          store.getValueToStoreMutable());
    } else if (auto gather = dyn_cast<vector::GatherOp>(op)) {
      if (touchesNarrow(gather.getBase(), gather.getType()))
        readThroughBytes(op, gather.getBaseMutable(),
                         &gather.getPassThruMutable());
    } else if (auto scatter = dyn_cast<vector::ScatterOp>(op)) {
      if (touchesNarrow(scatter.getBase(), scatter.getVectorType()))
        writeThroughBytes(op, scatter.getBaseMutable(),
                          scatter.getValueToStoreMutable());
    }
  }
}

} // namespace attune::codegen
