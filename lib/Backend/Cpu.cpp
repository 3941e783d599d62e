//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Libraries from programs, dispatches and candidates, in compile workers.

#include "CpuImpl.h"
#include "attune/Dispatch/ProgramFile.h"
#include "attune/Measure/Statistics.h"
#include "attune/Support/Error.h"
#include "attune/Support/Files.h"

#include "llvm/Support/FileSystem.h"

using namespace mlir;

namespace attune {

double CpuBackend::Impl::compileLimit() const {
  if (compileSeconds.size() < 4)
    return std::min(20.0, options.compileSeconds);
  return std::min(std::max(3.0, 10 * median(compileSeconds)),
                  options.compileSeconds);
}

WorkerOptions CpuBackend::Impl::workerOptions() const {
  WorkerOptions result;
  result.arguments = {worker, "worker"};
  result.phase = JobPhase::Compile;
  return result;
}

CompileJob CpuBackend::Impl::baseJob(std::string programPath,
                                     std::string output) const {
  CompileJob job;
  job.program = std::move(programPath);
  job.output = std::move(output);
  job.target = options.target;
  job.threads = options.threads;
  job.schedules = options.schedules;
  job.cacheFolder = options.cacheFolder;
  return job;
}

WorkerPool &CpuBackend::Impl::workers() {
  if (!pool)
    pool = std::make_unique<WorkerPool>(
        workerOptions(), std::max<unsigned>(1, options.target.cores));
  return *pool;
}

WorkerProcess &CpuBackend::Impl::builderProcess() {
  if (!builder)
    builder = std::make_unique<WorkerProcess>(workerOptions());
  return *builder;
}

/// Compiles parts of a program beside one another; gives those whose compiler
/// died.
llvm::Expected<std::vector<int64_t>>
CpuBackend::Impl::buildParts(const CompileJob &whole,
                             llvm::ArrayRef<int64_t> numbers, int64_t parts) {
  Limits limits;
  limits.wallSeconds = 900;
  limits.memoryBytes = 12ull << 30;
  for (int64_t part : numbers) {
    CompileJob job = whole;
    job.part = part;
    job.parts = parts;
    workers().submit(toJSON(job), limits);
  }
  std::vector<int64_t> died;
  for (int64_t part : numbers) {
    auto result = workers().next();
    if (!result)
      return result.takeError();
    if (result->outcome != Outcome::Ok)
      died.push_back(part);
  }
  return died;
}

/// Compiles the dispatches of a whole program with all cores, and finds those
/// whose schedules bring the compiler down: they become loops, and a note says
/// so. The library is made afterwards, from the cache.
llvm::Error CpuBackend::Impl::compileInParts(CompileJob &job) {
  int64_t count = functions.size(), parts = options.target.cores;
  if (job.cacheFolder.empty() || job.reference || count < 4)
    return llvm::Error::success();
  auto died = buildParts(job, llvm::to_vector(llvm::seq(parts)), parts);
  if (!died)
    return died.takeError();
  std::vector<int64_t> suspects;
  for (int64_t part : *died)
    for (int64_t i = part; i < count; i += parts)
      suspects.push_back(i);
  auto guilty = buildParts(job, suspects, count);
  if (!guilty)
    return guilty.takeError();
  for (int64_t number : *guilty) {
    job.asLoops.push_back(functions[number]);
    notes.push_back("dispatch " + functions[number] +
                    " brings the compiler down with a schedule, and runs as "
                    "plain loops");
  }
  return llvm::Error::success();
}

/// Compiles a whole library; a failure is an error here.
llvm::Expected<std::string> CpuBackend::Impl::build(CompileJob job) {
  if (job.program != importedPath)
    if (llvm::Error error = compileInParts(job))
      return std::move(error);
  Limits limits;
  limits.wallSeconds = 1800;
  limits.memoryBytes = 12ull << 30;
  auto result = builderProcess().call(toJSON(job), limits);
  if (!result)
    return result.takeError();
  if (result->outcome != Outcome::Ok)
    return makeError("{0}: {1}", options.model, result->reason);
  return job.output;
}

CpuBackend::CpuBackend(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
CpuBackend::~CpuBackend() = default;

llvm::Expected<std::unique_ptr<CpuBackend>>
CpuBackend::create(CpuOptions options) {
  if (options.schedules.empty()) {
    auto folder = findSchedules();
    if (!folder)
      return folder.takeError();
    options.schedules = *folder;
  }
  if (options.cacheFolder.empty())
    options.cacheFolder = options.workFolder + "/objects";
  if (llvm::Error error = createFolder(options.cacheFolder))
    return std::move(error);
  sortSizes(options.sizes);
  auto impl = std::make_unique<Impl>(std::move(options));
  impl->worker = impl->options.worker;
  if (impl->worker.empty()) {
    auto worker = findTool("attune");
    if (!worker)
      return worker.takeError();
    impl->worker = *worker;
  }
  auto library = ScheduleLibrary::load(&impl->context, impl->options.schedules);
  if (!library)
    return library.takeError();
  impl->library.emplace(std::move(*library));
  if (llvm::Error error = impl->load())
    return std::move(error);
  if (llvm::Error error = impl->listEntries())
    return std::move(error);
  return std::unique_ptr<CpuBackend>(new CpuBackend(std::move(impl)));
}

const std::vector<BackendEntry> &CpuBackend::entries() const {
  return impl->entries;
}
const std::vector<BackendDispatch> &CpuBackend::dispatches() const {
  return impl->dispatches;
}
const std::vector<std::string> &CpuBackend::notes() const {
  return impl->notes;
}
const std::vector<EntrySignature> &CpuBackend::signatures() const {
  return impl->signatures;
}
int64_t CpuBackend::dispatchVersion() const { return attune::dispatchVersion; }
std::string CpuBackend::programHash() const { return impl->hash; }

/// The backend of this program for these sizes; null when that is this one.
llvm::Expected<CpuBackend *>
CpuBackend::Impl::forSizes(llvm::ArrayRef<EntrySizes> given) {
  std::vector<EntrySizes> sizes(given.begin(), given.end());
  sortSizes(sizes);
  if (sizes == options.sizes)
    return nullptr;
  for (const std::unique_ptr<CpuBackend> &other : others)
    if (other->impl->options.sizes == sizes)
      return other.get();
  CpuOptions changed = options;
  changed.sizes = std::move(sizes);
  changed.workFolder = file("sizes-" + llvm::Twine(others.size()));
  if (llvm::Error error = createFolder(changed.workFolder))
    return std::move(error);
  auto other = CpuBackend::create(std::move(changed));
  if (!other)
    return other.takeError();
  others.push_back(std::move(*other));
  return others.back().get();
}

llvm::Expected<std::string> CpuBackend::buildProgram(Build build) {
  if (build == Build::Reference) {
    CompileJob job =
        impl->baseJob(impl->importedPath, impl->file("reference.so"));
    job.reference = true;
    job.threads = 1;
    return impl->build(job);
  }
  if (build == Build::Untuned && !impl->options.sizes.empty()) {
    auto general = impl->forSizes({});
    if (!general)
      return general.takeError();
    return (*general)->buildProgram(Build::Baseline);
  }
  bool capture = build == Build::Capture;
  CompileJob job = impl->baseJob(
      impl->dispatchedPath, impl->file(capture ? "capture.so" : "baseline.so"));
  job.capture = capture;
  return impl->build(job);
}

llvm::Expected<std::string> CpuBackend::buildTuned(const Spec &spec,
                                                   ApplyResult &applied,
                                                   llvm::StringRef output) {
  auto other = impl->forSizes(spec.sizes);
  if (!other)
    return other.takeError();
  if (*other)
    return (*other)->buildTuned(spec, applied, output);
  Program tuned = impl->program.clone();
  ApplyOptions options;
  options.check = impl->configurationCheck();
  options.target = impl->options.target;
  options.threads = impl->options.threads;
  applied = applySpec(spec, *tuned.module, options);
  std::string path = impl->file("tuned.mlir");
  if (llvm::Error error = writeProgram(tuned, path))
    return std::move(error);
  return impl->build(impl->baseJob(path, output.empty() ? impl->file("tuned.so")
                                                        : output.str()));
}

llvm::Expected<std::string>
CpuBackend::buildDispatch(const BackendDispatch &dispatch, Build build) {
  auto path = impl->dispatchFile(dispatch);
  if (!path)
    return path.takeError();
  bool reference = build == Build::Reference;
  CompileJob job =
      impl->baseJob(*path, impl->file((reference ? "reference-" : "baseline-") +
                                      dispatch.name + ".so"));
  job.reference = reference;
  if (reference)
    job.threads = 1;
  return impl->build(job);
}

llvm::Expected<std::vector<CompiledCandidate>>
CpuBackend::compileCandidates(const BackendDispatch &dispatch,
                              llvm::ArrayRef<Configuration> configurations) {
  auto path = impl->dispatchFile(dispatch);
  if (!path)
    return path.takeError();
  Limits limits;
  limits.wallSeconds = impl->compileLimit();
  limits.memoryBytes = impl->options.compileBytes;
  std::vector<std::string> libraries;
  for (const Configuration &configuration : configurations) {
    libraries.push_back(
        impl->file("candidate-" + llvm::Twine(impl->nextLibrary++) + ".so"));
    CompileJob job = impl->baseJob(*path, libraries.back());
    job.cacheFolder.clear();
    job.configuration = configuration;
    impl->workers().submit(toJSON(job), limits);
  }
  std::vector<CompiledCandidate> candidates;
  for (std::string &library : libraries) {
    auto result = impl->workers().next();
    if (!result)
      return result.takeError();
    CompiledCandidate candidate;
    candidate.outcome = result->outcome;
    candidate.reason = result->reason;
    candidate.detail = result->detail;
    candidate.compileSeconds = result->seconds;
    if (candidate.outcome == Outcome::Ok) {
      candidate.library = library;
      impl->compileSeconds.push_back(candidate.compileSeconds);
    }
    candidates.push_back(std::move(candidate));
  }
  return candidates;
}

llvm::Error CpuBackend::dumpDispatch(const BackendDispatch &dispatch,
                                     llvm::StringRef path,
                                     llvm::ArrayRef<std::string> inputFiles) {
  auto extracted = extractDispatch(impl->program, dispatch.name);
  if (!extracted)
    return extracted.takeError();
  auto main = extracted->module->lookupSymbol<func::FuncOp>(
      extracted->entries.front().name);
  for (auto [index, file] : llvm::enumerate(inputFiles))
    if (!file.empty())
      main.setArgAttr(index, attr::input,
                      StringAttr::get(&impl->context, file));
  return writeProgram(*extracted, path);
}

} // namespace attune
