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
namespace {

struct DispatchFlags {
  ModelFlags model;
  HotFlags hot;
  std::string dumpTo;
  bool capture = false;
};

/// One dispatch of the list, in its order.
struct Listed {
  const BackendDispatch *dispatch = nullptr;
  double calls = 0; ///< In one run, or in the program's text.
  double seconds = 0, share = 0;
  bool isChosen = true;
  std::string selection;
};

Expected<std::vector<Listed>> listByTime(LoadedModel &loaded,
                                         const DispatchFlags &flags,
                                         const Profile &given) {
  auto coverage = flags.hot.coverageFraction();
  if (!coverage)
    return coverage.takeError();
  auto target = Target::forCPU(flags.model.targetCPU);
  if (!target)
    return target.takeError();
  auto peaks = findPeaks("", target->cpu, loaded.threads);
  if (!peaks)
    return peaks.takeError();
  Profile profile = mergeProfiles({{given, 1}});
  std::vector<DispatchFacts> facts = factsOf(*loaded.backend);
  std::vector<std::string> unmatched;
  std::vector<ProfileRow> rows = matchProfile(profile, facts, unmatched);
  for (const std::string &name : unmatched)
    errs() << "note: " << name << " in the profile is no dispatch of "
           << flags.model.model << '\n';
  HotOptions options;
  options.coverage = *coverage;
  std::vector<Listed> list;
  for (HotDispatch &hot :
       chooseHot(facts, rows, profile.totalSeconds(), *peaks, options))
    list.push_back({&loaded.backend->dispatches()[hot.number],
                    rows[hot.number].calls, hot.seconds, hot.share, hot.chosen,
                    std::move(hot.reason)});
  return list;
}

Expected<std::vector<Listed>> listAll(LoadedModel &loaded,
                                      const DispatchFlags &flags) {
  auto profile = flags.hot.readProfile();
  if (!profile)
    return profile.takeError();
  if (*profile)
    return listByTime(loaded, flags, **profile);
  std::vector<Listed> list;
  for (const BackendDispatch &dispatch : loaded.backend->dispatches())
    list.push_back({&dispatch, static_cast<double>(dispatch.calls)});
  return list;
}

json::Object toJSON(const Listed &row) {
  json::Array inputs, outputs;
  for (const TensorType &type : row.dispatch->inputs)
    inputs.push_back(toString(type));
  for (const TensorType &type : row.dispatch->outputs)
    outputs.push_back(toString(type));
  json::Object object{{"name", row.dispatch->name},
                      {"fingerprint", row.dispatch->fingerprint},
                      {"rootOp", row.dispatch->rootOp},
                      {"shapes", row.dispatch->shapes},
                      {"location", row.dispatch->location},
                      {"count", row.calls},
                      {"inputs", std::move(inputs)},
                      {"outputs", std::move(outputs)}};
  if (!row.selection.empty()) {
    object["seconds"] = row.seconds;
    object["share"] = row.share;
    object["chosen"] = row.isChosen;
    object["selection"] = row.selection;
  }
  return object;
}

void print(ArrayRef<Listed> list, const DispatchFlags &flags) {
  if (flags.model.json) {
    json::Array rows;
    for (const Listed &row : list)
      rows.push_back(toJSON(row));
    outs() << json::Value(
                  json::Object{{"version", 1}, {"dispatches", std::move(rows)}})
           << '\n';
    return;
  }
  bool hasTimes = !flags.hot.profile.empty();
  outs() << formatv("{0,-44} {1,-12} {2,-28} {3,5}{4}\n", "dispatch", "root op",
                    "shape", "calls", hasTimes ? "  chosen" : "");
  for (const Listed &row : list) {
    outs() << formatv("{0,-44} {1,-12} {2,-28} {3,5}", row.dispatch->name,
                      row.dispatch->rootOp, row.dispatch->shapes,
                      formatv("{0:f0}", row.calls).str());
    if (hasTimes)
      outs() << (row.isChosen ? "  yes: " : "  no: ") << row.selection;
    outs() << '\n';
  }
}

/// How the dispatches have to be compiled to be what they are in the program.
json::Array flagsOf(const LoadedModel &loaded, const DispatchFlags &flags) {
  return json::Array{"--threads=" + std::to_string(loaded.threads),
                     "--target-cpu=" + flags.model.targetCPU};
}

/// The chosen ones as programs, with a manifest.
Error dump(LoadedModel &loaded, ArrayRef<Listed> list,
           const DispatchFlags &flags) {
  const std::string &folder = flags.dumpTo;
  if (Error error = createFolder(folder))
    return error;
  bool isCaptured = any_of(list, [&](const Listed &row) {
    return row.isChosen && (flags.capture || needsCapture(*row.dispatch));
  });
  std::string captures = isCaptured ? loaded.work.file("captured") : "";
  if (isCaptured)
    if (Error error = captureInputs(loaded, flags.model, captures)) {
      if (flags.capture)
        return error;
      errs() << "warning: inputs are random, " << toString(std::move(error))
             << '\n';
      captures.clear();
    }
  json::Array rows;
  for (const Listed &row : list) {
    if (!row.isChosen)
      continue;
    auto object = dumpWithInputs(loaded, *row.dispatch, folder, captures,
                                 flags.capture, flags.model.seed);
    if (!object) {
      errs() << "warning: " << row.dispatch->name << ": "
             << toString(object.takeError()) << '\n';
      continue;
    }
    (*object)["calls"] = row.calls;
    if (!row.selection.empty()) {
      (*object)["seconds"] = row.seconds;
      (*object)["share"] = row.share;
      (*object)["selection"] = row.selection;
    }
    rows.push_back(std::move(*object));
  }
  json::Value manifest = json::Object{{"version", 1},
                                      {"model", flags.model.model},
                                      {"profile", flags.hot.profile},
                                      {"flags", flagsOf(loaded, flags)},
                                      {"dispatches", std::move(rows)}};
  return writeFile(folder + "/manifest.json",
                   formatv("{0:2}\n", manifest).str());
}

Error run(const DispatchFlags &flags) {
  if (flags.capture && flags.dumpTo.empty())
    return makeError("--capture needs --dump-to=DIR");
  auto loaded = loadModelForInputs(flags.model);
  if (!loaded)
    return loaded.takeError();
  printNotes(loaded->backend->notes());
  auto list = listAll(*loaded, flags);
  if (!list)
    return list.takeError();
  if (!flags.dumpTo.empty())
    if (Error error = dump(*loaded, *list, flags))
      return error;
  print(*list, flags);
  return Error::success();
}

} // namespace

void addDispatches(CLI::App &app, Action &chosen) {
  auto *command = app.add_subcommand(
      "dispatches", "list the dispatches of a program\n"
                    "  attune dispatches model.mlir --dump-to=dispatches/");
  auto flags = std::make_shared<DispatchFlags>();
  flags->model.addTo(*command);
  flags->hot.addTo(*command);
  command->add_option("--dump-to", flags->dumpTo,
                      "write each (with --profile: each hot one) as a program "
                      "of its own into this folder");
  command->add_flag("--capture", flags->capture,
                    "with the values that its inputs have in a run");
  command->callback(
      [&chosen, flags] { chosen = [flags] { return run(*flags); }; });
}

} // namespace attune::cli
