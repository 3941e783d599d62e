//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// LLVM IR to an object file, in process.

#include "Stages.h"
#include "attune/Support/Error.h"

#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"

using namespace mlir;

namespace attune::codegen {

llvm::Expected<std::unique_ptr<llvm::Module>>
translate(ModuleOp module, llvm::LLVMContext &context) {
  DiagnosticCollector diagnostics(*module.getContext());
  auto result = translateModuleToLLVMIR(module, context);
  if (!result)
    return diagnostics.error("cannot translate to LLVM IR");
  return result;
}

void hideAllBut(llvm::Module &module, llvm::ArrayRef<std::string> symbols) {
  for (llvm::GlobalValue &value : module.global_values()) {
    if (value.isDeclaration() || value.hasLocalLinkage())
      continue;
    if (llvm::is_contained(symbols, value.getName()))
      value.setVisibility(llvm::GlobalValue::HiddenVisibility);
    else
      value.setLinkage(llvm::GlobalValue::InternalLinkage);
  }
}

static llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createTargetMachine(const Target &target, bool reference) {
  static const bool initialized = [] {
    llvm::InitializeAllTargets();
    llvm::InitializeAllTargetMCs();
    llvm::InitializeAllAsmPrinters();
    llvm::InitializeAllAsmParsers();
    return true;
  }();
  (void)initialized;
  std::string message;
  llvm::Triple triple(target.triple);
  const llvm::Target *found =
      llvm::TargetRegistry::lookupTarget(triple, message);
  if (!found)
    return makeError("target '{0}' is unknown to LLVM: {1}", target.triple,
                     message);
  llvm::TargetOptions options;
  std::unique_ptr<llvm::TargetMachine> machine(found->createTargetMachine(
      triple, target.cpu, target.features, options, llvm::Reloc::PIC_,
      std::nullopt,
      reference ? llvm::CodeGenOptLevel::Default
                : llvm::CodeGenOptLevel::Aggressive));
  if (!machine)
    return makeError("LLVM has no code generator for '{0}'", target.triple);
  return machine;
}

/// What clang would put on every function for -march and -mprefer-vector-width.
static void setFunctionAttributes(llvm::Module &module, const Target &target) {
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    if (function.getName().starts_with(outlinedLoop))
      function.addFnAttr(llvm::Attribute::NoInline);
    function.addFnAttr("target-cpu", target.cpu);
    function.addFnAttr("target-features", target.features);
    function.addFnAttr("prefer-vector-width",
                       std::to_string(target.vectorBytes * 8));
  }
}

static void optimize(llvm::Module &module, llvm::TargetMachine &machine,
                     bool reference) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = true;
  tuning.SLPVectorization = !reference;
  // Whole networks of plain loops: unrolling doubles the time to compile them.
  tuning.LoopUnrolling = !reference;
  tuning.LoopInterleaving = !reference;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  builder
      .buildPerModuleDefaultPipeline(reference ? llvm::OptimizationLevel::O2
                                               : llvm::OptimizationLevel::O3)
      .run(module, modules);
}

llvm::Error emitObject(llvm::Module &module, const CodegenOptions &options,
                       llvm::StringRef path) {
  auto machine = createTargetMachine(options.target, options.reference);
  if (!machine)
    return machine.takeError();
  module.setTargetTriple(llvm::Triple(options.target.triple));
  module.setDataLayout((*machine)->createDataLayout());
  setFunctionAttributes(module, options.target);
  optimize(module, **machine, options.reference);

  std::error_code code;
  llvm::raw_fd_ostream out(path, code, llvm::sys::fs::OF_None);
  if (code)
    return makeError("{0}: {1}", path, code.message());
  llvm::legacy::PassManager passes;
  if ((*machine)->addPassesToEmitFile(passes, out, nullptr,
                                      llvm::CodeGenFileType::ObjectFile))
    return makeError("LLVM cannot emit objects for '{0}'",
                     options.target.triple);
  passes.run(module);
  out.close();
  if (out.has_error()) {
    code = out.error();
    out.clear_error();
    return makeError("{0}: {1}", path, code.message());
  }
  return llvm::Error::success();
}

} // namespace attune::codegen
