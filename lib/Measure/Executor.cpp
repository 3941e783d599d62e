//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Measure/Executor.h"

#include "attune/Support/Error.h"
#include "attune/Support/Installation.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <cmath>

using namespace attune;
using llvm::Expected;
namespace json = llvm::json;

static WorkerOptions runnerOptions(std::string runner,
                                   std::vector<std::string> environment) {
  WorkerOptions options;
  options.arguments = {std::move(runner)};
  options.environment = std::move(environment);
  options.phase = JobPhase::Run;
  return options;
}

LocalExecutor::LocalExecutor(std::string runner,
                             std::vector<std::string> environment)
    : worker(runnerOptions(std::move(runner), std::move(environment))) {}

/// Numbers of an answer; an answer comes from a process that ran a candidate.
static bool readNumbers(const json::Object &answer, llvm::StringRef name,
                        std::vector<double> &out) {
  const json::Array *array = answer.getArray(name);
  if (!array)
    return true;
  for (const json::Value &value : *array) {
    std::optional<double> number = value.getAsNumber();
    if (!number || !std::isfinite(*number))
      return false;
    out.push_back(*number);
  }
  return true;
}

static bool allPositive(const std::vector<double> &values) {
  return llvm::all_of(values, [](double value) { return value > 0; });
}

Expected<Measurement> LocalExecutor::measure(const MeasureJob &job,
                                             const Limits &limits) {
  Expected<JobResult> result = worker.call(toJSON(job), limits);
  if (!result)
    return result.takeError();
  Measurement measurement;
  measurement.outcome = result->outcome;
  measurement.reason = std::move(result->reason);
  measurement.detail = std::move(result->detail);
  const json::Object &answer = result->answer;
  bool timed =
      job.timing.minRepetitions > 0 && measurement.outcome == Outcome::Ok;
  bool right =
      readNumbers(answer, "seconds", measurement.seconds) &&
      readNumbers(answer, "baselineSeconds", measurement.baselineSeconds) &&
      readNumbers(answer, "maxErrors", measurement.maxErrors) &&
      readNumbers(answer, "cycles", measurement.cycles) &&
      readNumbers(answer, "baselineCycles", measurement.baselineCycles) &&
      allPositive(measurement.seconds) &&
      allPositive(measurement.baselineSeconds) &&
      (!timed || !measurement.seconds.empty()) &&
      (!timed || job.baseline.empty() ||
       measurement.seconds.size() == measurement.baselineSeconds.size());
  measurement.stoppedEarly = answer.getBoolean("stoppedEarly").value_or(false);
  if (right)
    return measurement;
  Measurement broken;
  broken.outcome = Outcome::Crash;
  broken.reason = "the run process gave times that cannot be";
  broken.detail = std::move(measurement.detail);
  return broken;
}

Expected<RunResult> LocalExecutor::run(const RunJob &job,
                                       const Limits &limits) {
  Expected<JobResult> result = worker.call(toJSON(job), limits);
  if (!result)
    return result.takeError();
  RunResult run;
  run.outcome = result->outcome;
  run.reason = std::move(result->reason);
  run.detail = std::move(result->detail);
  if (readNumbers(result->answer, "seconds", run.seconds) &&
      readNumbers(result->answer, "dispatchSeconds", run.dispatchSeconds) &&
      readNumbers(result->answer, "dispatchCalls", run.dispatchCalls) &&
      readNumbers(result->answer, "dispatchCounters", run.dispatchCounters))
    return run;
  run.outcome = Outcome::Crash;
  run.reason = "the run process gave times that cannot be";
  return run;
}

Expected<Signature> LocalExecutor::signature(llvm::StringRef library) {
  Expected<JobResult> result =
      worker.call(json::Object{{"kind", "signature"}, {"library", library}});
  if (!result)
    return result.takeError();
  if (result->outcome != Outcome::Ok)
    return makeError("{0}: {1}", library, result->reason);
  return signatureFromJSON(result->answer.getString("signature").value_or(""));
}

Expected<std::string> attune::findRunner() {
  return findInstalled({"attune-runner", "../attune-runner/attune-runner",
                        "../../tools/attune-runner/attune-runner",
                        "../bin/attune-runner"},
                       "attune-runner", "install Attune again");
}
