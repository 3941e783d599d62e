//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Commands.h"

#include "attune/Space/FromJSON.h"
#include "attune/Support/Error.h"

#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace attune::cli {
namespace {

struct SpaceFlags {
  ModelFlags model;
  bool count = false, list = false;
  uint64_t sample = 0;
};

void print(const Configuration &configuration, const SpaceFlags &flags) {
  if (flags.model.json)
    outs() << attune::toJSON(configuration) << '\n';
  else
    outs() << toString(configuration) << '\n';
}

void printSpaces(ArrayRef<const Space *> spaces, const SpaceFlags &flags) {
  uint64_t total = 0;
  for (const Space *space : spaces)
    total += space->count();
  if (flags.count) {
    outs() << total << '\n';
    return;
  }
  if (flags.list) {
    for (const Space *space : spaces)
      for (uint64_t i = 0; i < space->count(); ++i)
        print(space->at(i), flags);
    return;
  }
  if (flags.sample) {
    std::mt19937_64 random(flags.model.seed);
    for (uint64_t i = 0; i < flags.sample && total; ++i) {
      uint64_t index =
          std::uniform_int_distribution<uint64_t>(0, total - 1)(random);
      for (const Space *space : spaces) {
        if (index < space->count()) {
          print(space->at(index), flags);
          break;
        }
        index -= space->count();
      }
    }
    return;
  }
  for (const Space *space : spaces) {
    outs() << (space->getSchedule().empty() ? StringRef("space")
                                            : StringRef(space->getSchedule()))
           << ": " << space->count() << " configurations\n";
    for (const Knob &knob : space->getKnobs())
      outs() << "  " << knob.name << ": " << knob.domain.size() << " values\n";
  }
}

Error show(const SpaceFlags &flags) {
  if (StringRef(flags.model.model).ends_with(".json")) {
    auto space = readSpace(flags.model.model);
    if (!space)
      return space.takeError();
    printSpaces({&*space}, flags);
    return Error::success();
  }
  auto loaded = loadModel(flags.model);
  if (!loaded)
    return loaded.takeError();
  std::vector<CandidateSpace> all;
  for (const BackendDispatch &dispatch : loaded->backend->dispatches()) {
    auto spaces = loaded->backend->spaces(dispatch);
    if (!spaces)
      return spaces.takeError();
    for (CandidateSpace &space : *spaces)
      all.push_back(std::move(space));
  }
  SmallVector<const Space *> views;
  for (const CandidateSpace &space : all)
    views.push_back(&space.space);
  printSpaces(views, flags);
  return Error::success();
}

} // namespace

void addSpace(CLI::App &app, Action &chosen) {
  auto *command = app.add_subcommand(
      "space", "what could be tried: a dispatch (.mlir) or a space (.json)\n"
               "  attune space dispatches/contraction.mlir --count");
  auto flags = std::make_shared<SpaceFlags>();
  flags->model.addTo(*command);
  auto *count = command->add_flag("--count", flags->count, "the number alone");
  auto *list = command->add_flag("--list", flags->list, "every configuration, a line each");
  auto *sample = command->add_option("--sample", flags->sample, "so many at random");
  count->excludes(list)->excludes(sample);
  list->excludes(sample);
  command->callback([&chosen, flags] { chosen = [flags] { return show(*flags); }; });
}

} // namespace attune::cli
