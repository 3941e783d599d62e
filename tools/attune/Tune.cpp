//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Commands.h"

#include "attune/Report/Report.h"
#include "attune/Session/Session.h"
#include "attune/Support/Error.h"
#include "attune/Support/Interrupt.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace attune::cli {
namespace {

struct TuneFlags {
  ModelFlags model;
  std::string budget = "10m", search = "auto", output;
  std::vector<std::string> arguments; ///< The command, for the report.
};

/// `model.attune` for model.mlir, in the current folder.
std::string defaultFolder(StringRef model) {
  return (sys::path::stem(model) + ".attune").str();
}

Expected<std::vector<EntryInputs>> collectInputs(const LoadedModel &loaded,
                                                 const ModelFlags &flags) {
  std::vector<EntryInputs> inputs;
  const auto &entries = loaded.backend->signatures();
  if (entries.size() > 1 && !flags.inputs.empty() &&
      flags.inputs != std::vector<std::string>{"random"})
    return makeError("several entry functions: --input needs --entry to say "
                     "which one it is for");
  for (const EntrySignature &entry : entries) {
    auto sets = makeInputs(entry, flags.inputs, flags.seed);
    if (!sets)
      return sets.takeError();
    for (InputSet &set : *sets)
      inputs.push_back({entry.name, set.label, std::move(set.tensors)});
  }
  return inputs;
}

Error tune(const TuneFlags &flags) {
  catchInterrupts();
  auto budget = parseBudget(flags.budget);
  if (!budget)
    return budget.takeError();
  std::string folder =
      flags.output.empty() ? defaultFolder(flags.model.model) : flags.output;
  auto loaded = loadModel(flags.model);
  if (!loaded)
    return loaded.takeError();
  auto inputs = collectInputs(*loaded, flags.model);
  if (!inputs)
    return inputs.takeError();
  if (Error error = createFolder(folder))
    return error;
  auto database = Database::open(folder + "/trials.db", OpenMode::Write);
  if (!database)
    return database.takeError();
  auto runner = findRunner();
  if (!runner)
    return runner.takeError();
  auto target = Target::forCPU(flags.model.targetCPU);
  if (!target)
    return target.takeError();

  SessionOptions options;
  options.model = flags.model.model;
  options.command = join(flags.arguments, " ");
  options.resultFolder = folder;
  options.workFolder = loaded->work.getPath();
  options.budget = *budget;
  options.search = flags.search;
  options.seed = flags.model.seed;
  options.threads = loaded->threads;
  options.target = *target;
  options.versions = {
      {"attune", ATTUNE_VERSION},
      {"llvm", LLVM_VERSION_STRING},
      {"dispatch", std::to_string(loaded->backend->dispatchVersion())}};

  SystemClock clock;
  Progress progress(errs(), Progress::styleFor(errs()), clock);
  for (const std::string &note : loaded->backend->notes())
    progress.note("note: " + note);
  progress.note(formatv("seed {0}, {1} threads, {2}", options.seed,
                        options.threads, options.target.cpu)
                    .str());
  auto report = runSession({*loaded->backend,
                            [&](std::vector<std::string> environment) {
                              return std::make_unique<LocalExecutor>(
                                  *runner, environment);
                            },
                            *database, clock, progress},
                           options, std::move(*inputs));
  progress.finish();
  if (!report)
    return report.takeError();
  for (const BackendDispatch &dispatch : loaded->backend->dispatches())
    for (const DispatchReport &row : report->dispatches)
      if (row.name == dispatch.name && row.trials.total() > 0) {
        if (Error error = createFolder(folder + "/dispatches"))
          return error;
        if (Error error = loaded->backend->dumpDispatch(
                dispatch, folder + "/dispatches/" + dispatch.name + ".mlir"))
          return error;
      }
  if (flags.model.json)
    outs() << summaryJSON(*report) << '\n';
  else {
    printTable(*report, outs());
    printClosing(*report, outs());
  }
  if (report->stopReason == "interrupted")
    return makeError("interrupted; the same command goes on from here");
  if (!report->program.outputsAgree)
    return makeError("the tuned program's results differ from the reference");
  return Error::success();
}

} // namespace

void addTune(CLI::App &app, Action &chosen) {
  auto *command =
      app.add_subcommand("tune", "make a program faster\n"
                                 "  attune tune model.mlir --budget=10m");
  auto flags = std::make_shared<TuneFlags>();
  flags->model.addTo(*command);
  command->add_option("--budget", flags->budget,
                      "time (90s, 10m, 2h) or number of trials; default 10m");
  command->add_option("--search", flags->search, "auto, random or exhaustive");
  command->add_option("-o,--output", flags->output,
                      "folder of results (default: MODEL.attune)");
  command->callback([&chosen, flags, command] {
    flags->arguments = {"attune", "tune"};
    for (const std::string &argument : command->get_parent()->remaining())
      flags->arguments.push_back(argument);
    flags->arguments.push_back(flags->model.model);
    for (const std::string &input : flags->model.inputs)
      flags->arguments.push_back("--input=" + input);
    flags->arguments.push_back("--search=" + flags->search);
    chosen = [flags] { return tune(*flags); };
  });
}

} // namespace attune::cli
