//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Commands.h"

#include "attune/Measure/Library.h"
#include "attune/Support/Error.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace llvm;

namespace attune::cli {
namespace {

struct RunFlags {
  ModelFlags model;
  std::vector<std::string> outputs, checks;
  double tolerance = 1e-4;
  std::string spec;
  bool reference = false, checked = false;
};

/// Where a program can be run: a library, and what its entry takes.
struct Runnable {
  std::optional<LoadedModel> loaded;
  std::optional<TemporaryFolder> work;
  std::unique_ptr<LocalExecutor> executor;
  std::string library;
  EntrySignature entry;
};

/// The entries of a compiled library, from its signature.
Expected<std::vector<EntrySignature>> readSignature(LocalExecutor &executor,
                                                    StringRef path) {
  auto signature = executor.signature(path);
  if (!signature)
    return signature.takeError();
  std::vector<EntrySignature> entries;
  for (const auto &found : signature->entries) {
    EntrySignature entry;
    entry.name = found.name;
    for (const TensorType &type : found.inputs)
      entry.inputs.push_back({type});
    for (const TensorType &type : found.outputs)
      entry.outputs.push_back({type});
    entries.push_back(std::move(entry));
  }
  return entries;
}

Error prepareLibrary(const RunFlags &flags, Runnable &runnable) {
  auto runner = findRunner();
  if (!runner)
    return runner.takeError();
  runnable.executor = std::make_unique<LocalExecutor>(*runner);
  SmallString<256> path(flags.model.model);
  if (std::error_code code = sys::fs::make_absolute(path))
    return makeError("{0}: {1}", path, code.message());
  if (!sys::fs::exists(path))
    return makeError("{0}: no such file", flags.model.model);
  runnable.library = std::string(path);
  auto entries = readSignature(*runnable.executor, path);
  if (!entries)
    return entries.takeError();
  auto entry = chooseEntry(*entries, flags.model.entry);
  if (!entry)
    return entry.takeError();
  runnable.entry = **entry;
  return Error::success();
}

Error prepareModel(const RunFlags &flags, Runnable &runnable) {
  auto loaded = loadModel(flags.model);
  if (!loaded)
    return loaded.takeError();
  printNotes(loaded->backend->notes());
  auto entry = chooseEntry(loaded->backend->signatures(), flags.model.entry);
  if (!entry)
    return entry.takeError();
  runnable.entry = **entry;
  Expected<std::string> library = "";
  if (flags.reference) {
    library = loaded->backend->buildProgram(Build::Reference);
  } else if (flags.spec.empty()) {
    library = loaded->backend->buildProgram(Build::Baseline);
  } else {
    auto spec = readSpec(flags.spec);
    if (!spec)
      return spec.takeError();
    ApplyResult applied;
    library = loaded->backend->buildTuned(*spec, applied, "");
    if (library)
      applied.print(errs());
  }
  if (!library)
    return library.takeError();
  runnable.library = *library;
  runnable.executor = std::move(loaded->executor);
  runnable.loaded.emplace(std::move(*loaded));
  return Error::success();
}

Expected<Tensor> readAs(StringRef path, ElementType type) {
  auto tensor = readNpy(path);
  if (!tensor)
    return tensor.takeError();
  return reinterpretAs(std::move(*tensor), type);
}

/// Compares results with files; prints a line for each.
Error checkOutputs(const RunFlags &flags, ArrayRef<std::string> paths,
                   const EntrySignature &entry) {
  bool ok = true;
  for (auto [index, check] : enumerate(flags.checks)) {
    ElementType type = entry.outputs[index].type.type;
    auto result = readAs(paths[index], type);
    if (!result)
      return result.takeError();
    auto reference = readNpy(stripAt(check));
    if (!reference)
      return reference.takeError();
    if (byteWidth(reference->type) == byteWidth(type)) {
      auto same = reinterpretAs(std::move(*reference), type);
      if (!same)
        return same.takeError();
      *reference = std::move(*same);
    }
    Tolerance tolerance;
    if (isFloat(type))
      tolerance = {flags.tolerance, flags.tolerance};
    CheckResult outcome = checkResult(*result, *reference, tolerance);
    ok &= outcome.ok;
    outs() << "output " << index << ": "
           << (outcome.ok ? "agrees with " : "differs from ") << stripAt(check)
           << " (largest error " << format("%g", outcome.maxError) << ")"
           << (outcome.ok ? "" : ": " + outcome.reason) << '\n';
  }
  if (!ok)
    return make_error<SilentFailure>();
  return Error::success();
}

void printTensor(size_t index, const Tensor &tensor) {
  outs() << "output " << index << ": "
         << toString(TensorType{tensor.type, tensor.shape}) << " =";
  int64_t shown = std::min<int64_t>(8, tensor.elementCount());
  for (int64_t i = 0; i < shown; ++i)
    outs() << ' ' << format("%g", tensor.at(i));
  if (shown < tensor.elementCount())
    outs() << " ...";
  outs() << '\n';
}

/// With --output the results go to files; the others are shown.
Error deliver(const RunFlags &flags, ArrayRef<std::string> paths,
              const EntrySignature &entry) {
  json::Array shown;
  for (auto [index, path] : enumerate(paths)) {
    auto tensor = readAs(path, entry.outputs[index].type.type);
    if (!tensor)
      return tensor.takeError();
    if (index < flags.outputs.size())
      if (Error error = writeNpy(stripAt(flags.outputs[index]), *tensor))
        return error;
    if (flags.model.json)
      shown.push_back(json::Object{
          {"type", toString(TensorType{tensor->type, tensor->shape})},
          {"path", index < flags.outputs.size() ? stripAt(flags.outputs[index])
                                                : std::string()}});
    else if (flags.outputs.empty() && flags.checks.empty())
      printTensor(index, *tensor);
  }
  if (flags.model.json)
    outs() << json::Value(
                  json::Object{{"version", 1}, {"outputs", std::move(shown)}})
           << '\n';
  return Error::success();
}

Error run(const RunFlags &flags) {
  Runnable runnable;
  auto work = TemporaryFolder::create();
  if (!work)
    return work.takeError();
  if (StringRef(flags.model.model).ends_with(".so")) {
    if (Error error = prepareLibrary(flags, runnable))
      return error;
  } else if (Error error = prepareModel(flags, runnable)) {
    return error;
  }

  size_t resultCount = runnable.entry.outputs.size();
  for (const auto *files : {&flags.outputs, &flags.checks})
    if (!files->empty() && files->size() != resultCount)
      return makeError("'{0}' has {1} results: {2} {3} given",
                       runnable.entry.name, resultCount, files->size(),
                       files == &flags.outputs ? "--output" : "--check");
  auto sets = makeInputs(runnable.entry, flags.model.inputs, flags.model.seed);
  if (!sets)
    return sets.takeError();
  if (sets->size() != 1)
    return makeError("attune run takes one size for each dynamic dimension");
  auto inputs = writeTensors(sets->front().tensors, work->getPath(), "in");
  if (!inputs)
    return inputs.takeError();
  RunJob job;
  job.library = runnable.library;
  job.entry = runnable.entry.name;
  job.inputs = *inputs;
  job.threads = flags.model.threads;
  job.checked = flags.checked;
  for (size_t i = 0; i < resultCount; ++i)
    job.outputs.push_back(work->file("out" + std::to_string(i) + ".npy"));
  Limits limits;
  limits.wallSeconds = 3600;
  limits.memoryBytes = 0;
  auto result = runnable.executor->run(job, limits);
  if (!result)
    return result.takeError();
  if (result->outcome != Outcome::Ok) {
    // What the program printed, unless the reason ends with it already.
    StringRef said = StringRef(result->detail).trim().rsplit('\n').second;
    if (said.empty())
      said = StringRef(result->detail).trim();
    bool repeats = StringRef(result->reason).contains(said);
    return makeError("{0}: {1}{2}{3}", flags.model.model, result->reason,
                     repeats ? "" : ": ", repeats ? "" : said);
  }
  if (Error error = deliver(flags, job.outputs, runnable.entry))
    return error;
  return checkOutputs(flags, job.outputs, runnable.entry);
}

} // namespace

void addRun(CLI::App &app, Action &chosen) {
  auto *command = app.add_subcommand(
      "run", "run a program or a compiled library\n"
             "  attune run model.mlir --input=@x.npy --output=@y.npy");
  auto flags = std::make_shared<RunFlags>();
  flags->model.addTo(*command);
  command
      ->add_option("--output", flags->outputs,
                   "a result as a file: @y.npy, one each")
      ->allow_extra_args(false);
  command
      ->add_option("--check", flags->checks,
                   "compare a result with a file: @reference.npy, one each")
      ->allow_extra_args(false);
  command->add_option(
      "--tolerance", flags->tolerance,
      "|result - reference| <= tolerance * max(1, |reference|)");
  command->add_option("--spec", flags->spec, "configurations to apply");
  command->add_flag("--reference", flags->reference,
                    "run plain loops, what candidates are compared with");
  command->add_flag("--checked", flags->checked,
                    "the program finds NaN in memory that it has not written");
  command->callback(
      [&chosen, flags] { chosen = [flags] { return run(*flags); }; });
}

} // namespace attune::cli
