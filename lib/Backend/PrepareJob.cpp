//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Backend/PrepareJob.h"

#include "CpuImpl.h"
#include "attune/Dispatch/ProgramFile.h"
#include "attune/Dispatch/RootOp.h"
#include "attune/Dispatch/Specialize.h"
#include "attune/Import/CleanUp.h"
#include "attune/Measure/Protocol.h"
#include "attune/Support/Error.h"
#include "attune/Support/Files.h"

#include "llvm/Support/FileSystem.h"

using namespace llvm;

namespace attune {

json::Object toJSON(const PrepareJob &job) {
  return json::Object{
      {"kind", "prepare"},         {"model", job.model},
      {"folder", job.folder},      {"entry", job.entry},
      {"imported", job.imported},  {"dispatched", job.dispatched},
      {"sizes", toJSON(job.sizes)}};
}

Expected<PrepareJob> prepareJobFromJSON(const json::Object &json) {
  auto model = json.getString("model"), imported = json.getString("imported"),
       dispatched = json.getString("dispatched");
  if (!model || !imported || !dispatched)
    return makeError("a prepare job needs model, imported and dispatched");
  PrepareJob job;
  job.model = model->str();
  job.folder = json.getString("folder").value_or("").str();
  job.entry = json.getString("entry").value_or("").str();
  job.imported = imported->str();
  job.dispatched = dispatched->str();
  if (const json::Array *array = json.getArray("sizes")) {
    auto sizes = sizesFromJSON(*array);
    if (!sizes)
      return sizes.takeError();
    job.sizes = std::move(*sizes);
  }
  return job;
}

static json::Object toJSON(const PreparedProgram &prepared) {
  json::Object places;
  for (const auto &[name, place] : prepared.places)
    places[name] = place;
  return json::Object{{"outcome", toString(Outcome::Ok)},
                      {"notes", json::Array(prepared.notes)},
                      {"places", std::move(places)}};
}

Expected<PreparedProgram> preparedFromJSON(const json::Object &answer) {
  const json::Array *notes = answer.getArray("notes");
  const json::Object *places = answer.getObject("places");
  if (!notes || !places)
    return makeError("an answer to a prepare job needs notes and places");
  PreparedProgram prepared;
  for (const json::Value &note : *notes)
    prepared.notes.push_back(note.getAsString().value_or("").str());
  for (const auto &[name, place] : *places)
    prepared.places[name.str()] = place.getAsString().value_or("").str();
  return prepared;
}

/// The working folder, for as long as this lives.
class WorkingFolder {
public:
  static Expected<WorkingFolder> change(const std::string &folder) {
    WorkingFolder change;
    if (folder.empty())
      return std::move(change);
    if (std::error_code code = sys::fs::current_path(change.before))
      return makeError("the working folder: {0}", code.message());
    if (std::error_code code = sys::fs::set_current_path(folder)) {
      change.before.clear();
      return makeError("{0}: {1}", folder, code.message());
    }
    return std::move(change);
  }
  WorkingFolder(WorkingFolder &&other) : before(std::move(other.before)) {
    other.before.clear();
  }
  ~WorkingFolder() {
    // It is the worker's own; without it the worker is of no use, and is
    // replaced when it fails.
    if (!before.empty())
      (void)sys::fs::set_current_path(before);
  }

private:
  WorkingFolder() = default;
  SmallString<256> before;
};

/// A program that was dumped by `attune dispatches --dump-to` is dispatched
/// already.
static bool isDispatched(StringRef path) {
  auto text = readFile(path);
  if (!text) {
    consumeError(text.takeError());
    return false;
  }
  return StringRef(*text).contains(attr::dispatchVersion) &&
         !StringRef(*text).starts_with("ML\xefR");
}

static Expected<Program> readModel(mlir::MLIRContext &context,
                                   const PrepareJob &job) {
  if (isDispatched(job.model)) {
    auto program = readProgram(context, job.model);
    if (program)
      if (Error error = writeProgram(*program, job.imported))
        return std::move(error);
    return program;
  }
  ImportOptions import;
  import.entry = job.entry;
  auto program = importProgram(context, job.model, import);
  if (!program)
    return program.takeError();
  if (Error error = writeProgram(*program, job.imported))
    return std::move(error);
  if (Error error = cleanUp(*program))
    return std::move(error);
  if (Error error = specialize(*program, job.sizes))
    return std::move(error);
  if (Error error = formDispatches(*program))
    return std::move(error);
  return program;
}

/// What the tuner does with a dispatch in its own process, so that it is not
/// the first to do so.
static Error rehearse(const Program &program, StringRef dispatch) {
  auto extracted = extractDispatch(program, dispatch);
  if (!extracted) {
    // One that cannot run alone runs in the program; that is known later.
    consumeError(extracted.takeError());
    return Error::success();
  }
  auto func = extracted->module->lookupSymbol<mlir::func::FuncOp>(dispatch);
  // One that cannot be prepared has no schedules; that is known later.
  consumeError(prepareDispatch(func));
  return Error::success();
}

static Expected<PreparedProgram> prepare(const PrepareJob &job) {
  auto folder = WorkingFolder::change(job.folder);
  if (!folder)
    return folder.takeError();
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  mlir::MLIRContext context(registry);
  context.loadAllAvailableDialects();
  auto program = readModel(context, job);
  if (!program)
    return program.takeError();
  PreparedProgram prepared;
  prepared.notes = program->notes;
  for (DispatchInfo &info : listDispatches(*program->module)) {
    DispatchParts parts = analyzeDispatch(info.function);
    prepared.places[info.name] = describePlace(
        parts.root ? parts.root->getLoc() : info.function->getLoc());
    if (Error error = rehearse(*program, info.name))
      return std::move(error);
  }
  if (Error error = writeProgram(*program, job.dispatched))
    return std::move(error);
  return prepared;
}

Expected<json::Object> runPrepareJob(const json::Object &json) {
  auto job = prepareJobFromJSON(json);
  if (!job)
    return job.takeError();
  auto prepared = prepare(*job);
  if (!prepared)
    return failedAnswer(Outcome::CompileError,
                        llvm::toString(prepared.takeError()));
  return toJSON(*prepared);
}

} // namespace attune
