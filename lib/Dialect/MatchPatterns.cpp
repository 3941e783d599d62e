//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Contractions, convolutions and reductions by their sizes and types.

#include "LoopNest.h"

#include "attune/Dialect/Attune.h"
#include "attune/Dialect/Match.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace attune;
using llvm::formatv;

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

bool SizePattern::admits(int64_t size) const {
  switch (kind) {
  case Kind::Any:
    return true;
  case Kind::Exact:
    return size == lower;
  case Kind::Range:
    return size >= lower && size <= upper && (size - lower) % step == 0;
  case Kind::Multiple:
    return size >= 0 && size % step == 0;
  }
  return false;
}

std::optional<SizePattern> attune::sizePatternFrom(Attribute attribute) {
  using Kind = SizePattern::Kind;
  if (isa<UnitAttr>(attribute))
    return SizePattern{Kind::Any};
  if (auto integer = dyn_cast<IntegerAttr>(attribute)) {
    if (!integer.getType().isSignlessInteger(64) || integer.getInt() < -1)
      return std::nullopt;
    return SizePattern{Kind::Exact, integer.getInt(), integer.getInt()};
  }
  if (auto range = dyn_cast<RangeAttr>(attribute))
    return SizePattern{Kind::Range, range.getLower(), range.getUpper(),
                       range.getStep()};
  if (auto multiple = dyn_cast<MultipleAttr>(attribute))
    return SizePattern{Kind::Multiple, 0, 0, multiple.getOf()};
  return std::nullopt;
}

static bool admitsFrom(ArrayRef<SizePattern> patterns,
                       ArrayRef<int64_t> sizes) {
  if (patterns.empty() && sizes.empty())
    return true;
  if (!patterns.empty() && !sizes.empty() &&
      patterns.front().admits(sizes.front()) &&
      admitsFrom(patterns.drop_front(), sizes.drop_front()))
    return true;
  if (!sizes.empty() && sizes.front() == 1 &&
      admitsFrom(patterns, sizes.drop_front()))
    return true;
  return !patterns.empty() && patterns.front().admits(1) &&
         admitsFrom(patterns.drop_front(), sizes);
}

bool attune::admitsSizes(const SizesPattern &pattern, ArrayRef<int64_t> sizes) {
  return !pattern || admitsFrom(*pattern, sizes);
}

namespace {

std::string describe(ArrayRef<int64_t> sizes) {
  return "[" +
         llvm::join(llvm::map_range(sizes,
                                    [](int64_t size) {
                                      return size < 0 ? "?"
                                                      : std::to_string(size);
                                    }),
                    ", ") +
         "]";
}

/// The sizes of some loops, as a part of an op is called.
struct Part {
  StringRef name;
  const SizesPattern &pattern;
  ArrayRef<unsigned> loops;
};

std::string checkSizes(linalg::LinalgOp op, ArrayRef<Part> parts) {
  SmallVector<int64_t> extents = loopExtents(op);
  for (const Part &part : parts) {
    SmallVector<int64_t> sizes = llvm::map_to_vector(
        part.loops, [&](unsigned loop) { return extents[loop]; });
    if (!admitsSizes(part.pattern, sizes))
      return formatv("{0} is {1}", part.name, describe(sizes));
  }
  return "";
}

Type elementOf(Value value) { return getElementTypeOrSelf(value.getType()); }

std::string checkTypes(ArrayRef<Type> wanted, ArrayRef<Type> found) {
  if (wanted.empty() || wanted == found)
    return "";
  std::string text;
  llvm::raw_string_ostream out(text);
  out << "the element types are ";
  llvm::interleaveComma(found, out);
  return text;
}

/// With the operands in this order.
std::string checkContraction(linalg::LinalgOp op,
                             const ContractionPattern &pattern,
                             const ContractionDims &dims) {
  std::string why = checkSizes(op, {{"batch", pattern.batch, dims.batch},
                                    {"m", pattern.m, dims.m},
                                    {"n", pattern.n, dims.n},
                                    {"k", pattern.k, dims.k}});
  if (!why.empty())
    return why;
  Value lhs = op->getOperand(dims.lhs), rhs = op->getOperand(dims.rhs),
        result = op.getDpsInits()[0];
  why = checkTypes(pattern.types,
                   {elementOf(lhs), elementOf(rhs), elementOf(result)});
  if (!why.empty() || pattern.maps.empty())
    return why;
  LoopNest found = withoutUnitLoops(op), wanted;
  wanted.maps = pattern.maps;
  wanted.extents.assign(pattern.maps.front().getNumDims(), -1);
  LoopNest all = loopNestOf(op);
  for (const LoopNest &nest : {all, found}) {
    // The kinds of loops follow from the maps.
    wanted.iterators.assign(wanted.extents.size(),
                            utils::IteratorType::reduction);
    for (AffineExpr expr : pattern.maps.back().getResults())
      if (auto dim = dyn_cast<AffineDimExpr>(expr))
        wanted.iterators[dim.getPosition()] = utils::IteratorType::parallel;
    SmallVector<int64_t> loops;
    if (unifyLoops(
            wanted, nest, {dims.lhs, dims.rhs, unsigned(nest.maps.size() - 1)},
            [](int64_t, int64_t) { return true; }, loops))
      return "";
  }
  return "the indexing maps are others";
}

SmallVector<int64_t> longerThanOne(ArrayRef<int64_t> values,
                                   ArrayRef<unsigned> loops,
                                   ArrayRef<int64_t> extents) {
  SmallVector<int64_t> kept;
  for (auto [value, loop] : llvm::zip_equal(values, loops))
    if (extents[loop] != 1)
      kept.push_back(value);
  return kept;
}

StringRef combinerName(Operation *op) {
  using namespace arith;
  return llvm::TypeSwitch<Operation *, StringRef>(op)
      .Case<AddFOp, AddIOp>([](auto) { return "add"; })
      .Case<MulFOp, MulIOp>([](auto) { return "mul"; })
      .Case<MaximumFOp, MaxNumFOp, MaxSIOp, MaxUIOp>([](auto) { return "max"; })
      .Case<MinimumFOp, MinNumFOp, MinSIOp, MinUIOp>([](auto) { return "min"; })
      .Case<AndIOp>([](auto) { return "and"; })
      .Case<OrIOp>([](auto) { return "or"; })
      .Case<XOrIOp>([](auto) { return "xor"; })
      .Default([](Operation *) { return ""; });
}

/// The one op that joins an element with the accumulator, or null; `value`
/// becomes what is joined.
Operation *findCombiner(linalg::LinalgOp op, Value &value) {
  if (op.getNumDpsInits() != 1)
    return nullptr;
  SmallVector<Operation *> combiners;
  value = matchReduction(op.getRegionOutputArgs(), 0, combiners);
  return value && combiners.size() == 1 ? combiners.front() : nullptr;
}

} // namespace

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

std::string attune::mismatch(Operation *operation,
                             const ContractionPattern &pattern) {
  auto op = dyn_cast_or_null<linalg::LinalgOp>(operation);
  auto dims = op ? contractionDims(op) : std::nullopt;
  if (!dims)
    return "not a contraction";
  if (!matchMultiplyAccumulate(op)->isPlain)
    return "more is computed than a product";
  std::string why = checkContraction(op, pattern, *dims);
  SmallVector<int64_t> extents = loopExtents(op);
  auto isUnit = [&](unsigned loop) { return extents[loop] == 1; };
  if (why.empty() ||
      !(llvm::all_of(dims->m, isUnit) || llvm::all_of(dims->n, isUnit)))
    return why;
  // Of a matrix and a vector either may be called the left one.
  std::swap(dims->lhs, dims->rhs);
  std::swap(dims->m, dims->n);
  return checkContraction(op, pattern, *dims).empty() ? "" : why;
}

std::string attune::mismatch(Operation *operation,
                             const ConvolutionPattern &pattern) {
  auto op = dyn_cast_or_null<linalg::LinalgOp>(operation);
  auto dims = op ? convolutionDims(op) : std::nullopt;
  if (!dims)
    return "not a convolution";
  if (!matchMultiplyAccumulate(op)->isPlain)
    return "more is computed than a convolution";
  std::string why = checkSizes(
      op, {{"batch", pattern.batch, dims->batch},
           {"output_image", pattern.outputImage, dims->outputImage},
           {"output_channel", pattern.outputChannel, dims->outputChannel},
           {"window", pattern.window, dims->window},
           {"input_channel", pattern.inputChannel, dims->inputChannel},
           {"depth", pattern.depth, dims->depth}});
  if (!why.empty())
    return why;
  SmallVector<int64_t> extents = loopExtents(op);
  SmallVector<int64_t> strides =
      longerThanOne(dims->strides, dims->outputImage, extents);
  SmallVector<int64_t> dilations =
      longerThanOne(dims->dilations, dims->window, extents);
  if (pattern.strides && *pattern.strides != dims->strides &&
      *pattern.strides != strides)
    return "the strides are " + describe(dims->strides);
  if (pattern.dilations && *pattern.dilations != dims->dilations &&
      *pattern.dilations != dilations)
    return "the dilations are " + describe(dims->dilations);
  return checkTypes(pattern.types, {elementOf(op->getOperand(dims->image)),
                                    elementOf(op->getOperand(dims->filter)),
                                    elementOf(op.getDpsInits()[0])});
}

std::string attune::mismatch(Operation *operation,
                             const ReductionPattern &pattern) {
  auto op = dyn_cast_or_null<linalg::LinalgOp>(operation);
  if (!op || (classify(op) != OpClass::Reduction))
    return "not a reduction";
  SmallVector<unsigned> parallel, reduction;
  for (auto [loop, iterator] : llvm::enumerate(op.getIteratorTypesArray()))
    (iterator == utils::IteratorType::reduction ? reduction : parallel)
        .push_back(loop);
  std::string why =
      checkSizes(op, {{"parallel", pattern.parallel, parallel},
                      {"reduction", pattern.reduction, reduction}});
  if (!why.empty())
    return why;
  SmallVector<Type> types;
  for (Value value : op->getOperands())
    types.push_back(elementOf(value));
  why = checkTypes(pattern.types, types);
  if (!why.empty() || (pattern.combiner.empty() && !pattern.isPlain))
    return why;
  Value joined;
  Operation *combiner = findCombiner(op, joined);
  if (!combiner || combinerName(combiner).empty())
    return "no single op joins the elements";
  if (!pattern.combiner.empty() && combinerName(combiner) != pattern.combiner)
    return formatv("the elements are joined by '{0}'", combiner->getName());
  if (pattern.isPlain && !isa<BlockArgument>(joined))
    return "more is computed than the reduction";
  return "";
}
