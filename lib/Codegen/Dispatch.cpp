//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// One dispatch function to one object.

#include "Stages.h"
#include "attune/Dialect/Attune.h"
#include "attune/Dispatch/Widen.h"
#include "attune/Schedule/ConfigAttr.h"
#include "attune/Support/Error.h"
#include "attune/Support/Files.h"
#include "attune/Support/Json.h"

#include "mlir/IR/Verifier.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"

using namespace mlir;

namespace attune::codegen {
namespace {

/// Changes whenever the same input would give other code.
constexpr llvm::StringLiteral codegenVersion = "2";

/// A way to compile a dispatch: a schedule with its configuration, or loops.
struct Choice {
  const Schedule *schedule = nullptr;
  Configuration configuration;
};

OwningOpRef<ModuleOp> isolate(func::FuncOp func) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(func.getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  auto clone = cast<func::FuncOp>(builder.clone(*func));
  clone.setPublic();
  return module;
}

func::FuncOp onlyFunction(ModuleOp module) {
  return *module.getOps<func::FuncOp>().begin();
}

llvm::Expected<std::vector<Choice>> choicesFor(func::FuncOp func,
                                               const CodegenOptions &options) {
  std::vector<Choice> choices;
  if (!options.library || options.reference)
    return std::vector<Choice>{Choice()};
  if (auto config = func->getAttrOfType<ConfigAttr>(attr::config)) {
    Choice choice;
    choice.schedule = options.library->find(config.getSchedule());
    if (!choice.schedule)
      return makeError("there is no schedule '{0}'", config.getSchedule());
    llvm::Expected<Configuration> configuration = toConfiguration(config);
    if (!configuration)
      return configuration.takeError();
    choice.configuration = *configuration;
    choices.push_back(choice);
    return choices;
  }
  if (llvm::is_contained(options.asLoops, func.getName()))
    return std::vector<Choice>{Choice()};
  for (const Schedule *schedule :
       options.library->fitting(func, options.target, options.threads)) {
    llvm::Expected<Configuration> configuration =
        schedule->defaultConfiguration(func, options.target, options.threads);
    if (!configuration) {
      llvm::consumeError(configuration.takeError());
      continue;
    }
    choices.push_back({schedule, *configuration});
  }
  choices.push_back(Choice()); // plain loops are always right
  return choices;
}

/// What is written beside the object gets `prepack`.
llvm::Error compileChoice(ModuleOp module, const Choice &choice,
                          const CodegenOptions &options,
                          llvm::StringRef objectPath, Prepack &prepack) {
  func::FuncOp func = onlyFunction(module);
  std::string name = func.getName().str();
  auto dump = [&](llvm::StringRef stage) {
    if (options.afterStage)
      options.afterStage(stage, module);
  };
  Bindings bindings;
  if (choice.schedule) {
    auto bound =
        choice.schedule->bindProblem(func, options.target, options.threads);
    if (!bound)
      return bound.takeError();
    bindings = *bound;
    if (llvm::Error error = choice.schedule->apply(
            func, choice.configuration, options.target, options.threads))
      return makeRejected(std::move(error));
    DiagnosticCollector diagnostics(*module.getContext());
    if (failed(verify(module)))
      return diagnostics.error("the schedule left invalid code");
  }
  // Captured are the inputs of the program's dispatches as they are.
  if (choice.schedule && !options.capture)
    prepack = splitPrepack(func);
  dump("schedule");
  if (options.reference)
    widenReductions(module, Widen::Everything);
  else
    allowContraction(module);
  if (llvm::Error error = decompose(module))
    return error;
  for (auto each : llvm::to_vector(module.getOps<func::FuncOp>()))
    if (llvm::Error error = bufferizeDispatch(each))
      return error;
  dump("bufferize");
  if (choice.schedule)
    if (llvm::Error error =
            choice.schedule->applyLower(func, choice.configuration, bindings))
      return error;
  if (llvm::Error error = lowerToLLVM(module, options))
    return error;
  llvm::LLVMContext context;
  auto code = translate(module, context);
  if (!code)
    return code.takeError();
  // Destinations do not overlap inputs, and inputs are only read.
  std::vector<std::string> symbols = {name};
  if (!prepack.empty())
    symbols.push_back(prepackName(name));
  for (const std::string &symbol : symbols)
    for (llvm::Argument &argument : (*code)->getFunction(symbol)->args())
      if (argument.getType()->isPointerTy())
        argument.addAttr(llvm::Attribute::NoAlias);
  hideAllBut(**code, symbols);
  return emitObject(**code, options, objectPath);
}

std::string cacheKey(func::FuncOp func, const CodegenOptions &options) {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << codegenVersion << '\n'
      << options.threads << options.reference << options.capture
      << llvm::is_contained(options.asLoops, func.getName())
      << llvm::json::Value(toJSON(options.target));
  if (options.library)
    for (const auto &schedule : options.library->schedules())
      schedule->sequence()->getParentOp()->print(out);
  func.print(out, OpPrintingFlags().useLocalScope());
  return hashHex(text);
}

} // namespace

llvm::Expected<LoweredDispatch> readLowered(llvm::StringRef name,
                                            llvm::StringRef objectPath) {
  std::string path = (objectPath + ".json").str();
  auto text = readFile(path);
  if (!text)
    return text.takeError();
  auto value = parseJson(*text);
  if (!value)
    return value.takeError();
  LoweredDispatch lowered;
  lowered.name = name.str();
  llvm::json::Path::Root root(path);
  llvm::json::ObjectMapper map(*value, root);
  if (!map || !map.map("how", lowered.how) ||
      !map.map("prepack", lowered.prepack))
    return root.getError();
  auto code = hashFileHex(objectPath);
  if (!code)
    return code.takeError();
  lowered.code = std::move(*code);
  return lowered;
}

llvm::Expected<std::string> compileDispatch(func::FuncOp func,
                                            const CodegenOptions &options,
                                            llvm::StringRef scratchFolder) {
  llvm::SmallString<128> path(options.cacheFolder.empty()
                                  ? scratchFolder
                                  : llvm::StringRef(options.cacheFolder));
  llvm::sys::path::append(path, cacheKey(func, options) + ".o");
  if (!options.cacheFolder.empty() && llvm::sys::fs::exists(path))
    return std::string(path);

  OwningOpRef<ModuleOp> prepared = isolate(func);
  llvm::Expected<std::vector<Choice>> choices = std::vector<Choice>{Choice()};
  llvm::Error unprepared = options.reference
                               ? llvm::Error::success()
                               : prepareDispatch(onlyFunction(*prepared));
  if (unprepared && func->hasAttr(attr::config))
    return makeRejected(std::move(unprepared));
  if (unprepared) {
    llvm::consumeError(std::move(unprepared));
    prepared = isolate(func); // as it was: loops
  } else {
    choices = choicesFor(onlyFunction(*prepared), options);
    if (!choices)
      return choices.takeError();
  }
  std::string temporary =
      (path + "." + Twine(llvm::sys::Process::getProcessId()) + ".tmp").str();
  std::string how;
  Prepack prepack;
  for (size_t i = 0; i < choices->size(); ++i) {
    OwningOpRef<ModuleOp> module = prepared->clone();
    prepack = Prepack();
    llvm::Error error =
        compileChoice(*module, (*choices)[i], options, temporary, prepack);
    if (!error) {
      how = (*choices)[i].schedule ? toString((*choices)[i].configuration)
                                   : "loops";
      break;
    }
    if (i + 1 == choices->size()) {
      if (error.isA<RejectedError>())
        return std::move(error);
      return makeError("dispatch {0}: {1}", func.getName(),
                       llvm::toString(std::move(error)));
    }
    // The next schedule that fits is tried; loops come last.
    llvm::consumeError(std::move(error));
  }
  std::string beside;
  llvm::raw_string_ostream(beside) << llvm::json::Value(
      llvm::json::Object{{"how", how}, {"prepack", toJSON(prepack)}});
  if (llvm::Error error = writeFile((path + ".json").str(), beside))
    return std::move(error);
  if (std::error_code code = llvm::sys::fs::rename(temporary, path))
    return makeError("{0}: {1}", path, code.message());
  return std::string(path);
}

} // namespace attune::codegen
