//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Tune.h"

#include "attune/Backend/Command.h"
#include "attune/Support/Error.h"

using namespace llvm;

namespace attune::cli {

/// What a file of commands has no use for.
static Error refuseModelFlags(const TuneFlags &flags) {
  for (auto [isGiven, name] :
       {std::pair(!flags.model.inputs.empty(), "--input"),
        {!flags.model.entry.empty(), "--entry"},
        {flags.model.targetCPU != "host", "--target-cpu"},
        {!flags.hot.profile.empty(), "--profile"},
        {flags.capture, "--capture"}})
    if (isGiven)
      return makeError("{0} is for MLIR programs; {1} describes commands", name,
                       flags.model.model);
  return Error::success();
}

Error tuneCommands(const TuneFlags &flags, const Budget &budget,
                   StringRef folder) {
  if (Error error = refuseModelFlags(flags))
    return error;
  auto work = TemporaryFolder::create();
  if (!work)
    return work.takeError();
  auto target = Target::forCPU("host");
  if (!target)
    return target.takeError();
  int threads = flags.model.threads ? flags.model.threads : target->cores;
  CommandOptions commands;
  commands.file = flags.model.model;
  commands.threads = threads;
  commands.builders = target->cores;
  commands.workFolder = work->getPath();
  auto backend = CommandBackend::create(std::move(commands));
  if (!backend)
    return backend.takeError();
  if (Error error = prepareFolder(flags, folder))
    return error;
  SystemClock clock;
  Progress progress = makeProgress(flags, clock);
  auto report = runTuning(
      flags,
      {**backend,
       [&](std::vector<std::string>) { return (*backend)->createExecutor(); },
       {EntryInputs{"main", "", {}}}},
      makeOptions(flags, threads, work->getPath(), budget, folder,
                  std::move(*target)),
      clock, progress);
  if (!report)
    return report.takeError();
  return showResults(flags, *report);
}

} // namespace attune::cli
