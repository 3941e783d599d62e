//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Dialect/AttuneTransformOps.h"
#include "attune/Dialect/Transforms.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using namespace mlir::transform;
using namespace attune;
using namespace attune::transform_ops;

#ifndef NDEBUG
// Declared by upstream's header when assertions are on, and defined only in
// builds of MLIR that have them on, which Debian's is not.
namespace mlir::transform::detail {
void checkImplementsTransformOpInterface(StringRef, MLIRContext *) {}
void checkImplementsTransformHandleTypeInterface(TypeID, MLIRContext *) {}
} // namespace mlir::transform::detail
#endif

#define GET_OP_CLASSES
#include "attune/Dialect/AttuneTransformOps.cpp.inc"

namespace {

/// The one integer or boolean a param holds.
std::optional<int64_t> getInteger(TransformState &state, Value param) {
  ArrayRef<Attribute> values = state.getParams(param);
  if (values.size() != 1)
    return std::nullopt;
  if (auto boolean = dyn_cast<BoolAttr>(values[0]))
    return boolean.getValue();
  if (auto integer = dyn_cast<IntegerAttr>(values[0]))
    return integer.getInt();
  return std::nullopt;
}

std::optional<SmallVector<int64_t>> getIntegers(TransformState &state,
                                                Value param) {
  ArrayRef<Attribute> values = state.getParams(param);
  if (values.size() != 1)
    return std::nullopt;
  if (auto array = dyn_cast<DenseI64ArrayAttr>(values[0]))
    return llvm::to_vector(array.asArrayRef());
  auto array = dyn_cast<ArrayAttr>(values[0]);
  if (!array || !llvm::all_of(array, llvm::IsaPred<IntegerAttr>))
    return std::nullopt;
  return llvm::map_to_vector(array, [](Attribute element) {
    return cast<IntegerAttr>(element).getInt();
  });
}

LogicalResult verifyRoles(Operation *op, ArrayAttr names) {
  for (auto name : names.getAsRange<StringAttr>())
    if (!loopRoleFromString(name.getValue()))
      return op->emitOpError() << "'" << name.getValue()
                               << "' is not a role of loops: batch, m, n, k "
                                  "or window";
  return success();
}

} // namespace

//===----------------------------------------------------------------------===//
// match, match_param
//===----------------------------------------------------------------------===//

LogicalResult MatchOp::verify() {
  for (auto name : getClasses().getAsRange<StringAttr>()) {
    bool known = name.getValue() == "matvec";
    for (int i = 0; i <= static_cast<int>(OpClass::Other); ++i)
      known |= toString(static_cast<OpClass>(i)) == name.getValue();
    if (!known)
      return emitOpError() << "'" << name.getValue()
                           << "' is not a class of ops";
  }
  return success();
}

DiagnosedSilenceableFailure
MatchOp::apply(TransformRewriter &, TransformResults &, TransformState &state) {
  auto targets = llvm::to_vector(state.getPayloadOps(getTarget()));
  if (targets.empty())
    return emitSilenceableError() << "no single op makes all results";
  for (Operation *op : targets) {
    OpClass opClass = classify(op);
    StringRef found = attune::toString(opClass);
    if (opClass == OpClass::Contraction &&
        !llvm::is_contained(inferLoopRoles(cast<linalg::LinalgOp>(op)),
                            LoopRole::N))
      found = "matvec";
    if (llvm::none_of(getClasses().getAsRange<StringAttr>(),
                      [&](StringAttr name) { return name == found; }))
      return emitSilenceableError() << "the root op is of class '" << found
                                    << "', not one of " << getClasses();
  }
  return DiagnosedSilenceableFailure::success();
}

void MatchOp::getEffects(SmallVectorImpl<MemoryEffects::EffectInstance> &e) {
  onlyReadsHandle(getTargetMutable(), e);
  onlyReadsPayload(e);
}

DiagnosedSilenceableFailure MatchParamOp::apply(TransformRewriter &,
                                                TransformResults &,
                                                TransformState &state) {
  std::optional<int64_t> value = getInteger(state, getParam());
  if (!value)
    return emitDefiniteFailure() << "the param is not one integer";
  if (*value < int64_t(getLower()) || *value > int64_t(getUpper()))
    return emitSilenceableError() << *value << " is not in [" << getLower()
                                  << ", " << getUpper() << "]";
  return DiagnosedSilenceableFailure::success();
}

void MatchParamOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &e) {
  onlyReadsHandle(getParamMutable(), e);
  onlyReadsPayload(e);
}

//===----------------------------------------------------------------------===//
// tile
//===----------------------------------------------------------------------===//

LogicalResult TileOp::verify() {
  if (getLoops().size() != getSizes().size())
    return emitOpError() << getLoops().size()
                         << " loops need as many sizes, not "
                         << getSizes().size();
  return verifyRoles(getOperation(), getLoops());
}

DiagnosedSilenceableFailure TileOp::apply(TransformRewriter &rewriter,
                                          TransformResults &results,
                                          TransformState &state) {
  SmallVector<std::pair<LoopRole, int64_t>> requested;
  for (auto [name, param] :
       llvm::zip_equal(getLoops().getAsRange<StringAttr>(), getSizes())) {
    std::optional<int64_t> size = getInteger(state, param);
    if (!size || *size < 0)
      return emitDefiniteFailure()
             << "the size of '" << name.getValue() << "' is no natural number";
    requested.push_back({*loopRoleFromString(name.getValue()), *size});
  }
  if (getOrder()) {
    auto order = getIntegers(state, getOrder());
    if (!order || order->size() != requested.size() ||
        !isPermutationVector(*order))
      return emitDefiniteFailure() << "order is no permutation of the loops";
    auto unordered = requested;
    for (auto [to, from] : llvm::enumerate(*order))
      requested[to] = unordered[from];
  }
  int64_t threads = 1;
  if (getThreads()) {
    std::optional<int64_t> value = getInteger(state, getThreads());
    if (!value)
      return emitDefiniteFailure() << "threads is not one integer";
    threads = *value;
  }
  auto mayFuse = [&](Operation *op) {
    if (!getFuse() || !isa<linalg::LinalgOp, tensor::PadOp>(op))
      return false;
    return llvm::any_of(getFuse()->getAsRange<StringAttr>(), [&](StringAttr k) {
      return k.getValue() == "all" || k.getValue() == getKind(op);
    });
  };

  // Last to first: a producer among the targets may move into its consumer's
  // loops, and is dead then.
  SmallVector<SmallVector<Operation *>> tiled;
  auto targets = llvm::to_vector(state.getPayloadOps(getTarget()));
  for (Operation *target : llvm::reverse(targets)) {
    auto op = dyn_cast<linalg::LinalgOp>(target);
    if (!op)
      return emitDefiniteFailure()
             << "'" << target->getName() << "' is not a linalg op";
    if (op.hasPureTensorSemantics() && target->use_empty()) {
      rewriter.eraseOp(target);
      continue;
    }
    auto roles = getLoopRoles(op);
    TileOptions options;
    options.sizes.assign(roles.size(), 0);
    for (auto [role, size] : requested)
      for (auto [loop, loopRole] : llvm::enumerate(roles))
        if (loopRole == role && size > 0) {
          options.sizes[loop] = size;
          options.order.push_back(loop);
        }
    options.parallel = threads > 1;
    options.fuse = mayFuse;
    auto parts = tileAndFuse(rewriter, op, options);
    if (failed(parts))
      return emitDefiniteFailure()
             << "cannot tile '" << target->getName() << "'";
    tiled.push_back(*parts);
  }
  SmallVector<Operation *> all;
  for (ArrayRef<Operation *> parts : llvm::reverse(tiled))
    llvm::append_range(all, parts);
  results.set(cast<OpResult>(getTiled()), all);
  return DiagnosedSilenceableFailure::success();
}

void TileOp::getEffects(SmallVectorImpl<MemoryEffects::EffectInstance> &e) {
  consumesHandle(getTargetMutable(), e);
  for (OpOperand &operand : getOperation()->getOpOperands().drop_front())
    onlyReadsHandle(operand, e);
  producesHandle(getOperation()->getOpResults(), e);
  modifiesPayload(e);
}

//===----------------------------------------------------------------------===//
// pack
//===----------------------------------------------------------------------===//

LogicalResult PackOp::verify() {
  if (getPanel() != "m" && getPanel() != "n")
    return emitOpError() << "panels lie along m or n, not '" << getPanel()
                         << "'";
  return success();
}

DiagnosedSilenceableFailure PackOp::apply(TransformRewriter &rewriter,
                                          TransformResults &,
                                          TransformState &state) {
  std::optional<int64_t> lanes = getInteger(state, getLanes());
  std::optional<int64_t> when =
      getWhen() ? getInteger(state, getWhen()) : std::optional<int64_t>(1);
  std::optional<int64_t> threads = getThreads()
                                       ? getInteger(state, getThreads())
                                       : std::optional<int64_t>(1);
  if (!lanes || *lanes < 1 || !when || !threads)
    return emitDefiniteFailure()
           << "lanes, when and threads are one integer each";
  if (*when == 0)
    return DiagnosedSilenceableFailure::success();
  auto targets = llvm::to_vector(state.getPayloadOps(getTarget()));
  if (failed(packOperand(rewriter, targets, *loopRoleFromString(getPanel()),
                         *lanes, *threads > 1)))
    return emitDefiniteFailure() << "cannot pack";
  return DiagnosedSilenceableFailure::success();
}

void PackOp::getEffects(SmallVectorImpl<MemoryEffects::EffectInstance> &e) {
  onlyReadsHandle(getOperation()->getOpOperands(), e);
  modifiesPayload(e);
}

//===----------------------------------------------------------------------===//
// tile_reduction, tile_rest, vectorize
//===----------------------------------------------------------------------===//

DiagnosedSilenceableFailure TileReductionOp::apply(TransformRewriter &rewriter,
                                                   TransformResults &,
                                                   TransformState &state) {
  std::optional<int64_t> lanes = getInteger(state, getLanes());
  if (!lanes || *lanes < 1)
    return emitDefiniteFailure() << "lanes is not one positive integer";
  for (Operation *target : llvm::to_vector(state.getPayloadOps(getTarget())))
    if (auto op = dyn_cast<linalg::LinalgOp>(target))
      if (failed(tileReduction(rewriter, op, *lanes)))
        return emitDefiniteFailure() << "cannot tile the reduction";
  return DiagnosedSilenceableFailure::success();
}

void TileReductionOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &e) {
  consumesHandle(getTargetMutable(), e);
  onlyReadsHandle(getLanesMutable(), e);
  modifiesPayload(e);
}

DiagnosedSilenceableFailure TileRestOp::apply(TransformRewriter &rewriter,
                                              TransformResults &,
                                              TransformState &state) {
  std::optional<int64_t> lanes = getInteger(state, getLanes());
  if (!lanes || *lanes < 1)
    return emitDefiniteFailure() << "lanes is not one positive integer";
  for (Operation *target : llvm::to_vector(state.getPayloadOps(getTarget())))
    if (failed(tileRest(rewriter, target, *lanes)))
      return emitDefiniteFailure() << "cannot tile";
  return DiagnosedSilenceableFailure::success();
}

void TileRestOp::getEffects(SmallVectorImpl<MemoryEffects::EffectInstance> &e) {
  onlyReadsHandle(getOperation()->getOpOperands(), e);
  modifiesPayload(e);
}

DiagnosedSilenceableFailure VectorizeOp::apply(TransformRewriter &rewriter,
                                               TransformResults &,
                                               TransformState &state) {
  for (Operation *target : llvm::to_vector(state.getPayloadOps(getTarget())))
    if (failed(vectorizeSmall(rewriter, target, getMaxElements())))
      return emitDefiniteFailure() << "cannot vectorise";
  return DiagnosedSilenceableFailure::success();
}

void VectorizeOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &e) {
  onlyReadsHandle(getOperation()->getOpOperands(), e);
  modifiesPayload(e);
}

//===----------------------------------------------------------------------===//
// register_tile
//===----------------------------------------------------------------------===//

DiagnosedSilenceableFailure RegisterTileOp::apply(TransformRewriter &rewriter,
                                                  TransformResults &results,
                                                  TransformState &state) {
  SmallVector<int64_t> values;
  for (Value operand : getOperands()) {
    std::optional<int64_t> value = getInteger(state, operand);
    if (!value)
      return emitDefiniteFailure() << "operands are one integer each";
    values.push_back(*value);
  }
  RegisterTile tile = chooseRegisterTile(values[0], values[1], values[2],
                                         values[3], values[4], getWholeTiles());
  Builder builder(getContext());
  results.setParams(cast<OpResult>(getMTile()),
                    {builder.getI64IntegerAttr(tile.m)});
  results.setParams(cast<OpResult>(getNTile()),
                    {builder.getI64IntegerAttr(tile.n)});
  return DiagnosedSilenceableFailure::success();
}

void RegisterTileOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &e) {
  onlyReadsHandle(getOperation()->getOpOperands(), e);
  producesHandle(getOperation()->getOpResults(), e);
}

//===----------------------------------------------------------------------===//
// compute
//===----------------------------------------------------------------------===//

LogicalResult ComputeOp::verify() {
  if (getMap().getNumInputs() != getParams().size())
    return emitOpError() << "the map takes " << getMap().getNumInputs()
                         << " operands, not " << getParams().size();
  if (getMap().getNumResults() == 0)
    return emitOpError() << "the map has no result";
  return success();
}

DiagnosedSilenceableFailure ComputeOp::apply(TransformRewriter &,
                                             TransformResults &results,
                                             TransformState &state) {
  Builder builder(getContext());
  SmallVector<AffineExpr> constants;
  bool unknown = false;
  for (Value param : getParams()) {
    std::optional<int64_t> value = getInteger(state, param);
    if (!value)
      return emitDefiniteFailure() << "operands are one integer each";
    unknown |= *value < 0;
    constants.push_back(builder.getAffineConstantExpr(*value));
  }
  auto inputs = ArrayRef(constants);
  AffineMap map = getMap();
  std::optional<int64_t> least;
  for (AffineExpr expr : map.getResults()) {
    if (unknown)
      break;
    auto value = dyn_cast<AffineConstantExpr>(
        expr.replaceDimsAndSymbols(inputs.take_front(map.getNumDims()),
                                   inputs.drop_front(map.getNumDims())));
    if (!value)
      return emitDefiniteFailure() << "cannot compute " << getMapAttr();
    least = least ? std::min(*least, value.getValue()) : value.getValue();
  }
  results.setParams(cast<OpResult>(getResult()),
                    {builder.getI64IntegerAttr(least.value_or(0))});
  return DiagnosedSilenceableFailure::success();
}

void ComputeOp::getEffects(SmallVectorImpl<MemoryEffects::EffectInstance> &e) {
  onlyReadsHandle(getOperation()->getOpOperands(), e);
  producesHandle(getOperation()->getOpResults(), e);
}

/// Vector operations of one step of k on a tile: multiply-adds, of which eight
/// chains hide the latency, or what is loaded, if that is more. More than eight
/// rows need more addresses than there are registers.
static double stepCost(int64_t rows, int64_t vectors) {
  double loads = double(rows + vectors + 1);
  return std::max({double(rows * vectors), loads, 8.0}) + 0.25 * loads +
         0.5 * double(std::max<int64_t>(0, rows - 8));
}

/// Cost of all of m by n in tiles of `rows` by `wide`. A rest of columns goes
/// in powers of two (see cutsOf), a rest of rows at once.
static double costInParts(int64_t rows, int64_t wide, int64_t m, int64_t n,
                          int64_t lanes) {
  auto costOfRows = [&](int64_t rows) {
    double cost = double(n / wide) * stepCost(rows, wide / lanes);
    for (int64_t rest = n % wide; rest > 0;) {
      int64_t part = llvm::bit_floor(uint64_t(rest));
      cost += stepCost(rows, std::max<int64_t>(1, part / lanes));
      rest -= part;
    }
    return cost;
  };
  return double(m / rows) * costOfRows(rows) +
         (m % rows ? costOfRows(m % rows) : 0);
}

/// The same where a rest costs as much as a whole tile, and the rows are
/// packed: no addresses to hold.
static double costInTiles(int64_t rows, int64_t wide, int64_t m, int64_t n,
                          int64_t lanes) {
  double vectors = double(wide / lanes);
  double step =
      std::max(double(rows) * vectors, 8.0) + 0.25 * (double(rows) + vectors);
  return double(llvm::divideCeil(m, rows)) * double(llvm::divideCeil(n, wide)) *
         step;
}

RegisterTile attune::chooseRegisterTile(int64_t m, int64_t n,
                                        int64_t elementBytes,
                                        int64_t vectorBytes,
                                        int64_t vectorRegisters,
                                        bool wholeTiles) {
  int64_t lanes =
      std::max<int64_t>(1, vectorBytes / std::max<int64_t>(1, elementBytes));
  RegisterTile best{1, lanes};
  double bestCost = 1e300;
  for (int64_t columns : {1, 2, 4, 8}) // vectors of a power of two only
    for (int64_t rows = 1; rows <= 16; ++rows) {
      // One row reads its vectors straight into the multiply-adds.
      if (rows * columns + (rows > 1 ? columns : 0) + 1 > vectorRegisters)
        continue;
      int64_t wide = columns * lanes;
      int64_t allRows = m > 0 ? m : rows, allColumns = n > 0 ? n : wide;
      double cost = (wholeTiles ? costInTiles : costInParts)(
          rows, wide, allRows, allColumns, lanes);
      cost /= double(allRows) * double(allColumns);
      if (cost < bestCost * 0.999) {
        bestCost = cost;
        best = {rows, wide};
      }
    }
  return best;
}

//===----------------------------------------------------------------------===//
// Registration
//===----------------------------------------------------------------------===//

namespace {
class AttuneTransformExtension
    : public TransformDialectExtension<AttuneTransformExtension> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(AttuneTransformExtension)

  void init() {
    declareGeneratedDialect<affine::AffineDialect>();
    declareGeneratedDialect<linalg::LinalgDialect>();
    declareGeneratedDialect<scf::SCFDialect>();
    declareGeneratedDialect<tensor::TensorDialect>();
    declareGeneratedDialect<vector::VectorDialect>();
    registerTransformOps<
#define GET_OP_LIST
#include "attune/Dialect/AttuneTransformOps.cpp.inc"
        >();
  }
};
} // namespace

void attune::registerTransformExtension(DialectRegistry &registry) {
  registry.addExtensions<AttuneTransformExtension>();
}
