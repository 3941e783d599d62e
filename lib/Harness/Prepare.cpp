//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// A case made ready, once: its dispatches, its inputs, and what is right.

#include "HarnessImpl.h"

#include "attune/Backend/PrepareJob.h"
#include "attune/Dispatch/ProgramFile.h"
#include "attune/Dispatch/RootOp.h"
#include "attune/Support/Error.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;

namespace attune {

static std::string keyOf(const ProblemCase &problemCase,
                         llvm::StringRef module) {
  return hashHex((module + "\n" + toString(problemCase.sizes)).str());
}

/// `?=8,?=16`, as `attune tune` names the sizes of its inputs.
static std::string labelOf(const Program &program, const ProblemTypes &types) {
  std::vector<std::string> sizes;
  for (auto [signature, type] :
       llvm::zip(program.entries.front().inputs, types.inputs))
    for (auto [open, size] : llvm::zip(signature.type.shape, type.shape))
      if (open < 0)
        sizes.push_back("?=" + std::to_string(size));
  return llvm::join(sizes, ",");
}

/// Import, clean-up and dispatches, where `isolation` says.
static llvm::Expected<StepResult> prepareWith(WorkerProcess *worker,
                                              const PrepareJob &job,
                                              const Limits &limits) {
  if (!worker) {
    auto answer = runPrepareJob(toJSON(job));
    if (!answer)
      return answer.takeError();
    auto outcome = outcomeFromString(answer->getString("outcome").value_or(""));
    return StepResult{outcome.value_or(Outcome::CompileError),
                      answer->getString("reason").value_or("").str()};
  }
  auto result = worker->call(toJSON(job), limits);
  if (!result)
    return result.takeError();
  return StepResult{result->outcome, result->reason, result->detail};
}

llvm::Error Harness::Impl::form(const ProblemCase &problemCase,
                                PreparedCase &prepared) {
  std::string stem = file("case-" + llvm::Twine(next++));
  prepared.problemPath = stem + ".mlir";
  prepared.importedPath = stem + ".imported.mlir";
  prepared.dispatchedPath = stem + ".dispatched.mlir";
  auto text = buildModule(problemCase);
  if (!text)
    return text.takeError();
  if (llvm::Error error = writeFile(prepared.problemPath, *text))
    return error;
  PrepareJob job;
  job.model = prepared.problemPath;
  job.imported = prepared.importedPath;
  job.dispatched = prepared.dispatchedPath;
  Limits limits;
  limits.memoryBytes = options.memoryBytes;
  auto done = prepareWith(compiler.get(), job, limits);
  if (!done)
    return done.takeError();
  if (done->outcome != Outcome::Ok) {
    // The file is gone when this is read; its lines are the module's.
    llvm::StringRef reason = done->reason;
    reason.consume_front(prepared.problemPath);
    return makeError("problem '{0}' with {1}: the module it builds is wrong{2}",
                     problemCase.problem.name, toString(problemCase.sizes),
                     reason.starts_with(":") ? reason : ": " + reason.str());
  }
  auto program = readProgram(context, prepared.dispatchedPath);
  if (!program)
    return program.takeError();
  prepared.program = std::move(*program);
  return chooseDispatch(problemCase, prepared);
}

llvm::Error Harness::Impl::chooseDispatch(const ProblemCase &problemCase,
                                          PreparedCase &prepared) {
  double most = -1;
  for (const DispatchInfo &info : listDispatches(*prepared.program.module)) {
    DispatchParts parts = analyzeDispatch(info.function);
    double work = parts.root ? estimateWork(parts.root) : 0;
    // A loop that only moves data still beats one that is not there.
    if (work > most) {
      most = work;
      prepared.dispatch = info;
    }
  }
  if (most < 0)
    return makeError(
        "problem '{0}' with {1} has nothing to schedule: no linalg "
        "op is left of it",
        problemCase.problem.name, toString(problemCase.sizes));
  // Apart: what schedules look at is changed by looking.
  prepared.module = ModuleOp::create(UnknownLoc::get(&context));
  prepared.function = prepared.dispatch.function.clone();
  prepared.module->push_back(prepared.function);
  if (llvm::Error error = prepareDispatch(prepared.function))
    return error;
  auto types = typesOf(problemCase.problem, problemCase.sizes);
  if (!types)
    return types.takeError();
  prepared.inputLabel = labelOf(prepared.program, *types);
  auto hash = hashFileHex(prepared.dispatchedPath);
  if (!hash)
    return hash.takeError();
  prepared.hash = *hash;
  return llvm::Error::success();
}

llvm::Expected<PreparedCase *>
Harness::Impl::prepare(const ProblemCase &problemCase) {
  auto text = buildModule(problemCase);
  if (!text)
    return text.takeError();
  std::unique_ptr<PreparedCase> &slot = cases[keyOf(problemCase, *text)];
  if (slot)
    return slot.get();
  auto prepared = std::make_unique<PreparedCase>();
  if (llvm::Error error = form(problemCase, *prepared))
    return std::move(error);
  slot = std::move(prepared);
  return slot.get();
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

static llvm::Error checkTensors(llvm::ArrayRef<Tensor> tensors,
                                llvm::ArrayRef<TensorType> types,
                                llvm::StringRef problem, llvm::StringRef what) {
  if (tensors.size() != types.size())
    return makeError("problem '{0}' has {1} {2}s, not {3}", problem,
                     types.size(), what, tensors.size());
  for (auto [index, tensor, type] : llvm::enumerate(tensors, types))
    if (tensor.type != type.type || tensor.shape != type.shape)
      return makeError("problem '{0}': {1} {2} is {3}, not {4}", problem, what,
                       index, toString(type),
                       toString(TensorType{tensor.type, tensor.shape}));
  return llvm::Error::success();
}

static std::string contentOf(llvm::ArrayRef<Tensor> tensors) {
  std::string hashes;
  for (const Tensor &tensor : tensors)
    hashes +=
        hashHex(llvm::StringRef(tensor.bytes.data(), tensor.bytes.size()));
  return hashes;
}

static llvm::Expected<std::vector<std::string>>
writeAll(llvm::ArrayRef<Tensor> tensors, const std::string &stem) {
  std::vector<std::string> paths;
  for (auto [index, tensor] : llvm::enumerate(tensors)) {
    paths.push_back(stem + std::to_string(index) + ".npy");
    if (llvm::Error error = writeNpy(paths.back(), tensor))
      return std::move(error);
  }
  return paths;
}

llvm::Expected<std::vector<Tensor>>
Harness::Impl::referenceOf(PreparedCase &prepared,
                           const std::vector<std::string> &inputs) {
  std::string library = file("reference-" + llvm::Twine(next++) + ".so");
  CompileRequest request;
  request.job.program = prepared.importedPath;
  request.job.output = library;
  request.job.target = options.target;
  request.job.reference = true;
  request.timeoutSeconds = 600;
  auto compiled = compile(request);
  if (!compiled)
    return compiled.takeError();
  if (compiled->outcome != Outcome::Ok)
    return makeError("the reference (plain loops) does not compile: {0}",
                     compiled->reason);
  RunJob job;
  job.library = library;
  job.inputs = inputs;
  for (size_t i = 0; i < prepared.program.entries.front().outputs.size(); ++i)
    job.outputs.push_back(file("result-" + llvm::Twine(next++) + ".npy"));
  Limits limits;
  limits.wallSeconds = 600;
  limits.memoryBytes = options.memoryBytes;
  auto ran = executor().run(job, limits);
  if (!ran)
    return ran.takeError();
  if (ran->outcome != Outcome::Ok)
    return makeError("the reference (plain loops) did not run: {0}",
                     ran->reason);
  std::vector<Tensor> results;
  for (const std::string &path : job.outputs) {
    auto tensor = readNpy(path);
    if (!tensor)
      return tensor.takeError();
    results.push_back(std::move(*tensor));
    (void)llvm::sys::fs::remove(path);
  }
  (void)llvm::sys::fs::remove(library);
  return results;
}

llvm::Error Harness::Impl::writeReferences(const ProblemCase &problemCase,
                                           PreparedCase &prepared,
                                           const RunOptions &runOptions,
                                           CaseValues &values) {
  auto types = typesOf(problemCase.problem, problemCase.sizes);
  if (!types)
    return types.takeError();
  std::vector<Tensor> references = runOptions.references;
  if (references.empty()) {
    auto computed = referenceOf(prepared, values.inputs);
    if (!computed)
      return computed.takeError();
    references = std::move(*computed);
  } else if (llvm::Error error =
                 checkTensors(references, types->outputs,
                              problemCase.problem.name, "result")) {
    return error;
  }
  auto length = reductionLengthOf(problemCase.problem, problemCase.sizes);
  if (!length)
    return length.takeError();
  for (auto [tensor, type] : llvm::zip(references, types->outputs))
    values.tolerances.push_back(problemCase.problem.tolerance
                                    ? *problemCase.problem.tolerance
                                    : toleranceFor(type.type, *length, tensor));
  auto paths =
      writeAll(references, file("reference-" + llvm::Twine(next++) + "-"));
  if (!paths)
    return paths.takeError();
  values.references = std::move(*paths);
  return llvm::Error::success();
}

llvm::Expected<const CaseValues *>
Harness::Impl::values(const ProblemCase &problemCase, PreparedCase &prepared,
                      const RunOptions &runOptions) {
  auto types = typesOf(problemCase.problem, problemCase.sizes);
  if (!types)
    return types.takeError();
  std::string key = keyOf(problemCase, prepared.problemPath);
  key += contentOf(runOptions.inputs) + contentOf(runOptions.references);
  std::unique_ptr<CaseValues> &slot = caseValues[key];
  if (!slot) {
    std::vector<Tensor> inputs = runOptions.inputs;
    if (inputs.empty()) {
      auto made = makeProblemInputs(problemCase.problem, problemCase.sizes,
                                    options.seed);
      if (!made)
        return made.takeError();
      inputs = std::move(*made);
    } else if (llvm::Error error = checkTensors(
                   inputs, types->inputs, problemCase.problem.name, "input")) {
      return std::move(error);
    }
    auto paths = writeAll(inputs, file("input-" + llvm::Twine(next++) + "-"));
    if (!paths)
      return paths.takeError();
    slot = std::make_unique<CaseValues>();
    slot->inputs = std::move(*paths);
  }
  if (runOptions.check && slot->references.empty())
    if (llvm::Error error =
            writeReferences(problemCase, prepared, runOptions, *slot))
      return std::move(error);
  return slot.get();
}

} // namespace attune
