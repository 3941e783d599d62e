//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// IREE as a backend, on llvm-cpu: iree-compile and the runtime tools as
// processes with limits. A candidate is the whole program, compiled with a
// tuning spec for one root op, next to the program with the same flags and
// without. What wins is compared with the best flags that there are.

#ifndef ATTUNE_BACKEND_IREE_H
#define ATTUNE_BACKEND_IREE_H

#include "attune/Backend/Backend.h"
#include "attune/Import/Program.h"
#include "attune/Measure/Executor.h"
#include "attune/Measure/Statistics.h"

namespace attune {

/// Paths of IREE's tools, and what the compiler says it is.
struct IreeTools {
  std::string compile, opt, runModule, benchmarkModule, profile;
  std::string version; ///< `3.13.0rc20261016`

  /// In PATH, $VIRTUAL_ENV/bin, or .venv/bin of a folder above this
  /// executable; with `only`, in that folder. The error says what to install.
  static llvm::Expected<IreeTools> find(llvm::StringRef only = "");
};

struct IreeOptions {
  std::string model;              ///< Path; MLIR as text.
  std::string entry;              ///< Empty: the only public function.
  std::vector<std::string> flags; ///< Of the user, for every compilation.
  /// Of the user, for every run: `--parameters=model=weights.irpa`.
  std::vector<std::string> runFlags;
  int threads = 1;        ///< Of the program.
  unsigned builders = 1;  ///< Compilations side by side.
  std::string workFolder; ///< Must exist.
  std::string choiceFile; ///< Remembers the chosen flags; may be empty.
  IreeTools tools;
  double compileSeconds = 120; ///< Limit of a candidate, until it is learned.
};

class IreeBackend final : public Backend {
public:
  /// Reads the program's text.
  static llvm::Expected<std::unique_ptr<IreeBackend>>
  create(IreeOptions options);
  ~IreeBackend() override;

  /// Compiles the untuned program with each flag set, checks and measures it
  /// with these inputs, and looks for what specs can change. Everything below
  /// works after this.
  llvm::Error prepare(llvm::ArrayRef<Tensor> inputs);

  /// The entry, for making inputs.
  const EntrySignature &signature() const;

  const std::vector<BackendEntry> &entries() const override;
  const std::vector<BackendDispatch> &dispatches() const override;
  const std::vector<std::string> &notes() const override;
  int64_t dispatchVersion() const override { return 1; }
  std::string programHash() const override;
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
  /// flags.txt has the flags of the fastest program, a line each; spec.mlir
  /// beside it, which they name, is there only when a spec was faster.
  std::string specName() const override;
  llvm::Error writeSpec(const Spec &spec, llvm::StringRef path) const override;

  /// The program of the last writeSpec next to that with the default flags,
  /// O3 or the user's.
  llvm::Expected<Speedup> compareWithDefault();

  /// Runs what this backend built; the backend must outlive it.
  std::unique_ptr<Executor> createExecutor();

  struct Impl;

private:
  explicit IreeBackend(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace attune

#endif // ATTUNE_BACKEND_IREE_H
