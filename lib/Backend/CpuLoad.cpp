//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Loading a program, and what can be tried on its dispatches.

#include "CpuImpl.h"
#include "attune/Dispatch/ProgramFile.h"
#include "attune/Dispatch/RootOp.h"
#include "attune/Import/CleanUp.h"
#include "attune/Space/FromSchedule.h"
#include "attune/Support/Error.h"
#include "attune/Support/Files.h"

#include "llvm/Support/FileSystem.h"

using namespace mlir;

namespace attune {

/// A program that was dumped by `attune dispatches --dump-to` is dispatched
/// already.
static bool isDispatched(llvm::StringRef path) {
  auto text = readFile(path);
  if (!text) {
    llvm::consumeError(text.takeError());
    return false;
  }
  return llvm::StringRef(*text).contains(attr::dispatchVersion) &&
         !llvm::StringRef(*text).starts_with("ML\xefR");
}

llvm::Error CpuBackend::Impl::load() {
  if (isDispatched(options.model))
    return loadDispatched();
  ImportOptions import;
  import.entry = options.entry;
  auto imported = importProgram(context, options.model, import);
  if (!imported)
    return imported.takeError();
  importedPath = file("imported.mlir");
  if (llvm::Error error = writeProgram(*imported, importedPath))
    return error;
  program = std::move(*imported);
  if (llvm::Error error = cleanUp(program))
    return error;
  return formDispatches(program);
}

llvm::Error CpuBackend::Impl::loadDispatched() {
  auto read = readProgram(context, options.model);
  if (!read)
    return read.takeError();
  program = std::move(*read);
  importedPath = file("imported.mlir");
  return writeProgram(program, importedPath);
}

static std::vector<TensorType>
typesOf(llvm::ArrayRef<ValueSignature> signatures) {
  std::vector<TensorType> types;
  for (const ValueSignature &signature : signatures)
    types.push_back(signature.type);
  return types;
}

void CpuBackend::Impl::addDispatch(const DispatchInfo &info) {
  BackendDispatch dispatch;
  dispatch.name = info.name;
  dispatch.fingerprint = info.fingerprint;
  dispatch.rootOp = info.rootOp;
  dispatch.shapes = info.shapes;
  dispatch.calls = info.calls;
  dispatch.number = dispatches.size();
  func::FuncOp func = info.function;
  dispatch.operations = countOperations(func);
  dispatch.bytes = countBytes(func);
  DispatchParts parts = analyzeDispatch(func);
  dispatch.location =
      describePlace(parts.root ? parts.root->getLoc() : func.getLoc());
  if (parts.root)
    for (auto [extent, kind] :
         llvm::zip(loopExtents(parts.root), parts.root.getIteratorTypesArray()))
      if (kind == utils::IteratorType::reduction)
        dispatch.reductionLength *= extent < 0 ? 1024 : extent;
  unsigned inputCount = func.getNumArguments() - func.getNumResults();
  for (unsigned i = 0; i < func.getNumArguments(); ++i) {
    auto signature = signatureOf(func.getArgumentTypes()[i]);
    if (!signature) {
      llvm::consumeError(signature.takeError());
      return;
    }
    (i < inputCount ? dispatch.inputs : dispatch.outputs)
        .push_back(signature->type);
    if (i < inputCount)
      dispatch.isConstant.push_back(func.getArgAttr(i, attr::constant) !=
                                    nullptr);
  }
  dispatches.push_back(std::move(dispatch));
}

llvm::Error CpuBackend::Impl::listEntries() {
  for (const EntrySignature &entry : program.entries)
    entries.push_back(
        {entry.name, typesOf(entry.inputs), typesOf(entry.outputs)});
  for (const DispatchInfo &info : listDispatches(*program.module))
    addDispatch(info);
  for (auto func : program.module->getOps<func::FuncOp>())
    if (func->hasAttr(attr::dispatch))
      functions.push_back(func.getName().str());
  notes = program.notes;
  dispatchedPath = file("dispatched.mlir");
  if (llvm::Error error = writeProgram(program, dispatchedPath))
    return error;
  auto digest = hashFileHex(dispatchedPath);
  if (!digest)
    return digest.takeError();
  hash = *digest;
  return llvm::Error::success();
}

llvm::Expected<std::string>
CpuBackend::Impl::dispatchFile(const BackendDispatch &dispatch) {
  std::string path = file("dispatch-" + dispatch.name + ".mlir");
  if (llvm::sys::fs::exists(path))
    return path;
  auto extracted = extractDispatch(program, dispatch.name);
  if (!extracted)
    return extracted.takeError();
  if (llvm::Error error = writeProgram(*extracted, path))
    return std::move(error);
  return path;
}

llvm::Expected<func::FuncOp>
CpuBackend::Impl::preparedDispatch(llvm::StringRef name) {
  OwningOpRef<ModuleOp> &module = prepared[name.str()];
  if (!module) {
    auto extracted = extractDispatch(program, name);
    if (!extracted)
      return extracted.takeError();
    module = std::move(extracted->module);
    if (llvm::Error error =
            prepareDispatch(module->lookupSymbol<func::FuncOp>(name)))
      return std::move(error);
  }
  return module->lookupSymbol<func::FuncOp>(name);
}

/// What applySpec asks: whether the schedule exists, fits and has these values.
ConfigurationCheck CpuBackend::Impl::configurationCheck() {
  return [this](const Configuration &configuration,
                func::FuncOp dispatch) -> std::string {
    const Schedule *schedule = library->find(configuration.schedule);
    if (!schedule)
      return "there is no schedule '" + configuration.schedule + "'";
    auto func = preparedDispatch(dispatch.getName());
    if (!func)
      return llvm::toString(func.takeError());
    if (llvm::Error error =
            schedule->fits(*func, options.target, options.threads))
      return llvm::toString(std::move(error));
    auto bindings =
        schedule->bindProblem(*func, options.target, options.threads);
    if (!bindings)
      return llvm::toString(bindings.takeError());
    return llvm::toString(schedule->check(configuration, *bindings));
  };
}

llvm::Expected<std::vector<CandidateSpace>>
CpuBackend::spaces(const BackendDispatch &dispatch) {
  auto prepared = impl->preparedDispatch(dispatch.name);
  if (!prepared) {
    // It runs as loops, and there is nothing to choose.
    llvm::consumeError(prepared.takeError());
    return std::vector<CandidateSpace>();
  }
  func::FuncOp func = *prepared;
  std::vector<CandidateSpace> spaces;
  for (const Schedule *schedule : impl->library->fitting(
           func, impl->options.target, impl->options.threads)) {
    auto bindings = schedule->bindProblem(func, impl->options.target,
                                          impl->options.threads);
    if (!bindings)
      return bindings.takeError();
    auto space =
        spaceFromSchedule(schedule->name(), schedule->sequence(), *bindings);
    if (!space) {
      // Nothing of this schedule can be used here: one choice less.
      llvm::consumeError(space.takeError());
      continue;
    }
    auto configuration = schedule->defaultConfiguration(
        func, impl->options.target, impl->options.threads);
    if (!configuration)
      return configuration.takeError();
    std::string text;
    llvm::raw_string_ostream out(text);
    schedule->sequence()->getParentOp()->print(out);
    spaces.push_back({schedule->name().str(), hashHex(text),
                      std::move(space->space), std::move(*configuration)});
  }
  return spaces;
}

} // namespace attune
