//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Loading a program, and what can be tried on its dispatches.

#include "CpuImpl.h"
#include "attune/Backend/PrepareJob.h"
#include "attune/Dispatch/ProgramFile.h"
#include "attune/Dispatch/RootOp.h"
#include "attune/Space/FromSchedule.h"
#include "attune/Support/Error.h"
#include "attune/Support/Files.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace attune {

/// What became of reading a program, for the user.
static llvm::Error preparingFailed(llvm::StringRef model,
                                   const JobResult &result) {
  if (!result.answer.empty())
    return makeError("{0}", result.reason);
  return makeError("{0}: reading it and forming its dispatches: {1}", model,
                   result.reason);
}

/// Files with values for inputs lie beside the model, not beside our copy.
static void findInputFiles(Program &program, llvm::StringRef model) {
  for (EntrySignature &entry : program.entries)
    for (ValueSignature &input : entry.inputs)
      if (!input.file.empty()) {
        llvm::SmallString<256> path(llvm::sys::path::parent_path(model));
        llvm::sys::path::append(path, llvm::sys::path::filename(input.file));
        input.file = std::string(path);
      }
}

llvm::Error CpuBackend::Impl::load() {
  importedPath = file("imported.mlir");
  dispatchedPath = file("dispatched.mlir");
  PrepareJob job;
  job.model = options.model;
  job.entry = options.entry;
  job.imported = importedPath;
  job.dispatched = dispatchedPath;
  job.sizes = options.sizes;
  llvm::SmallString<256> here;
  if (!llvm::sys::fs::current_path(here))
    job.folder = std::string(here);
  Limits limits;
  limits.wallSeconds = options.prepareSeconds;
  limits.memoryBytes = options.prepareBytes;
  auto result = builderProcess().call(toJSON(job), limits);
  if (!result)
    return result.takeError();
  if (result->outcome != Outcome::Ok)
    return preparingFailed(options.model, *result);
  auto prepared = preparedFromJSON(result->answer);
  if (!prepared)
    return prepared.takeError();
  auto read = readProgram(context, dispatchedPath);
  if (!read)
    return read.takeError();
  program = std::move(*read);
  program.file = options.model;
  findInputFiles(program, options.model);
  notes = std::move(prepared->notes);
  places = std::move(prepared->places);
  return llvm::Error::success();
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
  dispatch.location = places[info.name];
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
  for (const EntrySignature &entry : program.entries) {
    if (entry.isVariant())
      continue;
    signatures.push_back(entry);
    entries.push_back(
        {entry.name, typesOf(entry.inputs), typesOf(entry.outputs)});
  }
  for (const DispatchInfo &info : listDispatches(*program.module))
    addDispatch(info);
  for (auto func : program.module->getOps<func::FuncOp>())
    if (func->hasAttr(attr::dispatch))
      functions.push_back(func.getName().str());
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
