//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Commands.h"

#include "attune/Dispatch/Dispatches.h"
#include "attune/Support/Error.h"

#include "llvm/Config/llvm-config.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace attune::cli {

void ModelFlags::addTo(CLI::App &command) {
  command.add_option("MODEL", model, "MLIR program (.mlir or .mlirbc)")
      ->required();
  command.add_option("--entry", entry,
                     "entry function (default: every public one)");
  command
      .add_option("--input", inputs,
                  "an input: 4x16xf32, 4x16xf32=2.0, @file.npy, "
                  "?x16xf32:1,8,32, random")
      ->allow_extra_args(false);
  command
      .add_option("--threads", threads,
                  "threads of the program (default: all cores)")
      ->check(CLI::Range(1, 1024));
  command.add_option("--target-cpu", targetCPU,
                     "CPU to compile for (default: host)");
  command.add_option("--seed", seed, "seed of everything random");
  command.add_flag("--json", json, "results as JSON on stdout");
  command.add_option("--save-flags", saveFlags,
                     "add this command to a file for attune tune --flags");
}

Expected<LoadedModel> loadModel(const ModelFlags &flags,
                                std::vector<EntrySizes> sizes) {
  auto work = TemporaryFolder::create();
  if (!work)
    return work.takeError();
  auto target = Target::forCPU(flags.targetCPU);
  if (!target)
    return target.takeError();
  LoadedModel loaded{std::move(*work), nullptr, nullptr, 1};
  loaded.threads = flags.threads ? flags.threads : target->cores;
  CpuOptions options;
  options.model = flags.model;
  options.entry = flags.entry;
  options.target = *target;
  options.threads = loaded.threads;
  options.sizes = std::move(sizes);
  options.workFolder = loaded.work.getPath();
  auto backend = CpuBackend::create(options);
  if (!backend)
    return backend.takeError();
  loaded.backend = std::move(*backend);
  auto runner = findRunner();
  if (!runner)
    return runner.takeError();
  loaded.executor = std::make_unique<LocalExecutor>(*runner);
  return loaded;
}

Expected<LoadedModel> loadModelForInputs(const ModelFlags &flags) {
  auto loaded = loadModel(flags);
  if (!loaded)
    return loaded;
  const auto &entries = loaded->backend->signatures();
  if (flags.inputs.empty() || entries.size() != 1 ||
      entries.front().onBuffers || !entries.front().openDimensions())
    return loaded;
  auto sets = makeInputs(entries.front(), flags.inputs, flags.seed);
  if (!sets)
    return sets.takeError();
  std::vector<EntrySizes> sizes;
  for (const InputSet &set : *sets)
    sizes.push_back({entries.front().name, set.sizes});
  return loadModel(flags, std::move(sizes));
}

Versions currentVersions() {
  return {{"attune", ATTUNE_VERSION},
          {"llvm", LLVM_VERSION_STRING},
          {"dispatch", std::to_string(dispatchVersion)}};
}

Expected<const EntrySignature *> chooseEntry(ArrayRef<EntrySignature> entries,
                                             StringRef name) {
  std::string names;
  for (const EntrySignature &entry : entries) {
    if (entry.name == name)
      return &entry;
    names += (names.empty() ? "" : ", ") + entry.name;
  }
  if (!name.empty())
    return makeError("there is no entry function '{0}'; there is {1}", name,
                     names);
  if (entries.size() == 1)
    return &entries.front();
  for (const EntrySignature &entry : entries)
    if (entry.name == "main")
      return &entry;
  return makeError("several entry functions: choose one with --entry: {0}",
                   names);
}

Expected<std::vector<std::string>>
writeTensors(ArrayRef<Tensor> tensors, StringRef folder, StringRef prefix) {
  std::vector<std::string> paths;
  for (const Tensor &tensor : tensors) {
    paths.push_back(
        (folder + "/" + prefix + Twine(paths.size()) + ".npy").str());
    if (Error error = writeNpy(paths.back(), tensor))
      return std::move(error);
  }
  return paths;
}

void printNotes(ArrayRef<std::string> notes) {
  for (const std::string &note : notes)
    errs() << "note: " << note << '\n';
}

std::string stripAt(StringRef text) {
  text.consume_front("@");
  return text.str();
}

} // namespace attune::cli
