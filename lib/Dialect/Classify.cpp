//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Dialect/Classify.h"

#include "LoopSet.h"

#include "attune/Dialect/Match.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace attune;

StringRef attune::toString(OpClass opClass) {
  switch (opClass) {
  case OpClass::Contraction:
    return "contraction";
  case OpClass::Convolution:
    return "convolution";
  case OpClass::Depthwise:
    return "depthwise";
  case OpClass::Pooling:
    return "pooling";
  case OpClass::Reduction:
    return "reduction";
  case OpClass::Elementwise:
    return "elementwise";
  case OpClass::Copy:
    return "copy";
  case OpClass::Fill:
    return "fill";
  case OpClass::Other:
    return "other";
  }
  return "other";
}

std::optional<LoopRole> attune::loopRoleFromString(StringRef text) {
  return llvm::StringSwitch<std::optional<LoopRole>>(text)
      .Case("batch", LoopRole::Batch)
      .Case("m", LoopRole::M)
      .Case("n", LoopRole::N)
      .Case("k", LoopRole::K)
      .Case("window", LoopRole::Window)
      .Default(std::nullopt);
}

namespace {

/// Adds the input arguments of the body that `value` is computed from.
void collectInputs(Value value, Block *body, int64_t inputCount,
                   llvm::SmallDenseSet<unsigned> &inputs,
                   bool &usesAccumulator) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (argument.getOwner() != body)
      return;
    if (argument.getArgNumber() < inputCount)
      inputs.insert(argument.getArgNumber());
    else
      usesAccumulator = true;
    return;
  }
  Operation *op = value.getDefiningOp();
  if (op->getBlock() != body)
    return;
  for (Value operand : op->getOperands())
    collectInputs(operand, body, inputCount, inputs, usesAccumulator);
}

std::optional<unsigned> onlyTensorInput(linalg::LinalgOp op, Value factor) {
  llvm::SmallDenseSet<unsigned> inputs;
  bool usesAccumulator = false;
  collectInputs(factor, op.getBlock(), op.getNumDpsInputs(), inputs,
                usesAccumulator);
  if (usesAccumulator)
    return std::nullopt;
  std::optional<unsigned> only;
  for (unsigned input : inputs) {
    AffineMap map = op.getMatchingIndexingMap(op.getDpsInputOperand(input));
    if (map.getNumResults() == 0)
      continue; // a scalar, such as a zero point
    if (only)
      return std::nullopt;
    only = input;
  }
  return only;
}

bool isWidening(Operation *op) {
  return isa_and_nonnull<arith::ExtFOp, arith::ExtSIOp, arith::ExtUIOp>(op);
}

/// An argument of the body, widened or not.
bool isPlainArgument(Value value) {
  while (isWidening(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return isa<BlockArgument>(value);
}

} // namespace

/// yield add(accumulator, mul(f(lhs), g(rhs))), in either order, with anything
/// in f and g.
std::optional<MultiplyAccumulate>
attune::matchMultiplyAccumulate(linalg::LinalgOp op) {
  if (op.getNumDpsInits() != 1)
    return std::nullopt;
  Operation *yield = op.getBlock()->getTerminator();
  Operation *add = yield->getOperand(0).getDefiningOp();
  if (!isa_and_nonnull<arith::AddFOp, arith::AddIOp, arith::OrIOp>(add))
    return std::nullopt;
  Value accumulator = op.getBlock()->getArgument(op.getNumDpsInputs());
  Value product;
  if (add->getOperand(0) == accumulator)
    product = add->getOperand(1);
  else if (add->getOperand(1) == accumulator)
    product = add->getOperand(0);
  else
    return std::nullopt;
  Operation *mul = product.getDefiningOp();
  bool isPlain = true;
  while (isa_and_nonnull<arith::ExtFOp, arith::TruncFOp, arith::ExtSIOp,
                         arith::ExtUIOp, arith::TruncIOp>(mul)) {
    isPlain &= isWidening(mul);
    mul = mul->getOperand(0).getDefiningOp();
  }
  if (!isa_and_nonnull<arith::MulFOp, arith::MulIOp, arith::AndIOp>(mul))
    return std::nullopt;
  auto lhs = onlyTensorInput(op, mul->getOperand(0));
  auto rhs = onlyTensorInput(op, mul->getOperand(1));
  if (!lhs || !rhs || *lhs == *rhs)
    return std::nullopt;
  isPlain &= isPlainArgument(mul->getOperand(0)) &&
             isPlainArgument(mul->getOperand(1));
  return MultiplyAccumulate{*lhs, *rhs, isPlain};
}

namespace {

/// A parallel and a reduction loop added up in one subscript: a window.
bool hasWindow(linalg::LinalgOp op, AffineMap map) {
  auto iterators = op.getIteratorTypesArray();
  for (AffineExpr expr : map.getResults()) {
    if (isa<AffineDimExpr, AffineConstantExpr>(expr))
      continue;
    bool parallel = false, reduction = false;
    expr.walk([&](AffineExpr e) {
      if (auto dim = dyn_cast<AffineDimExpr>(e)) {
        bool isParallel =
            iterators[dim.getPosition()] == utils::IteratorType::parallel;
        (isParallel ? parallel : reduction) = true;
      }
    });
    if (parallel && reduction)
      return true;
  }
  return false;
}

std::optional<unsigned> windowedInput(linalg::LinalgOp op) {
  for (OpOperand *input : op.getDpsInputOperands())
    if (hasWindow(op, op.getMatchingIndexingMap(input)))
      return input->getOperandNumber();
  return std::nullopt;
}

LoopSet loopsOfInput(linalg::LinalgOp op, unsigned input) {
  return loopsIn(op.getMatchingIndexingMap(op.getDpsInputOperand(input)));
}

LoopSet loopsOfResult(linalg::LinalgOp op) {
  return loopsIn(op.getMatchingIndexingMap(op.getDpsInitOperand(0)));
}

OpClass classifyWindowed(linalg::LinalgOp op) {
  auto product = matchMultiplyAccumulate(op);
  if (!product)
    return OpClass::Pooling;
  LoopSet both = loopsOfInput(op, product->lhs);
  both &= loopsOfInput(op, product->rhs);
  LoopSet result = loopsOfResult(op);
  LoopSet channels = both; // reductions over both that are no window loops
  channels.reset(result);
  unsigned image = *windowedInput(op);
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInputOperand(image));
  for (AffineExpr expr : map.getResults())
    if (!isa<AffineDimExpr>(expr))
      expr.walk([&](AffineExpr e) {
        if (auto dim = dyn_cast<AffineDimExpr>(e))
          channels.reset(dim.getPosition());
      });
  LoopSet depth = both;
  depth &= result;
  return channels.none() && depth.any() ? OpClass::Depthwise
                                        : OpClass::Convolution;
}

OpClass classifyParallel(linalg::LinalgOp op) {
  Block *body = op.getBlock();
  if (body->getOperations().size() > 1)
    return OpClass::Elementwise;
  bool onlyScalars = true;
  for (OpOperand *input : op.getDpsInputOperands())
    onlyScalars &= op.getMatchingIndexingMap(input).getNumResults() == 0 &&
                   !isa<RankedTensorType>(input->get().getType());
  return onlyScalars ? OpClass::Fill : OpClass::Copy;
}

} // namespace

OpClass attune::classify(Operation *operation) {
  auto op = dyn_cast_or_null<linalg::LinalgOp>(operation);
  if (!op || op.getNumDpsInits() == 0)
    return OpClass::Other;
  if (op.getNumReductionLoops() == 0)
    return classifyParallel(op);
  if (windowedInput(op))
    return classifyWindowed(op);
  auto product = matchMultiplyAccumulate(op);
  if (!product)
    return OpClass::Reduction;
  for (AffineMap map : op.getIndexingMapsArray())
    if (!map.isProjectedPermutation())
      return OpClass::Reduction;
  LoopSet shared = loopsOfInput(op, product->lhs);
  shared &= loopsOfInput(op, product->rhs);
  shared.reset(loopsOfResult(op));
  return shared.any() ? OpClass::Contraction : OpClass::Reduction;
}

SmallVector<int64_t> attune::loopExtents(linalg::LinalgOp op) {
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  for (int64_t &extent : extents)
    if (ShapedType::isDynamic(extent))
      extent = -1;
  return extents;
}

namespace {

/// The parallel loop along which the result is contiguous; loops of extent 1
/// do not count while there is another one.
std::optional<unsigned> contiguousLoop(linalg::LinalgOp op) {
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  SmallVector<int64_t> extents = loopExtents(op);
  std::optional<unsigned> found;
  for (AffineExpr expr : llvm::reverse(map.getResults())) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim)
      continue;
    if (!found)
      found = dim.getPosition();
    if (extents[dim.getPosition()] != 1)
      return dim.getPosition();
  }
  return found;
}

/// The last loop of `candidates` with an extent other than 1, else the last.
std::optional<unsigned> innermost(const LoopSet &candidates,
                                  ArrayRef<int64_t> extents) {
  std::optional<unsigned> found;
  for (int loop = candidates.find_last(); loop >= 0;
       loop = loop == 0 ? -1 : candidates.find_prev(loop)) {
    if (!found)
      found = loop;
    if (extents[loop] != 1)
      return loop;
  }
  return found;
}

/// Candidates for M, given N: the loops whose reuse N does not give.
LoopSet registerRowCandidates(linalg::LinalgOp op, OpClass opClass,
                              unsigned n) {
  LoopSet result = loopsOfResult(op);
  result.reset(n);
  if (opClass == OpClass::Reduction || opClass == OpClass::Elementwise ||
      opClass == OpClass::Copy || opClass == OpClass::Fill)
    return result;
  if (opClass == OpClass::Depthwise || opClass == OpClass::Pooling) {
    LoopSet image(op.getNumLoops());
    AffineMap map =
        op.getMatchingIndexingMap(op.getDpsInputOperand(*windowedInput(op)));
    for (AffineExpr expr : map.getResults())
      if (!isa<AffineDimExpr>(expr))
        expr.walk([&](AffineExpr e) {
          if (auto dim = dyn_cast<AffineDimExpr>(e))
            image.set(dim.getPosition());
        });
    image &= result;
    return image;
  }
  auto product = *matchMultiplyAccumulate(op);
  LoopSet lhs = loopsOfInput(op, product.lhs);
  LoopSet rhs = loopsOfInput(op, product.rhs);
  bool inLhs = lhs.test(n), inRhs = rhs.test(n);
  LoopSet candidates = result;
  if (inLhs && !inRhs)
    candidates.reset(lhs); // only in rhs
  else if (inRhs && !inLhs)
    candidates.reset(rhs); // only in lhs
  return candidates;
}

/// The loop along which the largest input is contiguous.
std::optional<unsigned> contiguousLoopOfInputs(linalg::LinalgOp op) {
  std::optional<unsigned> found;
  int64_t most = -1;
  for (OpOperand *input : op.getDpsInputOperands()) {
    AffineMap map = op.getMatchingIndexingMap(input);
    if (map.getNumResults() == 0)
      continue;
    auto dim = dyn_cast<AffineDimExpr>(map.getResults().back());
    if (dim && int64_t(map.getNumResults()) > most) {
      most = map.getNumResults();
      found = dim.getPosition();
    }
  }
  return found;
}

/// The reduction loop to vectorise instead of the parallel loop `n`: the inputs
/// are contiguous along it, and no second operand makes up for that.
std::optional<unsigned> contiguousReduction(linalg::LinalgOp op,
                                            OpClass opClass, unsigned n) {
  if (opClass != OpClass::Reduction && opClass != OpClass::Contraction)
    return std::nullopt;
  auto loop = contiguousLoopOfInputs(op);
  if (!loop ||
      op.getIteratorTypesArray()[*loop] != utils::IteratorType::reduction)
    return std::nullopt;
  if (opClass == OpClass::Contraction &&
      registerRowCandidates(op, opClass, n).any()) {
    LoopSet rows = registerRowCandidates(op, opClass, n);
    SmallVector<int64_t> extents = loopExtents(op);
    for (int row = rows.find_first(); row >= 0; row = rows.find_next(row))
      if (extents[row] != 1)
        return std::nullopt;
  }
  return loop;
}

/// For a transposition: the loop along which the input is contiguous.
std::optional<unsigned> transposedLoop(linalg::LinalgOp op, OpClass opClass,
                                       unsigned n) {
  if (opClass != OpClass::Copy && opClass != OpClass::Elementwise)
    return std::nullopt;
  auto loop = contiguousLoopOfInputs(op);
  return loop != n ? loop : std::nullopt;
}

} // namespace

SmallVector<LoopRole> attune::inferLoopRoles(linalg::LinalgOp op) {
  SmallVector<LoopRole> roles(op.getNumLoops(), LoopRole::Batch);
  SmallVector<int64_t> extents = loopExtents(op);
  auto iterators = op.getIteratorTypesArray();
  LoopSet reductions(op.getNumLoops());
  for (auto [loop, iterator] : llvm::enumerate(iterators))
    if (iterator == utils::IteratorType::reduction) {
      reductions.set(loop);
      roles[loop] = LoopRole::Window;
    }
  OpClass opClass = classify(op);

  LoopSet kCandidates = reductions;
  if (auto image = opClass == OpClass::Convolution ||
                           opClass == OpClass::Depthwise ||
                           opClass == OpClass::Pooling
                       ? windowedInput(op)
                       : std::nullopt) {
    AffineMap map = op.getMatchingIndexingMap(op.getDpsInputOperand(*image));
    for (AffineExpr expr : map.getResults())
      if (!isa<AffineDimExpr>(expr))
        expr.walk([&](AffineExpr e) {
          if (auto dim = dyn_cast<AffineDimExpr>(e))
            kCandidates.reset(dim.getPosition());
        });
  }
  // Pooling multiplies nothing: its steps are those of a window.
  if (opClass == OpClass::Pooling)
    kCandidates.reset();
  if (auto k = innermost(kCandidates, extents))
    roles[*k] = LoopRole::K;

  auto n = contiguousLoop(op);
  if (!n)
    return roles;
  if (auto k = contiguousReduction(op, opClass, *n)) {
    // Rows of a reduction, a matrix times a vector: lanes run along K.
    for (LoopRole &role : roles)
      if (role == LoopRole::K)
        role = LoopRole::Window;
    roles[*k] = LoopRole::K;
    roles[*n] = LoopRole::M;
    return roles;
  }
  roles[*n] = LoopRole::N;
  if (auto m = transposedLoop(op, opClass, *n)) {
    roles[*m] = LoopRole::M;
    return roles;
  }
  if (auto m = innermost(registerRowCandidates(op, opClass, *n), extents))
    roles[*m] = LoopRole::M;
  return roles;
}
