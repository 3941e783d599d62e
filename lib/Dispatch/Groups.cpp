//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Groups.h"

#include "attune/Dialect/Classify.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace attune {
namespace {

/// Roots that come first take the ops around them.
int rankOf(Operation *op) {
  if (isa<linalg::SoftmaxOp>(op))
    return 2;
  if (isa<linalg::PackOp, linalg::UnPackOp, tensor::PadOp>(op))
    return 4;
  switch (classify(op)) {
  case OpClass::Contraction:
  case OpClass::Convolution:
  case OpClass::Depthwise:
    return 1;
  case OpClass::Pooling:
  case OpClass::Reduction:
    return 2;
  case OpClass::Elementwise:
    return 3;
  case OpClass::Copy:
    return 4;
  default:
    return 0; // never a root
  }
}
constexpr int lastRank = 4;

bool isElementwise(Operation *op) {
  OpClass opClass = classify(op);
  return opClass == OpClass::Elementwise || opClass == OpClass::Copy;
}

/// The first `rows` results of `map` are the first `rows` loops.
bool startsWithRows(AffineMap map, unsigned rows) {
  if (map.getNumResults() < rows || map.getNumDims() < rows)
    return false;
  for (unsigned i = 0; i < rows; ++i)
    if (map.getResult(i) != getAffineDimExpr(i, map.getContext()))
      return false;
  return true;
}

/// Grows one group from its root.
class GroupBuilder {
public:
  GroupBuilder(Operation *root, llvm::DenseSet<Operation *> &taken)
      : root(root), taken(taken) {
    members.insert(root);
  }

  DispatchGroup build() {
    if (!isa<linalg::SoftmaxOp, linalg::PackOp, linalg::UnPackOp>(root)) {
      addConsumers();
      keepOneResult();
    }
    addProducers();
    DispatchGroup group;
    group.root = root;
    group.ops.assign(members.begin(), members.end());
    llvm::sort(group.ops, [](Operation *a, Operation *b) {
      return a->isBeforeInBlock(b);
    });
    taken.insert(group.ops.begin(), group.ops.end());
    return group;
  }

private:
  bool isFree(Operation *op) const {
    return op->getBlock() == root->getBlock() && !taken.contains(op) &&
           !members.contains(op);
  }

  /// Loops that every member shares with the root, outermost first: all of an
  /// elementwise result's; of a reduction's the parallel ones, if they lead.
  unsigned sharedLoops() const {
    auto op = dyn_cast<linalg::LinalgOp>(root);
    if (!op || op.getNumDpsInits() == 0)
      return 0;
    AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
    unsigned rows = 0;
    while (rows < map.getNumResults() &&
           map.getResult(rows) == getAffineDimExpr(rows, map.getContext()))
      ++rows;
    return rows;
  }

  /// An elementwise op over exactly the elements that a member produces.
  bool continuesElementwise(linalg::LinalgOp user) const {
    if (!isElementwise(user))
      return false;
    for (OpOperand &operand : user->getOpOperands()) {
      Operation *source = operand.get().getDefiningOp();
      if (!source || !members.contains(source))
        continue;
      AffineMap map = user.getMatchingIndexingMap(&operand);
      if (!user.isDpsInput(&operand) || !map.isIdentity())
        return false;
    }
    return user.getNumDpsInits() == 1 &&
           user.getMatchingIndexingMap(user.getDpsInitOperand(0))
               .isPermutation();
  }

  /// Another step over the same rows: what softmax and norms are made of.
  bool continuesRows(linalg::LinalgOp user, unsigned rows) const {
    OpClass opClass = classify(user);
    if (rows == 0 || (opClass != OpClass::Reduction && !isElementwise(user)))
      return false;
    auto rootOp = cast<linalg::LinalgOp>(root);
    if (user.getNumLoops() > rootOp.getNumLoops() || user.getNumLoops() < rows)
      return false;
    for (OpOperand &operand : user->getOpOperands())
      if (members.contains(operand.get().getDefiningOp()) ||
          user.isDpsInit(&operand))
        if (!startsWithRows(user.getMatchingIndexingMap(&operand), rows))
          return false;
    SmallVector<int64_t> extents = loopExtents(user);
    SmallVector<int64_t> rootExtents = loopExtents(rootOp);
    return std::equal(extents.begin(), extents.end(), rootExtents.begin());
  }

  /// Another reduction over the rows of the root: the mean beside the variance.
  bool precedesRows(linalg::LinalgOp producer) const {
    unsigned rows = sharedLoops();
    if (rows == 0 || classify(root) != OpClass::Reduction ||
        classify(producer) != OpClass::Reduction ||
        !producer.hasPureTensorSemantics() || producer->getNumResults() != 1 ||
        producer.getNumLoops() != cast<linalg::LinalgOp>(root).getNumLoops() ||
        loopExtents(producer) != loopExtents(cast<linalg::LinalgOp>(root)))
      return false;
    return llvm::all_of(producer->getOpOperands(), [&](OpOperand &operand) {
      AffineMap map = producer.getMatchingIndexingMap(&operand);
      return map.getNumResults() == 0 || startsWithRows(map, rows);
    });
  }

  bool accepts(Operation *user) const {
    auto op = dyn_cast<linalg::LinalgOp>(user);
    if (!op || !op.hasPureTensorSemantics() || isCloned(user))
      return false;
    if (continuesElementwise(op))
      return true;
    return classify(root) == OpClass::Reduction &&
           continuesRows(op, sharedLoops());
  }

  void addConsumers() {
    for (bool changed = true; changed;) {
      changed = false;
      SmallVector<Operation *> users;
      for (Operation *member : members)
        for (Operation *user : member->getUsers())
          if (isFree(user))
            users.push_back(user);
      llvm::sort(users, [](Operation *a, Operation *b) {
        return a->isBeforeInBlock(b);
      });
      for (Operation *user : users)
        if (isFree(user) && accepts(user))
          changed |= members.insert(user);
    }
  }

  bool escapes(Operation *op) const {
    return llvm::any_of(op->getUsers(), [&](Operation *user) {
      Operation *ancestor = root->getBlock()->findAncestorOpInBlock(*user);
      return !members.contains(ancestor ? ancestor : user);
    });
  }

  /// Drops consumers from the end until only the last one's result is used
  /// outside.
  void keepOneResult() {
    SmallVector<Operation *> order(members.begin(), members.end());
    llvm::sort(order, [](Operation *a, Operation *b) {
      return a->isBeforeInBlock(b);
    });
    while (order.size() > 1) {
      bool single = llvm::none_of(ArrayRef<Operation *>(order).drop_back(),
                                  [&](Operation *op) { return escapes(op); });
      if (single)
        return;
      members.remove(order.pop_back_val());
    }
  }

  bool usedOnlyInside(Operation *op) const {
    return llvm::all_of(op->getUsers(), [&](Operation *user) {
      Operation *ancestor = root->getBlock()->findAncestorOpInBlock(*user);
      return ancestor && members.contains(ancestor);
    });
  }

  /// Pads go with the convolution that reads them, elementwise work with the
  /// reduction or the elementwise op that reads its result.
  bool absorbs(Operation *producer, Operation *user) const {
    OpClass opClass = classify(user);
    if (isa<tensor::PadOp>(producer))
      return opClass == OpClass::Convolution || opClass == OpClass::Depthwise ||
             opClass == OpClass::Pooling;
    auto op = dyn_cast<linalg::LinalgOp>(producer);
    if (op && precedesRows(op))
      return true;
    return op && isElementwise(producer) && op.hasPureTensorSemantics() &&
           op->getNumResults() == 1 && !isCloned(producer) &&
           (opClass == OpClass::Reduction || isElementwise(user));
  }

  void addProducers() {
    for (bool changed = true; changed;) {
      changed = false;
      for (Operation *member :
           SmallVector<Operation *>(members.begin(), members.end()))
        for (Value operand : member->getOperands()) {
          Operation *producer = operand.getDefiningOp();
          if (producer && isFree(producer) && usedOnlyInside(producer) &&
              absorbs(producer, member))
            changed |= members.insert(producer);
        }
    }
  }

  Operation *root;
  llvm::DenseSet<Operation *> &taken;
  llvm::SetVector<Operation *> members;
};

} // namespace

bool isCloned(Operation *op) {
  if (isa<tensor::EmptyOp, linalg::FillOp>(op))
    return true;
  auto constant = dyn_cast<arith::ConstantOp>(op);
  if (!constant)
    return false;
  // Other tensors are inputs, so that the same op with other values is the same
  // dispatch.
  auto elements = dyn_cast<ElementsAttr>(constant.getValue());
  return !elements || elements.isSplat();
}

SmallVector<DispatchGroup> findGroups(Block &block) {
  SmallVector<DispatchGroup> groups;
  llvm::DenseSet<Operation *> taken;
  for (int rank = 1; rank <= lastRank; ++rank)
    for (Operation &op : block)
      if (rankOf(&op) == rank && !taken.contains(&op))
        groups.push_back(GroupBuilder(&op, taken).build());
  llvm::sort(groups, [](const DispatchGroup &a, const DispatchGroup &b) {
    return a.ops.back()->isBeforeInBlock(b.ops.back());
  });
  return groups;
}

} // namespace attune
