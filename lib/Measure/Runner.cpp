//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Measure/Runner.h"

#include "Call.h"
#include "attune/Support/Error.h"
#include "llvm/ADT/ScopeExit.h"
#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <sys/stat.h>

using namespace attune;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
namespace json = llvm::json;

llvm::StringMap<JobHandler> Runner::handlers() {
  llvm::StringMap<JobHandler> handlers;
  handlers["measure"] = [this](const json::Object &job) {
    return measure(job);
  };
  handlers["run"] = [this](const json::Object &job) { return run(job); };
  return handlers;
}

//===----------------------------------------------------------------------===//
// What is kept between jobs
//===----------------------------------------------------------------------===//

Expected<Runner::FileIdentity> Runner::identify(const std::string &path) {
  struct stat status;
  if (::stat(path.c_str(), &status))
    return makeError("{0}: {1}", path, std::strerror(errno));
  return FileIdentity{static_cast<int64_t>(status.st_ino), status.st_size,
                      status.st_mtim.tv_sec * 1'000'000'000 +
                          status.st_mtim.tv_nsec};
}

Expected<std::shared_ptr<const Tensor>>
Runner::loadTensor(const std::string &path) {
  Expected<FileIdentity> identity = identify(path);
  if (!identity)
    return identity.takeError();
  CachedTensor &cached = tensors[path];
  if (cached.tensor && cached.identity == *identity)
    return cached.tensor;
  Expected<Tensor> tensor = readNpy(path);
  if (!tensor)
    return tensor.takeError();
  cachedBytes += tensor->bytes.size();
  CachedTensor fresh = {*identity,
                        std::make_shared<Tensor>(std::move(*tensor))};
  // Inputs of one dispatch after the other: the old ones are not needed again.
  if (cachedBytes > size_t(1) << 30) {
    tensors.clear();
    cachedBytes = fresh.tensor->bytes.size();
  }
  tensors[path] = fresh;
  return fresh.tensor;
}

static bool shapeFits(llvm::ArrayRef<int64_t> shape, const TensorType &type) {
  if (shape.size() != type.shape.size() || shape.size() > ATTUNE_MAX_RANK)
    return false;
  for (auto [size, wanted] : llvm::zip(shape, type.shape))
    if (wanted >= 0 && size != wanted)
      return false;
  return true;
}

/// Reads one file for each type, seen as that type. `what` is "input" or
/// "reference"; a float reference may have another width.
Expected<Runner::Tensors>
Runner::loadTensors(const std::vector<std::string> &paths,
                    const std::vector<TensorType> &types, StringRef what) {
  if (paths.size() != types.size())
    return makeError("{0} {1}s were given, the entry has {2}", paths.size(),
                     what, types.size());
  Tensors loaded;
  for (size_t i = 0; i < paths.size(); ++i) {
    Expected<std::shared_ptr<const Tensor>> tensor = loadTensor(paths[i]);
    if (!tensor)
      return tensor.takeError();
    ElementType from = (*tensor)->type, to = types[i].type;
    bool anyFloat = what == "reference" && isFloat(from) && isFloat(to);
    bool sameKind =
        from == to || (!isFloat(from) && byteWidth(from) == byteWidth(to) &&
                       (!isFloat(to) || to == ElementType::BF16));
    if (!shapeFits((*tensor)->shape, types[i]) || !(anyFloat || sameKind))
      return makeError("{0}: {1} {2} is {3}, the entry wants {4}", paths[i],
                       what, i, toString(TensorType{from, (*tensor)->shape}),
                       toString(types[i]));
    if (from != to && !anyFloat)
      tensor = std::make_shared<const Tensor>(
          llvm::cantFail(reinterpretAs(**tensor, to)));
    loaded.push_back(std::move(*tensor));
  }
  return loaded;
}

Error Runner::loadBaseline(const std::string &path) {
  Expected<FileIdentity> identity = identify(path);
  if (!identity)
    return identity.takeError();
  if (baseline.library && baseline.path == path &&
      baseline.identity == *identity)
    return Error::success();
  baseline.library.reset();
  Expected<std::unique_ptr<Library>> library = Library::open(path);
  if (!library)
    return library.takeError();
  baseline = {path, *identity, std::move(*library)};
  return Error::success();
}

/// OpenMP reads its environment once; and a library that could not be unloaded
/// would be found again under its name, whatever the file holds now.
bool Runner::needsNewProcess(const std::string &path, unsigned threads) {
  if (loadedAny && threads != threadsInUse)
    return true;
  if (threads && !loadedAny)
    ::setenv("OMP_NUM_THREADS", std::to_string(threads).c_str(), 1);
  threadsInUse = threads;
  loadedAny = true;
  Expected<FileIdentity> identity = identify(path);
  if (!identity) {
    llvm::consumeError(identity.takeError()); // loading it will say so
    return false;
  }
  FileIdentity &known = loadedBefore.try_emplace(path, *identity).first->second;
  if (known == *identity)
    return false;
  known = *identity;
  if (baseline.path == path)
    baseline.library.reset();
  void *stale = ::dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (stale)
    ::dlclose(stale);
  return stale;
}

static json::Object askForNewProcess() { return json::Object{{"retry", true}}; }

//===----------------------------------------------------------------------===//
// measure
//===----------------------------------------------------------------------===//

/// Runs once, guarded and with a poisoned workspace. The message of an error is
/// what the candidate did wrong; `outcome` its name.
static Expected<std::vector<Tensor>> runChecked(Library &library, Call &call,
                                                Measurement &measurement) {
  library.setChecked(true);
  Error error = call.run(library, Call::Outputs::Keep);
  library.setChecked(false);
  if (error) {
    measurement.outcome = Outcome::Crash;
    return std::move(error);
  }
  measurement.outcome = Outcome::WrongResult;
  Expected<std::vector<Tensor>> outputs = call.takeOutputs(library);
  if (!outputs)
    return outputs.takeError();
  if (std::string damage = call.findDamage(); !damage.empty())
    return makeError("{0}", damage);
  measurement.outcome = Outcome::Ok;
  return outputs;
}

/// Sets outcome and reason at the first result that is wrong.
static void compareAll(const std::vector<Tensor> &outputs,
                       llvm::ArrayRef<std::shared_ptr<const Tensor>> references,
                       const std::vector<Tolerance> &tolerances, StringRef when,
                       Measurement &measurement) {
  measurement.maxErrors.resize(references.size());
  for (size_t i = 0; i < references.size(); ++i) {
    Tolerance tolerance = i < tolerances.size() ? tolerances[i] : Tolerance();
    CheckResult check = checkResult(outputs[i], *references[i], tolerance);
    measurement.maxErrors[i] =
        std::max(measurement.maxErrors[i], check.maxError);
    if (check.ok || measurement.outcome != Outcome::Ok)
      continue;
    measurement.outcome = Outcome::WrongResult;
    measurement.reason =
        llvm::formatv("output {0}{1}: {2}", i, when, check.reason);
  }
}

static json::Object failed(Measurement measurement, Outcome outcome,
                           Error error) {
  measurement.outcome = outcome;
  measurement.reason = llvm::toString(std::move(error));
  return toJSON(measurement);
}

/// The candidate's memory may be damaged: a new process for the next one.
static json::Object failedForGood(Measurement measurement, Outcome outcome,
                                  Error error) {
  json::Object answer =
      failed(std::move(measurement), outcome, std::move(error));
  answer["replace"] = true;
  return answer;
}

/// Times with shared buffers: where memory lies must not decide who is faster.
static Error timeCandidate(Library &candidate, Library *baseline, Call &call,
                           const TimingOptions &options, Clock &clock,
                           Measurement &measurement) {
  auto runCandidate = [&]() { return call.run(candidate); };
  auto runBaseline = [&]() { return call.run(*baseline); };
  Expected<PairedTimes> times =
      timePairs(runCandidate, baseline ? TimedCall(runBaseline) : TimedCall(),
                options, clock);
  if (!times)
    return times.takeError();
  measurement.seconds = std::move(times->seconds);
  measurement.baselineSeconds = std::move(times->baselineSeconds);
  measurement.stoppedEarly = times->stoppedEarly;
  return Error::success();
}

Expected<json::Object> Runner::measure(const json::Object &json) {
  Expected<MeasureJob> job = measureJobFromJSON(json);
  if (!job)
    return job.takeError();
  if (needsNewProcess(job->candidate, job->threads))
    return askForNewProcess();
  if (!job->baseline.empty())
    if (Error error = loadBaseline(job->baseline))
      return makeError("the baseline: {0}", llvm::toString(std::move(error)));
  Library *other = job->baseline.empty() ? nullptr : baseline.library.get();

  Measurement measurement;
  Expected<std::unique_ptr<Library>> candidate = Library::open(job->candidate);
  if (!candidate)
    return failed({}, Outcome::CompileError, candidate.takeError());
  Expected<const Signature::Entry *> entry =
      (*candidate)->getSignature().find(job->entry);
  if (!entry)
    return entry.takeError();
  Expected<Tensors> inputs =
      loadTensors(job->inputs, (*entry)->inputs, "input");
  if (!inputs)
    return inputs.takeError();

  // The reference first: files, or what the baseline says.
  Tensors references;
  if (!job->references.empty()) {
    Expected<Tensors> loaded =
        loadTensors(job->references, (*entry)->outputs, "reference");
    if (!loaded)
      return loaded.takeError();
    references = std::move(*loaded);
  } else if (other) {
    Expected<Call> call = Call::create(**entry, *inputs, Guard::Tight);
    if (!call)
      return call.takeError();
    Expected<std::vector<Tensor>> outputs =
        runChecked(*other, *call, measurement);
    if (!outputs)
      return failedForGood(
          {}, measurement.outcome,
          makeError("the baseline: {0}", llvm::toString(outputs.takeError())));
    for (Tensor &output : *outputs)
      references.push_back(std::make_shared<const Tensor>(std::move(output)));
  }

  {
    Expected<Call> call = Call::create(**entry, *inputs, Guard::Tight);
    if (!call)
      return call.takeError();
    Expected<std::vector<Tensor>> outputs =
        runChecked(**candidate, *call, measurement);
    if (!outputs)
      return failedForGood({}, measurement.outcome, outputs.takeError());
    compareAll(*outputs, references, job->tolerances, "", measurement);
  }
  if (measurement.outcome != Outcome::Ok || !job->timing.minRepetitions)
    return toJSON(measurement);

  Expected<Call> call = Call::create(**entry, *inputs, Guard::Aligned);
  if (!call)
    return call.takeError();
  if (Error error = timeCandidate(**candidate, other, *call, job->timing, clock,
                                  measurement))
    return failedForGood({}, Outcome::Crash, std::move(error));

  // A program may be right once only: its state is part of what is checked.
  if (Error error = call->run(**candidate, Call::Outputs::Keep))
    return failedForGood({}, Outcome::Crash, std::move(error));
  Expected<std::vector<Tensor>> last = call->takeOutputs(**candidate);
  if (!last)
    return failedForGood({}, Outcome::WrongResult, last.takeError());
  if (std::string damage = call->findDamage(); !damage.empty())
    return failedForGood({}, Outcome::WrongResult, makeError("{0}", damage));
  compareAll(*last, references, job->tolerances, " after many runs",
             measurement);
  return toJSON(measurement);
}

//===----------------------------------------------------------------------===//
// run
//===----------------------------------------------------------------------===//

namespace {
/// Adds up the time of each dispatch.
struct DispatchTimes {
  DispatchTimes(Clock &clock, size_t count)
      : clock(clock), seconds(count), calls(count), begin(count) {
    hooks.user = this;
    hooks.begin = [](void *user, int32_t dispatch) {
      auto *times = static_cast<DispatchTimes *>(user);
      if (times->knows(dispatch))
        times->begin[dispatch] = times->clock.now();
    };
    hooks.end = [](void *user, int32_t dispatch) {
      auto *times = static_cast<DispatchTimes *>(user);
      if (!times->knows(dispatch))
        return;
      times->seconds[dispatch] += times->clock.now() - times->begin[dispatch];
      times->calls[dispatch] += 1;
    };
  }
  bool knows(int32_t dispatch) const {
    return dispatch >= 0 && static_cast<size_t>(dispatch) < begin.size();
  }

  Clock &clock;
  std::vector<double> seconds, calls, begin;
  AttuneHooks hooks = {};
};
} // namespace

static Error writeOutputs(const std::vector<std::string> &paths,
                          const std::vector<Tensor> &outputs) {
  if (!paths.empty() && paths.size() != outputs.size())
    return makeError("{0} outputs were asked for, the entry has {1}",
                     paths.size(), outputs.size());
  for (size_t i = 0; i < paths.size(); ++i)
    if (Error error = writeNpy(paths[i], outputs[i]))
      return error;
  return Error::success();
}

Expected<json::Object> Runner::run(const json::Object &json) {
  Expected<RunJob> job = runJobFromJSON(json);
  if (!job)
    return job.takeError();
  if (needsNewProcess(job->library, job->threads))
    return askForNewProcess();
  Expected<std::unique_ptr<Library>> library = Library::open(job->library);
  if (!library)
    return library.takeError();
  Expected<const Signature::Entry *> entry =
      (*library)->getSignature().find(job->entry);
  if (!entry)
    return entry.takeError();
  Expected<Tensors> inputs =
      loadTensors(job->inputs, (*entry)->inputs, "input");
  if (!inputs)
    return inputs.takeError();
  Expected<Call> call = Call::create(
      **entry, *inputs, job->checked ? Guard::Tight : Guard::Aligned);
  if (!call)
    return call.takeError();

  DispatchTimes times(clock, (*library)->getSignature().dispatches.size());
  RunResult result;
  Measurement outcome;
  std::vector<Tensor> outputs;
  (*library)->setChecked(job->checked);
  unsigned repetitions = std::max(1u, job->repetitions);
  for (unsigned i = 0; i < repetitions; ++i) {
    // With hooks, the first of several runs warms up and does not count.
    if (job->hooks && (i == 1 || repetitions == 1))
      (*library)->setHooks(&times.hooks);
    double begin = clock.now();
    Error error = call->run(**library, Call::Outputs::Keep);
    result.seconds.push_back(clock.now() - begin);
    if (error)
      return failedAnswer(Outcome::Crash, llvm::toString(std::move(error)));
    Expected<std::vector<Tensor>> taken = call->takeOutputs(**library);
    if (!taken)
      return failedAnswer(Outcome::Crash, llvm::toString(taken.takeError()));
    outputs = std::move(*taken);
  }
  (*library)->setHooks(nullptr);
  if (std::string damage = call->findDamage(); !damage.empty()) {
    json::Object answer = failedAnswer(Outcome::WrongResult, damage);
    answer["replace"] = true;
    return answer;
  }
  if (Error error = writeOutputs(job->outputs, outputs))
    return std::move(error);
  if (job->hooks) {
    double counted = std::max(1u, repetitions - 1);
    for (double &seconds : times.seconds)
      seconds /= counted;
    for (double &calls : times.calls)
      calls /= counted;
    result.dispatchSeconds = std::move(times.seconds);
    result.dispatchCalls = std::move(times.calls);
  }
  return toJSON(result);
}
