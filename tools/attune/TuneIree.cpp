//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Tune.h"

#include "attune/Backend/Iree.h"
#include "attune/Import/Inputs.h"
#include "attune/Support/Error.h"

using namespace llvm;

namespace attune::cli {

/// What the IREE backend does not do yet.
static Error refuseOtherFlags(const TuneFlags &flags) {
  for (auto [isGiven, name] :
       {std::pair(flags.model.targetCPU != "host", "--target-cpu"),
        {!flags.hot.profile.empty(), "--profile"},
        {flags.capture, "--capture"}})
    if (isGiven)
      return makeError("{0} does not work with --backend=iree", name);
  return Error::success();
}

/// One set: a program of IREE is compiled for all sizes, and measured with one.
static Expected<InputSet> makeInputSet(const TuneFlags &flags,
                                       const EntrySignature &entry) {
  auto sets = makeInputs(entry, flags.model.inputs, flags.model.seed);
  if (!sets)
    return sets.takeError();
  if (sets->size() != 1)
    return makeError("--backend=iree takes one size for each dynamic "
                     "dimension");
  return std::move(sets->front());
}

Error tuneWithIree(const TuneFlags &flags, const Budget &budget,
                   StringRef folder) {
  if (Error error = refuseOtherFlags(flags))
    return error;
  auto work = TemporaryFolder::create();
  if (!work)
    return work.takeError();
  auto target = Target::forCPU("host");
  if (!target)
    return target.takeError();
  auto tools = IreeTools::find();
  if (!tools)
    return tools.takeError();
  int threads = flags.model.threads ? flags.model.threads : target->cores;
  IreeOptions iree;
  iree.model = flags.model.model;
  iree.entry = flags.model.entry;
  iree.flags = flags.ireeFlags;
  iree.threads = threads;
  iree.builders = target->cores;
  iree.workFolder = work->getPath();
  iree.choiceFile = (folder + "/iree-flags.json").str();
  iree.tools = std::move(*tools);
  auto backend = IreeBackend::create(std::move(iree));
  if (!backend)
    return backend.takeError();
  auto inputs = makeInputSet(flags, (*backend)->signature());
  if (!inputs)
    return inputs.takeError();
  if (Error error = prepareFolder(flags, folder))
    return error;
  SystemClock clock;
  Progress progress = makeProgress(flags, clock);
  progress.update({"compiling and measuring without a spec"});
  if (Error error = (*backend)->prepare(inputs->tensors))
    return error;
  auto report = runTuning(
      flags,
      {**backend,
       [&](std::vector<std::string>) { return (*backend)->createExecutor(); },
       {EntryInputs{(*backend)->signature().name, inputs->label,
                    std::move(inputs->tensors)}}},
      makeOptions(flags, threads, work->getPath(), budget, folder,
                  std::move(*target)),
      clock, progress);
  if (!report)
    return report.takeError();
  return showResults(flags, *report);
}

} // namespace attune::cli
