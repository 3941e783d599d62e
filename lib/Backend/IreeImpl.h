//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// What the files of the IREE backend share. Internal.

#ifndef ATTUNE_LIB_BACKEND_IREEIMPL_H
#define ATTUNE_LIB_BACKEND_IREEIMPL_H

#include "CommandRun.h"
#include "IreeText.h"
#include "attune/Backend/Iree.h"

#include <atomic>

namespace attune {

/// The flag sets that are compared, the default first.
std::vector<IreeFlagSet> ireeFlagSets();

struct IreeBackend::Impl {
  IreeOptions options;
  std::string text;
  EntrySignature entry;
  std::vector<BackendEntry> entryList;
  std::vector<BackendDispatch> dispatchList;
  std::vector<std::string> noteList;
  std::vector<iree::Contraction> contractions; ///< As dispatchList.
  std::vector<IreeFlagSet> sets;
  size_t best = 0;                    ///< The fastest untuned set.
  size_t specBase = 0;                ///< The fastest that takes specs.
  std::vector<std::string> libraries; ///< Of the sets; empty: did not work.
  std::vector<std::vector<std::string>> dumps; ///< Of the sets' executables.
  std::vector<double> setSeconds;              ///< 0: did not work.
  std::vector<std::string> inputFiles;         ///< .npy
  std::vector<Tensor> references;              ///< Of the default flags.
  std::vector<Tolerance> tolerances;
  std::vector<double> compileTimes; ///< Of candidates that were fine.
  std::atomic<uint64_t> counter = 0;

  /// What a compilation gave: a library, and the dump of its executables.
  struct Compiled {
    CommandOutcome outcome;
    std::string library;
    std::vector<std::string> dumps;
  };
  Compiled compile(const IreeFlagSet &set, llvm::StringRef spec);
  /// With rows as a spec; an outcome that is Rejected when they did not arrive.
  Compiled compileWith(llvm::ArrayRef<iree::SpecRow> rows);

  /// The entry, once; its results go to `outputs` (.npy).
  CommandOutcome run(llvm::StringRef library,
                     llvm::ArrayRef<std::string> outputs, double limitSeconds,
                     llvm::ArrayRef<std::string> more = {});
  /// Once, compared with the references.
  CommandOutcome check(llvm::StringRef library, double limitSeconds);
  /// Seconds of a call on average, for at least `minSeconds` of calls.
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
  void findDispatches();
  void describeFlags();
  llvm::Expected<std::vector<iree::SpecRow>> rowsOf(const Spec &spec) const;
};

} // namespace attune

#endif // ATTUNE_LIB_BACKEND_IREEIMPL_H
