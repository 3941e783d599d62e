//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// The embedded compiler as a backend: Import, Dispatch, Schedule and Codegen in
// compile workers.

#ifndef ATTUNE_BACKEND_CPU_H
#define ATTUNE_BACKEND_CPU_H

#include "attune/Backend/Backend.h"
#include "attune/Import/Program.h"
#include "attune/Schedule/Target.h"
#include <functional>

namespace attune {

struct CpuOptions {
  std::string model; ///< Path of the program.
  std::string entry; ///< One entry function; empty: every public one.
  Target target;
  int threads = 1; ///< Of the compiled program.
  /// The program gets a variant for each of these.
  std::vector<EntrySizes> sizes;
  std::string schedules;      ///< Folder; empty: the installed one.
  std::string workFolder;     ///< For intermediate files; must exist.
  std::string cacheFolder;    ///< Of objects; empty: in the work folder.
  double compileSeconds = 60; ///< Limit for one candidate.
  uint64_t compileBytes = 4ull << 30;
  /// Limits for reading the program and forming its dispatches.
  double prepareSeconds = 600;
  uint64_t prepareBytes = 12ull << 30;
  /// The compile worker: a program that is started with `worker`; empty: the
  /// `attune` beside this executable.
  std::string worker;
};

/// The folder of schedules beside this executable, in the build or the install
/// tree.
llvm::Expected<std::string> findSchedules();
/// `attune`, for compile workers, and `attune-runner`, beside this executable.
llvm::Expected<std::string> findTool(llvm::StringRef name);

class CpuBackend : public Backend {
public:
  static llvm::Expected<std::unique_ptr<CpuBackend>> create(CpuOptions options);
  ~CpuBackend() override;

  const std::vector<BackendEntry> &entries() const override;
  const std::vector<BackendDispatch> &dispatches() const override;
  const std::vector<std::string> &notes() const override;
  int64_t dispatchVersion() const override;
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
  llvm::Error
  dumpDispatch(const BackendDispatch &dispatch, llvm::StringRef path,
               llvm::ArrayRef<std::string> inputFiles = {}) override;

  /// As imported, for making inputs; without variants.
  const std::vector<EntrySignature> &signatures() const;

private:
  struct Impl;
  explicit CpuBackend(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace attune

#endif // ATTUNE_BACKEND_CPU_H
