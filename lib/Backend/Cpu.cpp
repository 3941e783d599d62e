//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Backend/Cpu.h"

#include "attune/Backend/CompileJob.h"
#include "attune/Dialect/Attune.h"
#include "attune/Dispatch/Dispatches.h"
#include "attune/Dispatch/ProgramFile.h"
#include "attune/Dispatch/RootOp.h"
#include "attune/Import/CleanUp.h"
#include "attune/Measure/Statistics.h"
#include "attune/Measure/Worker.h"
#include "attune/Schedule/Library.h"
#include "attune/Space/FromSchedule.h"
#include "attune/Support/Error.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/FileSystem.h"
#include <map>

using namespace mlir;

namespace attune {

struct CpuBackend::Impl {
  explicit Impl(CpuOptions options)
      : options(std::move(options)), context(makeRegistry()) {
    context.loadAllAvailableDialects();
  }

  static DialectRegistry makeRegistry() {
    DialectRegistry registry;
    registerAllDialects(registry);
    return registry;
  }

  std::string file(const llvm::Twine &name) const {
    return (options.workFolder + "/" + name).str();
  }

  llvm::Error load();
  llvm::Error loadDispatched();
  llvm::Error listEntries();
  void addDispatch(const DispatchInfo &info);
  WorkerOptions workerOptions() const;
  CompileJob baseJob(std::string program, std::string output) const;
  WorkerPool &workers();
  llvm::Expected<std::vector<int64_t>>
  buildParts(const CompileJob &whole, llvm::ArrayRef<int64_t> numbers,
             int64_t parts);
  llvm::Error compileInParts(CompileJob &job);
  llvm::Expected<std::string> build(CompileJob job);
  llvm::Expected<func::FuncOp> preparedDispatch(llvm::StringRef name);
  ConfigurationCheck configurationCheck();
  llvm::Expected<std::string> dispatchFile(const BackendDispatch &dispatch);

  CpuOptions options;
  MLIRContext context;
  std::string worker;
  std::optional<ScheduleLibrary> library;
  Program program; ///< dispatched
  std::string importedPath, dispatchedPath;
  std::vector<BackendEntry> entries;
  std::vector<BackendDispatch> dispatches;
  std::vector<std::string> functions; ///< of dispatches, in the module's order
  /// Prepared copies of dispatch functions: what schedules look at.
  std::map<std::string, OwningOpRef<ModuleOp>> prepared;
  std::vector<std::string> notes;
  std::string hash;
  std::unique_ptr<WorkerProcess> builder;
  std::unique_ptr<WorkerPool> pool;
  int64_t nextLibrary = 0;
  /// Of candidates that compiled.
  std::vector<double> compileSeconds;
  /// A candidate that takes far longer than others will not be a good one: ten
  /// times their median, once there are some.
  double compileLimit() const;
};

double CpuBackend::Impl::compileLimit() const {
  if (compileSeconds.size() < 4)
    return std::min(20.0, options.compileSeconds);
  return std::min(std::max(3.0, 10 * median(compileSeconds)),
                  options.compileSeconds);
}

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
  DispatchParts parts = analyzeDispatch(func);
  if (parts.root)
    for (auto [extent, kind] : llvm::zip(loopExtents(parts.root),
                                         parts.root.getIteratorTypesArray()))
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
      dispatch.isConstant.push_back(
          func.getArgAttr(i, attr::constant) != nullptr);
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
  if (!builder)
    builder = std::make_unique<WorkerProcess>(workerOptions());
  Limits limits;
  limits.wallSeconds = 1800;
  limits.memoryBytes = 12ull << 30;
  auto result = builder->call(toJSON(job), limits);
  if (!result)
    return result.takeError();
  if (result->outcome != Outcome::Ok)
    return makeError("{0}: {1}", options.model, result->reason);
  return job.output;
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
        Schedule::bindProblem(*func, options.target, options.threads);
    if (!bindings)
      return llvm::toString(bindings.takeError());
    return llvm::toString(schedule->check(configuration, *bindings));
  };
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
  auto impl = std::make_unique<Impl>(std::move(options));
  auto worker = findTool("attune");
  if (!worker)
    return worker.takeError();
  impl->worker = *worker;
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
  return impl->program.entries;
}
int64_t CpuBackend::dispatchVersion() const { return attune::dispatchVersion; }
std::string CpuBackend::programHash() const { return impl->hash; }

llvm::Expected<std::vector<CandidateSpace>>
CpuBackend::spaces(const BackendDispatch &dispatch) {
  auto prepared = impl->preparedDispatch(dispatch.name);
  if (!prepared) {
    // It runs as loops, and there is nothing to choose.
    llvm::consumeError(prepared.takeError());
    return std::vector<CandidateSpace>();
  }
  func::FuncOp func = *prepared;
  auto bindings = Schedule::bindProblem(func, impl->options.target,
                                        impl->options.threads);
  if (!bindings)
    return bindings.takeError();
  std::vector<CandidateSpace> spaces;
  for (const Schedule *schedule : impl->library->fitting(
           func, impl->options.target, impl->options.threads)) {
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
    spaces.push_back({schedule->name().str(), hashHex(text), std::move(space->space),
                      std::move(*configuration)});
  }
  return spaces;
}

llvm::Expected<std::string> CpuBackend::buildProgram(Build build) {
  if (build == Build::Reference) {
    CompileJob job =
        impl->baseJob(impl->importedPath, impl->file("reference.so"));
    job.reference = true;
    job.threads = 1;
    return impl->build(job);
  }
  bool capture = build == Build::Capture;
  CompileJob job = impl->baseJob(
      impl->dispatchedPath,
      impl->file(capture ? "capture.so" : "baseline.so"));
  job.capture = capture;
  return impl->build(job);
}

llvm::Expected<std::string> CpuBackend::buildTuned(const Spec &spec,
                                                   ApplyResult &applied,
                                                   llvm::StringRef output) {
  Program tuned = impl->program.clone();
  ApplyOptions options;
  options.check = impl->configurationCheck();
  options.target = impl->options.target;
  options.threads = impl->options.threads;
  applied = applySpec(spec, *tuned.module, options);
  std::string path = impl->file("tuned.mlir");
  if (llvm::Error error = writeProgram(tuned, path))
    return std::move(error);
  return impl->build(impl->baseJob(
      path, output.empty() ? impl->file("tuned.so") : output.str()));
}

llvm::Expected<std::string>
CpuBackend::buildDispatch(const BackendDispatch &dispatch, Build build) {
  auto path = impl->dispatchFile(dispatch);
  if (!path)
    return path.takeError();
  bool reference = build == Build::Reference;
  CompileJob job = impl->baseJob(
      *path, impl->file((reference ? "reference-" : "baseline-") +
                        dispatch.name + ".so"));
  job.reference = reference;
  if (reference)
    job.threads = 1;
  return impl->build(job);
}

llvm::Expected<std::vector<CompiledCandidate>> CpuBackend::compileCandidates(
    const BackendDispatch &dispatch,
    llvm::ArrayRef<Configuration> configurations) {
  auto path = impl->dispatchFile(dispatch);
  if (!path)
    return path.takeError();
  Limits limits;
  limits.wallSeconds = impl->compileLimit();
  limits.memoryBytes = impl->options.compileBytes;
  std::vector<std::string> libraries;
  for (const Configuration &configuration : configurations) {
    libraries.push_back(impl->file(
        "candidate-" + llvm::Twine(impl->nextLibrary++) + ".so"));
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
                                     llvm::StringRef path) {
  auto extracted = extractDispatch(impl->program, dispatch.name);
  if (!extracted)
    return extracted.takeError();
  return writeProgram(*extracted, path);
}

} // namespace attune
