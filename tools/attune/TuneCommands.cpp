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

Error tuneCommands(const TuneFlags &flags, const Budget &budget,
                   StringRef folder) {
  // What a file of commands has no use for.
  if (Error error = refuseGiven(
          {{!flags.model.inputs.empty(), "--input"},
           {!flags.model.entry.empty(), "--entry"},
           {flags.model.targetCPU != "host", "--target-cpu"},
           {!flags.hot.profile.empty(), "--profile"},
           {flags.capture, "--capture"}},
          "is for MLIR programs; " + flags.model.model + " describes commands"))
    return error;
  auto place = makeWorkplace(flags);
  if (!place)
    return place.takeError();
  CommandOptions commands;
  commands.file = flags.model.model;
  commands.threads = place->threads;
  commands.builders = place->target.cores;
  commands.workFolder = place->work.getPath();
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
      makeOptions(flags, place->threads, place->work.getPath(), budget, folder,
                  std::move(place->target)),
      clock, progress);
  if (!report)
    return report.takeError();
  return showResults(flags, *report);
}

} // namespace attune::cli
