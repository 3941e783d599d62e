//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Commands.h"

#include "attune/Measure/Statistics.h"
#include "attune/Report/Report.h"
#include "attune/Support/Error.h"

#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace attune::cli {
namespace {

struct BenchFlags {
  ModelFlags model;
  std::vector<std::string> specs;
  double seconds = 1;
  bool compare = true, cold = false;
};

/// One version of the program next to the untuned one.
struct Row {
  std::string name;
  double seconds = 0, baselineSeconds = 0;
  Speedup speedup;
};

Expected<Row> compare(LoadedModel &loaded, const BenchFlags &flags,
                      StringRef name, StringRef library, StringRef baseline,
                      StringRef entry, ArrayRef<std::string> inputs) {
  // The untuned program's results are the reference; another order of a sum is
  // no difference.
  CheckedInputs checked;
  checked.inputs = inputs.vec();
  checked.tolerances.assign(64, {1e-3, 1e-3});
  MeasureJob job = makeMeasureJob(library, baseline, checked,
                                  flags.model.threads, flags.model.seed);
  job.entry = entry.str();
  job.timing.caches = flags.cold ? Caches::Cold : Caches::Hot;
  job.timing.minSeconds = flags.seconds;
  job.timing.maxSeconds = 4 * flags.seconds;
  job.timing.minRepetitions = 20;
  job.timing.maxRepetitions = 2000;
  job.timing.loserPairs = 0;
  Limits limits;
  limits.wallSeconds = 600 + 10 * flags.seconds;
  auto result = loaded.executor->measure(job, limits);
  if (!result)
    return result.takeError();
  if (result->outcome != Outcome::Ok)
    return makeError("{0}: {1}", name, result->reason);
  auto speedup = pairedSpeedup(result->seconds, result->baselineSeconds);
  if (!speedup)
    return speedup.takeError();
  return Row{name.str(), median(result->seconds),
             median(result->baselineSeconds), *speedup};
}

void print(const BenchFlags &flags, StringRef entry, StringRef label,
           ArrayRef<Row> rows, json::Array &out) {
  if (!flags.model.json)
    outs() << formatv("{0}{1}{2}\n", entry, label.empty() ? "" : " ", label);
  for (const Row &row : rows) {
    if (flags.model.json)
      out.push_back(json::Object{{"entry", entry},
                                 {"label", label},
                                 {"name", row.name},
                                 {"seconds", row.seconds},
                                 {"untunedSeconds", row.baselineSeconds},
                                 {"speedup", row.speedup.value},
                                 {"speedupLow", row.speedup.low},
                                 {"speedupHigh", row.speedup.high}});
    else
      outs() << formatv(
          "  {0,-40} {1,10}   untuned {2,10}   {3} ({4} to {5})\n", row.name,
          formatSeconds(row.seconds), formatSeconds(row.baselineSeconds),
          formatSpeedup(row.speedup.value), formatSpeedup(row.speedup.low),
          formatSpeedup(row.speedup.high));
  }
}

Error bench(const BenchFlags &flags) {
  auto loaded = loadModel(flags.model);
  if (!loaded)
    return loaded.takeError();
  printNotes(loaded->backend->notes());
  auto baseline = loaded->backend->buildProgram(Build::Baseline);
  if (!baseline)
    return baseline.takeError();
  std::vector<std::pair<std::string, std::string>> versions;
  for (const std::string &path : flags.specs) {
    auto spec = readSpec(path);
    if (!spec)
      return spec.takeError();
    ApplyResult applied;
    std::string output =
        loaded->work.file("version" + std::to_string(versions.size()) + ".so");
    auto library = loaded->backend->buildTuned(*spec, applied, output);
    if (!library)
      return library.takeError();
    applied.print(errs());
    versions.emplace_back(path, *library);
  }
  if (versions.empty())
    versions.emplace_back("untuned", *baseline);
  json::Array out;
  for (const EntrySignature &entry : loaded->backend->signatures()) {
    auto sets = makeInputs(entry, flags.model.inputs, flags.model.seed);
    if (!sets)
      return sets.takeError();
    for (const InputSet &set : *sets) {
      auto inputs = writeTensors(set.tensors, loaded->work.getPath(), "in");
      if (!inputs)
        return inputs.takeError();
      std::vector<Row> rows;
      for (const auto &[name, library] : versions) {
        auto row = compare(*loaded, flags, name, library, *baseline, entry.name,
                           *inputs);
        if (!row)
          return row.takeError();
        rows.push_back(*row);
      }
      print(flags, entry.name, set.label, rows, out);
    }
  }
  if (flags.model.json)
    outs() << json::Value(json::Object{{"version", 1},
                                       {"caches", flags.cold ? "cold" : "hot"},
                                       {"rows", std::move(out)}})
           << '\n';
  return Error::success();
}

} // namespace

void addBench(CLI::App &app, Action &chosen) {
  auto *command = app.add_subcommand(
      "bench", "time a program; with specs each next to the untuned program\n"
               "  attune bench model.mlir --spec=a.mlir --spec=b.mlir");
  auto flags = std::make_shared<BenchFlags>();
  flags->model.addTo(*command);
  command
      ->add_option("--spec", flags->specs, "a version to compare; may repeat")
      ->allow_extra_args(false);
  command->add_flag("--compare", flags->compare,
                    "next to the untuned program (always so)");
  command->add_option("--seconds", flags->seconds,
                      "measured time of each version");
  command->add_flag("--cold", flags->cold,
                    "caches are emptied before each run (as a rule they hold "
                    "what the last run left)");
  command->callback(
      [&chosen, flags] { chosen = [flags] { return bench(*flags); }; });
}

} // namespace attune::cli
