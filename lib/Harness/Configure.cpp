//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Experts as schedules of a library, and their values as configurations.

#include "HarnessImpl.h"

#include "attune/Space/FromSchedule.h"
#include "attune/Support/Error.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace attune {

/// The installed schedules, so that an expert may extend one, and what it does
/// not fit is compiled as always.
static Error copySchedules(StringRef from, StringRef to) {
  std::error_code failed;
  for (sys::fs::directory_iterator entry(from, failed), end;
       entry != end && !failed; entry.increment(failed)) {
    StringRef path = entry->path();
    if (sys::path::extension(path) != ".mlir")
      continue;
    SmallString<128> copy(to);
    sys::path::append(copy, sys::path::filename(path));
    if (std::error_code code = sys::fs::copy_file(path, copy))
      return makeError("{0}: cannot be copied to {1}: {2}", path, copy,
                       code.message());
  }
  if (failed)
    return makeError("{0}: cannot read the folder of schedules: {1}", from,
                     failed.message());
  return Error::success();
}

Expected<LoadedExpert *> Harness::Impl::load(const Expert &expert) {
  auto text = expert.str();
  if (!text)
    return text.takeError();
  std::unique_ptr<LoadedExpert> &slot =
      experts[expert.getName() + "\n" + *text];
  if (slot)
    return slot.get();
  auto loaded = std::make_unique<LoadedExpert>();
  loaded->folder = file("expert-" + Twine(next++));
  if (Error error = createFolder(loaded->folder))
    return std::move(error);
  if (Error error = copySchedules(schedules, loaded->folder))
    return std::move(error);
  if (Error error = expert.write(loaded->folder))
    return std::move(error);
  auto library = ScheduleLibrary::load(&context, loaded->folder);
  if (!library) {
    std::string message = toString(library.takeError());
    StringRef shown = message;
    shown.consume_front(loaded->folder + "/");
    return makeError("expert '{0}': {1}", expert.getName(), shown);
  }
  loaded->library = std::make_unique<ScheduleLibrary>(std::move(*library));
  loaded->schedule = loaded->library->find(expert.getName());
  slot = std::move(loaded);
  return slot.get();
}

Expected<const ExpertSpace *> Harness::Impl::space(PreparedCase &prepared,
                                                   const Expert &expert,
                                                   StringRef problem) {
  auto loaded = load(expert);
  if (!loaded)
    return loaded.takeError();
  std::unique_ptr<ExpertSpace> &slot = spaces[{&prepared, *loaded}];
  if (!slot) {
    auto read = readSpace(prepared, **loaded, problem);
    if (!read)
      return read.takeError();
    slot = std::make_unique<ExpertSpace>(std::move(*read));
  }
  return slot.get();
}

Expected<ExpertSpace> Harness::Impl::readSpace(PreparedCase &prepared,
                                               const LoadedExpert &loaded,
                                               StringRef problem) {
  const Schedule &schedule = *loaded.schedule;
  auto misfit = [&](Error error) {
    return makeError("expert '{0}' does not fit problem '{1}': of its dispatch "
                     "{2} ({3} {4}), {5}",
                     schedule.name(), problem, prepared.dispatch.name,
                     prepared.dispatch.rootOp, prepared.dispatch.shapes,
                     toString(std::move(error)));
  };
  if (Error error =
          schedule.fits(prepared.function, options.target, options.threads))
    return misfit(std::move(error));
  auto bindings =
      schedule.bindProblem(prepared.function, options.target, options.threads);
  if (!bindings)
    return misfit(bindings.takeError());
  auto read =
      spaceFromSchedule(schedule.name(), schedule.sequence(), *bindings);
  if (!read)
    return misfit(read.takeError());
  Configuration defaults = read->defaults;
  if (auto chosen = schedule.defaultConfiguration(
          prepared.function, options.target, options.threads))
    defaults = std::move(*chosen);
  else
    consumeError(chosen.takeError()); // what the space has is valid, too
  std::string text;
  raw_string_ostream out(text);
  schedule.sequence()->getParentOp()->print(out);
  return ExpertSpace{std::move(read->space), std::move(defaults),
                     hashHex(text)};
}

static std::string knobNames(const Space &space) {
  return join(
      map_range(space.getKnobs(), [](const Knob &knob) { return knob.name; }),
      ", ");
}

/// A value that is given and not in its domain is an error of the caller.
static Error checkValue(const ExpertSpace &space, StringRef expert,
                        const std::pair<std::string, KnobValue> &value) {
  auto knob = find_if(space.space.getKnobs(), [&](const Knob &knob) {
    return knob.name == value.first;
  });
  if (knob == space.space.getKnobs().end())
    return makeError("expert '{0}' has no knob '{1}'; it has {2}", expert,
                     value.first, knobNames(space.space));
  if (!knob->domain.indexOf(value.second))
    return makeError("expert '{0}', knob '{1}': {2} is not in {3}", expert,
                     value.first, toString(value.second),
                     knob->domain.describe());
  return Error::success();
}

Expected<Configuration> Harness::Impl::complete(const ExpertSpace &space,
                                                const ExpertValues &expert,
                                                std::string &rejected) {
  Configuration wanted = space.defaultConfiguration;
  llvm::StringSet<MallocAllocator> given;
  for (const auto &value : expert.values) {
    if (Error error = checkValue(space, expert.expert.getName(), value))
      return std::move(error);
    if (!given.insert(value.first).second)
      return makeError("expert '{0}': knob '{1}' is given twice",
                       expert.expert.getName(), value.first);
    auto place = find_if(wanted.values, [&](const auto &entry) {
      return entry.first == value.first;
    });
    if (place != wanted.values.end())
      place->second = value.second;
    else
      wanted.values.push_back(value);
  }
  if (space.space.contains(wanted))
    return wanted;
  Configuration nearest = space.space.nearest(wanted);
  bool keepsGiven = all_of(expert.values, [&](const auto &value) {
    const KnobValue *kept = nearest.find(value.first);
    return kept && *kept == value.second;
  });
  if (keepsGiven)
    return nearest;
  rejected = "these values break a constraint";
  return wanted;
}

} // namespace attune
