//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Stages.h"
#include "attune/Support/Error.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace attune::codegen {

DiagnosticCollector::DiagnosticCollector(MLIRContext &context)
    : context(context) {
  handler = context.getDiagEngine().registerHandler([this](Diagnostic &d) {
    if (d.getSeverity() != DiagnosticSeverity::Error || !first.empty())
      return success();
    llvm::raw_string_ostream out(first);
    if (auto loc = dyn_cast<FileLineColLoc>(d.getLocation()))
      out << loc.getFilename().getValue() << ':' << loc.getLine() << ": ";
    out << d.str();
    first = first.substr(0, first.find('\n'));
    return success();
  });
}

DiagnosticCollector::~DiagnosticCollector() {
  context.getDiagEngine().eraseHandler(handler);
}

llvm::Error DiagnosticCollector::error(llvm::StringRef what) const {
  if (first.empty())
    return makeError("{0}", what);
  return makeError("{0}: {1}", what, first);
}

llvm::Error runPipeline(ModuleOp module, llvm::StringRef pipeline,
                        llvm::StringRef what) {
  DiagnosticCollector diagnostics(*module.getContext());
  PassManager manager(module.getContext(), ModuleOp::getOperationName());
  // Verified once at the end of each stage by the caller's next parse or
  // translation; between passes it only costs time.
  manager.enableVerifier(false);
  if (failed(parsePassPipeline(pipeline, manager, llvm::nulls())))
    return diagnostics.error(llvm::formatv("{0}: bad pipeline", what).str());
  if (failed(manager.run(module)))
    return diagnostics.error(what);
  return llvm::Error::success();
}

} // namespace attune::codegen
