//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// From functions as somebody wrote them to entries that call nothing.

#include "Steps.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace attune;
using namespace attune::import;
using llvm::Error;
using llvm::Expected;

/// `@a, @b` for messages; long lists are cut.
static std::string listNames(ArrayRef<func::FuncOp> functions) {
  std::string text;
  for (size_t i = 0; i < functions.size(); ++i) {
    func::FuncOp function = functions[i];
    if (i == 8)
      return text + ", ...";
    text += (i ? ", @" : "@") + function.getSymName().str();
  }
  return text;
}

static Expected<SmallVector<func::FuncOp>>
selectEntries(Program &program, const ImportOptions &options) {
  SmallVector<func::FuncOp> all, open;
  for (auto function : program.module->getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    all.push_back(function);
    if (function.isPublic())
      open.push_back(function);
  }
  if (!options.entry.empty()) {
    for (func::FuncOp function : all)
      if (function.getSymName() == options.entry)
        return SmallVector<func::FuncOp>{function};
    return makeError("{0}: no function @{1}; there {2} {3}", program.file,
                     options.entry, all.size() == 1 ? "is" : "are",
                     all.empty() ? "none" : listNames(all));
  }
  if (open.empty() && all.size() == 1)
    return all;
  if (open.empty())
    return makeError("{0}: no public function to start from; {1}", program.file,
                     all.empty()
                         ? std::string("the module has no functions")
                         : "name one of " + listNames(all) + " with --entry");
  return open;
}

/// Depth first over calls; an error for a circle or a callee without a body.
static Error checkCalls(func::FuncOp function, SymbolTable &symbols,
                        llvm::SetVector<Operation *> &path,
                        llvm::DenseSet<Operation *> &done, StringRef file) {
  if (done.contains(function))
    return Error::success();
  path.insert(function);
  Error error = Error::success();
  function.walk([&](Operation *op) {
    if (isa<func::CallIndirectOp>(op)) {
      error = joinErrors(std::move(error),
                         errorAt(op, file,
                                 "indirect calls cannot be compiled ahead; "
                                 "call the function by its name"));
      return WalkResult::interrupt();
    }
    auto call = dyn_cast<func::CallOp>(op);
    if (!call)
      return WalkResult::advance();
    auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
    if (!callee || callee.isExternal())
      error = joinErrors(std::move(error),
                         errorAt(op, file,
                                 "calls @{0}, which has no body in this "
                                 "file; include its definition",
                                 call.getCallee()));
    else if (path.contains(callee))
      error = joinErrors(std::move(error),
                         errorAt(op, file,
                                 "@{0} calls itself; recursion cannot be "
                                 "tuned, write it as scf.while",
                                 call.getCallee()));
    else
      error = joinErrors(std::move(error),
                         checkCalls(callee, symbols, path, done, file));
    // The first one is enough.
    bool failed = bool(error);
    if (failed)
      return WalkResult::interrupt();
    return WalkResult::advance();
  });
  path.remove(function);
  done.insert(function);
  return error;
}

Error import::chooseEntries(Program &program, const ImportOptions &options) {
  ModuleOp module = *program.module;
  auto selected = selectEntries(program, options);
  if (!selected)
    return selected.takeError();

  SymbolTable symbols(module);
  llvm::DenseSet<Operation *> done;
  for (func::FuncOp entry : *selected) {
    llvm::SetVector<Operation *> path;
    if (Error error = checkCalls(entry, symbols, path, done, program.file))
      return error;
  }
  for (auto function : module.getOps<func::FuncOp>()) {
    function.setPrivate();
    function.setNoInline(false);
    function->removeAttr(attr::entry);
  }
  for (func::FuncOp entry : *selected) {
    entry.setPublic();
    entry->setAttr(attr::entry, UnitAttr::get(module.getContext()));
  }

  Error error =
      runPasses(module, program.file, "inlining", [](OpPassManager &all) {
        // Branches first: a function with several blocks cannot go into a
        // loop's body.
        all.addNestedPass<func::FuncOp>(createLiftControlFlowToSCFPass());
        all.addPass(createInlinerPass({}, [](OpPassManager &) {}));
        all.addPass(createSymbolDCEPass());
      });
  if (error)
    return error;

  Operation *left = nullptr;
  module.walk([&](func::CallOp call) { left = call; });
  if (left)
    return errorAt(left, program.file,
                   "this call cannot be inlined; write the body of "
                   "@{0} in its place",
                   cast<func::CallOp>(left).getCallee());
  return Error::success();
}

Error import::simplify(ModuleOp module, StringRef file) {
  return runPasses(module, file, "simplification", [](OpPassManager &all) {
    all.addNestedPass<func::FuncOp>(createConvertElementwiseToLinalgPass());
    all.addPass(createCanonicalizerPass());
    all.addPass(createCSEPass());
    all.addPass(createSymbolDCEPass());
  });
}
