//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Functions on memrefs become functions on tensors, if they are a straight line
// of linalg ops and views: every buffer has a current value, a write replaces
// it. An argument that is written is then an input and, with its new contents,
// a result.

#include "Steps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace attune;
using namespace attune::import;
using llvm::Error;

static bool isMemRef(Type type) { return isa<BaseMemRefType>(type); }

static RankedTensorType tensorOf(Type type) {
  auto memref = cast<MemRefType>(type);
  return RankedTensorType::get(memref.getShape(), memref.getElementType());
}

static bool touchesMemRefs(Operation *op) {
  return llvm::any_of(op->getOperandTypes(), isMemRef) ||
         llvm::any_of(op->getResultTypes(), isMemRef);
}

//===----------------------------------------------------------------------===//
// What can be lifted
//===----------------------------------------------------------------------===//

/// In a body, only reads of buffers from outside.
static bool canLiftBody(Operation *op) {
  return !op->walk([&](Operation *inner) {
              if (inner != op && touchesMemRefs(inner) &&
                  !isa<memref::LoadOp, memref::DimOp>(inner))
                return WalkResult::interrupt();
              return WalkResult::advance();
            }).wasInterrupted();
}

static bool isConstantGlobal(memref::GetGlobalOp op) {
  auto global = SymbolTable::lookupNearestSymbolFrom<memref::GlobalOp>(
      op, op.getNameAttr());
  return global && global.getConstant() && global.getInitialValue() &&
         isa<ElementsAttr>(*global.getInitialValue());
}

static bool canLift(Operation *op) {
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return (linalgOp.hasPureBufferSemantics() ||
            linalgOp.hasPureTensorSemantics()) &&
           canLiftBody(op);
  if (auto get = dyn_cast<memref::GetGlobalOp>(op))
    return isConstantGlobal(get);
  if (isa<memref::AllocOp, memref::AllocaOp, memref::DeallocOp, memref::CopyOp,
          memref::SubViewOp, memref::CollapseShapeOp, memref::ExpandShapeOp,
          memref::CastOp, memref::DimOp, memref::LoadOp, memref::StoreOp,
          bufferization::ToTensorOp, bufferization::ToBufferOp, func::ReturnOp>(
          op))
    return true;
  // Everything else may only be there if it has nothing to do with buffers.
  return !touchesMemRefs(op) && canLiftBody(op) &&
         !op->walk([](memref::LoadOp) {
              return WalkResult::interrupt();
            }).wasInterrupted();
}

static bool hasBufferSignature(func::FuncOp function) {
  return llvm::any_of(function.getArgumentTypes(), isMemRef) ||
         llvm::any_of(function.getResultTypes(), isMemRef);
}

static bool canLift(func::FuncOp function) {
  auto ranked = [](Type type) { return !isa<UnrankedMemRefType>(type); };
  return function.getBody().hasOneBlock() &&
         llvm::all_of(function.getArgumentTypes(), ranked) &&
         llvm::all_of(function.getBody().front(),
                      [](Operation &op) { return canLift(&op); });
}

//===----------------------------------------------------------------------===//
// Lifting
//===----------------------------------------------------------------------===//

namespace {

class Lifter {
public:
  explicit Lifter(func::FuncOp function)
      : function(function), builder(function.getContext()) {}
  /// The numbers of the arguments that are written; their new contents are the
  /// last results.
  SmallVector<unsigned> lift();

private:
  Value read(Value buffer);
  void write(Value buffer, Value contents);
  Value viewOf(Operation *view, Value source);
  Value putBack(Operation *view, Value source, Value contents);

  void lift(Operation *op);
  void liftLinalg(linalg::LinalgOp op);
  void liftPlain(Operation *op);
  void liftReturn(func::ReturnOp op);
  void remapBody(Operation *op);
  SmallVector<OpFoldResult> remap(ArrayRef<OpFoldResult> values) {
    return llvm::map_to_vector(values, [&](OpFoldResult value) {
      auto dynamic = dyn_cast<Value>(value);
      return dynamic ? OpFoldResult(map.lookupOrDefault(dynamic)) : value;
    });
  }
  SmallVector<Value> remap(ValueRange values) {
    return llvm::map_to_vector(
        values, [&](Value value) { return map.lookupOrDefault(value); });
  }

  func::FuncOp function;
  OpBuilder builder;
  /// Values that are no buffers, old to new.
  IRMapping map;
  /// The current contents of buffers that are not views.
  llvm::DenseMap<Value, Value> contents;
  llvm::SetVector<Value> written;
  SmallVector<unsigned> writtenArguments;
};

} // namespace

static bool isView(Operation *op) {
  return isa_and_nonnull<memref::SubViewOp, memref::CollapseShapeOp,
                         memref::ExpandShapeOp, memref::CastOp>(op);
}

Value Lifter::read(Value buffer) {
  Operation *op = buffer.getDefiningOp();
  return isView(op) ? viewOf(op, read(op->getOperand(0)))
                    : contents.lookup(buffer);
}

void Lifter::write(Value buffer, Value value) {
  Operation *op = buffer.getDefiningOp();
  if (isView(op))
    return write(op->getOperand(0),
                 putBack(op, read(op->getOperand(0)), value));
  contents[buffer] = value;
  written.insert(buffer);
}

Value Lifter::viewOf(Operation *view, Value source) {
  Location loc = view->getLoc();
  RankedTensorType type = tensorOf(view->getResult(0).getType());
  return llvm::TypeSwitch<Operation *, Value>(view)
      .Case([&](memref::SubViewOp op) -> Value {
        return tensor::ExtractSliceOp::create(
            builder, loc, type, source, remap(op.getMixedOffsets()),
            remap(op.getMixedSizes()), remap(op.getMixedStrides()));
      })
      .Case([&](memref::CollapseShapeOp op) -> Value {
        return tensor::CollapseShapeOp::create(builder, loc, type, source,
                                               op.getReassociationIndices());
      })
      .Case([&](memref::ExpandShapeOp op) -> Value {
        return tensor::ExpandShapeOp::create(builder, loc, type, source,
                                             op.getReassociationIndices(),
                                             remap(op.getMixedOutputShape()));
      })
      .Default([&](Operation *) -> Value {
        return tensor::CastOp::create(builder, loc, type, source);
      });
}

/// `source` with the part that the view shows replaced.
Value Lifter::putBack(Operation *view, Value source, Value value) {
  Location loc = view->getLoc();
  auto type = cast<RankedTensorType>(source.getType());
  return llvm::TypeSwitch<Operation *, Value>(view)
      .Case([&](memref::SubViewOp op) -> Value {
        return tensor::InsertSliceOp::create(
            builder, loc, value, source, remap(op.getMixedOffsets()),
            remap(op.getMixedSizes()), remap(op.getMixedStrides()));
      })
      .Case([&](memref::CollapseShapeOp op) -> Value {
        return tensor::ExpandShapeOp::create(
            builder, loc, type, value, op.getReassociationIndices(),
            tensor::getMixedSizes(builder, loc, source));
      })
      .Case([&](memref::ExpandShapeOp op) -> Value {
        return tensor::CollapseShapeOp::create(builder, loc, type, value,
                                               op.getReassociationIndices());
      })
      .Default([&](Operation *) -> Value {
        return tensor::CastOp::create(builder, loc, type, value);
      });
}

/// The body of a clone still names the old values around it.
void Lifter::remapBody(Operation *op) {
  SmallVector<memref::LoadOp> loads;
  SmallVector<memref::DimOp> dims;
  op->walk([&](Operation *inner) {
    if (inner == op)
      return;
    for (OpOperand &operand : inner->getOpOperands())
      if (!isMemRef(operand.get().getType()))
        operand.set(map.lookupOrDefault(operand.get()));
    if (auto load = dyn_cast<memref::LoadOp>(inner))
      loads.push_back(load);
    else if (auto dim = dyn_cast<memref::DimOp>(inner))
      dims.push_back(dim);
  });
  OpBuilder::InsertionGuard guard(builder);
  for (memref::LoadOp load : loads) {
    builder.setInsertionPoint(op);
    Value source = read(load.getMemRef());
    builder.setInsertionPoint(load);
    load.replaceAllUsesWith(Value(tensor::ExtractOp::create(
        builder, load.getLoc(), source, load.getIndices())));
    load.erase();
  }
  for (memref::DimOp dim : dims) {
    builder.setInsertionPoint(op);
    Value source = read(dim.getSource());
    builder.setInsertionPoint(dim);
    dim.replaceAllUsesWith(Value(
        tensor::DimOp::create(builder, dim.getLoc(), source, dim.getIndex())));
    dim.erase();
  }
}

void Lifter::liftLinalg(linalg::LinalgOp op) {
  if (!op.hasPureBufferSemantics())
    return liftPlain(op);
  SmallVector<Value> operands;
  SmallVector<Type> results;
  for (OpOperand &operand : op->getOpOperands()) {
    Value value = operand.get();
    operands.push_back(isMemRef(value.getType()) ? read(value)
                                                 : map.lookupOrDefault(value));
    if (op.isDpsInit(&operand))
      results.push_back(operands.back().getType());
  }
  Operation *lifted = mlir::clone(builder, op, results, operands);
  remapBody(lifted);
  for (auto [init, result] : llvm::zip(op.getDpsInits(), lifted->getResults()))
    write(init, result);
}

void Lifter::liftPlain(Operation *op) {
  Operation *copy = builder.clone(*op, map);
  remapBody(copy);
}

void Lifter::liftReturn(func::ReturnOp op) {
  SmallVector<Value> results;
  for (Value value : op.getOperands())
    results.push_back(isMemRef(value.getType()) ? read(value)
                                                : map.lookupOrDefault(value));
  for (auto [i, argument] :
       llvm::enumerate(op->getParentRegion()->getArguments()))
    if (written.contains(argument)) {
      results.push_back(contents.lookup(argument));
      writtenArguments.push_back(i);
    }
  func::ReturnOp::create(builder, op.getLoc(), results);
}

void Lifter::lift(Operation *op) {
  Location loc = op->getLoc();
  auto makeEmpty = [&](auto alloc) {
    contents[alloc.getResult()] =
        tensor::EmptyOp::create(builder, loc, tensorOf(alloc.getType()),
                                remap(alloc.getDynamicSizes()));
  };
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](linalg::LinalgOp op) { liftLinalg(op); })
      .Case([&](memref::AllocOp op) { makeEmpty(op); })
      .Case([&](memref::AllocaOp op) { makeEmpty(op); })
      .Case([&](memref::DeallocOp) {})
      .Case<memref::SubViewOp, memref::CollapseShapeOp, memref::ExpandShapeOp,
            memref::CastOp>([](Operation *) { /* read where they are used */ })
      .Case([&](memref::CopyOp op) {
        Value value = read(op.getSource());
        Type wanted = tensorOf(op.getTarget().getType());
        if (value.getType() != wanted)
          value = tensor::CastOp::create(builder, loc, wanted, value);
        write(op.getTarget(), value);
      })
      .Case([&](memref::GetGlobalOp op) {
        auto global = SymbolTable::lookupNearestSymbolFrom<memref::GlobalOp>(
            op, op.getNameAttr());
        contents[op.getResult()] = arith::ConstantOp::create(
            builder, loc, cast<TypedAttr>(*global.getInitialValue()));
      })
      .Case([&](memref::DimOp op) {
        map.map(op.getResult(),
                tensor::DimOp::create(builder, loc, read(op.getSource()),
                                      map.lookupOrDefault(op.getIndex()))
                    .getResult());
      })
      .Case([&](memref::LoadOp op) {
        map.map(op.getResult(),
                tensor::ExtractOp::create(builder, loc, read(op.getMemRef()),
                                          remap(op.getIndices()))
                    .getResult());
      })
      .Case([&](memref::StoreOp op) {
        write(op.getMemRef(),
              tensor::InsertOp::create(
                  builder, loc, map.lookupOrDefault(op.getValue()),
                  read(op.getMemRef()), remap(op.getIndices())));
      })
      .Case([&](bufferization::ToTensorOp op) {
        map.map(op.getResult(), read(op.getBuffer()));
      })
      .Case([&](bufferization::ToBufferOp op) {
        contents[op.getResult()] = map.lookupOrDefault(op.getTensor());
      })
      .Case([&](func::ReturnOp op) { liftReturn(op); })
      .Default([&](Operation *op) { liftPlain(op); });
}

SmallVector<unsigned> Lifter::lift() {
  // The new body is built behind the old one, which then goes.
  Block *oldBody = &function.getBody().front();
  Block *body = new Block();
  function.getBody().push_back(body);
  builder.setInsertionPointToStart(body);
  for (BlockArgument argument : oldBody->getArguments()) {
    bool isBuffer = isMemRef(argument.getType());
    Value own = body->addArgument(isBuffer ? Type(tensorOf(argument.getType()))
                                           : argument.getType(),
                                  argument.getLoc());
    if (isBuffer)
      contents[argument] = own;
    else
      map.map(argument, own);
  }
  for (Operation &op : *oldBody)
    lift(&op);
  oldBody->dropAllDefinedValueUses();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*oldBody)))
    op.erase();
  oldBody->erase();
  function.setFunctionType(builder.getFunctionType(
      body->getArgumentTypes(), body->getTerminator()->getOperandTypes()));
  function.removeResAttrsAttr();
  return writtenArguments;
}

//===----------------------------------------------------------------------===//
// Functions that stay on buffers
//===----------------------------------------------------------------------===//

/// Arguments that something may write: through views, in loops, anywhere.
static SmallVector<unsigned> findWritten(func::FuncOp function) {
  SmallVector<unsigned> found;
  for (BlockArgument argument : function.getArguments()) {
    if (!isMemRef(argument.getType()))
      continue;
    llvm::SetVector<Value> aliases;
    aliases.insert(argument);
    bool isWritten = false;
    for (size_t i = 0; i < aliases.size() && !isWritten; ++i)
      for (Operation *user : aliases[i].getUsers()) {
        for (Value result : user->getResults())
          if (isMemRef(result.getType()))
            aliases.insert(result);
        auto effects = dyn_cast<MemoryEffectOpInterface>(user);
        isWritten |= effects &&
                     effects.getEffectOnValue<MemoryEffects::Write>(aliases[i]);
      }
    if (isWritten)
      found.push_back(argument.getArgNumber());
  }
  return found;
}

Error import::liftBuffers(Program &program) {
  for (auto function : program.module->getOps<func::FuncOp>()) {
    EntrySignature entry;
    entry.name = function.getSymName().str();
    SmallVector<unsigned> written;
    if (hasBufferSignature(function)) {
      entry.onBuffers = !canLift(function);
      if (entry.onBuffers) {
        written = findWritten(function);
        program.notes.push_back(llvm::formatv(
            "@{0} works on memrefs in a way that is not split into "
            "dispatches: it is compiled as a whole",
            entry.name));
      } else {
        written = Lifter(function).lift();
      }
    }
    for (unsigned argument : written) {
      ValueSignature mark;
      mark.updates = argument;
      entry.outputs.push_back(mark);
    }
    program.entries.push_back(std::move(entry));
  }
  return Error::success();
}
