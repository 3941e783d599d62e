//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Measure/Runner.h"

#include "Call.h"
#include "DispatchRecording.h"
#include "attune/Support/Error.h"
#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace attune;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
namespace json = llvm::json;

/// attune_signature() of a library, as it is.
static llvm::Expected<json::Object> describeLibrary(const json::Object &job) {
  std::optional<llvm::StringRef> path = job.getString("library");
  if (!path)
    return makeError("a signature job needs a library");
  auto library = Library::open(*path);
  if (!library)
    return failedAnswer(Outcome::Crash, llvm::toString(library.takeError()));
  return json::Object{{"outcome", toString(Outcome::Ok)},
                      {"signature", (*library)->getSignatureText()}};
}

llvm::StringMap<JobHandler> Runner::handlers() {
  llvm::StringMap<JobHandler> handlers;
  handlers["measure"] = [this](const json::Object &job) {
    return measure(job);
  };
  handlers["run"] = [this](const json::Object &job) { return run(job); };
  handlers["signature"] = describeLibrary;
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

static json::Object failed(Outcome outcome, Error error) {
  Measurement measurement;
  measurement.outcome = outcome;
  measurement.reason = llvm::toString(std::move(error));
  return toJSON(measurement);
}

/// The candidate may have damaged our memory: the next one gets a new process.
static json::Object failedForGood(Outcome outcome, Error error) {
  json::Object answer = failed(outcome, std::move(error));
  answer["replace"] = true;
  return answer;
}

using TensorList = llvm::ArrayRef<std::shared_ptr<const Tensor>>;

/// An error says that the candidate misbehaved (`measurement.outcome` how); a
/// wrong result alone is no error.
static Error checkCandidate(Library &candidate, const Signature::Entry &entry,
                            const std::vector<Tolerance> &tolerances,
                            TensorList inputs, TensorList references,
                            StringRef when, Measurement &measurement) {
  Expected<Call> call = Call::create(entry, inputs, Guard::Tight);
  if (!call) {
    measurement.outcome = Outcome::OutOfMemory;
    return call.takeError();
  }
  Expected<std::vector<Tensor>> outputs =
      runChecked(candidate, *call, measurement);
  if (!outputs)
    return outputs.takeError();
  compareAll(*outputs, references, tolerances, when, measurement);
  return Error::success();
}

namespace {
/// Memory that is larger than the caches: what is written last is in them.
class CacheSweep {
public:
  void sweep() {
    if (memory.empty()) {
      long last = std::max(0l, ::sysconf(_SC_LEVEL3_CACHE_SIZE));
      memory.resize(std::clamp<size_t>(2 * last, 32 << 20, 512 << 20));
    }
    for (size_t at = 0; at < memory.size(); at += 64)
      ++memory[at];
  }

private:
  std::vector<char> memory;
};
} // namespace

/// Both use the same buffers: where memory lies must not decide who is faster.
/// A program may be right once only, so its last result is checked again.
static Error timeCandidate(Library &candidate, Library *baseline,
                           const Signature::Entry &entry, const MeasureJob &job,
                           TensorList inputs, TensorList references,
                           Clock &clock, Measurement &measurement) {
  Expected<Call> call = Call::create(entry, inputs, Guard::Aligned);
  if (!call) {
    measurement.outcome = Outcome::OutOfMemory;
    return call.takeError();
  }
  measurement.outcome = Outcome::Crash;
  for (Library *library : {&candidate, baseline})
    if (library)
      if (Error error = call->prepack(*library))
        return error;
  auto runCandidate = [&]() { return call->run(candidate); };
  auto runBaseline = [&]() { return call->run(*baseline); };
  Preemptions preemptions;
  PerfCycles cycles;
  CacheSweep sweep;
  auto emptyCaches = [&]() { sweep.sweep(); };
  Expected<PairedTimes> times =
      timePairs(runCandidate, baseline ? TimedCall(runBaseline) : TimedCall(),
                job.timing, clock, {&preemptions, &cycles, emptyCaches});
  if (!times)
    return times.takeError();
  // From the start again, for programs that remember something between runs.
  candidate.setChecked(true);
  if (Error error = call->run(candidate, Call::Outputs::Keep))
    return error;
  candidate.setChecked(false);
  measurement.outcome = Outcome::WrongResult;
  Expected<std::vector<Tensor>> last = call->takeOutputs(candidate);
  if (!last)
    return last.takeError();
  if (std::string damage = call->findDamage(); !damage.empty())
    return makeError("{0}", damage);
  measurement.outcome = Outcome::Ok;
  compareAll(*last, references, job.tolerances, " after many runs",
             measurement);
  if (measurement.outcome != Outcome::Ok)
    return Error::success();
  measurement.seconds = std::move(times->seconds);
  measurement.baselineSeconds = std::move(times->baselineSeconds);
  measurement.stoppedEarly = times->stoppedEarly;
  measurement.cycles = std::move(times->cycles);
  measurement.baselineCycles = std::move(times->baselineCycles);
  return Error::success();
}

/// What the results must be: files, or what the baseline makes of the inputs;
/// nothing when there is neither.
Expected<Runner::Tensors>
Runner::findReferences(const std::vector<std::string> &files,
                       const std::string &baselinePath,
                       const Signature::Entry &entry, const Tensors &inputs) {
  if (!files.empty())
    return loadTensors(files, entry.outputs, "reference");
  Tensors references;
  if (baselinePath.empty())
    return references;
  Expected<Call> call = Call::create(entry, inputs, Guard::Tight);
  if (!call)
    return call.takeError();
  Measurement ignored;
  Expected<std::vector<Tensor>> outputs =
      runChecked(*baseline.library, *call, ignored);
  if (!outputs)
    return makeError("the baseline: {0}", llvm::toString(outputs.takeError()));
  for (Tensor &output : *outputs)
    references.push_back(std::make_shared<const Tensor>(std::move(output)));
  return references;
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
  Expected<std::unique_ptr<Library>> candidate = Library::open(job->candidate);
  if (!candidate)
    return failed(Outcome::CompileError, candidate.takeError());
  Expected<const Signature::Entry *> entry =
      (*candidate)->getSignature().find(job->entry);
  if (!entry)
    return entry.takeError();
  Expected<Tensors> inputs =
      loadTensors(job->inputs, (*entry)->inputs, "input");
  if (!inputs)
    return inputs.takeError();
  Expected<Tensors> references =
      findReferences(job->references, job->baseline, **entry, *inputs);
  if (!references)
    return references.takeError();

  Measurement measurement;
  if (Error error = checkCandidate(**candidate, **entry, job->tolerances,
                                   *inputs, *references, "", measurement))
    return failedForGood(measurement.outcome, std::move(error));
  for (auto [index, more] : llvm::enumerate(job->moreInputs)) {
    if (measurement.outcome != Outcome::Ok)
      break;
    Expected<Tensors> values =
        loadTensors(more.inputs, (*entry)->inputs, "input");
    if (!values)
      return values.takeError();
    Expected<Tensors> right =
        findReferences(more.references, job->baseline, **entry, *values);
    if (!right)
      return right.takeError();
    std::string when = llvm::formatv(" with inputs {0}", index + 2);
    if (Error error = checkCandidate(**candidate, **entry, more.tolerances,
                                     *values, *right, when, measurement))
      return failedForGood(measurement.outcome, std::move(error));
  }
  if (measurement.outcome != Outcome::Ok || !job->timing.minRepetitions)
    return toJSON(measurement);
  Library *other = job->baseline.empty() ? nullptr : baseline.library.get();
  if (Error error = timeCandidate(**candidate, other, **entry, *job, *inputs,
                                  *references, clock, measurement))
    return failedForGood(measurement.outcome, std::move(error));
  return toJSON(measurement);
}

//===----------------------------------------------------------------------===//
// run
//===----------------------------------------------------------------------===//

/// Runs as often as asked. With hooks, the first of several runs warms up and
/// is not counted in the dispatches' times.
static Expected<std::vector<Tensor>> runRepeatedly(Library &library, Call &call,
                                                   const RunJob &job,
                                                   Clock &clock,
                                                   RunResult &result) {
  std::vector<Tensor> outputs;
  unsigned repetitions = std::max(1u, job.repetitions);
  std::optional<DispatchRecording> recording;
  library.setChecked(job.checked);
  if (!job.checked)
    if (Error error = call.prepack(library))
      return std::move(error);
  while (result.seconds.size() < repetitions) {
    if (job.hooks && !recording &&
        (repetitions == 1 || result.seconds.size() == 1)) {
      recording.emplace(library, job);
      if (Error error = recording->start())
        return std::move(error);
    }
    double begin = clock.now();
    Error error = call.run(library, Call::Outputs::Keep);
    double end = clock.now();
    if (error)
      return std::move(error);
    Expected<std::vector<Tensor>> taken = call.takeOutputs(library);
    if (!taken)
      return taken.takeError();
    outputs = std::move(*taken);
    Expected<bool> counts =
        recording ? recording->endRepetition(begin, end) : true;
    if (!counts)
      return counts.takeError();
    if (*counts)
      result.seconds.push_back(end - begin);
  }
  if (recording)
    if (Error error = recording->finish(result))
      return std::move(error);
  return outputs;
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
  if (job->counters)
    if (auto probe = (*library)->createRecorder(1, Library::Counters::Hardware);
        !probe)
      return probe.takeError();
  const Signature &signature = (*library)->getSignature();
  Expected<const Signature::Entry *> entry = signature.find(job->entry);
  if (!entry)
    return entry.takeError();
  if (!job->outputs.empty() && job->outputs.size() != (*entry)->outputs.size())
    return makeError("{0} outputs were asked for, the entry has {1}",
                     job->outputs.size(), (*entry)->outputs.size());
  Expected<Tensors> inputs =
      loadTensors(job->inputs, (*entry)->inputs, "input");
  if (!inputs)
    return inputs.takeError();
  Expected<Call> call = Call::create(
      **entry, *inputs, job->checked ? Guard::Tight : Guard::Aligned);
  if (!call)
    return call.takeError();

  RunResult result;
  Expected<std::vector<Tensor>> outputs =
      runRepeatedly(**library, *call, *job, clock, result);
  if (!outputs)
    return failedForGood(Outcome::Crash, outputs.takeError());
  if (std::string damage = call->findDamage(); !damage.empty())
    return failedForGood(Outcome::WrongResult, makeError("{0}", damage));
  for (size_t i = 0; i < job->outputs.size(); ++i)
    if (Error error = writeNpy(job->outputs[i], (*outputs)[i]))
      return std::move(error);
  return toJSON(result);
}
