//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Values for weights that the file left out. A network with such values
// computes numbers of the usual size: no infinities, no denormals, no indices
// out of range.

#include "Random.h"
#include "Steps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"
#include <cmath>

using namespace mlir;
using namespace attune;
using namespace attune::import;
using llvm::Error;

namespace {

/// What a weight is used for, found by following its elements forwards.
struct Usage {
  bool mustBePositive = false; ///< under a root or logarithm, or divides
  bool isFactor = false;       ///< multiplies elementwise (a norm's scale)
  int64_t fanIn = 0;           ///< products summed for one result; 0: none
  int64_t indexBound = 0;      ///< smallest size that it indexes; 0: none
};

class Follower {
public:
  Usage follow(Value weight) {
    reach(weight);
    for (size_t i = 0; i < values.size(); ++i)
      for (OpOperand &use : values[i].getUses())
        visit(use);
    return usage;
  }

private:
  void reach(Value value) { values.insert(value); }
  void visit(OpOperand &use);
  void visitLinalg(linalg::LinalgOp op, OpOperand &use);
  void visitScalar(Operation *op, OpOperand &use);
  void visitYield(Operation *yield, OpOperand &use);
  void boundBy(Value tensor, int64_t dimension);

  llvm::SetVector<Value> values;
  Usage usage;
};

} // namespace

void Follower::boundBy(Value tensor, int64_t dimension) {
  int64_t size = cast<ShapedType>(tensor.getType()).getDimSize(dimension);
  if (ShapedType::isDynamic(size) || size < 1)
    size = 1;
  usage.indexBound = usage.indexBound ? std::min(usage.indexBound, size) : size;
}

void Follower::visit(OpOperand &use) {
  Operation *op = use.getOwner();
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return visitLinalg(linalgOp, use);
  if (isa<linalg::YieldOp>(op))
    return visitYield(op, use);
  if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
    if (unsigned number = use.getOperandNumber())
      return boundBy(extract.getTensor(), number - 1);
    return reach(extract.getResult());
  }
  if (isa<tensor::ReshapeOp, tensor::CollapseShapeOp, tensor::ExpandShapeOp,
          tensor::CastOp, tensor::ExtractSliceOp, tensor::InsertSliceOp,
          tensor::PadOp, tensor::ConcatOp, linalg::PackOp, linalg::UnPackOp>(
          op))
    return reach(op->getResult(0));
  visitScalar(op, use);
}

void Follower::visitLinalg(linalg::LinalgOp op, OpOperand &use) {
  // Products summed: the sizes of the operand that the result does not have.
  if (op.getNumReductionLoops() > 0) {
    if (op.isDpsInit(&use) || op.getNumDpsInputs() < 2)
      return;
    int64_t summed = 1;
    auto iterators = op.getIteratorTypesArray();
    auto shape = op.getShape(&use);
    for (auto [result, size] :
         llvm::zip(op.getMatchingIndexingMap(&use).getResults(), shape))
      for (unsigned loop = 0; loop < iterators.size(); ++loop)
        if (iterators[loop] == utils::IteratorType::reduction &&
            result.isFunctionOfDim(loop) && !ShapedType::isDynamic(size)) {
          summed *= size;
          break;
        }
    usage.fanIn = std::max(usage.fanIn, summed);
    return;
  }
  Block *body = op.getBlock();
  reach(body->getArgument(use.getOperandNumber()));
}

void Follower::visitYield(Operation *yield, OpOperand &use) {
  auto parent = dyn_cast<linalg::LinalgOp>(yield->getParentOp());
  if (parent && parent->getNumResults() > use.getOperandNumber())
    reach(parent->getResult(use.getOperandNumber()));
}

/// Also of a body's argument that reads a constant tensor.
static bool isConstant(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto op =
        dyn_cast_or_null<linalg::LinalgOp>(argument.getOwner()->getParentOp());
    if (!op)
      return false;
    value = op->getOperand(argument.getArgNumber());
  }
  if (matchPattern(value, m_Constant()))
    return true;
  // An epsilon may be converted where it is used.
  Operation *op = value.getDefiningOp();
  return op && op->getNumOperands() && op->getNumRegions() == 0 && isPure(op) &&
         llvm::all_of(op->getOperands(), isConstant);
}

void Follower::visitScalar(Operation *op, OpOperand &use) {
  if (isa<math::RsqrtOp, math::SqrtOp, math::LogOp, math::Log2Op, math::Log10Op,
          math::Log1pOp>(op) ||
      (isa<math::PowFOp, arith::DivFOp>(op) &&
       use.getOperandNumber() == (isa<arith::DivFOp>(op) ? 1 : 0))) {
    usage.mustBePositive = true;
    return;
  }
  if (isa<arith::MulFOp, arith::AddFOp>(op)) {
    // A constant factor (n / (n - 1)) or term (an epsilon) does not change what
    // the weight is; with anything else it becomes part of the signal.
    if (isConstant(op->getOperand(1 - use.getOperandNumber())))
      reach(op->getResult(0));
    else
      usage.isFactor |= isa<arith::MulFOp>(op);
    return;
  }
  // Elementwise and conversions keep the meaning of a value.
  if (isa<arith::ExtFOp, arith::TruncFOp, arith::MaximumFOp, arith::MaxNumFOp,
          arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp, arith::IndexCastOp,
          arith::IndexCastUIOp, arith::AddIOp, arith::SubIOp, arith::MaxSIOp,
          arith::MinSIOp, arith::MaxUIOp, arith::MinUIOp, arith::RemSIOp,
          arith::RemUIOp>(op) ||
      (isa<arith::SelectOp>(op) && use.getOperandNumber() > 0))
    reach(op->getResult(0));
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

static void fillFloats(Tensor &tensor, const Usage &usage, uint64_t seed) {
  int64_t rank = tensor.shape.size();
  Random random(seed);
  double mean = 0, deviation = 0.1;
  if (usage.fanIn)
    deviation = std::sqrt(1.0 / usage.fanIn);
  else if (usage.isFactor)
    mean = 1;
  else if (rank > 1)
    deviation = 0.5;
  for (int64_t i = 0, e = tensor.elementCount(); i < e; ++i)
    tensor.set(i, usage.mustBePositive ? 0.5 + random.uniform()
                                       : mean + deviation * random.normal());
}

static void fillIntegers(Tensor &tensor, const Usage &usage, uint64_t seed) {
  Random random(seed);
  // Numbers of a quantised layer go both ways; whatever may be an index stays
  // low.
  bool narrow =
      tensor.type == ElementType::I8 || tensor.type == ElementType::I4;
  bool quantised = narrow && !usage.indexBound;
  uint64_t bound = usage.indexBound ? usage.indexBound : 2;
  for (int64_t i = 0, e = tensor.elementCount(); i < e; ++i)
    tensor.set(i, quantised ? double(int64_t(random.below(15))) - 7
                            : double(random.below(bound)));
}

Error import::generateLeftOutWeights(Program &program,
                                     const ImportOptions &options) {
  SmallVector<WeightOp> ops;
  program.module->walk([&](WeightOp op) {
    if (int64_t(op.getIndex()) < 0)
      ops.push_back(op);
  });
  for (WeightOp op : ops) {
    auto signature = signatureOf(op.getType());
    if (!signature)
      return signature.takeError();
    Usage usage = Follower().follow(op.getResult());
    Tensor tensor = Tensor::zeros(signature->type.type, signature->type.shape);
    uint64_t seed = options.seed ^ (uint64_t(-int64_t(op.getIndex())) << 20);
    if (isFloat(tensor.type))
      fillFloats(tensor, usage, seed);
    else
      fillIntegers(tensor, usage, seed);
    int64_t index =
        program.weights.add(signature->type, std::move(tensor.bytes),
                            /*generated=*/true);
    op.setIndex(index);
    op.setHash(program.weights[index].hash);
  }
  if (!ops.empty())
    program.notes.push_back(
        llvm::formatv(
            "the values of {0} weight{1} were left out of the file: random "
            "values are used",
            ops.size(), ops.size() == 1 ? "" : "s")
            .str());
  return Error::success();
}
