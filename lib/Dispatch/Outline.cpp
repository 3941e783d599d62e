//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Outline.h"

#include "attune/Dialect/Transforms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace attune {
namespace {

/// Values that `op` and its regions use from outside of it.
llvm::SetVector<Value> usedValues(Operation *op) {
  llvm::SetVector<Value> values(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), values);
  return values;
}

/// The members of a group and the cloned ops that they need, in an order in
/// which each comes after what it uses; and what comes from outside.
struct Closure {
  llvm::SetVector<Operation *> ops;
  llvm::SetVector<Value> inputs;
};

void addClosure(Operation *op, const llvm::DenseSet<Operation *> &members,
                Closure &closure) {
  if (closure.ops.contains(op))
    return;
  for (Value value : usedValues(op)) {
    Operation *source = value.getDefiningOp();
    if (source && (members.contains(source) || isCloned(source)))
      addClosure(source, members, closure);
    else
      closure.inputs.insert(value);
  }
  closure.ops.insert(op);
}

bool isAllowedInput(Value value) {
  Type type = value.getType();
  return isa<RankedTensorType>(type) || type.isIntOrIndexOrFloat();
}

/// The tensor.empty that a destination-style op's init starts from, if its
/// contents do not matter.
tensor::EmptyOp emptyBehind(Value init) {
  if (auto fill = init.getDefiningOp<linalg::FillOp>())
    return emptyBehind(fill.getOutputs()[0]);
  return init.getDefiningOp<tensor::EmptyOp>();
}

/// The sizes of a result, as values at `builder`'s place.
FailureOr<SmallVector<OpFoldResult>> sizesOf(OpBuilder &builder,
                                             OpResult result) {
  Operation *op = result.getOwner();
  auto type = cast<RankedTensorType>(result.getType());
  if (type.hasStaticShape())
    return getAsIndexOpFoldResult(builder.getContext(), type.getShape());
  if (auto destination = dyn_cast<DestinationStyleOpInterface>(op)) {
    Value init = destination.getTiedOpOperand(result)->get();
    if (auto empty = emptyBehind(init))
      return empty.getMixedSizes();
    return tensor::getMixedSizes(builder, op->getLoc(), init);
  }
  auto reifiable = dyn_cast<ReifyRankedShapedTypeOpInterface>(op);
  ReifiedRankedShapedTypeDims sizes;
  if (!reifiable || failed(reifiable.reifyResultShapes(builder, sizes)))
    return failure();
  return sizes[result.getResultNumber()];
}

/// Makes the op behind each returned value write into its destination.
void useDestinations(func::FuncOp func, unsigned resultCount) {
  Block &body = func.front();
  auto destinations = body.getArguments().take_back(resultCount);
  auto returnOp = cast<func::ReturnOp>(body.getTerminator());
  OpBuilder builder(func.getContext());
  for (auto [value, destination] :
       llvm::zip(returnOp.getOperands(), destinations)) {
    auto result = cast<OpResult>(value);
    auto op = dyn_cast<DestinationStyleOpInterface>(result.getOwner());
    if (!op)
      continue; // tensor.pad: bufferization writes its result to the end
    OpOperand *init = op.getTiedOpOperand(result);
    if (auto fill = init->get().getDefiningOp<linalg::FillOp>()) {
      builder.setInsertionPoint(op);
      auto fresh = cast<linalg::FillOp>(builder.clone(*fill));
      fresh.getOutputsMutable()[0].set(destination);
      fresh.getResult(0).setType(cast<RankedTensorType>(destination.getType()));
      init->set(fresh.getResult(0));
    } else if (init->get().getDefiningOp<tensor::EmptyOp>()) {
      init->set(destination);
    } else {
      builder.setInsertionPoint(op);
      Value copy =
          linalg::CopyOp::create(builder, op.getLoc(), init->get(), destination)
              .getResult(0);
      init->set(copy);
    }
  }
}

/// Sizes inside the function follow from its arguments, so that it can be run
/// alone: tensor.empty gets them from the op that writes into it.
void deriveSizes(func::FuncOp func) {
  SmallVector<tensor::EmptyOp> empties;
  func.walk([&](tensor::EmptyOp op) {
    if (!op.getType().hasStaticShape())
      empties.push_back(op);
  });
  for (tensor::EmptyOp empty : empties) {
    for (OpOperand &use : llvm::make_early_inc_range(empty->getUses())) {
      OpOperand *init = &use;
      if (auto fill = dyn_cast<linalg::FillOp>(use.getOwner())) {
        if (!fill.getResult(0).hasOneUse())
          continue;
        init = &*fill.getResult(0).use_begin();
      }
      auto user = dyn_cast<linalg::LinalgOp>(init->getOwner());
      if (!user || !user.isDpsInit(init))
        continue;
      // Sizes of the loops, from inputs alone.
      OpBuilder builder(use.getOwner());
      SmallVector<OpFoldResult> loops(user.getNumLoops());
      for (OpOperand *input : user.getDpsInputOperands()) {
        if (!isa<RankedTensorType>(input->get().getType()))
          continue;
        AffineMap map = user.getMatchingIndexingMap(input);
        for (auto [dim, expr] : llvm::enumerate(map.getResults()))
          if (auto loop = dyn_cast<AffineDimExpr>(expr))
            if (!loops[loop.getPosition()])
              loops[loop.getPosition()] = tensor::getMixedSize(
                  builder, empty.getLoc(), input->get(), dim);
      }
      SmallVector<OpFoldResult> sizes = empty.getMixedSizes();
      AffineMap map = user.getMatchingIndexingMap(init);
      bool known = true;
      for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
        if (isa<Attribute>(sizes[dim]))
          continue;
        auto loop = dyn_cast<AffineDimExpr>(expr);
        known &= loop && loops[loop.getPosition()];
        if (known)
          sizes[dim] = loops[loop.getPosition()];
      }
      if (!known)
        continue;
      auto fresh = tensor::EmptyOp::create(builder, empty.getLoc(), sizes,
                                           empty.getType().getElementType());
      if (fresh.getType() == empty.getType())
        use.set(fresh);
    }
    if (empty->use_empty())
      empty.erase();
  }
}

/// A weight or other constant, or a view of one.
bool isWeight(Value value) {
  return isa_and_nonnull<WeightOp, arith::ConstantOp>(
      skipReshapes(value).getDefiningOp());
}

} // namespace

void resolveDims(func::FuncOp func) {
  RewritePatternSet patterns(func.getContext());
  memref::populateResolveRankedShapedTypeResultDimsPatterns(patterns);
  memref::populateResolveShapedTypeResultDimsPatterns(patterns);
  tensor::DimOp::getCanonicalizationPatterns(patterns, func.getContext());
  (void)applyPatternsGreedily(func, std::move(patterns));
}

func::FuncOp outline(const DispatchGroup &group, ModuleOp module,
                     StringRef name) {
  llvm::DenseSet<Operation *> members(group.ops.begin(), group.ops.end());
  Closure closure;
  for (Operation *op : group.ops)
    addClosure(op, members, closure);
  if (!llvm::all_of(closure.inputs, isAllowedInput))
    return {};
  Operation *last = group.ops.back();
  for (OpResult result : last->getResults())
    if (!isa<RankedTensorType>(result.getType()))
      return {};

  // Destinations, beside the last op.
  OpBuilder builder(last);
  SmallVector<Value> destinations;
  for (OpResult result : last->getResults()) {
    FailureOr<SmallVector<OpFoldResult>> sizes = sizesOf(builder, result);
    if (failed(sizes))
      return {};
    auto type = cast<RankedTensorType>(result.getType());
    Value empty = tensor::EmptyOp::create(builder, last->getLoc(), *sizes,
                                          type.getElementType());
    if (empty.getType() != type)
      empty = tensor::CastOp::create(builder, last->getLoc(), type, empty);
    destinations.push_back(empty);
  }

  // The function: inputs, destinations, then a copy of the ops.
  SmallVector<Value> arguments(closure.inputs.begin(), closure.inputs.end());
  unsigned inputCount = arguments.size();
  llvm::append_range(arguments, destinations);
  OpBuilder atEnd = OpBuilder::atBlockEnd(module.getBody());
  auto func = func::FuncOp::create(
      atEnd, group.root->getLoc(), name,
      atEnd.getFunctionType(TypeRange(ValueRange(arguments)),
                            last->getResultTypes()));
  func.setPrivate();
  Block *body = func.addEntryBlock();
  IRMapping mapping;
  for (unsigned i = 0; i < inputCount; ++i)
    mapping.map(arguments[i], body->getArgument(i));
  OpBuilder inside = OpBuilder::atBlockEnd(body);
  for (Operation *op : closure.ops)
    inside.clone(*op, mapping);
  SmallVector<Value> results;
  for (Value result : last->getResults())
    results.push_back(mapping.lookup(result));
  func::ReturnOp::create(inside, last->getLoc(), results);

  useDestinations(func, results.size());
  deriveSizes(func);
  resolveDims(func);
  llvm::BitVector unused(func.getNumArguments());
  SmallVector<Value> inputs;
  for (unsigned i = 0; i < inputCount; ++i) {
    if (body->getArgument(i).use_empty()) {
      unused.set(i);
      continue;
    }
    inputs.push_back(arguments[i]);
  }
  (void)func.eraseArguments(unused);
  for (auto [index, value] : llvm::enumerate(inputs))
    if (isWeight(value))
      func.setArgAttr(index, attr::constant, atEnd.getUnitAttr());

  auto call = DispatchOp::create(
      builder, last->getLoc(), last->getResultTypes(),
      FlatSymbolRefAttr::get(func.getContext(), name), inputs, destinations);
  last->replaceAllUsesWith(call.getResults());
  for (Operation *op : llvm::reverse(group.ops))
    op->erase();
  return func;
}

} // namespace attune
