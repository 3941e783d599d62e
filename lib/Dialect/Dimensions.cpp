//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// The loops of contractions and convolutions by their part.

#include "LoopNest.h"
#include "LoopSet.h"

#include "attune/Dialect/Match.h"

using namespace mlir;
using namespace attune;

namespace {

/// The loops of a map in the order of its results.
SmallVector<unsigned> loopsInOrder(AffineMap map) {
  SmallVector<unsigned> loops;
  for (AffineExpr expr : map.getResults())
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      loops.push_back(dim.getPosition());
  return loops;
}

std::optional<ContractionDims>
contractionDimsOf(const LoopNest &nest, const MultiplyAccumulate &product) {
  AffineMap lhsMap = nest.maps[product.lhs], rhsMap = nest.maps[product.rhs],
            resultMap = nest.maps.back();
  for (AffineMap map : {lhsMap, rhsMap, resultMap})
    if (!map.isProjectedPermutation())
      return std::nullopt;
  LoopSet lhs = loopsIn(lhsMap), rhs = loopsIn(rhsMap);
  ContractionDims dims;
  dims.lhs = product.lhs;
  dims.rhs = product.rhs;
  for (unsigned loop : loopsInOrder(resultMap)) {
    auto &part = lhs.test(loop) && rhs.test(loop) ? dims.batch
                 : lhs.test(loop)                 ? dims.m
                                                  : dims.n;
    if (!lhs.test(loop) && !rhs.test(loop))
      return std::nullopt;
    part.push_back(nest.original[loop]);
  }
  LoopSet result = loopsIn(resultMap);
  auto addSummed = [&](AffineMap map, const LoopSet &other) {
    for (unsigned loop : loopsInOrder(map))
      if (!result.test(loop) && other.test(loop))
        dims.k.push_back(nest.original[loop]);
  };
  addSummed(lhsMap, rhs);
  size_t known =
      dims.batch.size() + dims.m.size() + dims.n.size() + dims.k.size();
  if (known != nest.extents.size())
    return std::nullopt;
  // Operands commute: the left one has what comes first in the result.
  if (!dims.m.empty() && !dims.n.empty())
    for (unsigned loop : loopsInOrder(resultMap)) {
      if (lhs.test(loop) == rhs.test(loop))
        continue;
      if (rhs.test(loop)) {
        std::swap(dims.lhs, dims.rhs);
        std::swap(dims.m, dims.n);
        dims.k.clear();
        addSummed(rhsMap, lhs);
      }
      break;
    }
  return dims;
}

/// The subscript of an image: loops of the result and of the window.
struct Subscript {
  std::optional<std::pair<unsigned, int64_t>> output, window;
};

std::optional<Subscript> splitSubscript(const LoopNest &nest, AffineExpr expr) {
  auto sum = linearTerms(expr);
  if (!sum || sum->constant != 0)
    return std::nullopt;
  Subscript subscript;
  for (auto [loop, coefficient] : sum->terms) {
    bool isOutput = nest.iterators[loop] == utils::IteratorType::parallel;
    auto &part = isOutput ? subscript.output : subscript.window;
    if (part)
      return std::nullopt;
    part = {loop, coefficient};
  }
  return subscript;
}

/// A filter is read by plain subscripts, and not along the image's.
bool isFilter(AffineMap filter, const ConvolutionDims &dims) {
  if (!filter.isProjectedPermutation(/*allowZeroInResults=*/true))
    return false;
  LoopSet loops = loopsIn(filter);
  return llvm::none_of(dims.outputImage,
                       [&](unsigned loop) { return loops.test(loop); });
}

} // namespace

std::optional<ContractionDims> attune::contractionDims(linalg::LinalgOp op) {
  if (op.getNumReductionLoops() == 0)
    return std::nullopt;
  auto product = matchMultiplyAccumulate(op);
  if (!product)
    return std::nullopt;
  auto dims = contractionDimsOf(loopNestOf(op), *product);
  return dims ? dims : contractionDimsOf(withoutUnitLoops(op), *product);
}

std::optional<ConvolutionDims> attune::convolutionDims(linalg::LinalgOp op) {
  OpClass opClass = classify(op);
  auto product = matchMultiplyAccumulate(op);
  if ((opClass != OpClass::Convolution && opClass != OpClass::Depthwise) ||
      !product)
    return std::nullopt;
  LoopNest nest = loopNestOf(op);
  ConvolutionDims dims;
  dims.image = product->lhs;
  dims.filter = product->rhs;
  auto isWindowed = [&](unsigned input) {
    return !nest.maps[input].isProjectedPermutation(
        /*allowZeroInResults=*/true);
  };
  if (!isWindowed(dims.image))
    std::swap(dims.image, dims.filter);
  LoopSet filter = loopsIn(nest.maps[dims.filter]),
          result = loopsIn(nest.maps.back());
  LoopSet seen(nest.extents.size());
  for (AffineExpr expr : nest.maps[dims.image].getResults()) {
    auto subscript = splitSubscript(nest, expr);
    if (!subscript)
      return std::nullopt;
    if (subscript->output &&
        (subscript->window || subscript->output->second != 1)) {
      dims.outputImage.push_back(subscript->output->first);
      dims.strides.push_back(subscript->output->second);
    } else if (subscript->output) {
      unsigned loop = subscript->output->first;
      (filter.test(loop) ? dims.depth : dims.batch).push_back(loop);
    } else if (subscript->window && !isa<AffineDimExpr>(expr)) {
      return std::nullopt;
    }
    if (subscript->output)
      seen.set(subscript->output->first);
    if (subscript->window) {
      bool isPlain = isa<AffineDimExpr>(expr);
      (isPlain ? dims.inputChannel : dims.window)
          .push_back(subscript->window->first);
      if (!isPlain)
        dims.dilations.push_back(subscript->window->second);
      seen.set(subscript->window->first);
    }
  }
  for (unsigned loop : loopsInOrder(nest.maps.back()))
    if (!seen.test(loop))
      dims.outputChannel.push_back(loop);
  if (!isFilter(nest.maps[dims.filter], dims) ||
      llvm::any_of(dims.inputChannel,
                   [&](unsigned loop) { return !filter.test(loop); }))
    return std::nullopt;
  return dims;
}
