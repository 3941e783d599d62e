//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Whether an op computes what an example does, from the same values.

#include "LoopNest.h"

#include "attune/Dialect/Match.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace attune;

namespace {

/// More inputs than this are compared in their order only.
constexpr size_t maxPermuted = 5;
/// Of pairs of values and orders of inputs: an example is small, and what a
/// stranger writes must end.
constexpr int64_t maxSteps = 100000;

/// Through what changes nothing but dimensions of size 1 and static types.
Value skipUnitViews(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::CastOp>(
            op))
      return value;
    auto withoutOnes = [](Type type) {
      SmallVector<int64_t> shape(cast<ShapedType>(type).getShape());
      llvm::erase(shape, 1);
      return shape;
    };
    Value source = op->getOperand(0);
    if (!isa<tensor::CastOp>(op) &&
        withoutOnes(source.getType()) != withoutOnes(value.getType()))
      return value;
    value = source;
  }
  return value;
}

/// A number, or a tensor of equal numbers.
Attribute constantOf(Value value) {
  Attribute attribute;
  if (!matchPattern(value, m_Constant(&attribute)))
    return {};
  if (auto splat = dyn_cast<SplatElementsAttr>(attribute))
    return splat.getSplatValue<Attribute>();
  return attribute;
}

/// The tensors that the body of an op reads, in the order of its inputs.
SmallVector<OpOperand *> tensorInputs(linalg::LinalgOp op) {
  SmallVector<OpOperand *> inputs;
  for (OpOperand *input : op.getDpsInputOperands())
    if (isa<ShapedType>(input->get().getType()) &&
        !op.getMatchingBlockArgument(input).use_empty())
      inputs.push_back(input);
  return inputs;
}

class ExampleMatcher {
public:
  explicit ExampleMatcher(const ExamplePattern &pattern) : pattern(pattern) {}

  /// A value of the example, and one of the program.
  bool match(Value wanted, Value found) {
    if (++steps > maxSteps)
      return false;
    if (auto argument = dyn_cast<BlockArgument>(wanted);
        argument && argument.getOwner() == pattern.example)
      return bind(argument, found);
    wanted = skipUnitViews(wanted);
    if (auto argument = dyn_cast<BlockArgument>(wanted);
        argument && argument.getOwner() == pattern.example)
      return bind(argument, skipUnitViews(found));
    found = skipUnitViews(found);
    if (auto known = bound.find(wanted); known != bound.end())
      return known->second == found;
    Operation *a = wanted.getDefiningOp(), *b = found.getDefiningOp();
    if (!a || !b)
      return false;
    unsigned result = cast<OpResult>(wanted).getResultNumber();
    if (cast<OpResult>(found).getResultNumber() != result || !matchOps(a, b))
      return false;
    bound[wanted] = found;
    return true;
  }

  bool matchOps(Operation *a, Operation *b) {
    Attribute number =
        a->getNumResults() == 1 ? constantOf(a->getResult(0)) : Attribute();
    if (number)
      return b->getNumResults() == 1 && constantOf(b->getResult(0)) == number;
    auto linalgA = dyn_cast<linalg::LinalgOp>(a);
    auto linalgB = dyn_cast<linalg::LinalgOp>(b);
    if (linalgA && linalgB)
      return matchLinalg(linalgA, linalgB);
    return !linalgA && !linalgB && matchOthers(a, b);
  }

private:
  using Bound = llvm::DenseMap<Value, Value>;

  bool bind(BlockArgument argument, Value found) {
    if (auto known = bound.find(argument); known != bound.end())
      return skipUnitViews(known->second) == skipUnitViews(found);
    if (!admitsType(argument, found.getType()))
      return false;
    bound[argument] = found;
    return true;
  }

  bool admitsType(BlockArgument argument, Type found) const {
    Type wanted = argument.getType();
    auto shaped = dyn_cast<ShapedType>(wanted),
         other = dyn_cast<ShapedType>(found);
    if (!shaped || !other)
      return wanted == found;
    if (shaped.getElementType() != other.getElementType())
      return false;
    SmallVector<SizePattern> sizes;
    for (int64_t size : shaped.getShape()) {
      auto kind = ShapedType::isDynamic(size) ? SizePattern::Kind::Any
                                              : SizePattern::Kind::Exact;
      sizes.push_back({kind, size, size});
    }
    SmallVector<int64_t> shape =
        llvm::map_to_vector(other.getShape(), [](int64_t size) {
          return ShapedType::isDynamic(size) ? -1 : size;
        });
    if (!admitsSizes(SizesPattern(sizes), shape))
      return false;
    unsigned number = argument.getArgNumber();
    return number >= pattern.sizes.size() ||
           admitsSizes(pattern.sizes[number], shape);
  }

  /// Ops that linalg's interface does not cover.
  bool matchOthers(Operation *a, Operation *b) {
    if (isa<tensor::EmptyOp>(a) && isa<tensor::EmptyOp>(b))
      return true;
    if (a->getName() != b->getName() ||
        a->getNumOperands() != b->getNumOperands() ||
        a->getNumResults() != b->getNumResults() ||
        a->getPropertiesAsAttribute() != b->getPropertiesAsAttribute() ||
        a->getNumRegions() != b->getNumRegions())
      return false;
    for (auto [wanted, found] : llvm::zip(a->getOperands(), b->getOperands()))
      if (!match(wanted, found))
        return false;
    for (auto [wanted, found] : llvm::zip(a->getRegions(), b->getRegions()))
      if (!matchRegions(wanted, found))
        return false;
    return true;
  }

  bool matchRegions(Region &wanted, Region &found) {
    if (wanted.empty() || found.empty())
      return wanted.empty() == found.empty();
    if (!wanted.hasOneBlock() || !found.hasOneBlock() ||
        wanted.getNumArguments() != found.getNumArguments())
      return false;
    for (auto [a, b] : llvm::zip(wanted.getArguments(), found.getArguments()))
      bound[a] = b;
    Operation *a = wanted.front().getTerminator(),
              *b = found.front().getTerminator();
    return llvm::all_of_zip(
        a->getOperands(), b->getOperands(),
        [&](Value first, Value second) { return matchScalar(first, second); });
  }

  bool matchLinalg(linalg::LinalgOp a, linalg::LinalgOp b) {
    if (a.getNumDpsInits() != b.getNumDpsInits())
      return false;
    SmallVector<OpOperand *> inputsA = tensorInputs(a),
                             inputsB = tensorInputs(b);
    if (inputsA.size() != inputsB.size())
      return false;
    // As written, or without loops that run once on either side.
    const std::pair<LoopNest, LoopNest> forms[] = {
        {loopNestOf(a), loopNestOf(b)},
        {withoutUnitLoops(a), withoutUnitLoops(b)}};
    SmallVector<unsigned> order =
        llvm::to_vector(llvm::seq<unsigned>(0, inputsB.size()));
    do {
      SmallVector<OpOperand *> ordered = llvm::map_to_vector(
          order, [&](unsigned index) { return inputsB[index]; });
      for (const auto &[nestA, nestB] : forms) {
        Bound before = bound;
        if (matchInOrder(a, b, nestA, nestB, inputsA, ordered))
          return true;
        bound = std::move(before);
      }
    } while (order.size() <= maxPermuted && steps < maxSteps &&
             std::next_permutation(order.begin(), order.end()));
    return false;
  }

  /// With the inputs side by side.
  bool matchInOrder(linalg::LinalgOp a, linalg::LinalgOp b,
                    const LoopNest &nestA, const LoopNest &nestB,
                    ArrayRef<OpOperand *> inputsA,
                    ArrayRef<OpOperand *> inputsB) {
    if (++steps > maxSteps)
      return false;
    LoopNest shownA = nestA;
    shownA.maps.clear();
    SmallVector<unsigned> numbers;
    auto add = [&](OpOperand *first, OpOperand *second) {
      shownA.maps.push_back(nestA.maps[first->getOperandNumber()]);
      numbers.push_back(second->getOperandNumber());
      return getElementTypeOrSelf(first->get().getType()) ==
             getElementTypeOrSelf(second->get().getType());
    };
    bool sameTypes = llvm::all_of(
        llvm::seq<unsigned>(0, a.getNumDpsInits()), [&](unsigned i) {
          return add(a.getDpsInitOperand(i), b.getDpsInitOperand(i));
        });
    sameTypes &= llvm::all_of_zip(inputsA, inputsB, add);
    SmallVector<int64_t> loops;
    auto admits = [](int64_t wanted, int64_t found) {
      return wanted < 0 || wanted == found;
    };
    if (!sameTypes || !unifyLoops(shownA, nestB, numbers, admits, loops))
      return false;
    SmallVector<int64_t> originals(a.getNumLoops(), -1);
    for (auto [loop, other] : llvm::enumerate(loops))
      originals[nestA.original[loop]] = nestB.original[other];
    return matchBodies(a, b, inputsA, inputsB, originals) &&
           matchOperands(a, b, inputsA, inputsB);
  }

  bool matchBodies(linalg::LinalgOp a, linalg::LinalgOp b,
                   ArrayRef<OpOperand *> inputsA, ArrayRef<OpOperand *> inputsB,
                   ArrayRef<int64_t> loops) {
    for (auto [first, second] : llvm::zip_equal(inputsA, inputsB))
      bound[a.getMatchingBlockArgument(first)] =
          b.getMatchingBlockArgument(second);
    for (auto [first, second] :
         llvm::zip_equal(a.getRegionOutputArgs(), b.getRegionOutputArgs()))
      bound[first] = second;
    auto outer = loopsOfBody;
    loopsOfBody = loops;
    scalarsA = a;
    scalarsB = b;
    bool same = llvm::all_of_zip(
        a.getBlock()->getTerminator()->getOperands(),
        b.getBlock()->getTerminator()->getOperands(),
        [&](Value first, Value second) { return matchScalar(first, second); });
    loopsOfBody = outer;
    return same;
  }

  /// Scalar operands stand for what they are; the body's arguments for
  /// themselves.
  static Value resolve(linalg::LinalgOp op, Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    if (!op || !argument || argument.getOwner() != op.getBlock())
      return value;
    Value operand = op.getMatchingOpOperand(argument)->get();
    bool isNumber = !isa<ShapedType>(operand.getType()) || constantOf(operand);
    bool isInput = argument.getArgNumber() < op.getNumDpsInputs();
    return isInput && isNumber ? operand : value;
  }

  bool matchScalar(Value wanted, Value found) {
    if (++steps > maxSteps)
      return false;
    if (isa<ShapedType>(wanted.getType()))
      return match(wanted, found);
    wanted = resolve(scalarsA, wanted);
    found = resolve(scalarsB, found);
    if (wanted.getType() != found.getType() &&
        !(constantOf(wanted) && constantOf(found)))
      return false;
    if (Attribute number = constantOf(wanted))
      return constantOf(found) == number;
    if (auto known = bound.find(wanted); known != bound.end())
      return known->second == found;
    if (auto argument = dyn_cast<BlockArgument>(wanted))
      return argument.getOwner() == pattern.example && bind(argument, found);
    Operation *a = wanted.getDefiningOp(), *b = found.getDefiningOp();
    if (!a || !b || a->getName() != b->getName() ||
        a->getNumOperands() != b->getNumOperands() ||
        cast<OpResult>(wanted).getResultNumber() !=
            cast<OpResult>(found).getResultNumber())
      return false;
    if (auto index = dyn_cast<linalg::IndexOp>(a))
      return int64_t(cast<linalg::IndexOp>(b).getDim()) ==
             loopsOfBody[index.getDim()];
    if (a->getPropertiesAsAttribute() != b->getPropertiesAsAttribute() ||
        a->getNumRegions() || b->getNumRegions())
      return false;
    if (matchScalars(a->getOperands(), b->getOperands()))
      return true;
    return a->hasTrait<OpTrait::IsCommutative>() && a->getNumOperands() == 2 &&
           matchScalars(a->getOperands(),
                        SmallVector<Value>{b->getOperand(1), b->getOperand(0)});
  }

  bool matchScalars(ValueRange wanted, ValueRange found) {
    Bound before = bound;
    bool same = llvm::all_of_zip(
        wanted, found, [&](Value a, Value b) { return matchScalar(a, b); });
    if (!same)
      bound = std::move(before);
    return same;
  }

  bool matchOperands(linalg::LinalgOp a, linalg::LinalgOp b,
                     ArrayRef<OpOperand *> inputsA,
                     ArrayRef<OpOperand *> inputsB) {
    for (auto [first, second] : llvm::zip_equal(inputsA, inputsB))
      if (!match(first->get(), second->get()))
        return false;
    for (unsigned i = 0; i < a.getNumDpsInits(); ++i) {
      OpOperand *first = a.getDpsInitOperand(i),
                *second = b.getDpsInitOperand(i);
      if (!a.payloadUsesValueFromOperand(first) &&
          !b.payloadUsesValueFromOperand(second))
        continue; // overwritten
      if (!match(first->get(), second->get()))
        return false;
    }
    return true;
  }

  const ExamplePattern &pattern;
  Bound bound;
  /// While bodies are compared: theirs.
  linalg::LinalgOp scalarsA, scalarsB;
  ArrayRef<int64_t> loopsOfBody;
  int64_t steps = 0;
};

} // namespace

std::string attune::mismatch(Operation *op, const ExamplePattern &pattern) {
  if (!op || op->getNumResults() == 0)
    return "it has no result";
  Operation *root = &pattern.example->back();
  if (root->getNumResults() == 0)
    return "the example ends in an op without a result";
  // A view at either end is not what is meant.
  return ExampleMatcher(pattern).matchOps(root, op)
             ? ""
             : "it does not compute what the example does";
}
