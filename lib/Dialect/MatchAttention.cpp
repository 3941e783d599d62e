//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Two contractions around a softmax, as frontends emit it.

#include "attune/Dialect/Match.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace attune;

namespace {

/// What an operand of the second contraction is computed from, up to
/// contractions and what comes from elsewhere.
struct Softmax {
  llvm::SetVector<Operation *> contractions;
  int64_t exponentials = 0, divisions = 0, sums = 0, maxima = 0, whole = 0;

  bool isComplete() const {
    return contractions.size() == 1 &&
           (whole == 1 ||
            (exponentials == 1 && divisions == 1 && sums == 1 && maxima <= 1));
  }
};

/// Views, which compute nothing.
bool isView(Operation *op) {
  return isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::CastOp>(
      op);
}

bool isMaximum(Operation *op) {
  return isa<arith::MaximumFOp, arith::MaxNumFOp>(op);
}

void countBody(linalg::LinalgOp op, Softmax &softmax) {
  bool isReduction = op.getNumReductionLoops() > 0;
  bool adds = false, takesMaximum = false;
  for (Operation &inner : op.getBlock()->without_terminator()) {
    softmax.exponentials += isa<math::ExpOp, math::Exp2Op>(inner);
    softmax.divisions += isa<arith::DivFOp>(inner) && !isReduction;
    adds |= isa<arith::AddFOp>(inner);
    takesMaximum |= isMaximum(&inner) || isa<arith::CmpFOp>(inner);
  }
  softmax.sums += isReduction && adds && !takesMaximum;
  softmax.maxima += isReduction && takesMaximum;
}

/// A division by a number is a scale, not that of a softmax.
bool dividesByNumber(linalg::LinalgOp op) {
  auto divides = op.getBlock()->getOps<arith::DivFOp>();
  for (arith::DivFOp divide : divides) {
    Value by = divide.getRhs();
    auto argument = dyn_cast<BlockArgument>(by);
    bool isNumber = by.getDefiningOp<arith::ConstantOp>() != nullptr;
    if (argument && argument.getOwner() == op.getBlock()) {
      OpOperand *operand = op.getMatchingOpOperand(argument);
      isNumber =
          op.getMatchingIndexingMap(operand).getNumResults() == 0 ||
          isa_and_nonnull<arith::ConstantOp>(operand->get().getDefiningOp());
    }
    if (!isNumber)
      return false;
  }
  return true;
}

void collect(Value value, llvm::SmallPtrSetImpl<Operation *> &seen,
             Softmax &softmax) {
  Operation *op = value.getDefiningOp();
  if (!op || !seen.insert(op).second)
    return;
  if (isa<linalg::SoftmaxOp>(op)) {
    ++softmax.whole;
    return collect(cast<linalg::SoftmaxOp>(op).getInput(), seen, softmax);
  }
  if (isView(op))
    return collect(op->getOperand(0), seen, softmax);
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (!linalgOp)
    return;
  if (contractionDims(linalgOp)) {
    softmax.contractions.insert(op);
    return;
  }
  int64_t divisions = softmax.divisions;
  countBody(linalgOp, softmax);
  if (dividesByNumber(linalgOp))
    softmax.divisions = divisions;
  for (OpOperand *input : linalgOp.getDpsInputOperands())
    collect(input->get(), seen, softmax);
}

SmallVector<int64_t> sizesOf(linalg::LinalgOp op, ArrayRef<unsigned> loops) {
  SmallVector<int64_t> extents = loopExtents(op);
  return llvm::map_to_vector(loops,
                             [&](unsigned loop) { return extents[loop]; });
}

int64_t product(ArrayRef<int64_t> sizes) {
  int64_t product = 1;
  for (int64_t size : sizes)
    product = size < 0 || product < 0 ? -1 : product * size;
  return product;
}

Type elementOf(linalg::LinalgOp op, unsigned operand) {
  return getElementTypeOrSelf(op->getOperand(operand).getType());
}

/// `weights` is the number of the input that has the softmax.
std::string check(linalg::LinalgOp second, const ContractionDims &outer,
                  linalg::LinalgOp first, unsigned weights,
                  const AttentionPattern &pattern) {
  ContractionDims inner = *contractionDims(first);
  bool isLeft = outer.lhs == weights;
  const auto &queries = isLeft ? outer.m : outer.n;
  const auto &width = isLeft ? outer.n : outer.m;
  // The first contraction may have been written the other way around.
  bool isTurned =
      product(sizesOf(first, inner.m)) != product(sizesOf(second, queries)) &&
      product(sizesOf(first, inner.n)) == product(sizesOf(second, queries));
  std::pair<StringRef, std::pair<const SizesPattern *, SmallVector<int64_t>>>
      parts[] = {
          {"batch", {&pattern.batch, sizesOf(second, outer.batch)}},
          {"m", {&pattern.m, sizesOf(second, queries)}},
          {"n", {&pattern.n, sizesOf(second, width)}},
          {"k1", {&pattern.k1, sizesOf(first, inner.k)}},
          {"k2", {&pattern.k2, sizesOf(second, outer.k)}},
      };
  for (auto &[name, part] : parts)
    if (!admitsSizes(*part.first, part.second))
      return llvm::formatv(
          "{0} is {1:$[, ]}", name,
          llvm::make_range(part.second.begin(), part.second.end()));
  SmallVector<Type> types = {
      elementOf(first, isTurned ? inner.rhs : inner.lhs),
      elementOf(first, isTurned ? inner.lhs : inner.rhs),
      elementOf(second, isLeft ? outer.rhs : outer.lhs),
      getElementTypeOrSelf(second->getResult(0).getType())};
  if (!pattern.types.empty() && pattern.types != types)
    return "the element types are others";
  return "";
}

} // namespace

std::string attune::mismatch(Operation *operation,
                             const AttentionPattern &pattern) {
  auto op = dyn_cast_or_null<linalg::LinalgOp>(operation);
  auto dims = op ? contractionDims(op) : std::nullopt;
  if (!dims || op->getNumResults() != 1)
    return "not a contraction of tensors";
  std::string why = "no operand is the softmax of a contraction";
  for (unsigned input : {dims->lhs, dims->rhs}) {
    Softmax softmax;
    llvm::SmallPtrSet<Operation *, 16> seen;
    collect(op->getOperand(input), seen, softmax);
    if (!softmax.isComplete())
      continue;
    why = check(op, *dims, cast<linalg::LinalgOp>(softmax.contractions.front()),
                input, pattern);
    if (why.empty())
      return why;
  }
  return why;
}
