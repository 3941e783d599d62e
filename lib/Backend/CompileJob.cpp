//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Backend/CompileJob.h"

#include "attune/Codegen/Compile.h"
#include "attune/Dialect/Attune.h"
#include "attune/Dispatch/ProgramFile.h"
#include "attune/Measure/Protocol.h"
#include "attune/Schedule/ConfigAttr.h"
#include "attune/Support/Error.h"

#include <chrono>

using namespace llvm;

namespace attune {

json::Object toJSON(const CompileJob &job) {
  json::Object object{{"kind", "compile"},
                      {"program", job.program},
                      {"output", job.output},
                      {"target", toJSON(job.target)},
                      {"threads", job.threads},
                      {"schedules", job.schedules},
                      {"cacheFolder", job.cacheFolder},
                      {"reference", job.reference},
                      {"capture", job.capture}};
  if (job.configuration)
    object["config"] = toJSON(*job.configuration);
  if (job.parts) {
    object["part"] = job.part;
    object["parts"] = job.parts;
  }
  if (!job.asLoops.empty())
    object["asLoops"] = json::Array(job.asLoops);
  return object;
}

Expected<CompileJob> compileJobFromJSON(const json::Object &json) {
  CompileJob job;
  auto program = json.getString("program"), output = json.getString("output");
  const json::Value *target = json.get("target");
  if (!program || !output || !target)
    return makeError("a compile job needs program, output and target");
  job.program = program->str();
  job.output = output->str();
  auto parsed = targetFromJSON(*target);
  if (!parsed)
    return parsed.takeError();
  job.target = *parsed;
  job.threads = json.getInteger("threads").value_or(1);
  job.schedules = json.getString("schedules").value_or("").str();
  job.cacheFolder = json.getString("cacheFolder").value_or("").str();
  job.reference = json.getBoolean("reference").value_or(false);
  job.capture = json.getBoolean("capture").value_or(false);
  job.part = json.getInteger("part").value_or(0);
  job.parts = json.getInteger("parts").value_or(0);
  if (const json::Array *names = json.getArray("asLoops"))
    for (const json::Value &name : *names)
      job.asLoops.push_back(name.getAsString().value_or("").str());
  const json::Value *config = json.get("config");
  if (config && config->kind() != json::Value::Null) {
    auto configuration = configurationFromJSON(*config);
    if (!configuration)
      return configuration.takeError();
    job.configuration = std::move(*configuration);
  }
  return job;
}

/// Puts the job's configuration on the dispatches that have none, and checks it
/// before anything is compiled: an error is a rejection.
static Error configure(Program &program, const CompileJob &job,
                       const ScheduleLibrary &library) {
  for (auto func : program.module->getOps<mlir::func::FuncOp>()) {
    if (!func->hasAttr(attr::dispatch) || func->hasAttr(attr::config))
      continue;
    const Schedule *schedule = library.find(job.configuration->schedule);
    if (!schedule)
      return makeError("there is no schedule '{0}'",
                       job.configuration->schedule);
    func->setAttr(attr::config, toAttr(func.getContext(), *job.configuration));
  }
  return Error::success();
}

static Error compile(const CompileJob &job) {
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  mlir::MLIRContext context(registry);
  context.loadAllAvailableDialects();
  auto program = readProgram(context, job.program);
  if (!program)
    return program.takeError();
  CodegenOptions options;
  options.target = job.target;
  options.threads = job.threads;
  options.reference = job.reference;
  options.capture = job.capture;
  options.cacheFolder = job.cacheFolder;
  options.asLoops = job.asLoops;
  std::optional<ScheduleLibrary> library;
  if (!job.schedules.empty() && !job.reference) {
    auto loaded = ScheduleLibrary::load(&context, job.schedules);
    if (!loaded)
      return loaded.takeError();
    library.emplace(std::move(*loaded));
    options.library = &*library;
    if (job.configuration)
      if (Error error = configure(*program, job, *library))
        return error;
  }
  if (job.parts)
    return compileDispatches(*program, options, job.part, job.parts);
  return compileProgram(*program, options, job.output);
}

Expected<json::Object> runCompileJob(const json::Object &json) {
  auto job = compileJobFromJSON(json);
  if (!job)
    return job.takeError();
  auto start = std::chrono::steady_clock::now();
  Error error = compile(*job);
  if (error) {
    Outcome outcome =
        error.isA<RejectedError>() ? Outcome::Rejected : Outcome::CompileError;
    return failedAnswer(outcome, toString(std::move(error)));
  }
  std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - start;
  return json::Object{{"outcome", toString(Outcome::Ok)},
                      {"compileSeconds", seconds.count()}};
}

} // namespace attune
