//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Dispatch/Dispatches.h"

#include "Groups.h"
#include "Normalize.h"
#include "Outline.h"
#include "attune/Dialect/Attune.h"
#include "attune/Dispatch/RootOp.h"
#include "attune/Dispatch/Widen.h"
#include "attune/Support/Error.h"
#include "attune/Support/Files.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace attune {
namespace {

std::string elementText(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << getElementTypeOrSelf(type);
  return text;
}

/// `contraction` and `4x10x784xf32`, of a dispatch function.
struct RootText {
  std::string opClass, shapes;
};

RootText describeRoot(func::FuncOp func) {
  DispatchParts parts = analyzeDispatch(func);
  RootText text;
  if (!parts.root) {
    // One op that linalg's interface does not cover: softmax, pack, pad.
    Operation *op = func.front().getTerminator()->getOperand(0).getDefiningOp();
    text.opClass = op ? op->getName().stripDialect().str() : "other";
    auto type = cast<RankedTensorType>(func.getResultTypes()[0]);
    for (int64_t size : type.getShape())
      text.shapes += (size < 0 ? "?" : std::to_string(size)) + "x";
    text.shapes += elementText(type);
    return text;
  }
  text.opClass = toString(parts.opClass).str();
  for (int64_t extent : loopExtents(parts.root))
    text.shapes += (extent < 0 ? "?" : std::to_string(extent)) + "x";
  text.shapes += elementText(parts.root->getOperand(0).getType());
  return text;
}

/// Forms the dispatches of one module.
class Former {
public:
  explicit Former(ModuleOp module) : module(module), symbols(module) {}

  /// `sizes` marks the dispatches of a variant that keeps open dimensions.
  void run(func::FuncOp entry, StringRef sizes) {
    for (Block *block : blocksToGroup(entry))
      for (const DispatchGroup &group : findGroups(*block))
        outlineGroup(group, sizes);
  }

private:
  static bool isOpen(func::FuncOp func) {
    return llvm::any_of(func.getArgumentTypes(), [](Type type) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      return tensor && !tensor.hasStaticShape();
    });
  }

  void outlineGroup(const DispatchGroup &group, StringRef sizes) {
    std::string provisional =
        "attune_dispatch_" + std::to_string(provisionalCount++);
    Operation *after = group.ops.back()->getNextNode();
    func::FuncOp func = outline(group, module, provisional);
    if (!func)
      return;
    auto call = cast<DispatchOp>(after->getPrevNode());
    bool isMarked = !sizes.empty() && isOpen(func);
    Builder builder(func.getContext());
    if (isMarked) // and has a fingerprint of its own
      func->setAttr(attr::sizes, builder.getStringAttr(sizes));
    std::string fingerprint = computeFingerprint(func);
    func::FuncOp &known = byFingerprint[fingerprint];
    if (known) {
      call.setCallee(known.getName());
      func.erase();
      return;
    }
    known = func;
    RootText root = describeRoot(func);
    if (isMarked)
      root.shapes += ("[" + sizes + "]").str();
    std::string name = uniqueName(root.opClass);
    func.setName(name);
    call.setCallee(name);
    func->setAttr(
        attr::dispatch,
        builder.getDictionaryAttr(
            {builder.getNamedAttr("fingerprint",
                                  builder.getStringAttr(fingerprint)),
             builder.getNamedAttr("root", builder.getStringAttr(root.opClass)),
             builder.getNamedAttr("shapes",
                                  builder.getStringAttr(root.shapes))}));
  }

  /// `contraction_1`, `contraction_2`, ...: the shapes are beside the name
  /// wherever a person reads it.
  std::string uniqueName(StringRef opClass) {
    std::string candidate;
    do
      candidate = (opClass + "_" + Twine(++numbers[opClass])).str();
    while (symbols.lookup(candidate));
    return candidate;
  }

  ModuleOp module;
  SymbolTable symbols;
  llvm::StringMap<func::FuncOp> byFingerprint;
  llvm::StringMap<int64_t> numbers;
  int64_t provisionalCount = 0;
};

} // namespace

std::string computeFingerprint(func::FuncOp dispatch) {
  OwningOpRef<func::FuncOp> clone = dispatch.clone();
  clone->setName("dispatch");
  clone->getOperation()->removeAttr(attr::dispatch);
  clone->getOperation()->removeAttr(attr::config);
  clone->walk([&](Operation *op) {
    if (op == clone->getOperation())
      return;
    SmallVector<StringAttr> names;
    for (NamedAttribute attribute : op->getDiscardableAttrs())
      names.push_back(attribute.getName());
    for (StringAttr name : names)
      op->removeDiscardableAttr(name);
    // Documentation, though the op declares it.
    if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
      generic.removeDocAttr();
      generic.removeLibraryCallAttr();
    }
  });
  std::string text;
  llvm::raw_string_ostream out(text);
  clone->print(out, OpPrintingFlags().useLocalScope().printGenericOpForm());
  return hashHex(text);
}

llvm::Error formDispatches(Program &program) {
  ModuleOp module = *program.module;
  if (module->hasAttr(attr::dispatchVersion))
    return llvm::Error::success();
  widenReductions(module, Widen::HalfPrecision);
  Former former(module);
  for (const EntrySignature &entry : program.entries) {
    auto func = module.lookupSymbol<func::FuncOp>(entry.name);
    if (!func || entry.onBuffers)
      continue;
    if (failed(normalizeEntry(func)))
      return makeError("{0}: '{1}' cannot be normalised; this is a fault of "
                       "Attune",
                       program.file, entry.name);
    bool isRange = llvm::any_of(entry.sizes,
                                [](SizeRange range) { return !range.isOne(); });
    former.run(func, isRange ? toString(entry.sizes) : "");
  }
  PassManager manager(module.getContext());
  manager.addPass(createCSEPass());
  if (failed(manager.run(module)) || failed(verify(module)))
    return makeError("{0}: splitting the program into dispatches failed; this "
                     "is a fault of Attune",
                     program.file);
  module->setAttr(
      attr::dispatchVersion,
      Builder(module.getContext()).getI64IntegerAttr(dispatchVersion));
  return llvm::Error::success();
}

std::vector<DispatchInfo> listDispatches(ModuleOp program) {
  llvm::MapVector<StringRef, int64_t> calls;
  program.walk([&](DispatchOp op) { ++calls[op.getCallee()]; });
  std::vector<DispatchInfo> infos;
  for (auto [name, count] : calls) {
    auto func = program.lookupSymbol<func::FuncOp>(name);
    auto dictionary = func->getAttrOfType<DictionaryAttr>(attr::dispatch);
    auto text = [&](StringRef key) {
      auto value = dictionary.getAs<StringAttr>(key);
      return value ? value.str() : std::string();
    };
    DispatchInfo info;
    info.name = name.str();
    info.fingerprint = text("fingerprint");
    info.rootOp = text("root");
    info.shapes = text("shapes");
    info.calls = count;
    info.function = func;
    infos.push_back(std::move(info));
  }
  return infos;
}

} // namespace attune
