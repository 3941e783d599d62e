//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// What is measured and what is right, before anything is tuned.

#include "Prepare.h"
#include "attune/Support/Error.h"
#include "attune/Support/Interrupt.h"

#include <algorithm>

using namespace llvm;

namespace attune::session {

Limits runLimits(double expectedSeconds) {
  Limits limits;
  limits.wallSeconds = 20 + 20 * expectedSeconds;
  limits.memoryBytes = 16ull << 30;
  return limits;
}

Expected<std::vector<std::string>>
writeTensors(State &state, ArrayRef<Tensor> tensors, StringRef prefix) {
  std::vector<std::string> paths;
  for (const Tensor &tensor : tensors) {
    paths.push_back(state.file(prefix + "-" + Twine(paths.size()) + ".npy"));
    if (Error error = writeNpy(paths.back(), tensor))
      return std::move(error);
  }
  return paths;
}

Error stopIfInterrupted() {
  if (interruptRequested() == Interrupt::None)
    return Error::success();
  return makeError("interrupted before the search began");
}

Error failure(StringRef what, StringRef reason, StringRef detail) {
  StringRef said = detail.trim();
  return makeError("{0}: {1}{2}{3}", what, reason, said.empty() ? "" : ": ",
                   said.rsplit('\n').second.empty() ? said
                                                    : said.rsplit('\n').second);
}

Error computeReferences(State &state, StringRef library, StringRef entry,
                        ArrayRef<TensorType> types, int64_t sumLength,
                        StringRef prefix, double wallSeconds, EntryRun &run) {
  RunJob job;
  job.library = library.str();
  job.entry = entry.str();
  job.inputs = run.inputs;
  for (size_t i = 0; i < types.size(); ++i)
    job.outputs.push_back(
        state.file(prefix + "-reference-" + Twine(i) + ".npy"));
  Limits limits = runLimits(0);
  limits.wallSeconds = wallSeconds;
  auto result = runSurely(*state.executor, job, limits);
  if (!result)
    return result.takeError();
  if (result->outcome != Outcome::Ok)
    return failure("the reference", result->reason, result->detail);
  run.references = job.outputs;
  for (auto [path, type] : zip(job.outputs, types)) {
    auto tensor = readNpy(path);
    if (!tensor)
      return tensor.takeError();
    auto typed = reinterpretAs(std::move(*tensor), type.type);
    if (!typed)
      return typed.takeError();
    run.tolerances.push_back(toleranceFor(type.type, sumLength, *typed));
  }
  return Error::success();
}

static const BackendEntry *findEntry(const State &state, StringRef name) {
  for (const BackendEntry &entry : state.parts.backend.entries())
    if (entry.name == name)
      return &entry;
  return nullptr;
}

/// Errors of dispatches that follow one another add up.
static int64_t programSumLength(const State &state) {
  int64_t sum = 1;
  for (const BackendDispatch &dispatch : state.parts.backend.dispatches())
    sum += dispatch.reductionLength * dispatch.calls;
  return sum;
}

Error prepareRuns(State &state) {
  Backend &backend = state.parts.backend;
  state.parts.progress.update({"compiling the reference"});
  auto reference = backend.buildProgram(Build::Reference);
  if (!reference)
    return reference.takeError();
  if (Error error = stopIfInterrupted())
    return error;
  state.parts.progress.update({"compiling the untuned program"});
  auto baseline = backend.buildProgram(Build::Baseline);
  if (!baseline)
    return baseline.takeError();
  state.baseline = state.untuned = *baseline;
  if (!variantsFor(state.inputs).empty()) {
    auto untuned = backend.buildProgram(Build::Untuned);
    if (!untuned)
      return untuned.takeError();
    state.untuned = *untuned;
  }
  int64_t sumLength = programSumLength(state);
  if (Error error = stopIfInterrupted())
    return error;
  state.parts.progress.update({"checking the untuned program"});
  for (auto [index, input] : enumerate(state.inputs)) {
    std::string prefix = "run" + std::to_string(index);
    EntryRun run;
    run.entry = input.entry;
    run.label = input.label;
    auto paths = writeTensors(state, input.tensors, prefix);
    if (!paths)
      return paths.takeError();
    run.inputs = std::move(*paths);
    const BackendEntry *entry = findEntry(state, input.entry);
    double start = state.parts.clock.now();
    if (Error error =
            computeReferences(state, *reference, run.entry, entry->outputs,
                              sumLength, prefix, referenceLimitSeconds, run))
      return error;
    state.referenceSeconds =
        std::max(state.referenceSeconds, state.parts.clock.now() - start);
    MeasureJob check =
        makeMeasureJob(*baseline, "", run, /*threads=*/0, state.options.seed);
    check.entry = run.entry;
    check.timing.minRepetitions = 0;
    auto result =
        measureSurely(*state.executor, check, runLimits(state.referenceSeconds),
                      BelieveWrong::WhenRepeated);
    if (!result)
      return result.takeError();
    if (result->outcome != Outcome::Ok)
      return failure("the untuned program", result->reason, result->detail);
    state.runs.push_back(std::move(run));
  }
  return Error::success();
}

} // namespace attune::session
