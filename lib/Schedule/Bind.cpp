//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Bind.h"

#include "attune/Dialect/Attune.h"
#include "attune/Dialect/Transforms.h"
#include "attune/Support/Error.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Transform/Transforms/TransformInterpreterUtils.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace attune;

static constexpr StringLiteral handleNames[] = {"func", "root", "last",
                                                "epilogue", "producers"};
static constexpr StringLiteral paramNames[] = {"vector_bytes",
                                               "vector_registers",
                                               "l1_bytes",
                                               "l2_bytes",
                                               "l3_bytes",
                                               "cores",
                                               "threads",
                                               "batch",
                                               "m",
                                               "n",
                                               "k",
                                               "window",
                                               "rows",
                                               "columns",
                                               "reduction",
                                               "work",
                                               "m_weight",
                                               "n_weight",
                                               "element_bytes"};

bool attune::isHandleName(StringRef name) {
  return llvm::is_contained(handleNames, name);
}
bool attune::isParamName(StringRef name) {
  return llvm::is_contained(paramNames, name);
}

namespace {

/// A product that is unknown when a factor is.
struct Product {
  int64_t value = 1;
  void operator*=(int64_t factor) {
    value = value < 0 || factor < 0 ? -1 : value * factor;
  }
};

int64_t elementBytes(linalg::LinalgOp op) {
  int64_t bits = 8;
  for (Value operand : op->getOperands()) {
    Type type = getElementTypeOrSelf(operand.getType());
    if (type.isIntOrFloat())
      bits = std::max<int64_t>(bits, type.getIntOrFloatBitWidth());
    else
      bits = std::max<int64_t>(bits, 64);
  }
  return bits / 8;
}

/// What a dimension that is not known counts as in `work`.
constexpr int64_t typicalExtent = 64;
/// Schedules calculate with `work`; this leaves room.
constexpr int64_t maxWork = int64_t(1) << 40;

/// Whether what the root reads along `role` is a weight, which is packed once.
int64_t readsWeight(linalg::LinalgOp root, LoopRole role) {
  auto roles = inferLoopRoles(root);
  for (OpOperand *operand : root.getDpsInputOperands()) {
    bool reads = llvm::any_of(root.getMatchingIndexingMap(operand).getResults(),
                              [&](AffineExpr at) {
                                auto dim = dyn_cast<AffineDimExpr>(at);
                                return dim && roles[dim.getPosition()] == role;
                              });
    if (reads && isWeightArgument(operand->get()))
      return 1;
  }
  return 0;
}

void bindRoot(DispatchParts &parts, Bindings &bindings) {
  SmallVector<int64_t> extents = loopExtents(parts.root);
  auto iterators = parts.root.getIteratorTypesArray();
  Product batch, window, rows, reduction;
  int64_t m = 1, n = 1, k = 1, work = 1;
  for (auto [loop, role] : llvm::enumerate(inferLoopRoles(parts.root))) {
    int64_t extent = extents[loop];
    work = std::min<uint64_t>(llvm::SaturatingMultiply<uint64_t>(
                                  work, extent < 0 ? typicalExtent : extent),
                              maxWork);
    bool parallel = iterators[loop] == utils::IteratorType::parallel;
    if (parallel && role != LoopRole::N)
      rows *= extent;
    if (!parallel)
      reduction *= extent;
    switch (role) {
    case LoopRole::Batch:
      batch *= extent;
      break;
    case LoopRole::Window:
      window *= extent;
      break;
    case LoopRole::M:
      m = extent;
      break;
    case LoopRole::N:
      n = extent;
      break;
    case LoopRole::K:
      k = extent;
      break;
    }
  }
  bindings["batch"] = batch.value;
  bindings["window"] = window.value;
  bindings["m"] = m;
  bindings["n"] = n;
  bindings["k"] = k;
  bindings["rows"] = rows.value;
  bindings["columns"] = n;
  bindings["reduction"] = reduction.value;
  bindings["work"] = work;
  bindings["m_weight"] = readsWeight(parts.root, LoopRole::M);
  bindings["n_weight"] = readsWeight(parts.root, LoopRole::N);
  bindings["element_bytes"] = elementBytes(parts.root);
}

void collectBackwards(Operation *op, llvm::SmallPtrSetImpl<Operation *> &seen) {
  if (!op || !seen.insert(op).second)
    return;
  for (Value operand : op->getOperands())
    collectBackwards(operand.getDefiningOp(), seen);
}

} // namespace

llvm::Expected<Bindings> attune::bindDispatch(func::FuncOp dispatch,
                                              const Target &target,
                                              int64_t threads) {
  Bindings bindings;
  for (StringRef name : paramNames)
    bindings[name] = 1;
  bindings["vector_bytes"] = target.vectorBytes;
  bindings["vector_registers"] = target.vectorRegisters;
  bindings["l1_bytes"] = target.l1Bytes;
  bindings["l2_bytes"] = target.l2Bytes;
  bindings["l3_bytes"] = target.l3Bytes;
  bindings["cores"] = target.cores;
  bindings["threads"] = threads;
  bindings["m_weight"] = bindings["n_weight"] = 0;
  bindings["element_bytes"] = 4;
  DispatchParts parts = analyzeDispatch(dispatch);
  if (parts.root)
    bindRoot(parts, bindings);
  return bindings;
}

void attune::annotateOps(DispatchParts &parts) {
  if (!parts.root)
    return;
  MLIRContext *context = parts.root->getContext();
  auto setKind = [&](Operation *op, StringRef kind) {
    op->setAttr(attr::kind, StringAttr::get(context, kind));
  };
  llvm::SmallPtrSet<Operation *, 16> inputs, inits;
  for (OpOperand *operand : parts.root.getDpsInputOperands())
    collectBackwards(operand->get().getDefiningOp(), inputs);
  for (Value init : parts.root.getDpsInits())
    collectBackwards(init.getDefiningOp(), inits);

  for (auto &[op, roles] : propagateLoopRoles(parts))
    setLoopRoles(op, roles);
  setKind(parts.root, "root");
  for (linalg::LinalgOp op : parts.epilogue)
    setKind(op, "epilogue");
  for (Operation *op : parts.producers)
    if (isa<tensor::PadOp>(op))
      setKind(op, "pad");
    else if (isa<linalg::LinalgOp>(op))
      setKind(op, inputs.contains(op)  ? "producer"
                  : inits.contains(op) ? "init"
                                       : "epilogue");
}

void attune::eraseAnnotations(func::FuncOp dispatch) {
  dispatch.walk([](Operation *op) {
    op->removeAttr(attr::kind);
    op->removeAttr(attr::roles);
  });
}

static SmallVector<transform::MappedValue>
bindHandle(StringRef name, func::FuncOp dispatch, DispatchParts &parts) {
  SmallVector<transform::MappedValue> values;
  if (name == "func")
    values.push_back(dispatch.getOperation());
  else if (name == "root" && parts.root)
    values.push_back(parts.root.getOperation());
  else if (name == "last" && parts.last)
    values.push_back(parts.last.getOperation());
  else if (name == "epilogue")
    for (linalg::LinalgOp op : parts.epilogue)
      values.push_back(op.getOperation());
  else if (name == "producers")
    for (Operation *op : parts.producers)
      values.push_back(op);
  return values;
}

llvm::Error attune::runSequence(transform::NamedSequenceOp sequence,
                                func::FuncOp dispatch, DispatchParts &parts,
                                const Bindings &bindings) {
  RaggedArray<transform::MappedValue> mapping;
  Builder builder(sequence.getContext());
  for (unsigned i = 0; i < sequence.getNumArguments(); ++i) {
    auto name = sequence.getArgAttrOfType<StringAttr>(i, attr::bind);
    if (!name || isHandleName(name.getValue())) {
      auto values =
          bindHandle(name ? name.getValue() : "root", dispatch, parts);
      if (i == 0 && values.empty())
        return makeError("the dispatch has no root op");
      mapping.push_back(values);
      continue;
    }
    auto found = bindings.find(name.getValue());
    if (found == bindings.end())
      return makeError("nothing is known as '{0}'", name.getValue());
    SmallVector<transform::MappedValue> values = {
        transform::Param(builder.getI64IntegerAttr(found->second))};
    mapping.push_back(values);
  }

  std::string message;
  ScopedDiagnosticHandler handler(
      sequence.getContext(), [&](Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
          return success();
        if (!message.empty())
          message += "; ";
        llvm::raw_string_ostream(message) << diagnostic;
        return success();
      });
  transform::TransformOptions options;
  options.enableExpensiveChecks(false);
  options.enableEnforceSingleToplevelTransformOp(false);
  if (failed(transform::applyTransformNamedSequence(
          std::move(mapping),
          cast<transform::TransformOpInterface>(sequence.getOperation()),
          sequence->getParentOfType<ModuleOp>(), options)))
    return makeError("{0}", message.empty() ? "the sequence failed" : message);
  return llvm::Error::success();
}
