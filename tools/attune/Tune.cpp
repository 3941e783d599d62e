//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Tune.h"

#include "attune/Report/Report.h"
#include "attune/Support/Error.h"
#include "attune/Support/Interrupt.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <cerrno>
#include <csignal>

using namespace llvm;

namespace attune::cli {
namespace {

/// `model.attune` for model.mlir, in the current folder.
std::string defaultFolder(StringRef model) {
  return (sys::path::stem(model) + ".attune").str();
}

Expected<std::vector<EntryInputs>> collectInputs(const LoadedModel &loaded,
                                                 const ModelFlags &flags) {
  std::vector<EntryInputs> inputs;
  const auto &entries = loaded.backend->signatures();
  if (entries.size() > 1 && !flags.inputs.empty() &&
      flags.inputs != std::vector<std::string>{"random"})
    return makeError("several entry functions: --input needs --entry to say "
                     "which one it is for");
  for (const EntrySignature &entry : entries) {
    auto sets = makeInputs(entry, flags.inputs, flags.seed);
    if (!sets)
      return sets.takeError();
    for (InputSet &set : *sets)
      inputs.push_back({entry.name, set.label, std::move(set.tensors),
                        entries.size() == 1 ? std::move(set.sizes)
                                            : std::vector<SizeRange>()});
  }
  return inputs;
}

/// As a shell takes it.
std::string quote(StringRef argument) {
  if (argument.find_if_not([](char c) {
        return isAlnum(c) || StringRef("-_=./:,@+%?").contains(c);
      }) == StringRef::npos)
    return argument.str();
  std::string text = "'";
  for (char c : argument)
    text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

/// The options that were given, each as `--name=value`; `skip` are left out.
/// What was said after -- is among `flags`, as options.
std::vector<std::string> givenArguments(const CLI::App &command,
                                        const TuneFlags &flags,
                                        StringSet<> skip) {
  for (StringRef name : {"MODEL", "WORDS", "--iree-flag"})
    skip.insert(name);
  std::vector<std::string> arguments;
  if (!flags.model.model.empty())
    arguments.push_back(flags.model.model);
  for (const std::string &flag : flags.ireeFlags)
    arguments.push_back("--iree-flag=" + flag);
  for (const CLI::Option *option : command.get_options()) {
    if (skip.contains(option->get_name()) || option->count() == 0)
      continue;
    for (const std::string &value : option->results())
      arguments.push_back(option->get_name() + "=" + value);
  }
  return arguments;
}

//===----------------------------------------------------------------------===//
// Going on with a folder of results
//===----------------------------------------------------------------------===//

/// Whose words a command line is.
enum class Source { User, SessionFile };

/// A folder of results may be a stranger's. Its command tunes a program; it
/// does not run others, and writes nothing elsewhere.
Error refuseHarm(const TuneFlags &flags) {
  std::string harm;
  if (StringRef(flags.search).starts_with("exec:"))
    harm = "run '" + StringRef(flags.search).drop_front(5).str() + "'";
  else if (StringRef(flags.model.model).ends_with(".json"))
    harm = "run the commands in '" + flags.model.model + "'";
  else if (!flags.ireeFlags.empty() || !flags.ireeRunFlags.empty())
    harm = "give iree-compile flags of its own";
  else if (!flags.events.empty() || !flags.model.saveFlags.empty())
    harm = "write to '" +
           (flags.events.empty() ? flags.model.saveFlags : flags.events) + "'";
  if (harm.empty())
    return Error::success();
  std::string line = "attune tune";
  for (const std::string &argument : flags.arguments)
    line += " " + quote(argument);
  return makeError("session.json would {0}, and may be a stranger's; to go on, "
                   "give the command itself: {1}",
                   harm, line);
}

void addTuneOf(Source source, CLI::App &app, Action &chosen);

Error resume(StringRef folder) {
  auto arguments = readSessionFile(folder);
  if (!arguments)
    return arguments.takeError();
  CLI::App app;
  Action chosen;
  addTuneOf(Source::SessionFile, app, chosen);
  std::vector<std::string> all = {"tune"};
  append_range(all, *arguments);
  std::reverse(all.begin(), all.end()); // As CLI11 takes them.
  try {
    app.parse(all);
  } catch (const CLI::ParseError &error) {
    return makeError("{0}/session.json: {1}", folder, error.what());
  }
  return chosen();
}

//===----------------------------------------------------------------------===//
// The session
//===----------------------------------------------------------------------===//

/// Appends a line an event; a watcher that cannot be told is no reason to stop.
class EventFile {
public:
  EventFile(StringRef path, Progress &progress)
      : path(path), progress(progress) {}

  void append(json::Object event) {
    if (path.empty() || failed)
      return;
    std::string line = formatv("{0}\n", json::Value(std::move(event))).str();
    std::error_code code;
    raw_fd_ostream file(path, code, sys::fs::OF_Append);
    if (!code) {
      file.SetUnbuffered(); // One write a line.
      file << line;
      code = file.error();
      file.clear_error();
    }
    failed = bool(code);
    if (failed)
      progress.note(formatv("warning: {0}: no more events are written ({1})",
                            path, code.message())
                        .str());
  }

private:
  std::string path;
  Progress &progress;
  bool failed = false;
};

/// A dispatch that was dumped with its values is tuned with them.
bool hasValues(const CpuBackend &backend) {
  return any_of(backend.signatures(), [](const EntrySignature &entry) {
    return any_of(entry.inputs, [](const ValueSignature &input) {
      return !input.file.empty();
    });
  });
}

Error chooseByProfile(const HotFlags &flags, SessionOptions &options) {
  auto coverage = flags.coverageFraction();
  if (!coverage)
    return coverage.takeError();
  options.coverage = *coverage;
  auto profile = flags.readProfile();
  if (!profile)
    return profile.takeError();
  options.profile = std::move(*profile);
  auto peaks =
      findPeaks(options.resultFolder, options.target.cpu, options.threads);
  if (!peaks)
    return peaks.takeError();
  options.peaks = std::move(*peaks);
  return Error::success();
}

/// What a tuner that was killed between writing and renaming left in the result
/// folder: NAME.tmp-PROCESS-NUMBER, of no living process.
void removeHalfWritten(StringRef folder) {
  std::error_code code;
  for (sys::fs::directory_iterator entry(folder, code), end;
       !code && entry != end; entry.increment(code)) {
    StringRef name = sys::path::filename(entry->path());
    StringRef process = name.rsplit(".tmp-").second.split('-').first;
    pid_t number = 0;
    if (!process.empty() && !process.getAsInteger(10, number) && number > 0 &&
        ::kill(number, 0) != 0 && errno == ESRCH)
      sys::fs::remove(entry->path());
  }
}

/// The result folder's database, or one in memory when it cannot be written and
/// that is what the user wants.
Expected<Database> openDatabase(const TuneFlags &flags, StringRef path,
                                SessionOptions &options, Progress &progress) {
  auto database = Database::open(path, OpenMode::Write);
  if (database || !flags.keepGoing)
    return database;
  progress.note("warning: " + toString(database.takeError()) +
                "; going on in memory");
  options.unwritableDatabase = path.str();
  return Database::inMemory();
}

Error dumpDispatches(CpuBackend &backend, const SessionReport &report,
                     StringRef folder) {
  for (const BackendDispatch &dispatch : backend.dispatches())
    for (const DispatchReport &row : report.dispatches)
      if (row.name == dispatch.name && row.trials.total() > 0) {
        if (Error error = createFolder((folder + "/dispatches").str()))
          return error;
        if (Error error = backend.dumpDispatch(
                dispatch,
                (folder + "/dispatches/" + dispatch.name + ".mlir").str()))
          return error;
      }
  return Error::success();
}

} // namespace

SessionOptions makeOptions(const TuneFlags &flags, int threads,
                           StringRef workFolder, const Budget &budget,
                           StringRef folder, Target target) {
  SessionOptions options;
  options.model = flags.model.model;
  options.command = flags.command;
  options.resultFolder = folder.str();
  options.workFolder = workFolder.str();
  options.budget = budget;
  options.search = flags.search;
  options.seed = flags.model.seed;
  options.threads = threads;
  options.target = std::move(target);
  options.versions = currentVersions();
  if (flags.keepGoing)
    options.whenUnwritable = WhenUnwritable::GoOnInMemory;
  return options;
}

Error showResults(const TuneFlags &flags, const SessionReport &report) {
  if (flags.model.json)
    outs() << summaryJSON(report) << '\n';
  else {
    printTable(report, outs());
    printClosing(report, outs());
  }
  if (report.stopReason == "interrupted")
    return makeError("interrupted; the same command goes on from here");
  if (!report.program.outputsAgree)
    return makeError("the tuned program's results differ from the reference");
  return Error::success();
}

Error prepareFolder(const TuneFlags &flags, StringRef folder) {
  if (Error error = createFolder(folder))
    return error;
  removeHalfWritten(folder);
  return writeSessionFile(flags, folder);
}

Expected<SessionReport> runTuning(const TuneFlags &flags, Subject subject,
                                  SessionOptions options, SystemClock &clock,
                                  Progress &progress) {
  auto database = openDatabase(flags, options.resultFolder + "/trials.db",
                               options, progress);
  if (!database)
    return database.takeError();
  for (const std::string &note : subject.backend.notes())
    progress.note("note: " + note);
  progress.note(formatv("seed {0}, {1} threads, {2}", options.seed,
                        options.threads, options.target.cpu)
                    .str());
  EventFile events(flags.events, progress);
  auto report = runSession(
      {subject.backend, std::move(subject.createExecutor), *database, clock,
       progress, [&](json::Object event) { events.append(std::move(event)); }},
      options, std::move(subject.inputs));
  progress.finish();
  return report;
}

Progress makeProgress(const TuneFlags &flags, Clock &clock) {
  bool isSilent = flags.logLevel == "error";
  return Progress(
      isSilent ? nulls() : errs(),
      isSilent ? Progress::Style::Quiet : Progress::styleFor(errs()), clock);
}

namespace {

Error tuneModel(const TuneFlags &flags, const Budget &budget,
                StringRef folder) {
  auto loaded = loadModelForInputs(flags.model);
  if (!loaded)
    return loaded.takeError();
  auto inputs = collectInputs(*loaded, flags.model);
  if (!inputs)
    return inputs.takeError();
  if (Error error = prepareFolder(flags, folder))
    return error;
  auto runner = findRunner();
  if (!runner)
    return runner.takeError();
  auto target = Target::forCPU(flags.model.targetCPU);
  if (!target)
    return target.takeError();
  SystemClock clock;
  Progress progress = makeProgress(flags, clock);
  SessionOptions options =
      makeOptions(flags, loaded->threads, loaded->work.getPath(), budget,
                  folder, std::move(*target));
  options.keepValues = flags.capture || hasValues(*loaded->backend);
  if (Error error = chooseByProfile(flags.hot, options))
    return error;
  auto report =
      runTuning(flags,
                {*loaded->backend,
                 [&](std::vector<std::string> environment) {
                   return std::make_unique<LocalExecutor>(*runner, environment);
                 },
                 std::move(*inputs)},
                std::move(options), clock, progress);
  if (!report)
    return report.takeError();
  if (Error error = dumpDispatches(*loaded->backend, *report, folder))
    return error;
  return showResults(flags, *report);
}

Error tune(const TuneFlags &flags) {
  catchInterrupts();
  auto budget = parseBudget(flags.budget);
  if (!budget)
    return budget.takeError();
  StringRef model = flags.model.model;
  std::string folder =
      flags.output.empty() ? defaultFolder(model) : flags.output;
  if (flags.backend == "iree")
    return tuneWithIree(flags, *budget, folder);
  if (Error error =
          refuseGiven({{!flags.ireeFlags.empty(), "--iree-flag (and what "
                                                  "follows --)"},
                       {!flags.ireeRunFlags.empty(), "--iree-run-flag"}},
                      "is for --backend=iree"))
    return error;
  return model.ends_with(".json") ? tuneCommands(flags, *budget, folder)
                                  : tuneModel(flags, *budget, folder);
}

} // namespace

namespace {

void addTuneOf(Source source, CLI::App &app, Action &chosen) {
  auto *command = app.add_subcommand(
      "tune", "make a program faster: MLIR, or commands (.json)\n"
              "  attune tune model.mlir --budget=10m");
  auto flags = std::make_shared<TuneFlags>();
  flags->model.addTo(*command);
  flags->hot.addTo(*command);
  command->get_option("MODEL")->required(false);
  command
      ->add_option("--backend", flags->backend,
                   "what compiles and runs the program: cpu (Attune's own) or "
                   "iree")
      ->check(CLI::IsMember({"cpu", "iree"}));
  command
      ->add_option("--iree-flag", flags->ireeFlags,
                   "a flag for every iree-compile; may be repeated")
      ->allow_extra_args(false);
  command
      ->add_option("--iree-run-flag", flags->ireeRunFlags,
                   "a flag for every run: --parameters=model=weights.irpa")
      ->allow_extra_args(false);
  command->add_option("WORDS", flags->words,
                      "after --: flags of iree-compile, or your command of it");
  command->add_option("--budget", flags->budget,
                      "time (90s, 10m, 2h) or number of trials; default 10m");
  command->add_option("--search", flags->search,
                      "auto, random, exhaustive, or the engine of somebody "
                      "else: optuna, opentuner, \"exec:PROGRAM ARGUMENTS\"");
  command->add_option("-o,--output", flags->output,
                      "folder of results (default: MODEL.attune)");
  command->add_option("--resume", flags->resume,
                      "go on with the session in this folder of results");
  command->add_option("--flags", flags->flagFile,
                      "take the program, its inputs and threads from a file "
                      "that attune record or --save-flags wrote");
  command
      ->add_option("--log-level", flags->logLevel,
                   "on standard error: error (nothing else), info (progress "
                   "and notes), debug (each trial, too)")
      ->check(CLI::IsMember({"error", "info", "debug"}));
  command->add_flag("--capture", flags->capture,
                    "tune dispatches with the values that their inputs have in "
                    "a run, not random ones");
  command->add_flag("--keep-going", flags->keepGoing,
                    "if trials cannot be written, go on in memory");
  command->add_option("--events", flags->events,
                      "append a line of JSON for each trial to this file");
  command->callback([&chosen, flags, command, source] {
    if (Error error = takeIreeWords(*flags))
      throw CLI::ValidationError("--", toString(std::move(error)));
    bool resumes = !flags->resume.empty();
    if (resumes && command->count_all() > 2)
      throw CLI::ValidationError(
          "--resume", "the folder has the whole command; give nothing else");
    if (!resumes && flags->model.model.empty() && flags->flagFile.empty())
      throw CLI::RequiredError("MODEL");
    // A folder of results does not write elsewhere when it is taken up again.
    StringSet<> notKept = {"--resume"};
    if (source == Source::User)
      for (StringRef name : {"--events", "--save-flags"})
        notKept.insert(name);
    flags->arguments = givenArguments(*command, *flags, std::move(notKept));
    flags->command = "attune tune";
    for (const std::string &argument : givenArguments(
             *command, *flags,
             {"--resume", "--budget", "--output", "--json", "--keep-going",
              "--events", "--log-level", "--save-flags"}))
      flags->command += " " + quote(argument);
    chosen = [flags, resumes, source] {
      if (resumes)
        return resume(flags->resume);
      if (!flags->flagFile.empty()) {
        if (Error error = applyFlagFile(flags->flagFile, flags->model))
          return error;
        if (Error error = takeRecordedIreeFlags(*flags))
          return error;
      }
      if (source == Source::SessionFile)
        if (Error error = refuseHarm(*flags))
          return error;
      return tune(*flags);
    };
  });
}

} // namespace

void addTune(CLI::App &app, Action &chosen) {
  addTuneOf(Source::User, app, chosen);
}

} // namespace attune::cli
