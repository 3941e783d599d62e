//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// One case with one expert, and many.

#include "HarnessImpl.h"

#include "attune/Support/Error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"

using namespace llvm;

namespace attune {

Expected<HarnessResult> Harness::Impl::begin(const ProblemCase &problemCase,
                                             StringRef expert) {
  HarnessResult result;
  result.problem = problemCase.problem.name;
  result.label = problemCase.label;
  result.expert = expert.str();
  result.type = problemCase.problem.type;
  result.dynamic = problemCase.dynamic;
  result.threads = options.threads;
  auto sizes = resolveSizes(problemCase.problem, problemCase.sizes);
  if (!sizes)
    return sizes.takeError();
  for (auto [dimension, size] :
       zip_equal(problemCase.problem.dimensions, *sizes))
    if (dimension.expression.empty())
      result.sizes.push_back(size);
  if (Error error = flopsOf(problemCase.problem, problemCase.sizes)
                        .moveInto(result.flops))
    return std::move(error);
  if (Error error = bytesOf(problemCase.problem, problemCase.sizes)
                        .moveInto(result.bytes))
    return std::move(error);
  return result;
}

static void take(const StepResult &step, HarnessResult &result) {
  result.outcome = step.outcome;
  result.reason = step.reason;
  result.detail = step.detail;
  result.compileSeconds = step.seconds;
}

Error Harness::Impl::measure(const ProblemCase &problemCase,
                             PreparedCase &prepared, StringRef library,
                             const RunOptions &runOptions, StringRef baseline,
                             HarnessResult &result,
                             std::vector<double> *baselineSeconds) {
  auto given = values(problemCase, prepared, runOptions);
  if (!given)
    return given.takeError();
  MeasureJob job;
  job.candidate = library.str();
  job.baseline = baseline.str();
  job.inputs = (*given)->inputs;
  if (runOptions.check) {
    job.references = (*given)->references;
    job.tolerances = (*given)->tolerances;
  }
  job.threads = options.threads > 1 ? options.threads : 0;
  job.timing.minRepetitions = runOptions.iterations;
  job.timing.maxRepetitions = std::max(1u, runOptions.iterations);
  job.timing.minSeconds = 0;
  // A program that is slow is measured less often; one that does not end is
  // ended.
  job.timing.maxSeconds = 0.8 * runOptions.timeoutSeconds;
  job.timing.seed = options.seed;
  Limits limits;
  limits.wallSeconds = runOptions.timeoutSeconds;
  limits.memoryBytes = options.memoryBytes;
  auto measured = executor().measure(job, limits);
  if (!measured)
    return measured.takeError();
  result.outcome = measured->outcome;
  result.reason = std::move(measured->reason);
  result.detail = std::move(measured->detail);
  result.seconds = std::move(measured->seconds);
  result.checked = runOptions.check;
  result.maxErrors = std::move(measured->maxErrors);
  if (baselineSeconds)
    *baselineSeconds = std::move(measured->baselineSeconds);
  return Error::success();
}

Expected<HarnessResult>
Harness::Impl::run(const ProblemCase &problemCase, const ExpertValues *expert,
                   const RunOptions &runOptions, StringRef baseline,
                   std::vector<double> *baselineSeconds) {
  auto result = begin(problemCase, expert ? expert->expert.getName() : "");
  if (!result)
    return result.takeError();
  auto prepared = prepare(problemCase);
  if (!prepared)
    return prepared.takeError();
  const LoadedExpert *loaded = nullptr;
  if (expert) {
    auto space = this->space(**prepared, expert->expert, result->problem);
    if (!space)
      return space.takeError();
    if ((*space)->space.count() == 0)
      return makeError("expert '{0}' has no configuration for problem '{1}': "
                       "{2}",
                       result->expert, result->problem,
                       (*space)->space.explainEmptiness());
    std::string rejected;
    auto configuration = complete(**space, *expert, rejected);
    if (!configuration)
      return configuration.takeError();
    result->configuration = std::move(*configuration);
    loaded = *load(expert->expert);
    if (!rejected.empty()) {
      result->outcome = Outcome::Rejected;
      result->reason = rejected;
      if (auto bindings = loaded->schedule->bindProblem(
              (*prepared)->function, options.target, options.threads)) {
        if (Error why =
                loaded->schedule->check(result->configuration, *bindings))
          result->reason = toString(std::move(why));
      } else {
        consumeError(bindings.takeError());
      }
      if (Error error =
              saveReproducer(problemCase, expert, runOptions, *result))
        return std::move(error);
      return result;
    }
  }
  auto job =
      jobFor(**prepared, loaded, expert ? &result->configuration : nullptr);
  if (!job)
    return job.takeError();
  auto compiled = compile({*job, runOptions.compileTimeoutSeconds});
  if (!compiled)
    return compiled.takeError();
  take(*compiled, *result);
  if (result->ok()) {
    if (Error error = measure(problemCase, **prepared, job->output, runOptions,
                              baseline, *result, baselineSeconds))
      return std::move(error);
  }
  (void)sys::fs::remove(job->output);
  if (job->program != (*prepared)->dispatchedPath)
    (void)sys::fs::remove(job->program);
  if (!result->ok())
    if (Error error = saveReproducer(problemCase, expert, runOptions, *result))
      return std::move(error);
  return result;
}

Expected<HarnessResult> Harness::run(const ProblemCase &problemCase,
                                     const ExpertValues &expert,
                                     const RunOptions &options) {
  return impl->run(problemCase, &expert, options, "", nullptr);
}

Expected<HarnessResult> Harness::runUntuned(const ProblemCase &problemCase,
                                            const RunOptions &options) {
  return impl->run(problemCase, nullptr, options, "", nullptr);
}

Expected<ExpertSpace> Harness::space(const ProblemCase &problemCase,
                                     const Expert &expert) {
  auto prepared = impl->prepare(problemCase);
  if (!prepared)
    return prepared.takeError();
  auto space = impl->space(**prepared, expert, problemCase.problem.name);
  if (!space)
    return space.takeError();
  return **space;
}

Expected<std::vector<HarnessResult>>
Harness::sweep(ArrayRef<ProblemCase> cases, ArrayRef<ExpertValues> experts,
               const RunOptions &options,
               const std::function<bool(const HarnessResult &)> &each) {
  std::vector<HarnessResult> results;
  for (const ProblemCase &problemCase : cases)
    for (const ExpertValues &expert : experts) {
      // The case has to make sense; that an expert does not fit it is a row.
      auto prepared = impl->prepare(problemCase);
      if (!prepared)
        return prepared.takeError();
      auto result = impl->begin(problemCase, expert.expert.getName());
      if (!result)
        return result.takeError();
      auto space =
          impl->space(**prepared, expert.expert, problemCase.problem.name);
      if (!space) {
        result->outcome = Outcome::Rejected;
        result->reason = toString(space.takeError());
      } else {
        result = run(problemCase, expert, options);
        if (!result)
          return result.takeError();
      }
      results.push_back(std::move(*result));
      if (each && !each(results.back()))
        return results;
    }
  return results;
}

Expected<std::vector<Tensor>>
Harness::computeReference(const ProblemCase &problemCase,
                          const std::vector<Tensor> &inputs) {
  auto prepared = impl->prepare(problemCase);
  if (!prepared)
    return prepared.takeError();
  RunOptions options;
  options.inputs = inputs;
  options.check = false;
  auto values = impl->values(problemCase, **prepared, options);
  if (!values)
    return values.takeError();
  return impl->referenceOf(**prepared, (*values)->inputs);
}

} // namespace attune
