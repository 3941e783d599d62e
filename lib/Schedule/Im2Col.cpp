//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Form.h"

#include "attune/Dialect/Classify.h"
#include "attune/Dispatch/RootOp.h"
#include "attune/Support/Error.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace attune;

namespace {

using Loops = SmallVector<unsigned>;

/// The loops of a convolution by what they become in the product.
struct Shape {
  linalg::GenericOp op;
  OpOperand *image, *weights;
  /// Neighbours in the result that only the image has, as one loop each
  /// (batch, or rows and columns of the image).
  SmallVector<Loops> spatial;
  Loops reductions; ///< In the order of the weights.
  Loops groups;     ///< In both, and in the result.
  bool channelsLast;
};

Loops dimsOf(AffineMap map) {
  Loops dims;
  for (AffineExpr expr : map.getResults())
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      dims.push_back(dim.getPosition());
  return dims;
}

/// Whether `map` has `run` side by side, in this order.
bool hasRun(AffineMap map, ArrayRef<unsigned> run) {
  Loops dims = dimsOf(map);
  auto start = llvm::find(dims, run.front());
  return size_t(dims.end() - start) >= run.size() &&
         llvm::equal(run, llvm::make_range(start, start + run.size()));
}

llvm::Expected<Shape> shapeOf(linalg::LinalgOp root) {
  auto op = dyn_cast<linalg::GenericOp>(root.getOperation());
  if (!op || classify(root) != OpClass::Convolution ||
      op.getNumDpsInputs() != 2 || op.getNumDpsInits() != 1 ||
      llvm::is_contained(loopExtents(root), -1))
    return makeError("no convolution of two operands with known sizes");
  Shape shape{
      op,   op.getDpsInputOperand(0), op.getDpsInputOperand(1), {}, {}, {},
      false};
  if (op.getMatchingIndexingMap(shape.image).isProjectedPermutation())
    std::swap(shape.image, shape.weights);
  AffineMap imageMap = op.getMatchingIndexingMap(shape.image);
  AffineMap weightsMap = op.getMatchingIndexingMap(shape.weights);
  AffineMap resultMap = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  if (!weightsMap.isProjectedPermutation() ||
      !resultMap.isProjectedPermutation())
    return makeError("the weights are read in an unusual way");
  auto iterators = op.getIteratorTypesArray();
  auto isReduction = [&](unsigned loop) {
    return iterators[loop] == utils::IteratorType::reduction;
  };
  for (unsigned loop : dimsOf(weightsMap))
    if (isReduction(loop))
      shape.reductions.push_back(loop);
    else if (imageMap.isFunctionOfDim(loop))
      shape.groups.push_back(loop);
  if (shape.reductions.size() != op.getNumReductionLoops() ||
      shape.reductions.empty() || !hasRun(weightsMap, shape.reductions))
    return makeError("the reductions are no neighbours in the weights");
  bool open = false;
  for (unsigned loop : dimsOf(resultMap)) {
    bool only =
        imageMap.isFunctionOfDim(loop) && !weightsMap.isFunctionOfDim(loop);
    if (only && open)
      shape.spatial.back().push_back(loop);
    else if (only)
      shape.spatial.push_back({loop});
    open = only;
  }
  if (shape.spatial.empty())
    return makeError("the result has no rows or columns of the image");
  shape.channelsLast = !open;
  return shape;
}

/// The image's elements, each where the product wants it: columns of the window
/// (rows where channels are last).
class Im2Col {
public:
  Im2Col(IRRewriter &rewriter, Shape &shape)
      : rewriter(rewriter), shape(shape), op(shape.op),
        extents(loopExtents(cast<linalg::LinalgOp>(shape.op.getOperation()))) {}

  void run() {
    rewriter.setInsertionPoint(op);
    orderColumns();
    Value columns = collapse(copyImage(), columnMap());
    Value weights = collapse(shape.weights->get(), mapOf(shape.weights));
    OpOperand *init = op.getDpsInitOperand(0);
    Value destination = collapse(init->get(), mapOf(init));
    Value product = multiply(columns, weights, destination);
    auto type = cast<RankedTensorType>(op.getResultTypes()[0]);
    if (product.getType() != type)
      product = tensor::ExpandShapeOp::create(rewriter, op.getLoc(), type,
                                              product, groupsOf(mapOf(init)));
    rewriter.replaceOp(op, product);
  }

private:
  AffineMap mapOf(OpOperand *operand) {
    return op.getMatchingIndexingMap(operand);
  }
  AffineMap columnMap() { return mapOfLoops(columnLoops, extents.size()); }
  AffineMap mapOfLoops(ArrayRef<unsigned> loops, unsigned count) {
    SmallVector<AffineExpr> exprs;
    for (unsigned loop : loops)
      exprs.push_back(rewriter.getAffineDimExpr(loop));
    return AffineMap::get(count, 0, exprs, op.getContext());
  }

  void orderColumns() {
    auto add = [&](ArrayRef<unsigned> loops) {
      columnLoops.append(loops.begin(), loops.end());
    };
    ArrayRef<Loops> outside = shape.spatial;
    if (!shape.channelsLast)
      outside = outside.drop_back();
    for (const Loops &run : outside)
      add(run);
    add(shape.groups);
    add(shape.reductions);
    if (!shape.channelsLast)
      add(shape.spatial.back());
  }

  Value copyImage() {
    Location loc = op.getLoc();
    SmallVector<int64_t> sizes;
    SmallVector<AffineExpr> positions(extents.size(),
                                      rewriter.getAffineConstantExpr(0));
    for (auto [number, loop] : llvm::enumerate(columnLoops)) {
      sizes.push_back(extents[loop]);
      positions[loop] = rewriter.getAffineDimExpr(number);
    }
    Value image = shape.image->get();
    AffineMap read =
        mapOf(shape.image)
            .replaceDimsAndSymbols(positions, {}, columnLoops.size(), 0);
    Value empty = tensor::EmptyOp::create(
        rewriter, loc, sizes, getElementTypeOrSelf(image.getType()));
    SmallVector<utils::IteratorType> iterators(columnLoops.size(),
                                               utils::IteratorType::parallel);
    return linalg::GenericOp::create(
               rewriter, loc, empty.getType(), image, empty,
               ArrayRef<AffineMap>{
                   read, rewriter.getMultiDimIdentityMap(columnLoops.size())},
               iterators,
               [](OpBuilder &b, Location loc, ValueRange arguments) {
                 linalg::YieldOp::create(b, loc, arguments[0]);
               })
        .getResult(0);
  }

  /// The run of loops that `loop` is in; it stays alone in the others.
  ArrayRef<unsigned> runOf(unsigned loop) {
    if (llvm::is_contained(shape.reductions, loop))
      return shape.reductions;
    for (const Loops &run : shape.spatial)
      if (llvm::is_contained(run, loop))
        return run;
    return {};
  }

  SmallVector<ReassociationIndices> groupsOf(AffineMap map) {
    SmallVector<ReassociationIndices> groups;
    for (auto [dim, loop] : llvm::enumerate(dimsOf(map))) {
      ArrayRef<unsigned> run = runOf(loop);
      if (run.empty() || run.front() == loop)
        groups.emplace_back();
      groups.back().push_back(dim);
    }
    return groups;
  }

  Value collapse(Value tensor, AffineMap map) {
    auto groups = groupsOf(map);
    if (int64_t(groups.size()) ==
        cast<RankedTensorType>(tensor.getType()).getRank())
      return tensor;
    return tensor::CollapseShapeOp::create(rewriter, op.getLoc(), tensor,
                                           groups);
  }

  /// The map of an operand over the loops of the product: a run is one loop,
  /// called by its first.
  AffineMap productMap(AffineMap map, ArrayRef<unsigned> loops) {
    Loops numbers;
    for (unsigned loop : dimsOf(map)) {
      auto found = llvm::find(loops, loop);
      if (found != loops.end())
        numbers.push_back(found - loops.begin());
    }
    return mapOfLoops(numbers, loops.size());
  }

  Value multiply(Value columns, Value weights, Value destination) {
    Loops loops;
    SmallVector<utils::IteratorType> iterators;
    for (unsigned loop = 0; loop < extents.size(); ++loop) {
      ArrayRef<unsigned> run = runOf(loop);
      if (!run.empty() && run.front() != loop)
        continue;
      loops.push_back(loop);
      iterators.push_back(op.getIteratorTypesArray()[loop]);
    }
    SmallVector<Value> inputs = {columns, weights};
    SmallVector<AffineMap> maps = {
        productMap(columnMap(), loops), productMap(mapOf(shape.weights), loops),
        productMap(mapOf(op.getDpsInitOperand(0)), loops)};
    if (shape.image->getOperandNumber() != 0) {
      std::swap(inputs[0], inputs[1]);
      std::swap(maps[0], maps[1]);
    }
    auto product =
        linalg::GenericOp::create(rewriter, op.getLoc(), destination.getType(),
                                  inputs, destination, maps, iterators);
    rewriter.cloneRegionBefore(op.getRegion(), product.getRegion(),
                               product.getRegion().begin());
    return product.getResult(0);
  }

  IRRewriter &rewriter;
  Shape &shape;
  linalg::GenericOp op;
  SmallVector<int64_t> extents;
  Loops columnLoops;
};

/// The ops after the product work on its form of the result.
LogicalResult collapseEpilogue(func::FuncOp dispatch) {
  MLIRContext *context = dispatch.getContext();
  RewritePatternSet patterns(context);
  linalg::populateFoldReshapeOpsByCollapsingPatterns(
      patterns, [](OpOperand *) { return true; });
  linalg::FillOp::getCanonicalizationPatterns(patterns, context);
  linalg::GenericOp::getCanonicalizationPatterns(patterns, context);
  tensor::ExpandShapeOp::getCanonicalizationPatterns(patterns, context);
  tensor::CollapseShapeOp::getCanonicalizationPatterns(patterns, context);
  tensor::EmptyOp::getCanonicalizationPatterns(patterns, context);
  tensor::populateFoldTensorEmptyPatterns(patterns);
  return applyPatternsGreedily(dispatch, std::move(patterns));
}

} // namespace

llvm::Error attune::convolutionToProduct(func::FuncOp dispatch) {
  DispatchParts parts = analyzeDispatch(dispatch);
  if (!parts.root)
    return makeError("the dispatch has no root op");
  auto shape = shapeOf(parts.root);
  if (!shape)
    return shape.takeError();
  IRRewriter rewriter(dispatch.getContext());
  Im2Col(rewriter, *shape).run();
  if (failed(collapseEpilogue(dispatch)))
    return makeError("collapsing the ops after the product does not end");
  restoreDestinations(dispatch, rewriter);
  return llvm::Error::success();
}
