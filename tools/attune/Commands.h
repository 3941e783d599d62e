//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// The commands of `attune`. Each adds itself to the command line; its function
// runs when it was chosen and returns the exit status.

#ifndef ATTUNE_TOOLS_COMMANDS_H
#define ATTUNE_TOOLS_COMMANDS_H

#include "attune/Backend/Cpu.h"
#include "attune/Database/Database.h"
#include "attune/Import/Inputs.h"
#include "attune/Measure/Executor.h"
#include "attune/Profile/Hot.h"
#include "attune/Support/Files.h"
#include <CLI/CLI.hpp>
#include <functional>

namespace attune::cli {

/// What the chosen command does; errors are printed by main as one line.
using Action = std::function<llvm::Error()>;

/// Adds a command with its help; `chosen` is set when the user names it.
void addTune(CLI::App &app, Action &chosen);
void addCompile(CLI::App &app, Action &chosen);
void addRun(CLI::App &app, Action &chosen);
void addBench(CLI::App &app, Action &chosen);
void addProfile(CLI::App &app, Action &chosen);
void addSpec(CLI::App &app, Action &chosen);
void addMatch(CLI::App &app, Action &chosen);
void addRecord(CLI::App &app, Action &chosen);
void addDispatches(CLI::App &app, Action &chosen);
void addSpace(CLI::App &app, Action &chosen);
void addReplay(CLI::App &app, Action &chosen);
void addDoctor(CLI::App &app, Action &chosen);
void addHarness(CLI::App &app, Action &chosen);
void addDatabase(CLI::App &app, Action &chosen);
void addWorker(CLI::App &app, Action &chosen);

/// A failure that has been told already: only the exit status is left.
class SilentFailure : public llvm::ErrorInfo<SilentFailure> {
public:
  static char ID;
  void log(llvm::raw_ostream &) const override {}
  std::error_code convertToErrorCode() const override {
    return llvm::inconvertibleErrorCode();
  }
};

/// Flags that every command on a program has.
struct ModelFlags {
  std::string model;
  std::string entry;
  std::vector<std::string> inputs;
  int threads = 0; ///< 0: all cores.
  std::string targetCPU = "host";
  uint64_t seed = 0;
  bool json = false;
  std::string saveFlags; ///< A flag file to add the command to; empty: none.

  void addTo(CLI::App &command);
};

/// A loaded program, the folder its intermediate files are in, and a process
/// to run it.
struct LoadedModel {
  TemporaryFolder work;
  std::unique_ptr<CpuBackend> backend;
  std::unique_ptr<LocalExecutor> executor;
  int threads = 1;
};
/// With variants for `sizes`.
llvm::Expected<LoadedModel> loadModel(const ModelFlags &flags,
                                      std::vector<EntrySizes> sizes = {});
/// With variants for the sizes that the --input flags give to open dimensions.
llvm::Expected<LoadedModel> loadModelForInputs(const ModelFlags &flags);

/// Flags of commands that choose dispatches by their time.
struct HotFlags {
  std::string profile;
  std::string coverage = "95%";

  void addTo(CLI::App &command);
  llvm::Expected<double> coverageFraction() const;
  /// Nothing if none was given.
  llvm::Expected<std::optional<Profile>> readProfile() const;
};

/// What this machine can do: measured, and kept in `folder`/machine.json, so
/// that a session that goes on sees the same numbers.
llvm::Expected<MachinePeaks> findPeaks(llvm::StringRef folder,
                                       llvm::StringRef cpu, int threads);

/// What a profile wants to know of the dispatches, in their order.
std::vector<DispatchFacts> factsOf(const Backend &backend);

struct ProfileOptions {
  std::string spec;      ///< Path of the configurations; empty: untuned.
  double seconds = 1;    ///< For every entry and input set.
  bool counters = false; ///< The processor's, too.
};

/// Runs every entry with every input set, recorded: a profile of one run of
/// each, on average, with the sizes that dispatches of open shapes saw.
llvm::Expected<Profile> profileModel(LoadedModel &loaded,
                                     const ModelFlags &model,
                                     const ProfileOptions &options);

/// Of Attune, LLVM and dispatch formation: trials are reused between equal
/// ones.
Versions currentVersions();

/// Runs every entry and input set once; the first inputs of every dispatch
/// become `folder`/dN.aM.npy, the sizes of all `folder`/sizes.txt. `afterRun`
/// is called with the entry's name after each.
llvm::Error captureInputs(
    LoadedModel &loaded, const ModelFlags &model, llvm::StringRef folder,
    llvm::function_ref<llvm::Error(llvm::StringRef entry)> afterRun = nullptr);

/// Whether random values of its static types will not do.
bool needsCapture(const BackendDispatch &dispatch);

/// Writes a dispatch as a program, and beside it values of its inputs from
/// `captures` (a folder; empty: none): all as captured, or floats random. Gives
/// its row of the manifest.
llvm::Expected<llvm::json::Object>
dumpWithInputs(LoadedModel &loaded, const BackendDispatch &dispatch,
               llvm::StringRef folder, llvm::StringRef captures,
               bool asCaptured, uint64_t seed);

/// Looks in a compiled library (a path) for what a spec's entries say; with an
/// untuned one, also whether it made a difference.
llvm::Error verifyInCode(LoadedModel &loaded, llvm::StringRef library,
                         llvm::StringRef untuned, ApplyResult &applied);

/// `version`, `applied`, `verified`, `entries`, `untouched`, `warnings`.
llvm::json::Object toJSON(const ApplyResult &applied);

/// The entry that was named, or the only one.
llvm::Expected<const EntrySignature *>
chooseEntry(llvm::ArrayRef<EntrySignature> entries, llvm::StringRef name);

/// Writes tensors to .npy files `prefixN.npy` in `folder`.
llvm::Expected<std::vector<std::string>>
writeTensors(llvm::ArrayRef<Tensor> tensors, llvm::StringRef folder,
             llvm::StringRef prefix);

/// Prints `note: ...` on stderr.
void printNotes(llvm::ArrayRef<std::string> notes);

/// `@file.npy` or `file.npy`.
std::string stripAt(llvm::StringRef text);

} // namespace attune::cli

#endif // ATTUNE_TOOLS_COMMANDS_H
