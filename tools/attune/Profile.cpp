//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Commands.h"

#include "attune/Profile/Formats.h"
#include "attune/Support/Error.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace attune::cli {

std::vector<DispatchFacts> factsOf(const Backend &backend) {
  std::vector<DispatchFacts> facts;
  for (const BackendDispatch &dispatch : backend.dispatches())
    facts.push_back({dispatch.name, dispatch.fingerprint, dispatch.rootOp,
                     dispatch.shapes, dispatch.location, dispatch.operations,
                     dispatch.bytes});
  return facts;
}

namespace {

struct ProfileFlags {
  ModelFlags model;
  ProfileOptions options;
  std::string output, format;
  std::vector<std::string> merges;
};

bool isProfileFile(StringRef path) {
  return any_of(ArrayRef<StringRef>{".pb.gz", ".pb", ".csv", ".jsonl"},
                [&](StringRef ending) { return path.ends_with(ending); });
}

/// `FILE` or `FILE:WEIGHT`.
Expected<WeightedProfile> readWeighted(StringRef text) {
  double weight = 1;
  auto [path, number] = text.rsplit(':');
  if (number.empty() || number.getAsDouble(weight)) {
    path = text;
    weight = 1;
  }
  if (!(weight > 0))
    return makeError("{0}: a weight is greater than 0", text);
  auto profile = readProfile(path);
  if (!profile)
    return profile.takeError();
  return WeightedProfile{std::move(*profile), weight};
}

Expected<std::string> buildFor(LoadedModel &loaded, StringRef specPath) {
  if (specPath.empty())
    return loaded.backend->buildProgram(Build::Baseline);
  auto spec = readSpec(specPath);
  if (!spec)
    return spec.takeError();
  ApplyResult applied;
  auto library = loaded.backend->buildTuned(*spec, applied, "");
  if (library)
    applied.print(errs());
  return library;
}

/// Some runs to see how long one takes, then as many as fit into the time.
Error profileEntry(LoadedModel &loaded, const ProfileOptions &options,
                   StringRef library, StringRef entry,
                   ArrayRef<std::string> inputs, ArrayRef<DispatchFacts> facts,
                   Profile &profile) {
  RunJob job;
  job.library = library.str();
  job.entry = entry.str();
  job.inputs = inputs.vec();
  job.hooks = true;
  job.counters = options.counters;
  job.threads = loaded.threads;
  job.repetitions = 3;
  Limits limits;
  limits.wallSeconds = 3600;
  auto first = loaded.executor->run(job, limits);
  if (!first && options.counters)
    return makeError("{0} (--counters; many virtual machines have none, and "
                     "kernel.perf_event_paranoid may forbid them)",
                     toString(first.takeError()));
  if (!first)
    return first.takeError();
  if (first->outcome == Outcome::Ok && !first->seconds.empty()) {
    double once = *llvm::min_element(first->seconds);
    job.repetitions =
        1 + std::clamp(options.seconds / std::max(once, 1e-7), 3.0, 100000.0);
    job.events = loaded.work.file("events.jsonl");
    first = loaded.executor->run(job, limits);
    if (!first)
      return first.takeError();
  }
  if (first->outcome != Outcome::Ok)
    return makeError("{0}: {1}", entry, first->reason);
  return addRun(profile, entry, facts, *first, job.events);
}

/// With what each was compiled with in this library.
Expected<std::vector<DispatchFacts>> factsIn(LoadedModel &loaded,
                                             StringRef library) {
  std::vector<DispatchFacts> facts = factsOf(*loaded.backend);
  auto signature = loaded.executor->signature(library);
  if (!signature)
    return signature.takeError();
  for (DispatchFacts &fact : facts)
    for (const Signature::Lowered &lowered : signature->lowered)
      if (lowered.name == fact.name)
        fact.how = lowered.how;
  return facts;
}

/// Of dispatches of open shapes: the sizes they are called with in a run.
Error collectSizes(LoadedModel &loaded, const ModelFlags &model,
                   ArrayRef<DispatchFacts> facts, Profile &profile) {
  const std::vector<BackendDispatch> &dispatches = loaded.backend->dispatches();
  auto isOpen = [&](int64_t dispatch, int64_t argument) {
    for (const BackendDispatch &known : dispatches)
      if (known.number == dispatch)
        return argument < static_cast<int64_t>(known.inputs.size()) &&
               !known.inputs[argument].isStatic();
    return false;
  };
  if (none_of(dispatches, [](const BackendDispatch &dispatch) {
        return any_of(dispatch.inputs,
                      [](const TensorType &type) { return !type.isStatic(); });
      }))
    return Error::success();
  std::string folder = loaded.work.file("sizes");
  return captureInputs(loaded, model, folder, [&](StringRef entry) -> Error {
    std::string path = folder + "/sizes.txt";
    if (!sys::fs::exists(path)) // No dispatch was called.
      return Error::success();
    auto calls = readSizes(path, isOpen);
    if (!calls)
      return calls.takeError();
    addSizes(profile, entry, facts, *calls);
    if (std::error_code code = sys::fs::remove(path))
      return makeError("{0}: {1}", path, code.message());
    return Error::success();
  });
}

} // namespace

Expected<Profile> profileModel(LoadedModel &loaded, const ModelFlags &model,
                               const ProfileOptions &options) {
  auto library = buildFor(loaded, options.spec);
  if (!library)
    return library.takeError();
  auto facts = factsIn(loaded, *library);
  if (!facts)
    return facts.takeError();
  std::vector<WeightedProfile> runs;
  for (const EntrySignature &entry : loaded.backend->signatures()) {
    auto sets = makeInputs(entry, model.inputs, model.seed);
    if (!sets)
      return sets.takeError();
    for (const InputSet &set : *sets) {
      auto inputs = writeTensors(set.tensors, loaded.work.getPath(), "profile");
      if (!inputs)
        return inputs.takeError();
      runs.emplace_back();
      runs.back().profile.model = model.model;
      if (Error error = profileEntry(loaded, options, *library, entry.name,
                                     *inputs, *facts, runs.back().profile))
        return std::move(error);
    }
  }
  // One run of each, whatever was measured how often.
  Profile profile = mergeProfiles(runs);
  for (const WeightedProfile &run : runs)
    append_range(profile.events, run.profile.events);
  if (Error error = collectSizes(loaded, model, *facts, profile))
    return std::move(error);
  return profile;
}

namespace {

/// A tuned program has the variants of its spec.
Expected<LoadedModel> load(const ProfileFlags &flags) {
  if (flags.options.spec.empty())
    return loadModelForInputs(flags.model);
  auto spec = readSpec(flags.options.spec);
  if (!spec)
    return spec.takeError();
  return loadModel(flags.model, std::move(spec->sizes));
}

Expected<Profile> collect(const ProfileFlags &flags) {
  std::vector<WeightedProfile> parts;
  if (isProfileFile(flags.model.model)) {
    auto part = readWeighted(flags.model.model);
    if (!part)
      return part.takeError();
    parts.push_back(std::move(*part));
  } else {
    auto loaded = load(flags);
    if (!loaded)
      return loaded.takeError();
    printNotes(loaded->backend->notes());
    auto profile = profileModel(*loaded, flags.model, flags.options);
    if (!profile)
      return profile.takeError();
    parts.push_back({std::move(*profile), 1});
  }
  for (const std::string &text : flags.merges) {
    auto part = readWeighted(text);
    if (!part)
      return part.takeError();
    parts.push_back(std::move(*part));
  }
  if (parts.size() == 1)
    return std::move(parts.front().profile);
  return mergeProfiles(parts);
}

Error profile(const ProfileFlags &flags) {
  std::string name = flags.format;
  if (name.empty())
    name = flags.output.empty() ? "text" : "pprof";
  auto format = profileFormatFromString(name);
  if (!format)
    return makeError("--format={0}: pprof, chrome-trace, jsonl or text", name);
  if (*format == ProfileFormat::Pprof && flags.output.empty())
    return makeError("pprof is binary: give a file with -o");
  auto collected = collect(flags);
  if (!collected)
    return collected.takeError();
  auto bytes = printProfile(*collected, *format);
  if (!bytes)
    return bytes.takeError();
  if (flags.output.empty()) {
    outs() << *bytes;
    return Error::success();
  }
  if (Error error = writeFile(flags.output, *bytes))
    return error;
  outs() << flags.output << '\n';
  return Error::success();
}

} // namespace

void addProfile(CLI::App &app, Action &chosen) {
  auto *command = app.add_subcommand(
      "profile", "the time of each dispatch\n"
                 "  attune profile model.mlir -o profile.pb.gz");
  auto flags = std::make_shared<ProfileFlags>();
  flags->model.addTo(*command);
  command->get_option("MODEL")->description(
      "MLIR program, or a profile to convert (.pb.gz, .jsonl, .csv)");
  command->add_option("-o,--output", flags->output,
                      "the file to write (default: a table on stdout)");
  command->add_option("--format", flags->format,
                      "pprof (default with -o), chrome-trace, jsonl or text");
  command
      ->add_option("--merge", flags->merges,
                   "another profile, FILE or FILE:WEIGHT; may repeat")
      ->allow_extra_args(false);
  command->add_option("--spec", flags->options.spec, "configurations to apply");
  command->add_option("--seconds", flags->options.seconds,
                      "how long each entry and input is run (default 1)");
  command->add_flag("--counters", flags->options.counters,
                    "the processor's counters of each dispatch, too: cycles, "
                    "instructions, cache misses, branch misses");
  command->callback([&chosen, flags] {
    if (flags->model.json)
      flags->format = "jsonl";
    chosen = [flags] { return profile(*flags); };
  });
}

} // namespace attune::cli
