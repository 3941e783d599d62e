//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// The parent's side of a worker: one child process that does one job at a time.

#ifndef ATTUNE_MEASURE_WORKER_H
#define ATTUNE_MEASURE_WORKER_H

#include "attune/Measure/ControlGroup.h"
#include "attune/Measure/Protocol.h"
#include "attune/Support/Files.h"
#include "attune/Support/Subprocess.h"
#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

namespace attune {

/// What a job may use. Zero is no limit.
struct Limits {
  double wallSeconds = 60;
  double cpuSeconds = 0;
  /// Resident, of the child and all that it started; looked at every 10 ms.
  uint64_t memoryBytes = 4ull << 30;
  uint64_t outputBytes = 64ull << 20; ///< Printed on 1 and 2.
  uint64_t fileBytes = 4ull << 30;    ///< Of every file written.
  unsigned processes = 64;            ///< The child, and those that it started.
};

/// What a failure of the process means: the same death is a CompileError in a
/// compile worker and a Crash in a run process.
enum class JobPhase { Compile, Run };

/// Everything that can become of a job.
struct JobResult {
  Outcome outcome = Outcome::Ok;
  std::string reason;        ///< One line, when not ok.
  std::string detail;        ///< What the child printed, bounded to 64 KiB.
  llvm::json::Object answer; ///< All fields; empty when the child died.
  double seconds = 0;        ///< Wall time from sending to answer.
  uint64_t peakBytes = 0;    ///< Of resident memory, as far as seen.
};

struct WorkerOptions {
  std::vector<std::string> arguments; ///< The program and its arguments.
  std::vector<std::string> environment;
  std::vector<int> cores; ///< As in ProcessOptions: not those that measure.
  JobPhase phase = JobPhase::Run;
  double startSeconds = 30;      ///< Until it says hello.
  unsigned jobsPerProcess = 500; ///< Then a new one: leaks end.
  /// What the child starts ends with it, and none of it has a network.
  Containment containment = Containment::Namespace;
  /// Where it gets a control group, if that is allowed there.
  ControlGroupPlace controlGroups = ControlGroupPlace::ofThisProcess();
};

/// A child process with a temporary folder (its working folder and TMPDIR, so
/// paths in jobs are absolute). Started by the first call, reused while it is
/// healthy, replaced when it is not. Use it from one thread, which lives as
/// long as it (see Subprocess).
class WorkerProcess {
public:
  explicit WorkerProcess(WorkerOptions options);
  ~WorkerProcess();

  /// Sends a job ("kind" and its fields; "id" is added) and waits for what
  /// becomes of it. An error is none of the candidate's: the worker cannot be
  /// started, speaks another protocol, does not know the job, or the user
  /// interrupted twice. A worker killed by somebody else gets one more try.
  llvm::Expected<JobResult> call(const llvm::json::Object &job,
                                 const Limits &limits = {});

  /// Starts the process now rather than at the first call.
  llvm::Error start();
  llvm::Error startOnce(bool &wasKilled);
  /// Ends the process (and its folder) now; the next call starts a new one.
  void stop();
  /// From another thread: a call that runs, and later ones, end with an error.
  void cancel() { cancelled = true; }

  /// What the running child got of WorkerOptions::containment.
  std::optional<Containment> getContainment() const;
  /// The running child's control group; null where there is none.
  const ControlGroup *getControlGroup() const;
  /// 0 when none is running. For tests and messages.
  int getPid() const;
  /// Processes started so far.
  unsigned getStartCount() const { return startCount; }

private:
  struct Attempt;
  llvm::Expected<Attempt> attempt(const std::string &line, int64_t id,
                                  const Limits &limits);
  llvm::Expected<Attempt> answered(llvm::StringRef line, int64_t id);
  void joinControlGroup();
  void limitControlGroup(const Limits &limits);
  JobResult tooMuchMemory(const Limits &limits);
  JobResult died(const ProcessEnd &end, const Limits &limits);
  JobResult broken(Outcome outcome, const llvm::Twine &reason);
  std::optional<JobResult> overLimit(const Limits &limits, double seconds,
                                     double cpuAtStart, uint64_t outputAtStart,
                                     uint64_t &peakBytes);
  bool isInterrupted() const;
  Outcome crashOutcome() const;
  Outcome timeoutOutcome() const;

  WorkerOptions options;
  std::optional<TemporaryFolder> folder;
  std::optional<ControlGroup> group; ///< Outlives the process in it.
  std::optional<Subprocess> process;
  std::atomic<bool> cancelled = false;
  unsigned startCount = 0, jobsDone = 0;
  int64_t nextId = 1;
};

/// Workers that do jobs side by side; results come in the order of submission.
class WorkerPool {
public:
  /// `count` threads with a worker each; processes start with their first job.
  WorkerPool(WorkerOptions options, unsigned count);
  /// Drops jobs that have not begun and kills those that run.
  ~WorkerPool();

  void submit(llvm::json::Object job, const Limits &limits = {});
  /// The result of the oldest job not yet taken; there must be one.
  llvm::Expected<JobResult> next();
  /// Submitted and not yet taken.
  size_t pending() const;
  /// The oldest job is done: next() does not wait.
  bool isReady() const;

private:
  struct Job;
  void work(WorkerProcess &worker);

  mutable std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::shared_ptr<Job>> waiting, inOrder;
  bool ending = false;
  std::vector<std::unique_ptr<WorkerProcess>> workers;
  std::vector<std::thread> threads;
};

} // namespace attune

#endif // ATTUNE_MEASURE_WORKER_H
