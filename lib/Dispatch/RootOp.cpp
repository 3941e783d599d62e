//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Dispatch/RootOp.h"

#include "Groups.h"
#include "attune/Dialect/Attune.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace attune;

static int rankOf(OpClass opClass) {
  switch (opClass) {
  case OpClass::Contraction:
  case OpClass::Convolution:
    return 5;
  case OpClass::Depthwise:
  case OpClass::Pooling:
    return 4;
  case OpClass::Reduction:
    return 3;
  case OpClass::Elementwise:
  case OpClass::Copy:
    return 2;
  case OpClass::Fill:
    return 1;
  case OpClass::Other:
    return 0;
  }
  return 0;
}

double attune::estimateWork(linalg::LinalgOp op) {
  double work = std::max<double>(1, op.getBlock()->getOperations().size() - 1);
  for (int64_t extent : loopExtents(op))
    work *= extent < 0 ? 64 : double(extent);
  return work;
}

/// Through reshapes and casts to what computed the value.
static Value skipViews(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::CastOp>(
            op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

static linalg::LinalgOp findLast(func::FuncOp dispatch) {
  Operation *last = nullptr;
  for (Value result :
       dispatch.getBody().front().getTerminator()->getOperands()) {
    Operation *op = skipViews(result).getDefiningOp();
    if (!op || (last && last != op))
      return {};
    last = op;
  }
  return dyn_cast_or_null<linalg::LinalgOp>(last);
}

DispatchParts attune::analyzeDispatch(func::FuncOp dispatch) {
  DispatchParts parts;
  if (dispatch.isExternal() || !dispatch.getBody().hasOneBlock())
    return parts;
  Block &body = dispatch.getBody().front();
  for (auto op : body.getOps<linalg::LinalgOp>()) {
    OpClass opClass = classify(op);
    auto key = std::make_pair(rankOf(opClass), estimateWork(op));
    if (!parts.root || key >= std::make_pair(rankOf(parts.opClass),
                                             estimateWork(parts.root))) {
      parts.root = op;
      parts.opClass = opClass;
    }
  }
  if (!parts.root)
    return parts;

  llvm::SmallPtrSet<Operation *, 16> after = {parts.root};
  for (Operation &op : body.without_terminator()) {
    if (&op == parts.root)
      continue;
    bool usesRoot = llvm::any_of(op.getOperands(), [&](Value operand) {
      return after.contains(operand.getDefiningOp());
    });
    if (usesRoot)
      after.insert(&op);
    auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
    if (usesRoot && linalgOp)
      parts.epilogue.push_back(linalgOp);
    else if (!usesRoot && !isa<tensor::EmptyOp>(op) &&
             llvm::any_of(op.getResultTypes(), llvm::IsaPred<RankedTensorType>))
      parts.producers.push_back(&op);
  }
  parts.last = findLast(dispatch);
  return parts;
}

SmallVector<Block *> attune::blocksToGroup(func::FuncOp func) {
  SmallVector<Block *> blocks;
  func.walk<WalkOrder::PostOrder>([&](Block *block) {
    if (!isa<linalg::LinalgOp, tensor::PadOp, tensor::GenerateOp>(
            block->getParentOp()) &&
        !block->getParentOp()->getParentOfType<linalg::LinalgOp>())
      blocks.push_back(block);
  });
  return blocks;
}

SmallVector<Operation *> attune::findRootOps(func::FuncOp func) {
  SmallVector<Operation *> roots;
  if (func->hasAttr(attr::dispatch)) {
    if (linalg::LinalgOp root = analyzeDispatch(func).root)
      roots.push_back(root);
    return roots;
  }
  for (Block *block : blocksToGroup(func))
    for (const DispatchGroup &group : findGroups(*block))
      roots.push_back(group.root);
  return roots;
}

namespace {
using Roles = SmallVector<LoopRole>;
using RoleMap = llvm::DenseMap<Operation *, Roles>;

/// What is known of a value's dimensions: a role, or nothing yet.
using DimRoles = SmallVector<std::optional<LoopRole>>;

DimRoles dimRoles(AffineMap map, ArrayRef<LoopRole> roles) {
  DimRoles dims;
  for (AffineExpr expr : map.getResults()) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    dims.push_back(dim ? std::optional(roles[dim.getPosition()])
                       : std::nullopt);
  }
  return dims;
}

/// Roles of the loops of `op` from those of the dimensions of one operand. A
/// reduction keeps the roles it has by itself; a parallel loop that its operand
/// does not have, or that was reduced there, is N if it is contiguous.
Roles rolesFromOperand(linalg::LinalgOp op, AffineMap map,
                       const DimRoles &dims) {
  Roles own = inferLoopRoles(op);
  auto iterators = op.getIteratorTypesArray();
  Roles roles = own;
  for (auto [loop, iterator] : llvm::enumerate(iterators))
    if (iterator == utils::IteratorType::parallel)
      roles[loop] = LoopRole::Batch;
  for (auto [expr, role] : llvm::zip_equal(map.getResults(), dims)) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (dim && role && *role != LoopRole::K && *role != LoopRole::Window &&
        iterators[dim.getPosition()] == utils::IteratorType::parallel)
      roles[dim.getPosition()] = *role;
  }
  if (!llvm::is_contained(roles, LoopRole::N))
    for (auto [loop, role] : llvm::enumerate(own))
      if (role == LoopRole::N && roles[loop] == LoopRole::Batch)
        roles[loop] = LoopRole::N;
  return roles;
}
} // namespace

RoleMap attune::propagateLoopRoles(const DispatchParts &parts) {
  RoleMap known;
  if (!parts.root)
    return known;
  known[parts.root] = inferLoopRoles(parts.root);

  for (linalg::LinalgOp op : parts.epilogue)
    for (OpOperand &operand : op->getOpOperands()) {
      Operation *source = operand.get().getDefiningOp();
      auto sourceOp = dyn_cast_or_null<linalg::LinalgOp>(source);
      if (!sourceOp || !known.contains(source))
        continue;
      unsigned number = cast<OpResult>(operand.get()).getResultNumber();
      AffineMap sourceMap =
          sourceOp.getMatchingIndexingMap(sourceOp.getDpsInitOperand(number));
      known[op] = rolesFromOperand(op, op.getMatchingIndexingMap(&operand),
                                   dimRoles(sourceMap, known[source]));
      break;
    }

  // Producers, from the last to the first, as their consumers see them.
  for (Operation *operation : llvm::reverse(parts.producers)) {
    auto op = dyn_cast<linalg::LinalgOp>(operation);
    if (!op)
      continue;
    for (OpOperand &use : op->getResult(0).getUses()) {
      auto user = dyn_cast<linalg::LinalgOp>(use.getOwner());
      if (!user || !known.contains(user))
        continue;
      AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
      known[op] = rolesFromOperand(
          op, map, dimRoles(user.getMatchingIndexingMap(&use), known[user]));
      break;
    }
    if (!known.contains(op))
      known[op] = inferLoopRoles(op);
  }
  for (linalg::LinalgOp op : parts.epilogue)
    if (!known.contains(op))
      known[op] = inferLoopRoles(op);
  return known;
}
