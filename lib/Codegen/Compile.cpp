//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Codegen/Compile.h"

#include "Arena.h"
#include "Stages.h"
#include "attune/Dialect/Attune.h"
#include "attune/Dispatch/Widen.h"
#include "attune/Support/Error.h"
#include "attune/Support/Files.h"

#include "mlir/InitAllPasses.h"
#include "llvm/IR/Constants.h"
#include <mutex>

using namespace mlir;

namespace attune {
namespace codegen {
namespace {

/// The weights as an object of their own, so that code is never recompiled
/// with them.
llvm::Error emitWeights(const WeightStore &weights,
                        const CodegenOptions &options, llvm::StringRef path) {
  llvm::LLVMContext context;
  llvm::Module module("weights", context);
  std::string blob(weights.blobBytes(), '\0');
  for (int64_t i = 0; i < weights.size(); ++i)
    llvm::copy(weights.bytes(i), blob.begin() + weights[i].offset);
  auto *data = llvm::ConstantDataArray::getString(context, blob, false);
  auto *global = new llvm::GlobalVariable(module, data->getType(), true,
                                          llvm::GlobalValue::ExternalLinkage,
                                          data, "attune_weights");
  global->setAlignment(llvm::Align(64));
  global->setVisibility(llvm::GlobalValue::HiddenVisibility);
  return emitObject(module, options, path);
}

llvm::Expected<std::string> compileHost(Program &program,
                                        llvm::ArrayRef<LoweredDispatch> lowered,
                                        const CodegenOptions &options,
                                        const TemporaryFolder &scratch) {
  ModuleOp module = *program.module;
  if (options.reference)
    widenReductions(module, Widen::Everything);
  else
    allowContraction(module);
  if (llvm::Error error = decompose(module))
    return std::move(error);
  std::vector<std::string> dispatches;
  std::map<std::string, Prepack> prepacks;
  for (const LoweredDispatch &dispatch : lowered)
    prepacks[dispatch.name] = dispatch.prepack;
  auto layouts =
      bufferizeEntries(program, options.capture, prepacks, dispatches);
  if (!layouts)
    return layouts.takeError();
  if (llvm::Error error =
          runPipeline(module, "cse,canonicalize", "clean-up failed"))
    return std::move(error);
  SymbolTable symbols(module);
  for (EntryLayout &layout : *layouts)
    layout.arenaBytes = moveAllocationsToArena(
        symbols.lookup<func::FuncOp>(layout.symbol), /*argument=*/1);
  if (llvm::Error error = lowerToLLVM(module, options))
    return std::move(error);
  llvm::LLVMContext context;
  auto code = translate(module, context);
  if (!code)
    return code.takeError();
  addModuleInfo(**code, program, *layouts, dispatches, lowered,
                options.threads);
  // What a program remembers between runs, where the runtime can find it.
  for (llvm::GlobalVariable &global : (*code)->globals())
    if (!global.isConstant() && global.hasInitializer())
      global.setSection("attune_state");
  hideAllBut(**code, {"attune_module_info"});
  std::string path = scratch.file("host.o");
  if (llvm::Error error = emitObject(**code, options, path))
    return std::move(error);
  return path;
}

} // namespace
} // namespace codegen

/// For those who look for a fault: the environment variable ATTUNE_DUMP_IR
/// names a folder that gets every function's IR after each stage.
static void dumpWhereAsked(CodegenOptions &options) {
  const char *folder = std::getenv("ATTUNE_DUMP_IR");
  if (options.afterStage || !folder || !*folder)
    return;
  options.afterStage = [path = std::string(folder)](llvm::StringRef stage,
                                                    Operation *op) {
    std::string name = "host";
    if (auto module = dyn_cast<ModuleOp>(op))
      for (auto func : module.getOps<FunctionOpInterface>())
        if (func->hasAttr(attr::dispatch) && !func.isExternal())
          name = SymbolTable::getSymbolName(func).str();
    std::error_code failed; // a folder that is missing gets nothing
    llvm::raw_fd_ostream out(path + "/" + name + "." + stage.str() + ".mlir",
                             failed);
    if (!failed)
      op->print(out);
  };
}

static CodegenOptions begin(const CodegenOptions &given) {
  static std::once_flag registered;
  std::call_once(registered, [] { registerAllPasses(); });
  CodegenOptions options = given;
  dumpWhereAsked(options);
  return options;
}

llvm::Error compileDispatches(Program &program, const CodegenOptions &given,
                              int64_t part, int64_t parts) {
  CodegenOptions options = begin(given);
  codegen::dropUnknownConstants(*program.module);
  int64_t number = 0;
  for (auto func : program.module->getOps<func::FuncOp>()) {
    if (!func->hasAttr(attr::dispatch) || number++ % parts != part)
      continue;
    auto object = codegen::compileDispatch(func, options, /*scratch=*/"");
    if (!object)
      return object.takeError();
  }
  return llvm::Error::success();
}

llvm::Error compileProgram(Program &program, const CodegenOptions &given,
                           llvm::StringRef outputPath) {
  using namespace codegen;
  CodegenOptions options = begin(given);
  auto tools = Toolchain::find(options.threads);
  if (!tools)
    return tools.takeError();
  auto scratch = TemporaryFolder::create();
  if (!scratch)
    return scratch.takeError();

  dropUnknownConstants(*program.module);
  std::vector<std::string> objects;
  std::vector<LoweredDispatch> lowered;
  for (auto func : program.module->getOps<func::FuncOp>()) {
    if (!func->hasAttr(attr::dispatch))
      continue;
    auto object = compileDispatch(func, options, scratch->getPath());
    if (!object)
      return object.takeError();
    objects.push_back(*object);
    auto how = readLowered(func.getName(), *object);
    if (!how)
      return how.takeError();
    lowered.push_back(std::move(*how));
  }
  auto host = compileHost(program, lowered, options, *scratch);
  if (!host)
    return host.takeError();
  objects.push_back(*host);
  if (program.weights.blobBytes()) {
    objects.push_back(scratch->file("weights.o"));
    if (llvm::Error error =
            emitWeights(program.weights, options, objects.back()))
      return error;
  }
  return link(objects, *tools, options.threads, outputPath);
}

} // namespace attune
