//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// attune harness: problems with experts, from the command line.

#include "Commands.h"

#include "attune/Harness/Harness.h"
#include "attune/Support/Error.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace attune::cli {
namespace {

struct HarnessFlags {
  std::string problem, sizesFile, type, values, csv, database, search = "auto",
                                                               expertFolder;
  std::vector<std::string> sizes, experts;
  std::string dynamic;
  RunOptions run;
  HarnessOptions harness;
  bool noCheck = false, inProcess = false, untuned = false, json = false,
       list = false, mca = false;
  std::string targetCPU = "host";
  std::string dumpIR, dumpAssembly, dumpObject, printAfter;
  size_t tune = 0;

  bool dumps() const {
    return mca || !dumpIR.empty() || !dumpAssembly.empty() ||
           !dumpObject.empty() || !printAfter.empty();
  }
};

void printList() {
  outs() << "problems:\n";
  for (const Problem &problem : shippedProblems()) {
    std::vector<std::string> names;
    for (const ProblemDimension &dimension : problem.dimensions)
      if (dimension.expression.empty())
        names.push_back(dimension.name +
                        (dimension.defaultSize
                             ? "=" + std::to_string(*dimension.defaultSize)
                             : std::string()));
    outs() << formatv("  {0,-22} {1}\n", problem.name, join(names, " "));
  }
  outs() << "experts:\n";
  for (const Expert &expert : shippedExperts()) {
    std::vector<std::string> steps;
    for (const Transformation &step : expert.getSteps())
      steps.push_back(step.getName().str());
    outs() << formatv("  {0,-22} {1}\n", expert.getName(), join(steps, ", "));
  }
}

/// A name, or a file with a problem.
Expected<Problem> chooseProblem(const HarnessFlags &flags) {
  auto problem = StringRef(flags.problem).ends_with(".json")
                     ? readProblem(flags.problem)
                     : findProblem(flags.problem);
  if (!problem || flags.type.empty())
    return problem;
  auto type = elementTypeFromString(flags.type);
  if (!type)
    return type.takeError();
  return problem->withType(*type);
}

Expected<std::vector<ProblemCase>> chooseCases(const HarnessFlags &flags) {
  std::vector<ProblemCase> cases;
  if (!flags.sizesFile.empty()) {
    auto read = readProblemCases(flags.sizesFile, flags.problem);
    if (!read)
      return read.takeError();
    cases = std::move(*read);
  }
  for (const std::string &text : flags.sizes) {
    auto problem = chooseProblem(flags);
    if (!problem)
      return problem.takeError();
    auto sizes = parseProblemSizes(text);
    if (!sizes)
      return sizes.takeError();
    cases.push_back({std::move(*problem), std::move(*sizes)});
  }
  if (cases.empty())
    return makeError("no sizes: give --sizes=m=128,... or --sizes-file");
  SmallVector<StringRef> dynamic;
  SplitString(flags.dynamic, dynamic, ",");
  for (ProblemCase &problemCase : cases)
    for (StringRef name : dynamic)
      problemCase.dynamic.push_back(name.str());
  return cases;
}

/// `6`, `true`, `[1,0]`, or a text.
KnobValue parseValue(StringRef text) {
  int64_t number;
  if (!text.getAsInteger(10, number))
    return number;
  if (text == "true" || text == "false")
    return text == "true";
  if (text.starts_with("[") && text.ends_with("]")) {
    std::vector<int64_t> list;
    for (StringRef part : split(text.drop_front().drop_back(), ','))
      if (!part.trim().getAsInteger(10, number))
        list.push_back(number);
    return list;
  }
  return text.str();
}

Expected<std::vector<ExpertValues>> chooseExperts(const HarnessFlags &flags) {
  std::vector<std::pair<std::string, KnobValue>> values;
  SmallVector<StringRef> parts;
  SplitString(flags.values, parts, ";");
  for (StringRef part : parts) {
    auto [name, value] = part.trim().split('=');
    if (name.empty() || value.empty())
      return makeError("--set: '{0}' is no value; write --set='knob=6;other="
                       "true'",
                       part);
    values.push_back({name.trim().str(), parseValue(value.trim())});
  }
  std::vector<ExpertValues> experts;
  for (const std::string &name : flags.experts) {
    if (name == "all") {
      for (const Expert &expert : shippedExperts())
        experts.push_back({expert, values});
      continue;
    }
    auto expert = StringRef(name).ends_with(".mlir") ? Expert::read(name)
                                                     : findExpert(name);
    if (!expert)
      return expert.takeError();
    experts.push_back({std::move(*expert), values});
  }
  if (experts.empty() && !flags.untuned)
    return makeError("no expert: give --expert=NAME, --expert=FILE.mlir, "
                     "--expert=all or --untuned");
  return experts;
}

/// Where the user wants it, or on standard output.
Error put(StringRef path, StringRef text) {
  if (path == "-") {
    outs() << text;
    return Error::success();
  }
  return writeFile(path, text);
}

Error dumpCase(Harness &harness, const HarnessFlags &flags,
               const ProblemCase &problemCase, const ExpertValues &expert) {
  auto dumps = harness.dump(problemCase, expert);
  if (!dumps)
    return dumps.takeError();
  if (!flags.dumpIR.empty()) {
    if (Error error = createFolder(flags.dumpIR))
      return error;
    for (auto [index, stage] : enumerate(dumps->stages))
      if (Error error = writeFile(
              formatv("{0}/{1}-{2}.mlir", flags.dumpIR, index, stage.first)
                  .str(),
              stage.second))
        return error;
  }
  if (!flags.printAfter.empty()) {
    auto found = find_if(dumps->stages, [&](const auto &stage) {
      return stage.first == flags.printAfter;
    });
    if (found == dumps->stages.end())
      return makeError(
          "there is no stage '{0}'; there are {1}", flags.printAfter,
          join(map_range(dumps->stages,
                         [](const auto &stage) { return stage.first; }),
               ", "));
    outs() << found->second;
  }
  if (dumps->outcome != Outcome::Ok)
    return makeError("{0}: {1}", toString(dumps->outcome), dumps->reason);
  if (!flags.dumpAssembly.empty())
    if (Error error = put(flags.dumpAssembly, dumps->assembly))
      return error;
  if (!flags.dumpObject.empty())
    if (std::error_code code =
            sys::fs::copy_file(dumps->object, flags.dumpObject))
      return makeError("{0}: {1}", flags.dumpObject, code.message());
  if (flags.mca)
    outs() << (dumps->hotLoop.empty() ? std::string("there is no loop in it\n")
                                      : dumps->hotLoop + "\n" + dumps->mca);
  return Error::success();
}

void noteResult(const HarnessFlags &flags, const HarnessResult &result) {
  if (flags.json || result.ok())
    return;
  errs() << "note: " << result.problem << " " << toString(result.sizes) << ", "
         << (result.expert.empty() ? "untuned" : result.expert) << ": "
         << toString(result.outcome) << ": " << result.reason << "\n";
  if (!result.reproducer.empty())
    errs() << "note: to repeat it: " << result.reproducer << "/README\n";
}

Expected<std::vector<HarnessResult>> tuneAll(Harness &harness,
                                             const HarnessFlags &flags,
                                             ArrayRef<ProblemCase> cases,
                                             ArrayRef<ExpertValues> experts) {
  std::optional<Database> database;
  if (!flags.database.empty()) {
    auto opened = Database::open(flags.database, OpenMode::Write);
    if (!opened)
      return opened.takeError();
    database.emplace(std::move(*opened));
  }
  std::vector<HarnessResult> best;
  for (const ProblemCase &problemCase : cases)
    for (const ExpertValues &expert : experts) {
      auto space = harness.space(problemCase, expert.expert);
      if (!space)
        return space.takeError();
      auto searcher =
          createSearcher(flags.search, space->space, flags.harness.seed,
                         {space->defaultConfiguration});
      if (!searcher)
        return searcher.takeError();
      auto tuning =
          harness.tune(problemCase, expert.expert, **searcher, flags.tune,
                       flags.run, database ? &*database : nullptr);
      if (!tuning)
        return tuning.takeError();
      errs() << formatv("note: {0} {1}, {2}: {3} evaluations, {4} known "
                        "before\n",
                        problemCase.problem.name, toString(problemCase.sizes),
                        expert.expert.getName(), tuning->results.size(),
                        tuning->reused);
      if (tuning->best) {
        best.push_back(std::move(tuning->results[*tuning->best]));
        errs() << "note: best: " << toString(best.back().configuration) << "\n";
      }
    }
  return best;
}

Expected<std::vector<HarnessResult>> runAll(Harness &harness,
                                            const HarnessFlags &flags,
                                            ArrayRef<ProblemCase> cases,
                                            ArrayRef<ExpertValues> experts) {
  std::vector<HarnessResult> results;
  for (const ProblemCase &problemCase : cases) {
    if (flags.untuned) {
      auto result = harness.runUntuned(problemCase, flags.run);
      if (!result)
        return result.takeError();
      noteResult(flags, *result);
      results.push_back(std::move(*result));
    }
    // One expert that does not fit is the user's error, of several a row.
    if (experts.size() == 1) {
      auto result = harness.run(problemCase, experts[0], flags.run);
      if (!result)
        return result.takeError();
      noteResult(flags, *result);
      results.push_back(std::move(*result));
      continue;
    }
    auto swept = harness.sweep(problemCase, experts, flags.run,
                               [&](const HarnessResult &result) {
                                 noteResult(flags, result);
                                 return true;
                               });
    if (!swept)
      return swept.takeError();
    append_range(results, *swept);
  }
  return results;
}

/// One wrong or broken result and nothing else: the command failed.
Error summarize(const HarnessFlags &flags, ArrayRef<HarnessResult> results) {
  if (!flags.csv.empty())
    if (Error error = writeFile(flags.csv, toCSV(results)))
      return error;
  outs() << (flags.json ? toJSONText(results) : toTable(results));
  if (none_of(results, [](const HarnessResult &result) { return result.ok(); }))
    return flags.json || results.empty() ? makeError("nothing ran")
                                         : make_error<SilentFailure>();
  return Error::success();
}

Error writeExperts(const HarnessFlags &flags, ArrayRef<ExpertValues> experts) {
  if (Error error = createFolder(flags.expertFolder))
    return error;
  for (const ExpertValues &expert : experts)
    if (Error error = expert.expert.write(flags.expertFolder))
      return error;
  return Error::success();
}

Error run(HarnessFlags &flags) {
  if (flags.list) {
    printList();
    return Error::success();
  }
  auto experts = chooseExperts(flags);
  if (!experts)
    return experts.takeError();
  if (!flags.expertFolder.empty())
    return writeExperts(flags, *experts);
  if (flags.problem.empty() && flags.sizesFile.empty())
    return makeError("no problem; attune harness --list shows what there is");
  auto cases = chooseCases(flags);
  if (!cases)
    return cases.takeError();
  auto target = Target::forCPU(flags.targetCPU);
  if (!target)
    return target.takeError();
  flags.harness.target = std::move(*target);
  flags.run.check = !flags.noCheck;
  if (flags.inProcess)
    flags.harness.isolation = Isolation::InProcess;
  auto harness = Harness::create(flags.harness);
  if (!harness)
    return harness.takeError();
  if (flags.dumps()) {
    if (cases->size() != 1 || experts->size() != 1)
      return makeError("dumps are of one case with one expert, not of {0} "
                       "with {1}",
                       cases->size(), experts->size());
    return dumpCase(**harness, flags, cases->front(), experts->front());
  }
  auto results = flags.tune ? tuneAll(**harness, flags, *cases, *experts)
                            : runAll(**harness, flags, *cases, *experts);
  if (!results)
    return results.takeError();
  return summarize(flags, *results);
}

} // namespace

void addHarness(CLI::App &app, Action &chosen) {
  auto flags = std::make_shared<HarnessFlags>();
  CLI::App *command = app.add_subcommand(
      "harness", "known problems with experts, timed and checked\n"
                 "  attune harness matmul --sizes=m=512,n=512,k=512 "
                 "--expert=double_tiling");
  command->add_option("problem", flags->problem,
                      "a name (--list) or a file of a problem (.json)");
  command->add_flag("--list", flags->list, "show problems and experts");
  command
      ->add_option("--sizes", flags->sizes, "m=128,n=64,...; may be repeated")
      ->allow_extra_args(false);
  command->add_option("--sizes-file", flags->sizesFile,
                      "a table of sizes (CSV)");
  command->add_option("--dynamic", flags->dynamic,
                      "dimensions not known when compiling: m,n; * for all");
  command->add_option("--type", flags->type,
                      "element type: f32, f64, f16, ...");
  command
      ->add_option("--expert", flags->experts,
                   "a name (--list), a schedule (.mlir), or all; may be "
                   "repeated")
      ->allow_extra_args(false);
  command->add_option("--set", flags->values, "values of knobs: m_tile=6;...");
  command->add_flag("--untuned", flags->untuned,
                    "also what Attune does untuned");
  command->add_option("--write-experts", flags->expertFolder,
                      "write the experts as schedules to a folder, and end");
  command->add_option("--iterations", flags->run.iterations,
                      "timed samples (default 100)");
  command->add_option("--timeout", flags->run.timeoutSeconds,
                      "seconds for one run with all its iterations");
  command->add_option("--compile-timeout", flags->run.compileTimeoutSeconds,
                      "seconds for the compiler");
  command->add_flag("--no-check", flags->noCheck,
                    "do not compare results with plain loops");
  command->add_option("--threads", flags->harness.threads,
                      "threads of compiled programs (default 1)");
  command->add_option("--target-cpu", flags->targetCPU, "an LLVM CPU name");
  command->add_option("--seed", flags->harness.seed, "of input values");
  command->add_flag("--in-process", flags->inProcess,
                    "compile and run in this process");
  command->add_option("--reproducers", flags->harness.reproducerFolder,
                      "a folder for what repeats each failure");
  command->add_option("--tune", flags->tune, "search with so many evaluations");
  command->add_option("--search", flags->search,
                      "the searcher (as attune tune)");
  command->add_option("--database", flags->database,
                      "keep trials in this file, and know those in it");
  command->add_option("--dump-ir", flags->dumpIR,
                      "write the IR after each stage to a folder");
  command->add_option("--print-ir-after", flags->printAfter,
                      "print the IR after a stage");
  command->add_option("--dump-asm", flags->dumpAssembly,
                      "write the code to a file (-: print it)");
  command->add_option("--dump-obj", flags->dumpObject,
                      "write the object to a file");
  command->add_flag("--mca", flags->mca,
                    "print llvm-mca's summary of the loop");
  command->add_option("--csv", flags->csv, "write the results to a file");
  command->add_flag("--json", flags->json, "print the results as JSON");
  command->callback(
      [&chosen, flags] { chosen = [flags] { return run(*flags); }; });
}

} // namespace attune::cli
