//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// The seam between whoever wants something measured and where it is: this
// machine's run process now, other machines later, fakes in tests.

#ifndef ATTUNE_MEASURE_EXECUTOR_H
#define ATTUNE_MEASURE_EXECUTOR_H

#include "attune/Measure/Jobs.h"
#include "attune/Measure/Library.h"
#include "attune/Measure/Worker.h"

namespace attune {

class Executor {
public:
  virtual ~Executor() = default;

  /// What a candidate does wrong is an outcome. An error is a job that makes no
  /// sense (an input that does not fit), a baseline that cannot be loaded, or a
  /// run process that cannot be started.
  virtual llvm::Expected<Measurement> measure(const MeasureJob &job,
                                              const Limits &limits) = 0;
  virtual llvm::Expected<RunResult> run(const RunJob &job,
                                        const Limits &limits) = 0;
  /// The entries and dispatches of a compiled library, which is a stranger's
  /// until it was asked; an error when it is none or dies.
  virtual llvm::Expected<Signature> signature(llvm::StringRef library) = 0;
};

/// Runs in one attune-runner process, replaced when it is not healthy. Use it
/// from one thread.
class LocalExecutor final : public Executor {
public:
  /// `runner` is the path of attune-runner; findRunner() by default.
  /// `environment` is added to the run process's ("KMP_BLOCKTIME=0").
  explicit LocalExecutor(std::string runner,
                         std::vector<std::string> environment = {});

  llvm::Expected<Measurement> measure(const MeasureJob &job,
                                      const Limits &limits) override;
  llvm::Expected<RunResult> run(const RunJob &job,
                                const Limits &limits) override;

  llvm::Expected<Signature> signature(llvm::StringRef library) override;

  /// The process behind it, for a fresh start before a final comparison (stop).
  WorkerProcess &getWorker() { return worker; }

private:
  WorkerProcess worker;
};

/// attune-runner beside the running program (bin/), as installed, or where the
/// build puts it (../attune-runner/). An error says where it was looked for.
llvm::Expected<std::string> findRunner();

} // namespace attune

#endif // ATTUNE_MEASURE_EXECUTOR_H
