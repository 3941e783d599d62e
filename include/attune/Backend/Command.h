//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Any compile and any run as a backend: the program is one dispatch, a
// candidate is a folder in which its build command ran, and measuring it is
// starting its run command next to that of the default configuration.

#ifndef ATTUNE_BACKEND_COMMAND_H
#define ATTUNE_BACKEND_COMMAND_H

#include "attune/Backend/Backend.h"
#include "attune/Backend/CommandFile.h"
#include "attune/Measure/Executor.h"
#include "attune/Support/Files.h"
#include <map>

namespace attune {

struct CommandOptions {
  std::string file;       ///< Path of the description.
  int threads = 1;        ///< `{threads}`.
  unsigned builders = 1;  ///< Builds side by side.
  std::string workFolder; ///< Candidates' folders; must exist.
};

/// What became of a command, as a candidate's outcome.
struct CommandOutcome {
  Outcome outcome = Outcome::Ok;
  std::string reason, output;
  double wallSeconds = 0, cpuSeconds = 0;
};

class CommandBackend final : public Backend {
public:
  static llvm::Expected<std::unique_ptr<CommandBackend>>
  create(CommandOptions options);

  const std::vector<BackendEntry> &entries() const override {
    return entryList;
  }
  const std::vector<BackendDispatch> &dispatches() const override {
    return dispatchList;
  }
  const std::vector<std::string> &notes() const override { return noteList; }
  int64_t dispatchVersion() const override { return 1; }
  std::string programHash() const override { return file.fingerprint; }
  llvm::Expected<std::vector<CandidateSpace>>
  spaces(const BackendDispatch &dispatch) override;
  llvm::Expected<std::string> buildProgram(Build build) override;
  llvm::Expected<std::string> buildTuned(const Spec &spec, ApplyResult &applied,
                                         llvm::StringRef output) override;
  llvm::Expected<std::string> buildDispatch(const BackendDispatch &dispatch,
                                            Build build) override;
  llvm::Expected<std::vector<CompiledCandidate>>
  compileCandidates(const BackendDispatch &dispatch,
                    llvm::ArrayRef<Configuration> configurations) override;
  llvm::Error dumpDispatch(const BackendDispatch &dispatch,
                           llvm::StringRef path,
                           llvm::ArrayRef<std::string> inputFiles) override;
  void removeLibrary(llvm::StringRef library) override;
  std::string specName() const override { return "spec.json"; }
  llvm::Error writeSpec(const Spec &spec, llvm::StringRef path) const override;

  /// Runs what this backend built; the backend must outlive it.
  std::unique_ptr<Executor> createExecutor();

  /// One run of a candidate (a folder), checked; `seconds` is the metric.
  /// Nothing takes longer than `limitSeconds`.
  CommandOutcome runOnce(llvm::StringRef library, double limitSeconds,
                         double &seconds);

private:
  CommandBackend(CommandOptions options, CommandFile file);
  llvm::Expected<std::string> buildOne(const Configuration &configuration);
  void buildSideBySide(llvm::MutableArrayRef<CompiledCandidate> results);
  /// Knobs in the order of the file.
  Configuration inOrder(const Configuration &configuration) const;
  CommandOutcome checkOutput(const Configuration &configuration,
                             llvm::StringRef folder, llvm::StringRef output);
  CommandOutcome start(const CommandLine &line,
                       const Configuration &configuration,
                       llvm::StringRef folder, double limitSeconds);

  struct Candidate {
    TemporaryFolder folder;
    Configuration configuration;
  };
  CommandOptions options;
  CommandFile file;
  std::vector<BackendEntry> entryList;
  std::vector<BackendDispatch> dispatchList;
  std::vector<std::string> noteList;
  std::map<std::string, Candidate> candidates; ///< By their folders.
  std::string baseline;
  std::optional<std::string> sameText; ///< Of the defaults' output.
};

} // namespace attune

#endif // ATTUNE_BACKEND_COMMAND_H
