//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// What the cpu backend keeps to itself. Internal to the room.

#ifndef ATTUNE_LIB_BACKEND_CPUIMPL_H
#define ATTUNE_LIB_BACKEND_CPUIMPL_H

#include "attune/Backend/CompileJob.h"
#include "attune/Backend/Cpu.h"
#include "attune/Dialect/Attune.h"
#include "attune/Dispatch/Dispatches.h"
#include "attune/Measure/Worker.h"
#include "attune/Schedule/Library.h"
#include "mlir/IR/MLIRContext.h"
#include <map>

namespace attune {

/// `model.mlir:12` where a file is known, else the name there is, or nothing.
std::string describePlace(mlir::Location location);
/// Scalar operations of all linalg ops of one call.
double countOperations(mlir::func::FuncOp dispatch);
/// Bytes of what is read and written by one call.
double countBytes(mlir::func::FuncOp dispatch);

struct CpuBackend::Impl {
  explicit Impl(CpuOptions options)
      : options(std::move(options)), context(makeRegistry()) {
    context.loadAllAvailableDialects();
  }

  static mlir::DialectRegistry makeRegistry() {
    mlir::DialectRegistry registry;
    registerAllDialects(registry);
    return registry;
  }

  std::string file(const llvm::Twine &name) const {
    return (options.workFolder + "/" + name).str();
  }

  llvm::Error load();
  llvm::Error listEntries();
  void addDispatch(const DispatchInfo &info);
  WorkerOptions workerOptions() const;
  CompileJob baseJob(std::string program, std::string output) const;
  WorkerPool &workers();
  WorkerProcess &builderProcess();
  llvm::Expected<std::vector<int64_t>>
  buildParts(const CompileJob &whole, llvm::ArrayRef<int64_t> numbers,
             int64_t parts);
  llvm::Error compileInParts(CompileJob &job);
  llvm::Expected<std::string> build(CompileJob job);
  llvm::Expected<mlir::func::FuncOp> preparedDispatch(llvm::StringRef name);
  ConfigurationCheck configurationCheck();
  llvm::Expected<CpuBackend *> forSizes(llvm::ArrayRef<EntrySizes> sizes);
  llvm::Expected<std::string> dispatchFile(const BackendDispatch &dispatch);

  CpuOptions options;
  mlir::MLIRContext context;
  std::string worker;
  std::optional<ScheduleLibrary> library;
  Program program; ///< dispatched
  std::string importedPath, dispatchedPath;
  std::vector<BackendEntry> entries;
  std::vector<EntrySignature> signatures;
  std::vector<BackendDispatch> dispatches;
  std::vector<std::string> functions; ///< of dispatches, in the module's order
  /// Prepared copies of dispatch functions: what schedules look at.
  std::map<std::string, mlir::OwningOpRef<mlir::ModuleOp>> prepared;
  std::vector<std::string> notes;
  std::map<std::string, std::string> places; ///< of dispatches
  std::string hash;
  /// The same program for other sizes.
  std::vector<std::unique_ptr<CpuBackend>> others;
  std::unique_ptr<WorkerProcess> builder;
  std::unique_ptr<WorkerPool> pool;
  int64_t nextLibrary = 0;
  /// Of candidates that compiled.
  std::vector<double> compileSeconds;
  /// A candidate that takes far longer than others will not be a good one: ten
  /// times their median, once there are some.
  double compileLimit() const;
};

} // namespace attune

#endif // ATTUNE_LIB_BACKEND_CPUIMPL_H
