//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// BatchNorm, whatever wrote it: see foldScales.

#include "CleanUpSteps.h"
#include "Steps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include <cmath>

using namespace mlir;
using namespace attune;
using namespace attune::import;

namespace {

/// y = scale·x + shift for one channel.
struct Affine {
  double scale = 1, shift = 0;
};

/// A convolution or contraction with a constant filter, and what follows it.
struct Chain {
  linalg::LinalgOp root;
  OpOperand *filter = nullptr;
  unsigned filterDim = 0;  ///< of the filter: the channel
  unsigned channelDim = 0; ///< of the result
  std::vector<Affine> channels;
  SmallVector<linalg::GenericOp> links;
  bool biasInInit = false;
};

class ScaleFolder {
public:
  explicit ScaleFolder(Program &program) : constants(program) {}
  int64_t run(ModuleOp module);

private:
  bool findRoot(linalg::LinalgOp op, Chain &chain);
  bool readInit(Chain &chain);
  bool readConstantInit(Chain &chain, Value init);
  bool addLink(Chain &chain, linalg::GenericOp link, OpOperand &use);
  std::optional<std::vector<Affine>> evaluateLink(linalg::GenericOp link,
                                                  OpOperand &use,
                                                  unsigned channelLoop,
                                                  int64_t channels);
  bool rewrite(Chain &chain);
  Value scaleFilter(Chain &chain);
  Value addShift(Chain &chain, OpBuilder &builder, Value result, Value empty);

  Constants constants;
};

} // namespace

/// acc + a·b, with conversions of a and b at most.
static bool isMultiplyAccumulate(linalg::LinalgOp op) {
  Block *body = op.getBlock();
  if (op.getNumDpsInputs() != 2 || op.getNumDpsInits() != 1)
    return false;
  auto add =
      body->getTerminator()->getOperand(0).getDefiningOp<arith::AddFOp>();
  if (!add)
    return false;
  Value accumulator = body->getArgument(2);
  if (add.getLhs() != accumulator && add.getRhs() != accumulator)
    return false;
  Value other = add.getLhs() == accumulator ? add.getRhs() : add.getLhs();
  auto multiply = other.getDefiningOp<arith::MulFOp>();
  if (!multiply)
    return false;
  auto argumentOf = [](Value value) {
    if (auto extend = value.getDefiningOp<arith::ExtFOp>())
      value = extend.getIn();
    return value;
  };
  Value left = argumentOf(multiply.getLhs()),
        right = argumentOf(multiply.getRhs());
  return (left == body->getArgument(0) && right == body->getArgument(1)) ||
         (left == body->getArgument(1) && right == body->getArgument(0));
}

/// A dimension of the result that the filter has too, and the filter is
/// constant.
bool ScaleFolder::findRoot(linalg::LinalgOp op, Chain &chain) {
  if (!op.getNumReductionLoops() || op->getNumResults() != 1 ||
      !op.hasPureTensorSemantics() || !isMultiplyAccumulate(op))
    return false;
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!type ||
      !(type.getElementType().isF32() || type.getElementType().isF64()))
    return false;
  AffineMap resultMap = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  for (OpOperand *operand : op.getDpsInputOperands()) {
    Value value = operand->get();
    if (getElementTypeOrSelf(value) != type.getElementType() ||
        !constants.isConstant(value) || value.getDefiningOp<tensor::EmptyOp>())
      continue;
    AffineMap map = op.getMatchingIndexingMap(operand);
    for (unsigned d = 0; d < resultMap.getNumResults(); ++d)
      for (unsigned f = 0; f < map.getNumResults(); ++f) {
        auto dim = dyn_cast<AffineDimExpr>(resultMap.getResult(d));
        if (!dim || map.getResult(f) != dim || type.isDynamicDim(d))
          continue;
        // Of several (a batch of filters), the one with the most channels.
        if (chain.filter &&
            type.getDimSize(d) <= type.getDimSize(chain.channelDim))
          continue;
        chain.filter = operand;
        chain.filterDim = f;
        chain.channelDim = d;
      }
    if (chain.filter)
      break;
  }
  chain.root = op;
  return chain.filter;
}

/// A constant with one value for each channel.
bool ScaleFolder::readConstantInit(Chain &chain, Value init) {
  std::shared_ptr<const Tensor> tensor = constants.read(init);
  int64_t inner = 1, channels = chain.channels.size();
  for (size_t d = chain.channelDim + 1; d < tensor->shape.size(); ++d)
    inner *= tensor->shape[d];
  for (int64_t i = 0, e = tensor->elementCount(); i < e; ++i) {
    double value = tensor->at(i);
    Affine &channel = chain.channels[i / inner % channels];
    if (i < inner * channels && i % inner == 0)
      channel.shift = value;
    else if (!(channel.shift == value))
      return false;
  }
  chain.biasInInit = true;
  return true;
}

/// The initial value: zero, or a bias for each channel.
bool ScaleFolder::readInit(Chain &chain) {
  Value init = chain.root.getDpsInits()[0];
  int64_t channels =
      cast<RankedTensorType>(init.getType()).getDimSize(chain.channelDim);
  chain.channels.resize(channels);
  Operation *op = init.getDefiningOp();
  if (auto fill = dyn_cast_or_null<linalg::FillOp>(op)) {
    std::optional<Scalar> value = constants.readScalar(fill.getInputs()[0]);
    if (!value)
      return false;
    for (Affine &channel : chain.channels)
      channel.shift = value->real;
    chain.biasInInit = value->real != 0;
    return true;
  }
  if (isa_and_nonnull<arith::ConstantOp, WeightOp>(op) &&
      constants.isConstant(init))
    return readConstantInit(chain, init);
  auto broadcast = dyn_cast_or_null<linalg::LinalgOp>(op);
  OpOperand *source = broadcast ? findMovedInput(broadcast) : nullptr;
  if (!source)
    return false;
  std::shared_ptr<const Tensor> bias = constants.read(source->get());
  AffineMap map = broadcast.getMatchingIndexingMap(source);
  if (!bias || bias->elementCount() != channels)
    return false;
  for (auto [i, expression] : llvm::enumerate(map.getResults())) {
    auto dim = dyn_cast<AffineDimExpr>(expression);
    bool isChannel = dim && dim.getPosition() == chain.channelDim;
    if (!isChannel && bias->shape[i] != 1)
      return false;
  }
  for (int64_t c = 0; c < channels; ++c)
    chain.channels[c].shift = bias->at(c);
  chain.biasInInit = true;
  return true;
}

/// Whether the body is a·x + b in this argument, as far as its ops tell.
static bool isAffineIn(Block &body, Value argument) {
  llvm::DenseSet<Value> dependent{argument};
  for (Operation &op : body.without_terminator()) {
    unsigned uses = llvm::count_if(op.getOperands(), [&](Value operand) {
      return dependent.contains(operand);
    });
    if (!uses)
      continue;
    bool linear = isa<arith::AddFOp, arith::SubFOp, arith::NegFOp>(op) ||
                  (isa<arith::MulFOp>(op) && uses == 1) ||
                  (isa<arith::DivFOp>(op) && uses == 1 &&
                   dependent.contains(op.getOperand(0)));
    if (!linear)
      return false;
    dependent.insert(op.getResult(0));
  }
  return dependent.contains(body.getTerminator()->getOperand(0));
}

std::optional<std::vector<Affine>>
ScaleFolder::evaluateLink(linalg::GenericOp link, OpOperand &use,
                          unsigned channelLoop, int64_t channels) {
  SmallVector<int64_t> sizes = link.getStaticLoopRanges();
  struct Input {
    unsigned number;
    std::shared_ptr<const Tensor> tensor;
    bool perChannel;
  };
  SmallVector<Input> inputs;
  SmallVector<Scalar> arguments(link->getNumOperands());
  for (OpOperand *operand : link.getDpsInputOperands()) {
    if (operand == &use)
      continue;
    unsigned number = operand->getOperandNumber();
    if (!isa<ShapedType>(operand->get().getType())) {
      auto scalar = constants.readScalar(operand->get());
      if (!scalar)
        return std::nullopt;
      arguments[number] = *scalar;
      continue;
    }
    auto tensor = constants.read(operand->get());
    if (!tensor)
      return std::nullopt;
    bool perChannel = tensor->elementCount() == channels && channels > 1;
    if (!perChannel && tensor->elementCount() != 1)
      return std::nullopt;
    AffineMap map = link.getMatchingIndexingMap(operand);
    for (auto [i, expression] : llvm::enumerate(map.getResults())) {
      auto dim = dyn_cast<AffineDimExpr>(expression);
      bool isChannel = dim && dim.getPosition() == channelLoop;
      if (tensor->shape[i] != 1 && !isChannel)
        return std::nullopt;
    }
    inputs.push_back({number, tensor, perChannel});
  }
  // Not rounded: a and b are computed once, in double.
  auto body = Body::compile(*link.getBlock(), constants, Rounding::None);
  if (!body)
    return std::nullopt;
  std::vector<Affine> result(channels);
  SmallVector<int64_t> indices(sizes.size(), 0);
  for (int64_t c = 0; c < channels; ++c) {
    for (const Input &input : inputs)
      arguments[input.number] =
          loadScalar(*input.tensor, input.perChannel ? c : 0);
    double at[2];
    for (int x : {0, 1}) {
      arguments[use.getOperandNumber()].real = x;
      if (!body->run(arguments, indices))
        return std::nullopt;
      at[x] = body->yielded(0).real;
    }
    result[c] = {at[1] - at[0], at[0]};
    if (!std::isfinite(result[c].scale) || !std::isfinite(result[c].shift))
      return std::nullopt;
  }
  return result;
}

bool ScaleFolder::addLink(Chain &chain, linalg::GenericOp link,
                          OpOperand &use) {
  if (link.getNumReductionLoops() || link->getNumResults() != 1 ||
      !link.hasPureTensorSemantics() || !link.isDpsInput(&use) ||
      link.payloadUsesValueFromOperand(link.getDpsInitOperand(0)) ||
      link->getResult(0).getType() != use.get().getType())
    return false;
  AffineMap map = link.getMatchingIndexingMap(&use);
  if (!map.isPermutation() ||
      map != link.getMatchingIndexingMap(link.getDpsInitOperand(0)) ||
      !isAffineIn(*link.getBlock(),
                  link.getBlock()->getArgument(use.getOperandNumber())))
    return false;
  unsigned loop =
      cast<AffineDimExpr>(map.getResult(chain.channelDim)).getPosition();
  auto step = evaluateLink(link, use, loop, chain.channels.size());
  if (!step)
    return false;
  for (auto [channel, next] : llvm::zip(chain.channels, *step)) {
    channel.scale *= next.scale;
    channel.shift = channel.shift * next.scale + next.shift;
  }
  chain.links.push_back(link);
  return true;
}

Value ScaleFolder::scaleFilter(Chain &chain) {
  Value filter = chain.filter->get();
  if (llvm::all_of(chain.channels,
                   [](const Affine &c) { return c.scale == 1; }))
    return filter;
  Tensor tensor = *constants.read(filter);
  int64_t inner = 1;
  for (size_t d = chain.filterDim + 1; d < tensor.shape.size(); ++d)
    inner *= tensor.shape[d];
  int64_t size = tensor.shape[chain.filterDim];
  for (int64_t i = 0, e = tensor.elementCount(); i < e; ++i)
    tensor.set(i, tensor.at(i) * chain.channels[i / inner % size].scale);
  return constants.write(chain.root, cast<RankedTensorType>(filter.getType()),
                         std::move(tensor));
}

Value ScaleFolder::addShift(Chain &chain, OpBuilder &builder, Value result,
                            Value empty) {
  if (llvm::all_of(chain.channels,
                   [](const Affine &c) { return c.shift == 0; }))
    return result;
  Location loc = chain.root->getLoc();
  auto type = cast<RankedTensorType>(result.getType());
  auto element = elementTypeOf(type.getElementType());
  Tensor shifts = Tensor::zeros(*element, {int64_t(chain.channels.size())});
  for (auto [i, channel] : llvm::enumerate(chain.channels))
    shifts.set(i, channel.shift);
  Value bias = constants.write(
      chain.root, RankedTensorType::get(shifts.shape, type.getElementType()),
      std::move(shifts));
  AffineMap identity = builder.getMultiDimIdentityMap(type.getRank());
  AffineMap channel = AffineMap::get(
      type.getRank(), 0, builder.getAffineDimExpr(chain.channelDim));
  SmallVector<utils::IteratorType> loops(type.getRank(),
                                         utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             builder, loc, TypeRange(type), ValueRange{result, bias}, empty,
             ArrayRef<AffineMap>{identity, channel, identity}, loops,
             [](OpBuilder &body, Location loc, ValueRange arguments) {
               Value sum =
                   arith::AddFOp::create(body, loc, arguments[0], arguments[1]);
               linalg::YieldOp::create(body, loc, sum);
             })
      .getResult(0);
}

bool ScaleFolder::rewrite(Chain &chain) {
  // One addition after zero is how it should look already.
  bool scales = llvm::any_of(chain.channels,
                             [](const Affine &c) { return c.scale != 1; });
  if (!scales && !chain.biasInInit && chain.links.size() < 2)
    return false;
  OpBuilder builder(chain.root);
  Location loc = chain.root->getLoc();
  Value oldInit = chain.root.getDpsInits()[0];
  auto type = cast<RankedTensorType>(oldInit.getType());
  Value empty = tensor::EmptyOp::create(
      builder, loc, tensor::getMixedSizes(builder, loc, oldInit),
      type.getElementType());
  Value zero = arith::ConstantOp::create(
      builder, loc, builder.getZeroAttr(type.getElementType()));
  Value init = linalg::FillOp::create(builder, loc, zero, empty).getResult(0);
  Value filter = scaleFilter(chain);

  IRMapping same;
  auto root = cast<linalg::LinalgOp>(builder.clone(*chain.root, same));
  root->setOperand(chain.filter->getOperandNumber(), filter);
  root.setDpsInitOperand(0, init);
  Value result = addShift(chain, builder, root->getResult(0), empty);
  Operation *last =
      chain.links.empty() ? chain.root.getOperation() : chain.links.back();
  last->getResult(0).replaceAllUsesWith(result);
  return true;
}

int64_t ScaleFolder::run(ModuleOp module) {
  int64_t count = 0;
  SmallVector<linalg::LinalgOp> roots;
  module.walk([&](linalg::LinalgOp op) { roots.push_back(op); });
  for (linalg::LinalgOp op : roots) {
    Chain chain;
    if (!findRoot(op, chain) || !readInit(chain))
      continue;
    Value end = op->getResult(0);
    while (end.hasOneUse()) {
      OpOperand &use = *end.use_begin();
      auto link = dyn_cast<linalg::GenericOp>(use.getOwner());
      if (!link || link->getBlock() != op->getBlock() ||
          !addLink(chain, link, use))
        break;
      end = link->getResult(0);
    }
    count += rewrite(chain);
  }
  return count;
}

int64_t import::foldScales(Program &program) {
  return ScaleFolder(program).run(*program.module);
}
