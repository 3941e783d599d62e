//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Tune.h"

#include "attune/Backend/Iree.h"
#include "attune/Import/Inputs.h"
#include "attune/Report/Report.h"
#include "attune/Support/Error.h"

#include "llvm/Support/Path.h"

using namespace llvm;

namespace attune::cli {

//===----------------------------------------------------------------------===//
// Flags of the user's own command
//===----------------------------------------------------------------------===//

static void takeMeaning(const CommandMeaning &meaning, TuneFlags &flags) {
  append_range(flags.ireeFlags, meaning.ireeFlags);
  append_range(flags.ireeRunFlags, meaning.ireeRunFlags);
}

Error takeIreeWords(TuneFlags &flags) {
  std::vector<std::string> words = std::move(flags.words);
  flags.words.clear();
  bool isCommand = sys::path::filename(flags.model.model) == "iree-compile";
  if (isCommand) {
    words.insert(words.begin(), std::exchange(flags.model.model, ""));
  } else if (!words.empty() &&
             sys::path::filename(words.front()) == "iree-compile") {
    isCommand = true;
  }
  if (!isCommand) {
    for (const std::string &word : words)
      if (!StringRef(word).starts_with("-"))
        return makeError("'{0}' is no flag of iree-compile; after -- come its "
                         "flags, or a whole command: iree-compile ...",
                         word);
    append_range(flags.ireeFlags, words);
    return Error::success();
  }
  CommandMeaning meaning = interpret(describeCommand(std::move(words)));
  takeMeaning(meaning, flags);
  if (flags.model.model.empty())
    flags.model.model = meaning.model;
  return Error::success();
}

Error takeRecordedIreeFlags(TuneFlags &flags) {
  if (flags.backend != "iree")
    return Error::success();
  auto commands = readFlagFile(flags.flagFile);
  if (!commands)
    return commands.takeError();
  // The last compilation counts, and the last run.
  CommandMeaning last;
  for (const RecordedCommand &command : *commands) {
    CommandMeaning meaning = interpret(command);
    if (meaning.tool == "iree-compile")
      last.ireeFlags = std::move(meaning.ireeFlags);
    else if (StringRef(meaning.tool).starts_with("iree-"))
      last.ireeRunFlags = std::move(meaning.ireeRunFlags);
  }
  takeMeaning(last, flags);
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Tuning
//===----------------------------------------------------------------------===//

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

static Expected<std::unique_ptr<IreeBackend>>
makeBackend(const TuneFlags &flags, const Workplace &place, StringRef folder) {
  auto tools = IreeTools::find();
  if (!tools)
    return tools.takeError();
  IreeOptions iree;
  iree.model = flags.model.model;
  iree.entry = flags.model.entry;
  iree.flags = flags.ireeFlags;
  iree.runFlags = flags.ireeRunFlags;
  iree.threads = place.threads;
  iree.builders = place.target.cores;
  iree.workFolder = place.work.getPath();
  iree.choiceFile = (folder + "/iree-flags.json").str();
  iree.tools = std::move(*tools);
  return IreeBackend::create(std::move(iree));
}

/// The gain over what the user had, if it was not interrupted before.
static Error addGainOverDefault(IreeBackend &backend, StringRef folder,
                                SessionReport &report) {
  if (report.stopReason == "interrupted")
    return Error::success();
  if (Error error = backend.compareWithDefault().moveInto(report.overDefault))
    return error;
  return writeReport(report, folder);
}

Error tuneWithIree(const TuneFlags &flags, const Budget &budget,
                   StringRef folder) {
  // A recorded CPU is among iree-compile's flags, too.
  bool hasCPU = flags.model.targetCPU != "host" && flags.flagFile.empty();
  if (Error error = refuseGiven({{hasCPU, "--target-cpu"},
                                 {!flags.hot.profile.empty(), "--profile"},
                                 {flags.capture, "--capture"}},
                                "does not work with --backend=iree"))
    return error;
  auto place = makeWorkplace(flags);
  if (!place)
    return place.takeError();
  auto backend = makeBackend(flags, *place, folder);
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
      makeOptions(flags, place->threads, place->work.getPath(), budget, folder,
                  std::move(place->target)),
      clock, progress);
  if (!report)
    return report.takeError();
  if (Error error = addGainOverDefault(**backend, folder, *report))
    return error;
  return showResults(flags, *report);
}

} // namespace attune::cli
