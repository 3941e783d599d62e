//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// The match ops of AttuneMatchOps.td on top of Match.h.

#include "attune/Dialect/AttuneTransformOps.h"
#include "attune/Dialect/Match.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::transform;
using namespace attune;
using namespace attune::transform_ops;

namespace {

//===----------------------------------------------------------------------===//
// From attributes
//===----------------------------------------------------------------------===//

SizesPattern sizesFrom(ArrayAttr array) {
  if (!array)
    return std::nullopt;
  SmallVector<SizePattern> sizes;
  for (Attribute attribute : array)
    sizes.push_back(sizePatternFrom(attribute).value_or(SizePattern()));
  return sizes;
}

SizesPattern sizesFrom(std::optional<ArrayAttr> array) {
  return sizesFrom(array.value_or(ArrayAttr()));
}

SmallVector<Type> typesFrom(std::optional<ArrayAttr> array) {
  SmallVector<Type> types;
  if (array)
    for (auto type : array->getAsRange<TypeAttr>())
      types.push_back(type.getValue());
  return types;
}

std::optional<SmallVector<int64_t>>
integersFrom(std::optional<ArrayAttr> array) {
  if (!array)
    return std::nullopt;
  return llvm::map_to_vector(array->getAsRange<IntegerAttr>(),
                             [](IntegerAttr value) { return value.getInt(); });
}

/// Every list of a match op is one of sizes.
LogicalResult verifySizes(Operation *op,
                          ArrayRef<std::optional<ArrayAttr>> lists) {
  for (std::optional<ArrayAttr> list : lists)
    for (Attribute size : list.value_or(ArrayAttr::get(op->getContext(), {})))
      if (!sizePatternFrom(size))
        return op->emitOpError()
               << size
               << " is not what a size can be: 8, -1 (known at run time), "
                  "#attune.range<1, 64>, #attune.multiple<16> or unit";
  return success();
}

LogicalResult verifyTypes(Operation *op, std::optional<ArrayAttr> types,
                          size_t count) {
  if (types && types->size() != count)
    return op->emitOpError()
           << count << " types are needed, not " << types->size();
  return success();
}

//===----------------------------------------------------------------------===//
// Applying
//===----------------------------------------------------------------------===//

/// The one op behind the handle, or null.
Operation *singleTarget(TransformState &state, Value handle) {
  auto targets = llvm::to_vector(state.getPayloadOps(handle));
  return targets.size() == 1 ? targets.front() : nullptr;
}

template <typename MatcherOp, typename Pattern>
DiagnosedSilenceableFailure applyMatcher(MatcherOp op, TransformState &state,
                                         const Pattern &pattern) {
  Operation *target = singleTarget(state, op.getTarget());
  std::string why = target ? mismatch(target, pattern) : "not a single op";
  return why.empty() ? DiagnosedSilenceableFailure::success()
                     : op.emitSilenceableError() << why;
}

template <typename MatcherOp>
void readOnly(MatcherOp op, SmallVectorImpl<MemoryEffects::EffectInstance> &e) {
  onlyReadsHandle(op.getTargetMutable(), e);
  if (op->getNumResults())
    producesHandle(op->getOpResults(), e);
  onlyReadsPayload(e);
}

ContractionPattern patternOf(MatchContractionOp op) {
  ContractionPattern pattern{sizesFrom(op.getBatch()), sizesFrom(op.getM()),
                             sizesFrom(op.getN()),     sizesFrom(op.getK()),
                             typesFrom(op.getTypes()), {}};
  if (auto maps = op.getIndexingMaps())
    pattern.maps = llvm::to_vector(maps->getAsValueRange<AffineMapAttr>());
  return pattern;
}

} // namespace

//===----------------------------------------------------------------------===//
// match.contraction
//===----------------------------------------------------------------------===//

LogicalResult MatchContractionOp::verify() {
  if (failed(verifySizes(*this, {getBatch(), getM(), getN(), getK()})) ||
      failed(verifyTypes(*this, getTypes(), 3)))
    return failure();
  if (!getSizes().empty() && getSizes().size() != 4)
    return emitOpError() << "gives the sizes of batch, m, n and k, or nothing; "
                            "not "
                         << getSizes().size() << " results";
  auto maps = getIndexingMaps();
  if (!maps)
    return success();
  SmallVector<AffineMap> values =
      llvm::to_vector(maps->getAsValueRange<AffineMapAttr>());
  if (values.size() != 3)
    return emitOpError() << "3 indexing maps are needed, not " << values.size();
  for (AffineMap map : values)
    if (map.getNumDims() != values.front().getNumDims() ||
        !map.isProjectedPermutation())
      return emitOpError() << "indexing maps of a contraction name loops";
  return success();
}

DiagnosedSilenceableFailure MatchContractionOp::apply(TransformRewriter &,
                                                      TransformResults &results,
                                                      TransformState &state) {
  DiagnosedSilenceableFailure matched =
      applyMatcher(*this, state, patternOf(*this));
  if (!matched.succeeded() || getSizes().empty()) {
    for (OpResult result : getOperation()->getOpResults())
      if (!matched.succeeded())
        results.setParams(result, {});
    return matched;
  }
  auto op = cast<linalg::LinalgOp>(singleTarget(state, getTarget()));
  ContractionDims dims = *contractionDims(op);
  SmallVector<int64_t> extents = loopExtents(op);
  Builder builder(getContext());
  for (auto [result, loops] :
       llvm::zip_equal(getOperation()->getOpResults(),
                       ArrayRef{dims.batch, dims.m, dims.n, dims.k}))
    results.setParams(result, llvm::map_to_vector(loops, [&](unsigned loop) {
                        return Attribute(
                            builder.getI64IntegerAttr(extents[loop]));
                      }));
  return matched;
}

void MatchContractionOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &e) {
  readOnly(*this, e);
}

//===----------------------------------------------------------------------===//
// match.convolution
//===----------------------------------------------------------------------===//

LogicalResult MatchConvolutionOp::verify() {
  if (failed(
          verifySizes(*this, {getBatch(), getOutputImage(), getOutputChannel(),
                              getWindow(), getInputChannel(), getDepth()})))
    return failure();
  return verifyTypes(*this, getTypes(), 3);
}

DiagnosedSilenceableFailure MatchConvolutionOp::apply(TransformRewriter &,
                                                      TransformResults &,
                                                      TransformState &state) {
  ConvolutionPattern pattern{
      sizesFrom(getBatch()),         sizesFrom(getOutputImage()),
      sizesFrom(getOutputChannel()), sizesFrom(getWindow()),
      sizesFrom(getInputChannel()),  sizesFrom(getDepth()),
      integersFrom(getStrides()),    integersFrom(getDilations()),
      typesFrom(getTypes())};
  return applyMatcher(*this, state, pattern);
}

void MatchConvolutionOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &e) {
  readOnly(*this, e);
}

//===----------------------------------------------------------------------===//
// match.reduction
//===----------------------------------------------------------------------===//

LogicalResult MatchReductionOp::verify() {
  static const llvm::StringSet<> combiners = {"add", "mul", "max", "min",
                                              "and", "or",  "xor"};
  if (auto combiner = getCombiner(); combiner && !combiners.contains(*combiner))
    return emitOpError() << "'" << *combiner
                         << "' is not a combiner: add, mul, max, min, and, or "
                            "or xor";
  return verifySizes(*this, {getParallel(), getReduction()});
}

DiagnosedSilenceableFailure MatchReductionOp::apply(TransformRewriter &,
                                                    TransformResults &,
                                                    TransformState &state) {
  ReductionPattern pattern{sizesFrom(getParallel()), sizesFrom(getReduction()),
                           getCombiner().value_or("").str(), getPlain(),
                           typesFrom(getTypes())};
  return applyMatcher(*this, state, pattern);
}

void MatchReductionOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &e) {
  readOnly(*this, e);
}

//===----------------------------------------------------------------------===//
// match.attention
//===----------------------------------------------------------------------===//

LogicalResult MatchAttentionOp::verify() {
  if (failed(
          verifySizes(*this, {getBatch(), getM(), getN(), getK1(), getK2()})))
    return failure();
  return verifyTypes(*this, getTypes(), 4);
}

DiagnosedSilenceableFailure MatchAttentionOp::apply(TransformRewriter &,
                                                    TransformResults &,
                                                    TransformState &state) {
  AttentionPattern pattern{sizesFrom(getBatch()), sizesFrom(getM()),
                           sizesFrom(getN()),     sizesFrom(getK1()),
                           sizesFrom(getK2()),    typesFrom(getTypes())};
  return applyMatcher(*this, state, pattern);
}

void MatchAttentionOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &e) {
  readOnly(*this, e);
}

//===----------------------------------------------------------------------===//
// match.example
//===----------------------------------------------------------------------===//

LogicalResult MatchExampleOp::verify() {
  Block &example = getExample().front();
  if (example.empty() || example.back().getNumResults() == 0)
    return emitOpError() << "the example ends in an op with a result";
  ArrayAttr sizes = getSizesAttr();
  if (!sizes)
    return success();
  if (sizes.size() != example.getNumArguments())
    return emitOpError() << "a list of sizes for each of the "
                         << example.getNumArguments()
                         << " arguments is needed, not " << sizes.size();
  for (Attribute attribute : sizes) {
    auto list = dyn_cast<ArrayAttr>(attribute);
    if (!list)
      return emitOpError() << attribute << " is not a list of sizes";
    if (failed(verifySizes(*this, {list})))
      return failure();
  }
  return success();
}

DiagnosedSilenceableFailure MatchExampleOp::apply(TransformRewriter &,
                                                  TransformResults &,
                                                  TransformState &state) {
  ExamplePattern pattern{&getExample().front(), {}};
  if (ArrayAttr sizes = getSizesAttr())
    for (auto list : sizes.getAsRange<ArrayAttr>())
      pattern.sizes.push_back(sizesFrom(list));
  return applyMatcher(*this, state, pattern);
}

void MatchExampleOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &e) {
  readOnly(*this, e);
}
