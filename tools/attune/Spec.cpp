//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Commands.h"

#include "attune/Support/Error.h"

#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace attune::cli {

static Expected<std::vector<CompiledDispatch>>
compiledDispatches(LoadedModel &loaded, StringRef library) {
  auto signature = loaded.executor->signature(library);
  if (!signature)
    return signature.takeError();
  std::vector<CompiledDispatch> dispatches;
  for (const Signature::Lowered &lowered : signature->lowered)
    dispatches.push_back({lowered.name, lowered.how, lowered.code});
  return dispatches;
}

Error verifyInCode(LoadedModel &loaded, StringRef library, StringRef untuned,
                   ApplyResult &applied) {
  auto made = compiledDispatches(loaded, library);
  if (!made)
    return made.takeError();
  std::vector<CompiledDispatch> before;
  if (!untuned.empty()) {
    auto found = compiledDispatches(loaded, untuned);
    if (!found)
      return found.takeError();
    before = std::move(*found);
  }
  verifyApplied(applied, *made, before);
  return Error::success();
}

json::Object toJSON(const ApplyResult &applied) {
  json::Array entries;
  for (const AppliedEntry &entry : applied.entries)
    entries.push_back(json::Object{
        {"fingerprint", entry.entry->dispatches()},
        {"configuration", attune::toJSON(entry.entry->configuration)},
        {"dispatches", json::Array(entry.dispatches)},
        {"reason", entry.reason}});
  return json::Object{{"version", 1},
                      {"applied", applied.appliedCount()},
                      {"verified", applied.isVerified},
                      {"entries", std::move(entries)},
                      {"untouched", json::Array(applied.untouched)},
                      {"warnings", json::Array(applied.warnings)}};
}

namespace {

struct SpecFlags {
  ModelFlags model;
  std::vector<std::string> files;
  std::string file, output;
};

/// Compiles with the spec and without, and looks what became of each entry.
Error check(const SpecFlags &flags) {
  auto spec = readSpec(flags.file);
  if (!spec)
    return spec.takeError();
  auto loaded = loadModel(flags.model);
  if (!loaded)
    return loaded.takeError();
  printNotes(loaded->backend->notes());
  ApplyResult applied;
  auto tuned = loaded->backend->buildTuned(*spec, applied, "");
  if (!tuned)
    return tuned.takeError();
  auto untuned = loaded->backend->buildProgram(Build::Baseline);
  if (!untuned)
    return untuned.takeError();
  if (Error error = verifyInCode(*loaded, *tuned, *untuned, applied))
    return error;
  if (flags.model.json)
    outs() << json::Value(toJSON(applied)) << '\n';
  else
    applied.printAll(outs());
  if (!applied.appliedAll())
    return makeError("not every entry of {0} applies to {1}", flags.file,
                     flags.model.model);
  return Error::success();
}

} // namespace

void addSpec(CLI::App &app, Action &chosen) {
  auto *command = app.add_subcommand(
      "spec", "work with specs\n"
              "  attune spec merge a.mlir b.mlir -o both.mlir");
  command->require_subcommand(1);
  auto flags = std::make_shared<SpecFlags>();

  auto *merge = command->add_subcommand(
      "merge", "put specs together; of two entries for one dispatch the one "
               "with the greater measured gain stays");
  merge->add_option("SPECS", flags->files, "specs, any number")->required();
  merge->add_option("-o,--output", flags->output, "the spec to write")
      ->required();
  merge->callback([&chosen, flags] {
    chosen = [flags] {
      return mergeSpecFiles(flags->files, flags->output, outs());
    };
  });

  auto *checking = command->add_subcommand(
      "check", "whether every entry applies to a program, and is in its code");
  checking->add_option("SPEC", flags->file, "the spec")->required();
  flags->model.addTo(*checking);
  checking->callback(
      [&chosen, flags] { chosen = [flags] { return check(*flags); }; });

  auto *explain = command->add_subcommand(
      "explain", "what each entry does and what it gained, in words");
  explain->add_option("SPEC", flags->file, "the spec")->required();
  explain->callback([&chosen, flags] {
    chosen = [flags] { return explainSpec(flags->file, outs()); };
  });
}

} // namespace attune::cli
