//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// What the harness keeps to itself. Internal to the room.

#ifndef ATTUNE_LIB_HARNESS_HARNESSIMPL_H
#define ATTUNE_LIB_HARNESS_HARNESSIMPL_H

#include "attune/Backend/CompileJob.h"
#include "attune/Dispatch/Dispatches.h"
#include "attune/Harness/Harness.h"
#include "attune/Measure/Executor.h"
#include "attune/Measure/Runner.h"
#include "attune/Schedule/Library.h"
#include "attune/Support/Clock.h"
#include "attune/Support/Files.h"
#include "mlir/IR/MLIRContext.h"
#include <map>

namespace attune {

/// A case as dispatches, and the one of them that experts work on: the one with
/// the most work.
struct PreparedCase {
  std::string problemPath, importedPath, dispatchedPath, hash;
  Program program; ///< dispatched
  DispatchInfo dispatch;
  std::string inputLabel; ///< `?=8`: of dynamic dimensions
  /// As schedules look at it.
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp function;
};

/// Values of a case in files.
struct CaseValues {
  std::vector<std::string> inputs, references;
  std::vector<Tolerance> tolerances;
};

/// A folder of schedules with the expert's in it.
struct LoadedExpert {
  std::string folder;
  std::unique_ptr<ScheduleLibrary> library;
  const Schedule *schedule = nullptr;
};

/// What to compile, and how the compiler's process is set up for it.
struct CompileRequest {
  CompileJob job;
  double timeoutSeconds = 60;
  std::vector<std::string> environment = {};
};

/// What became of compiling or running something.
struct StepResult {
  Outcome outcome = Outcome::Ok;
  std::string reason, detail;
  double seconds = 0;
};

struct Harness::Impl {
  explicit Impl(HarnessOptions options);

  std::string file(const llvm::Twine &name) const {
    return (folder + "/" + name).str();
  }

  //===-- Prepare.cpp -----------------------------------------------------===//
  llvm::Expected<PreparedCase *> prepare(const ProblemCase &problemCase);
  llvm::Error form(const ProblemCase &problemCase, PreparedCase &prepared);
  llvm::Error chooseDispatch(const ProblemCase &problemCase,
                             PreparedCase &prepared);
  llvm::Expected<const CaseValues *> values(const ProblemCase &problemCase,
                                            PreparedCase &prepared,
                                            const RunOptions &options);
  llvm::Error writeReferences(const ProblemCase &problemCase,
                              PreparedCase &prepared, const RunOptions &options,
                              CaseValues &values);
  llvm::Expected<std::vector<Tensor>>
  referenceOf(PreparedCase &prepared, const std::vector<std::string> &inputs);

  //===-- Configure.cpp ---------------------------------------------------===//
  llvm::Expected<LoadedExpert *> load(const Expert &expert);
  /// Kept between calls: a search asks for the same again and again.
  llvm::Expected<const ExpertSpace *>
  space(PreparedCase &prepared, const Expert &expert, llvm::StringRef problem);
  llvm::Expected<ExpertSpace> readSpace(PreparedCase &prepared,
                                        const LoadedExpert &loaded,
                                        llvm::StringRef problem);
  /// The configuration with these values; `rejected` says why it is none.
  llvm::Expected<Configuration> complete(const ExpertSpace &space,
                                         const ExpertValues &expert,
                                         std::string &rejected);

  //===-- Execute.cpp -----------------------------------------------------===//
  llvm::Expected<StepResult> compile(const CompileRequest &request);
  /// The job for a case: with a configuration or, without an expert, untuned.
  llvm::Expected<CompileJob> jobFor(PreparedCase &prepared,
                                    const LoadedExpert *expert,
                                    const Configuration *configuration);
  Executor &executor();

  //===-- Run.cpp ---------------------------------------------------------===//
  llvm::Expected<HarnessResult> begin(const ProblemCase &problemCase,
                                      llvm::StringRef expert);
  /// `expert` null: untuned. `baseline`: a library that is timed alongside.
  llvm::Expected<HarnessResult> run(const ProblemCase &problemCase,
                                    const ExpertValues *expert,
                                    const RunOptions &options,
                                    llvm::StringRef baseline,
                                    std::vector<double> *baselineSeconds);
  llvm::Error measure(const ProblemCase &problemCase, PreparedCase &prepared,
                      llvm::StringRef library, const RunOptions &options,
                      llvm::StringRef baseline, HarnessResult &result,
                      std::vector<double> *baselineSeconds);
  /// An untuned library of the case, compiled once.
  llvm::Expected<std::string> untunedLibrary(PreparedCase &prepared);

  //===-- Reproducer.cpp --------------------------------------------------===//
  llvm::Error saveReproducer(const ProblemCase &problemCase,
                             const ExpertValues *expert,
                             const RunOptions &options, HarnessResult &result);

  HarnessOptions options;
  std::string worker, runner, schedules;
  std::string folder; ///< Of intermediate files.
  std::optional<TemporaryFolder> temporary;
  mlir::MLIRContext context;
  SystemClock clock;
  std::unique_ptr<WorkerProcess> compiler;
  std::unique_ptr<Executor> runs;

  std::map<std::string, std::unique_ptr<PreparedCase>> cases;
  std::map<std::string, std::unique_ptr<CaseValues>> caseValues;
  std::map<std::string, std::unique_ptr<LoadedExpert>> experts;
  std::map<const PreparedCase *, std::string> untuned;
  std::map<std::pair<const PreparedCase *, const LoadedExpert *>,
           std::unique_ptr<ExpertSpace>>
      spaces;
  int64_t next = 0; ///< For names of files.
};

} // namespace attune

#endif // ATTUNE_LIB_HARNESS_HARNESSIMPL_H
