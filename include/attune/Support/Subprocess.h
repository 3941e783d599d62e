//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// A program started without a shell, with limits, whose output is captured and
// which cannot outlive us.

#ifndef ATTUNE_SUPPORT_SUBPROCESS_H
#define ATTUNE_SUPPORT_SUBPROCESS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attune {

/// Where lines to and from the program travel.
enum class LineChannel {
  None,
  Descriptors, ///< It reads descriptor 3 and writes 4; 1 and 2 are captured.
  Standard,    ///< It reads 0 and writes 1; 2 is captured.
};

/// What becomes of the processes that a program starts.
enum class Containment {
  /// They are killed with the program's process group; what leaves the group
  /// (setsid, a daemon) lives on.
  Group,
  /// They end with the program, and with us, whatever they do: attune-keeper,
  /// to whom orphans fall (PR_SET_CHILD_SUBREAPER), looks for them.
  Subreaper,
  /// The kernel ends them: a pid namespace. And there is no network. Where the
  /// kernel does not permit it: Subreaper.
  Namespace,
};

/// Zero is no limit.
struct ProcessLimits {
  uint64_t cpuSeconds = 0;        ///< RLIMIT_CPU: SIGXCPU.
  uint64_t fileBytes = 0;         ///< RLIMIT_FSIZE of every file: SIGXFSZ.
  uint64_t addressSpaceBytes = 0; ///< RLIMIT_AS: not for sanitizer builds.
};

struct ProcessOptions {
  std::vector<std::string> arguments;   ///< [0]: a path, or a name in PATH.
  std::vector<std::string> environment; ///< "NAME=value", over ours.
  std::string workingFolder;            ///< Empty: ours.
  LineChannel channel = LineChannel::None;
  size_t capturedBytes = 64 << 10; ///< Of the output, half head, half tail.
  size_t lineBytes = 64 << 20;     ///< A longer line is an error of the peer.
  ProcessLimits limits;
  std::vector<int> cores; ///< May run on these only; empty: as we may.
  Containment containment = Containment::Group;
};

/// How a process ended.
struct ProcessEnd {
  int exitCode = 0;      ///< When signal is 0.
  int signal = 0;        ///< SIGSEGV, ...
  double cpuSeconds = 0; ///< User and system.

  bool succeeded() const { return exitCode == 0 && signal == 0; }
  /// `exit status 3`, `SIGSEGV (Segmentation fault)`.
  std::string describe() const;
};

/// Of a program and everything that it started.
struct ProcessUsage {
  uint64_t residentBytes = 0; ///< Without what the others share with it.
  double cpuSeconds = 0;      ///< Of those that still run.
  unsigned processes = 0;
};

/// A running program, in a process group of its own (Ctrl-C of the terminal
/// does not reach it). The destructor kills it and what Containment says. If we
/// die, the kernel kills the program (PR_SET_PDEATHSIG); that signal also comes
/// when the *thread* that spawned it ends, so spawn from a thread that lives as
/// long.
class Subprocess {
public:
  static llvm::Expected<Subprocess> spawn(const ProcessOptions &options);
  Subprocess(Subprocess &&);
  Subprocess &operator=(Subprocess &&);
  ~Subprocess();

  enum class Event { Line, Ended, Timeout };

  /// Waits for a line or the end, `seconds` at most, and keeps the program's
  /// output flowing meanwhile. Lines come before the end. A signal that we
  /// catch counts as a Timeout. After Ended, nothing of the group is left.
  Event wait(double seconds);

  /// Queues bytes for the program; wait() moves them.
  void send(llvm::StringRef bytes);

  /// The next complete line, without its newline.
  std::optional<std::string> takeLine();
  /// What follows the last newline: half a line, after the end.
  llvm::StringRef unfinishedLine() const;
  /// The program wrote a line over ProcessOptions::lineBytes.
  bool isLineTooLong() const;

  /// SIGKILL for all of it; wait() then reports the end.
  void kill();

  /// Nothing before wait() returned Ended.
  const std::optional<ProcessEnd> &getEnd() const;

  /// Captured output since the last call; its middle is left out, with a
  /// remark, where it is over capturedBytes.
  std::string takeOutput();
  /// All that was written so far, kept or not.
  uint64_t outputBytes() const;

  /// Now; zeros when it is gone. Costs some 10 microseconds a thread, and ends
  /// when it has seen more processes than that.
  ProcessUsage usage(unsigned mostProcesses = 1000) const;
  int getPid() const;
  /// What it got of ProcessOptions::containment.
  Containment getContainment() const;
  /// Changes RLIMIT_FSIZE of the running program; 0 is no limit.
  void limitFileBytes(uint64_t bytes);

private:
  struct State;
  explicit Subprocess(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

/// What a program that was run to its end left.
struct ProcessResult {
  ProcessEnd end;
  bool timedOut = false;
  std::string output; ///< 1 and 2 together, bounded.
};

/// Runs a program to its end, or kills it after `seconds` (0: never).
llvm::Expected<ProcessResult> runProcess(const ProcessOptions &options,
                                         double seconds = 0);

/// `SIGSEGV (Segmentation fault)`.
std::string describeSignal(int signal);

} // namespace attune

#endif // ATTUNE_SUPPORT_SUBPROCESS_H
