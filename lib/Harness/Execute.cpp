//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Compiling and running, in processes of their own or in this one.

#include "HarnessImpl.h"

#include "attune/Backend/Cpu.h"
#include "attune/Dialect/Attune.h"
#include "attune/Dispatch/ProgramFile.h"
#include "attune/Schedule/ConfigAttr.h"
#include "attune/Support/Error.h"

#include "llvm/Support/FileSystem.h"
#include <cstdlib>

using namespace llvm;

namespace attune {

namespace {

/// Runs libraries in this process: quick, and a crash is ours.
class InProcessExecutor final : public Executor {
public:
  explicit InProcessExecutor(Clock &clock) : runner(clock) {}

  Expected<Measurement> measure(const MeasureJob &job,
                                const Limits &limits) override {
    auto answer = call("measure", toJSON(job));
    if (!answer)
      return answer.takeError();
    Measurement result;
    result.outcome = outcomeOf(*answer);
    result.reason = answer->getString("reason").value_or("").str();
    result.seconds = numbers(*answer, "seconds");
    result.baselineSeconds = numbers(*answer, "baselineSeconds");
    result.maxErrors = numbers(*answer, "maxErrors");
    return result;
  }

  Expected<RunResult> run(const RunJob &job, const Limits &limits) override {
    auto answer = call("run", toJSON(job));
    if (!answer)
      return answer.takeError();
    RunResult result;
    result.outcome = outcomeOf(*answer);
    result.reason = answer->getString("reason").value_or("").str();
    result.seconds = numbers(*answer, "seconds");
    return result;
  }

  Expected<Signature> signature(StringRef library) override {
    auto opened = Library::open(library);
    if (!opened)
      return opened.takeError();
    return (*opened)->getSignature();
  }

private:
  Expected<json::Object> call(StringRef kind, const json::Object &job) {
    auto answer = runner.handlers().find(kind)->second(job);
    if (!answer)
      return answer.takeError();
    // A number of threads, once OpenMP has read it, stays for a process.
    if (answer->getBoolean("retry").value_or(false))
      return makeError("a run in this process cannot change its number of "
                       "threads, or load a library that changed; use workers");
    return answer;
  }

  static Outcome outcomeOf(const json::Object &answer) {
    return outcomeFromString(answer.getString("outcome").value_or(""))
        .value_or(Outcome::Crash);
  }

  static std::vector<double> numbers(const json::Object &answer,
                                     StringRef name) {
    std::vector<double> values;
    if (const json::Array *array = answer.getArray(name))
      for (const json::Value &value : *array)
        values.push_back(value.getAsNumber().value_or(0));
    return values;
  }

  Runner runner;
};

} // namespace

Harness::Impl::Impl(HarnessOptions given)
    : options(std::move(given)), context([] {
        mlir::DialectRegistry registry;
        registerAllDialects(registry);
        return registry;
      }()) {
  context.loadAllAvailableDialects();
}

Executor &Harness::Impl::executor() {
  if (!runs) {
    if (options.isolation == Isolation::InProcess)
      runs = std::make_unique<InProcessExecutor>(clock);
    else
      runs = std::make_unique<LocalExecutor>(runner);
  }
  return *runs;
}

/// A compile worker; with an environment of its own it is used once.
static WorkerOptions workerOptions(StringRef worker,
                                   std::vector<std::string> environment) {
  WorkerOptions result;
  result.arguments = {worker.str(), "worker"};
  result.environment = std::move(environment);
  result.phase = JobPhase::Compile;
  return result;
}

static StepResult fromAnswer(const json::Object &answer) {
  StepResult result;
  result.outcome = outcomeFromString(answer.getString("outcome").value_or(""))
                       .value_or(Outcome::CompileError);
  result.reason = answer.getString("reason").value_or("").str();
  result.seconds = answer.getNumber("compileSeconds").value_or(0);
  return result;
}

Expected<StepResult> Harness::Impl::compile(const CompileRequest &request) {
  bool isOwn = !request.environment.empty();
  if (options.isolation == Isolation::InProcess && !isOwn) {
    auto answer = runCompileJob(toJSON(request.job));
    if (!answer)
      return answer.takeError();
    return fromAnswer(*answer);
  }
  std::unique_ptr<WorkerProcess> own;
  if (isOwn)
    own = std::make_unique<WorkerProcess>(
        workerOptions(worker, request.environment));
  Limits limits;
  limits.wallSeconds = request.timeoutSeconds;
  limits.memoryBytes = options.memoryBytes;
  auto result = (isOwn ? own : compiler)->call(toJSON(request.job), limits);
  if (!result)
    return result.takeError();
  StepResult step{result->outcome, result->reason, result->detail,
                  result->answer.getNumber("compileSeconds").value_or(0)};
  return step;
}

Expected<CompileJob> Harness::Impl::jobFor(PreparedCase &prepared,
                                           const LoadedExpert *expert,
                                           const Configuration *configuration) {
  std::string stem = file("candidate-" + Twine(next++));
  CompileJob job;
  job.program = prepared.dispatchedPath;
  job.output = stem + ".so";
  job.target = options.target;
  job.threads = options.threads;
  job.schedules = expert ? expert->folder : schedules;
  if (!configuration)
    return job;
  Program program = prepared.program.clone();
  auto function =
      program.module->lookupSymbol<mlir::func::FuncOp>(prepared.dispatch.name);
  function->setAttr(attr::config, toAttr(&context, *configuration));
  job.program = stem + ".mlir";
  if (Error error = writeProgram(program, job.program))
    return std::move(error);
  return job;
}

Expected<std::string> Harness::Impl::untunedLibrary(PreparedCase &prepared) {
  std::string &library = untuned[&prepared];
  if (!library.empty())
    return library;
  auto job = jobFor(prepared, nullptr, nullptr);
  if (!job)
    return job.takeError();
  auto compiled = compile({*job, 600});
  if (!compiled)
    return compiled.takeError();
  if (compiled->outcome != Outcome::Ok)
    return makeError("the untuned program does not compile: {0}",
                     compiled->reason);
  library = job->output;
  return library;
}

Harness::Harness(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
Harness::~Harness() = default;

Expected<std::unique_ptr<Harness>> Harness::create(HarnessOptions options) {
  if (options.threads < 1)
    return makeError("{0} threads; a program needs 1 or more", options.threads);
  auto impl = std::make_unique<Impl>(std::move(options));
  // Its children look for their files the same way.
  if (!impl->options.attune.empty() &&
      ::setenv("ATTUNE", impl->options.attune.c_str(), /*overwrite=*/1))
    return makeError("{0}: cannot become $ATTUNE", impl->options.attune);
  if (Error error = findSchedules().moveInto(impl->schedules))
    return std::move(error);
  if (Error error = findTool("attune").moveInto(impl->worker))
    return std::move(error);
  if (Error error = findRunner().moveInto(impl->runner))
    return std::move(error);
  impl->folder = impl->options.workFolder;
  if (impl->folder.empty()) {
    auto temporary = TemporaryFolder::create();
    if (!temporary)
      return temporary.takeError();
    impl->temporary.emplace(std::move(*temporary));
    impl->folder = impl->temporary->getPath();
  } else if (Error error = createFolder(impl->folder)) {
    return std::move(error);
  }
  if (impl->options.isolation == Isolation::Workers)
    impl->compiler =
        std::make_unique<WorkerProcess>(workerOptions(impl->worker, {}));
  return std::unique_ptr<Harness>(new Harness(std::move(impl)));
}

} // namespace attune
