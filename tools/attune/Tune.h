//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Between the files of `attune tune`: one for each kind of backend.

#ifndef ATTUNE_TOOLS_TUNE_H
#define ATTUNE_TOOLS_TUNE_H

#include "Flags.h"

#include "attune/Session/Session.h"

namespace attune::cli {

struct TuneFlags {
  ModelFlags model;
  HotFlags hot;
  std::string budget = "10m", search = "auto", output, resume, events;
  std::string flagFile, logLevel = "info";
  std::string backend = "cpu";
  /// Of every iree-compile, and of every run of what it made.
  std::vector<std::string> ireeFlags, ireeRunFlags;
  std::vector<std::string> words; ///< After `--`.
  bool keepGoing = false, capture = false;
  /// All that were given, one way; but for those that write elsewhere.
  std::vector<std::string> arguments;
  std::string command; ///< Those that decide what is found, as a person types.
};

/// What a session tunes, and how that is run.
struct Subject {
  Backend &backend;
  std::function<std::unique_ptr<Executor>(std::vector<std::string>)>
      createExecutor;
  std::vector<EntryInputs> inputs;
};

/// session.json in a folder of results: the command, for --resume.
llvm::Error writeSessionFile(const TuneFlags &flags, llvm::StringRef folder);
/// The arguments of the session in `folder`; the current folder becomes the one
/// they were given in.
llvm::Expected<std::vector<std::string>>
readSessionFile(llvm::StringRef folder);

/// The folder of results, with the command in it.
llvm::Error prepareFolder(const TuneFlags &flags, llvm::StringRef folder);

SessionOptions makeOptions(const TuneFlags &flags, int threads,
                           llvm::StringRef workFolder, const Budget &budget,
                           llvm::StringRef folder, Target target);

/// Progress on standard error, as --log-level says.
Progress makeProgress(const TuneFlags &flags, Clock &clock);

llvm::Expected<SessionReport> runTuning(const TuneFlags &flags, Subject subject,
                                        SessionOptions options,
                                        SystemClock &clock, Progress &progress);
llvm::Error showResults(const TuneFlags &flags, const SessionReport &report);

/// What every backend but the embedded one works in.
struct Workplace {
  TemporaryFolder work;
  Target target;
  int threads = 1;
};
llvm::Expected<Workplace> makeWorkplace(const TuneFlags &flags);

/// `{0}` of the first of `flags` that was given, as an error; {is given, name}.
llvm::Error refuseGiven(llvm::ArrayRef<std::pair<bool, llvm::StringRef>> flags,
                        llvm::StringRef reason);

/// What follows `--` becomes flags of iree-compile; a command of iree-compile
/// names the program, too.
llvm::Error takeIreeWords(TuneFlags &flags);
/// Flags of recorded commands.
llvm::Error takeRecordedIreeFlags(TuneFlags &flags);

llvm::Error tuneCommands(const TuneFlags &flags, const Budget &budget,
                         llvm::StringRef folder);
llvm::Error tuneWithIree(const TuneFlags &flags, const Budget &budget,
                         llvm::StringRef folder);

} // namespace attune::cli

#endif // ATTUNE_TOOLS_TUNE_H
