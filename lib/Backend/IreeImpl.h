//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// What the files of the IREE backend share. Internal.

#ifndef ATTUNE_LIB_BACKEND_IREEIMPL_H
#define ATTUNE_LIB_BACKEND_IREEIMPL_H

#include "CommandRun.h"
#include "IreeRoots.h"
#include "IreeText.h"
#include "attune/Backend/Iree.h"

#include <atomic>

namespace attune {
namespace iree {

/// Flags of iree-compile that are compared before specs are, and what became of
/// the program with them.
struct FlagSet {
  std::vector<std::string> flags;
  std::string library;            ///< Empty: did not work.
  std::vector<std::string> dumps; ///< Of its executables.
  double seconds = 0;             ///< 0: did not work, or was far too slow.
};

/// Of a compilation: a target, unless the user names one, then `chosen`, then
/// the user's.
std::vector<std::string> allFlags(llvm::ArrayRef<std::string> chosen,
                                  llvm::ArrayRef<std::string> user);

/// Whether matchers find something in what is compiled so.
bool takesSpecs(llvm::ArrayRef<std::string> flags);

} // namespace iree

struct IreeBackend::Impl {
  IreeOptions options;
  std::string text;
  std::string modelPath; ///< What is compiled: the user's, or with weights.
  std::string userSpec;  ///< Path of a spec in the user's flags.
  std::string userSpecText;
  EntrySignature entry;
  std::vector<BackendEntry> entryList;
  std::vector<BackendDispatch> dispatchList;
  std::vector<std::string> noteList;
  std::vector<iree::RootOp> roots; ///< As dispatchList.
  std::vector<iree::FlagSet> sets; ///< The default first.
  size_t best = 0;                 ///< The fastest untuned set.
  size_t specBase = 0;             ///< The fastest that takes specs.
  /// The program with the flags of specBase, up to where specs matter; may be
  /// empty.
  std::string sources;
  std::string tuned; ///< Library that was built last with a merged spec.
  std::vector<std::string> inputFiles; ///< .npy
  std::vector<Tensor> references;      ///< Of the default flags.
  std::vector<Tolerance> tolerances;
  double programCompileSeconds = 0; ///< With the default flags.
  std::vector<double> compileTimes; ///< Of candidates that were fine.
  std::atomic<uint64_t> counter = 0;

  /// What a compilation gave: a library, and the dump of its executables.
  struct Compiled {
    CommandOutcome outcome;
    std::string library;
    std::vector<std::string> dumps;
  };
  /// From `from`, the model or `sources`, with a spec (empty: the user's).
  Compiled compile(llvm::StringRef from, llvm::ArrayRef<std::string> flags,
                   llvm::StringRef spec, double limitSeconds);
  /// With rows as a spec; an outcome that is Rejected when they did not arrive.
  Compiled compileWith(llvm::ArrayRef<iree::SpecRow> rows,
                       llvm::StringRef from);
  /// Writes rows as a spec, with the user's before them.
  CommandOutcome writeSpecFile(llvm::ArrayRef<iree::SpecRow> rows,
                               llvm::StringRef path);

  /// The entry, once; its results go to `outputs` (.npy).
  CommandOutcome run(llvm::StringRef library,
                     llvm::ArrayRef<std::string> outputs, double limitSeconds,
                     llvm::ArrayRef<std::string> more = {});
  /// Once, compared with the references.
  CommandOutcome check(llvm::StringRef library, double limitSeconds);
  /// Seconds of a call: the least of several averages, for at least
  /// `minSeconds` of calls.
  CommandOutcome time(llvm::StringRef library, double minSeconds,
                      double limitSeconds, double &seconds,
                      llvm::ArrayRef<std::string> more = {});
  /// Seconds and calls in one run of the program, of each dispatch.
  llvm::Error profile(std::vector<double> &seconds, std::vector<double> &calls);

  CommandOutcome start(std::vector<std::string> arguments, double limitSeconds,
                       JobPhase phase);
  double compileLimit() const;
  std::string newPath(llvm::StringRef ending);
  std::string choiceKey() const;
  bool readChoice();
  llvm::Error writeChoice() const;
  llvm::Error makeReferences();
  llvm::Error chooseFlags();
  void searchFlags();
  /// What is needed of the sets are the default, the best and the base.
  void dropOthers();
  /// Compiles and checks sets that are not, side by side.
  void buildSets(size_t begin);
  void buildSet(iree::FlagSet &set);
  /// Adds a set, unless there is an equal one; flags that the user has are not
  /// ours to set.
  void addSet(llvm::ArrayRef<std::string> base,
              llvm::ArrayRef<std::string> added);
  void measureSets(llvm::ArrayRef<size_t> which, int rounds);
  size_t fastest(llvm::function_ref<bool(const iree::FlagSet &)> fits) const;
  llvm::Error takeUserSpec();
  llvm::Error addMissingWeights();
  void makeSources();
  void findDispatches();
  void addDispatch(const iree::RootOp &root);
  void describeFlags();
  llvm::Expected<std::vector<iree::SpecRow>> rowsOf(const Spec &spec) const;
};

} // namespace attune

#endif // ATTUNE_LIB_BACKEND_IREEIMPL_H
