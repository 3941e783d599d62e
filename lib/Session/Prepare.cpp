//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// What is measured and what is right, before anything is tuned.

#include "State.h"
#include "attune/Import/Inputs.h"
#include "attune/Support/Error.h"
#include "attune/Support/Files.h"
#include "attune/Support/Interrupt.h"

#include "llvm/Support/FileSystem.h"
#include <algorithm>
#include <cmath>

using namespace llvm;

namespace attune::session {

Limits runLimits(double expectedSeconds) {
  Limits limits;
  limits.wallSeconds = 20 + 20 * expectedSeconds;
  limits.memoryBytes = 16ull << 30;
  return limits;
}

static Expected<std::vector<std::string>>
writeTensors(State &state, ArrayRef<Tensor> tensors, StringRef prefix) {
  std::vector<std::string> paths;
  for (const Tensor &tensor : tensors) {
    paths.push_back(state.file(prefix + "-" + Twine(paths.size()) + ".npy"));
    if (Error error = writeNpy(paths.back(), tensor))
      return std::move(error);
  }
  return paths;
}

/// Before the search begins there is nothing to keep.
static Error stopIfInterrupted() {
  if (interruptRequested() == Interrupt::None)
    return Error::success();
  return makeError("interrupted before the search began");
}

static Error failure(StringRef what, StringRef reason, StringRef detail) {
  StringRef said = detail.trim();
  return makeError("{0}: {1}{2}{3}", what, reason, said.empty() ? "" : ": ",
                   said.rsplit('\n').second.empty() ? said
                                                    : said.rsplit('\n').second);
}

static constexpr double referenceLimitSeconds = 1800;

/// Runs the reference; its results, and how far others may be from them.
static Error computeReferences(State &state, StringRef library, StringRef entry,
                               ArrayRef<TensorType> types, int64_t sumLength,
                               StringRef prefix, double wallSeconds,
                               EntryRun &run) {
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
  state.baseline = *baseline;
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

/// Adds the hooks' times of one entry to the dispatches; gives the entry's.
static Expected<double> profileRun(State &state, const EntryRun &run,
                                   SessionProfile &profile) {
  RunJob job;
  job.library = state.baseline;
  job.entry = run.entry;
  job.inputs = run.inputs;
  job.hooks = true;
  job.repetitions = 3;
  auto first =
      runSurely(*state.executor, job, runLimits(3 * state.referenceSeconds));
  if (!first)
    return first.takeError();
  double once = 0;
  if (first->outcome == Outcome::Ok && !first->seconds.empty())
    once = *std::min_element(first->seconds.begin(), first->seconds.end());
  job.repetitions = std::clamp<int64_t>(0.5 / std::max(once, 1e-6), 5, 1000);
  auto result =
      runSurely(*state.executor, job, runLimits(job.repetitions * once));
  if (!result)
    return result.takeError();
  if (result->outcome != Outcome::Ok)
    return failure("profiling", result->reason, result->detail);
  for (auto [index, dispatch] : enumerate(profile.dispatches)) {
    if (index >= result->dispatchSeconds.size())
      break;
    dispatch.seconds += result->dispatchSeconds[index];
    dispatch.calls += static_cast<int64_t>(result->dispatchCalls[index] + 0.5);
  }
  return median(result->seconds);
}

static Expected<SessionProfile> measureProfile(State &state) {
  state.parts.progress.update({"profiling"});
  SessionProfile profile;
  for (const DispatchState &state : state.dispatches)
    profile.dispatches.push_back({keyOf(state), state.dispatch->name});
  for (const EntryRun &run : state.runs) {
    auto seconds = profileRun(state, run, profile);
    if (!seconds)
      return seconds.takeError();
    profile.programSeconds += *seconds;
  }
  // Hooks and noise may make the parts a little more than the whole.
  double parts = 0;
  for (const SessionProfile::Dispatch &dispatch : profile.dispatches)
    parts += dispatch.seconds;
  profile.programSeconds = std::max(profile.programSeconds, parts);
  return profile;
}

/// What each dispatch takes in the program.
static void applyProfile(State &state, const SessionProfile &profile) {
  state.programSeconds = profile.programSeconds;
  for (DispatchState &dispatch : state.dispatches)
    for (const SessionProfile::Dispatch &row : profile.dispatches)
      if (row.key.fingerprint == keyOf(dispatch).fingerprint) {
        dispatch.seconds = row.seconds;
        dispatch.callsPerRun = row.calls;
        dispatch.share = profile.programSeconds > 0
                             ? row.seconds / profile.programSeconds
                             : 0;
      }
}

static DispatchFacts factsOf(const BackendDispatch &dispatch) {
  return {dispatch.name,   dispatch.fingerprint, dispatch.rootOp,
          dispatch.shapes, dispatch.location,    dispatch.operations,
          dispatch.bytes};
}

static std::vector<DispatchFacts> factsOf(const State &state) {
  std::vector<DispatchFacts> facts;
  for (const DispatchState &dispatch : state.dispatches)
    facts.push_back(factsOf(*dispatch.dispatch));
  return facts;
}

/// A profile from elsewhere, as if it had been measured here.
static SessionProfile takeProfile(State &state, const Profile &given) {
  Profile once = mergeProfiles({{given, 1}});
  std::vector<std::string> unmatched;
  std::vector<ProfileRow> rows = matchProfile(once, factsOf(state), unmatched);
  SessionProfile profile;
  profile.programSeconds = once.totalSeconds();
  for (auto [dispatch, row] : zip_equal(state.dispatches, rows))
    profile.dispatches.push_back({keyOf(dispatch), dispatch.dispatch->name,
                                  row.seconds,
                                  static_cast<int64_t>(std::ceil(row.calls))});
  if (!unmatched.empty())
    state.warnings.push_back(
        formatv("the profile has {0} rows that belong to no dispatch of this "
                "program, such as {1}",
                unmatched.size(), unmatched.front())
            .str());
  return profile;
}

/// Those that could gain most.
static void chooseDispatches(State &state, double programSeconds) {
  std::vector<ProfileRow> rows;
  for (DispatchState &dispatch : state.dispatches) {
    dispatch.baselineSeconds =
        dispatch.callsPerRun ? dispatch.seconds / dispatch.callsPerRun : 0;
    dispatch.tunedSeconds = dispatch.baselineSeconds;
    ProfileRow &row = rows.emplace_back();
    row.calls = dispatch.callsPerRun;
    row.seconds = dispatch.seconds;
  }
  HotOptions options;
  options.coverage = state.options.coverage;
  std::vector<DispatchFacts> facts = factsOf(state);
  MachinePeaks peaks = state.options.peaks;
  if (!arePlausible(peaks, facts, rows))
    peaks = {}; // measured while the machine was busy
  for (HotDispatch &hot :
       chooseHot(facts, rows, programSeconds, peaks, options)) {
    DispatchState &dispatch = state.dispatches[hot.number];
    dispatch.chosen = hot.chosen;
    dispatch.gainSeconds = hot.gainSeconds;
    dispatch.rooflineSeconds = rooflineSeconds(facts[hot.number], peaks);
    dispatch.selection = std::move(hot.reason);
    if (!dispatch.chosen)
      dispatch.reason = dispatch.selection;
  }
}

DispatchKey keyOf(const DispatchState &dispatch) {
  return {dispatch.dispatch->fingerprint, "", dispatch.dispatch->rootOp,
          dispatch.dispatch->shapes};
}

Error profileProgram(State &state) {
  if (Error error = stopIfInterrupted())
    return error;
  for (const BackendDispatch &dispatch : state.parts.backend.dispatches()) {
    state.dispatches.emplace_back();
    state.dispatches.back().dispatch = &dispatch;
  }
  // A session that goes on must come to the same dispatches in the same order.
  auto profile = state.parts.database.sessionProfile(state.sessionId);
  if (!profile)
    return profile.takeError();
  if (!*profile) {
    Expected<SessionProfile> measured =
        state.options.profile ? takeProfile(state, *state.options.profile)
                              : measureProfile(state);
    if (!measured)
      return measured.takeError();
    if (Error error = store(state, [&](Database &database) {
          return database.recordProfile(state.sessionId, *measured);
        }))
      return error;
    *profile = std::move(*measured);
  }
  applyProfile(state, **profile);
  chooseDispatches(state, (*profile)->programSeconds);
  return Error::success();
}

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

/// Integers, booleans and scalars as the program had them (indices must be
/// valid); floats random, of the captured shape.
static Expected<Tensor> dispatchInput(const State &state, StringRef path,
                                      const TensorType &type, uint64_t seed) {
  auto captured = readNpy(path);
  if (!captured)
    return captured.takeError();
  auto tensor = reinterpretAs(std::move(*captured), type.type);
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
    auto file = readNpy(path);
    if (!file)
      return file.takeError();
    auto tensor = reinterpretAs(std::move(*file), type.type);
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
    auto file = readNpy(path);
    if (!file)
      return file.takeError();
    auto tensor = reinterpretAs(std::move(*file), type.type);
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
