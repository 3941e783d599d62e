//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// A dispatch alone: its inputs as the program had them, its reference, its
// baseline, and more inputs for those that come into the final.

#include "Prepare.h"
#include "attune/Import/Inputs.h"
#include "attune/Support/Error.h"
#include "attune/Support/Files.h"

#include "llvm/Support/FileSystem.h"
#include <algorithm>
#include <cmath>

using namespace llvm;

namespace attune::session {

/// Runs with the largest inputs first: of several sizes of a dispatch, those
/// are captured.
static std::vector<const EntryRun *> largestFirst(const State &state) {
  std::vector<std::pair<int64_t, const EntryRun *>> sized;
  for (auto [input, run] : zip_equal(state.inputs, state.runs)) {
    int64_t bytes = 0;
    for (const Tensor &tensor : input.tensors)
      bytes += tensor.bytes.size();
    sized.emplace_back(bytes, &run);
  }
  llvm::stable_sort(
      sized, [](const auto &a, const auto &b) { return a.first > b.first; });
  std::vector<const EntryRun *> order;
  for (const auto &[bytes, run] : sized)
    order.push_back(run);
  return order;
}

/// Runs the program once with captures on; afterwards the first inputs of each
/// dispatch are files.
static Error captureInputs(State &state, StringRef folder) {
  if (sys::fs::exists(folder))
    return Error::success();
  if (Error error = createFolder(folder))
    return error;
  auto library = state.parts.backend.buildProgram(Build::Capture);
  if (!library)
    return library.takeError();
  auto executor =
      state.parts.createExecutor({"ATTUNE_CAPTURE=" + folder.str()});
  for (const EntryRun *run : largestFirst(state)) {
    RunJob job;
    job.library = *library;
    job.entry = run->entry;
    job.inputs = run->inputs;
    auto result =
        runSurely(*executor, job, runLimits(3 * state.referenceSeconds));
    if (!result)
      return result.takeError();
    if (result->outcome != Outcome::Ok)
      return failure("capturing inputs", result->reason, result->detail);
  }
  return Error::success();
}

/// A tensor that was written as .npy, which does not know all types.
static Expected<Tensor> readTensor(StringRef path, const TensorType &type) {
  auto file = readNpy(path);
  if (!file)
    return file.takeError();
  return reinterpretAs(std::move(*file), type.type);
}

/// Integers, booleans and scalars as the program had them (indices must be
/// valid); floats random, of the captured shape.
static Expected<Tensor> dispatchInput(const State &state, StringRef path,
                                      const TensorType &type, uint64_t seed) {
  auto tensor = readTensor(path, type);
  if (!tensor)
    return tensor.takeError();
  if (state.options.keepValues || !isFloat(type.type) || tensor->shape.empty())
    return std::move(*tensor);
  return makeRandom(type.type, tensor->shape, seed);
}

Error prepareDispatch(State &state, DispatchState &dispatch) {
  const BackendDispatch &info = *dispatch.dispatch;
  std::string folder = state.file("captured");
  if (!info.inputs.empty())
    if (Error error = captureInputs(state, folder))
      return error;
  std::vector<Tensor> tensors;
  for (auto [index, type] : enumerate(info.inputs)) {
    auto tensor = dispatchInput(
        state, formatv("{0}/d{1}.a{2}.npy", folder, info.number, index).str(),
        type, state.options.seed + 7919 * info.number + index);
    if (!tensor)
      return tensor.takeError();
    tensors.push_back(std::move(*tensor));
  }
  EntryRun run;
  auto paths = writeTensors(state, tensors, info.name);
  if (!paths)
    return paths.takeError();
  run.inputs = *paths;
  auto reference = state.parts.backend.buildDispatch(info, Build::Reference);
  if (!reference)
    return reference.takeError();
  // Loops are slow, but not endlessly slower than what is untuned.
  double limit =
      std::clamp(5000 * dispatch.baselineSeconds, 60.0, referenceLimitSeconds);
  if (Error error =
          computeReferences(state, *reference, "main", info.outputs,
                            info.reductionLength, info.name, limit, run))
    return error;
  auto baseline = state.parts.backend.buildDispatch(info, Build::Baseline);
  if (!baseline)
    return baseline.takeError();
  dispatch.baseline = *baseline;
  dispatch.inputs = run;
  return Error::success();
}

//===----------------------------------------------------------------------===//
// More inputs
//===----------------------------------------------------------------------===//

namespace {
/// What random values may hide: with ones a term too many or too few in a sum
/// shows, and large and small values are rounded elsewhere.
enum class Values { RandomAgain, Ones, Large, Small };
} // namespace

static Tensor changeValues(Tensor tensor, Values values, uint64_t seed) {
  if (values == Values::RandomAgain)
    return makeRandom(tensor.type, tensor.shape, seed);
  double large = tensor.type == ElementType::F16 ? 16 : 1000;
  for (int64_t i = 0, e = tensor.elementCount(); i < e; ++i)
    tensor.set(i, values == Values::Ones    ? 1.0
                  : values == Values::Large ? tensor.at(i) * large
                                            : tensor.at(i) / large);
  return tensor;
}

/// The inputs of a dispatch with other floats; integers and scalars stay.
static Expected<std::vector<std::string>>
writeOtherInputs(State &state, const DispatchState &dispatch, Values values,
                 const Twine &prefix) {
  std::vector<Tensor> tensors;
  for (auto [path, type] :
       zip(dispatch.inputs.inputs, dispatch.dispatch->inputs)) {
    auto tensor = readTensor(path, type);
    if (!tensor)
      return tensor.takeError();
    if (isFloat(type.type) && !tensor->shape.empty())
      *tensor = changeValues(std::move(*tensor), values,
                             state.options.seed + 104729 + tensors.size());
    tensors.push_back(std::move(*tensor));
  }
  return writeTensors(state, tensors, prefix.str());
}

/// NaN and infinity in a reference may come from an overflow that a candidate
/// need not have.
static Expected<bool> areFinite(const CheckedInputs &inputs,
                                ArrayRef<TensorType> types) {
  for (auto [path, type] : zip(inputs.references, types)) {
    auto tensor = readTensor(path, type);
    if (!tensor)
      return tensor.takeError();
    for (int64_t i = 0, e = tensor->elementCount(); isFloat(type.type) && i < e;
         ++i)
      if (!std::isfinite(tensor->at(i)))
        return false;
  }
  return true;
}

/// Seconds that loops may take for them.
static constexpr double otherInputsLimit = 5;

Error prepareMoreInputs(State &state, DispatchState &dispatch) {
  const BackendDispatch &info = *dispatch.dispatch;
  if (none_of(info.inputs,
              [](const TensorType &type) { return isFloat(type.type); }))
    return Error::success();
  auto reference = state.parts.backend.buildDispatch(info, Build::Reference);
  if (!reference)
    return reference.takeError();
  // Loops are slow; what they take is taken from the search.
  double end = state.parts.clock.now() +
               std::min(10.0, 0.05 * state.options.budget.seconds);
  for (Values values :
       {Values::RandomAgain, Values::Ones, Values::Large, Values::Small}) {
    if (state.parts.clock.now() > end)
      break;
    std::string prefix = formatv("{0}-more{1}", info.name, int(values));
    EntryRun run;
    auto paths = writeOtherInputs(state, dispatch, values, prefix);
    if (!paths)
      return paths.takeError();
    run.inputs = std::move(*paths);
    if (Error error = computeReferences(state, *reference, "main", info.outputs,
                                        info.reductionLength, prefix,
                                        otherInputsLimit, run))
      return error;
    auto isFinite = areFinite(run, info.outputs);
    if (!isFinite)
      return isFinite.takeError();
    if (!*isFinite)
      continue;
    MeasureJob check = makeMeasureJob(
        dispatch.baseline, "", run, state.options.threads, state.options.seed);
    check.timing.minRepetitions = 0;
    Limits limits = runLimits(0);
    limits.wallSeconds = otherInputsLimit;
    auto result =
        measureSurely(*state.executor, check, limits, BelieveWrong::Once);
    if (!result)
      return result.takeError();
    if (result->outcome == Outcome::Ok)
      dispatch.moreInputs.push_back(run);
  }
  return Error::success();
}

} // namespace attune::session
