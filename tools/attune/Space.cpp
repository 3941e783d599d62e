//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Commands.h"

#include "attune/Space/FromJSON.h"
#include "attune/Space/Listing.h"
#include "attune/Support/Error.h"

#include "llvm/Support/MathExtras.h"
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

uint64_t saturatingCount(ArrayRef<const Space *> spaces) {
  uint64_t total = 0;
  for (const Space *space : spaces)
    total = SaturatingAdd(total, space->count());
  return total;
}

/// Different configurations, uniform over all spaces together.
void printSample(ArrayRef<const Space *> spaces, const SpaceFlags &flags) {
  // How many of each: a schedule with more configurations gets more.
  std::vector<double> weights;
  for (const Space *space : spaces)
    weights.push_back(static_cast<double>(space->count()));
  std::mt19937_64 random(flags.model.seed);
  std::discrete_distribution<size_t> choice(weights.begin(), weights.end());
  std::vector<size_t> shares(spaces.size());
  uint64_t wanted = std::min(flags.sample, saturatingCount(spaces));
  while (wanted) {
    size_t index = choice(random);
    if (shares[index] == spaces[index]->count())
      continue;
    ++shares[index];
    --wanted;
  }
  for (auto [space, share] : zip_equal(spaces, shares))
    for (const Configuration &configuration :
         sampleDistinct(*space, share, flags.model.seed))
      print(configuration, flags);
}

void describe(ArrayRef<const Space *> spaces, const SpaceFlags &flags) {
  if (flags.model.json) {
    json::Array array;
    for (const Space *space : spaces)
      array.push_back(attune::toJSON(*space));
    outs() << json::Value(json::Object{{"version", 1},
                                       {"count", saturatingCount(spaces)},
                                       {"spaces", std::move(array)}})
           << '\n';
    return;
  }
  for (const Space *space : spaces) {
    if (!space->getSchedule().empty())
      outs() << (space == spaces.front() ? "" : "\n") << space->getSchedule()
             << '\n';
    describeSpace(*space, outs());
  }
}

void printSpaces(ArrayRef<const Space *> spaces, const SpaceFlags &flags) {
  if (flags.count) {
    uint64_t total = saturatingCount(spaces);
    outs() << total << (total == UINT64_MAX ? "+\n" : "\n");
  } else if (flags.list) {
    for (const Space *space : spaces)
      for (uint64_t i = 0; i < space->count(); ++i)
        print(space->at(i), flags);
  } else if (flags.sample) {
    printSample(spaces, flags);
  } else {
    describe(spaces, flags);
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
  auto *list = command->add_flag("--list", flags->list,
                                 "every configuration, a line each");
  auto *sample =
      command->add_option("--sample", flags->sample, "so many at random");
  count->excludes(list)->excludes(sample);
  list->excludes(sample);
  command->callback(
      [&chosen, flags] { chosen = [flags] { return show(*flags); }; });
}

} // namespace attune::cli
