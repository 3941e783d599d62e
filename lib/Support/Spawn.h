//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Starting a process: what Subprocess.cpp needs of Spawn.cpp.

#ifndef ATTUNE_LIB_SUPPORT_SPAWN_H
#define ATTUNE_LIB_SUPPORT_SPAWN_H

#include "attune/Support/Subprocess.h"

namespace attune {

/// A file descriptor that is closed at the end.
class Descriptor {
public:
  Descriptor() = default;
  explicit Descriptor(int number) : number(number) {}
  Descriptor(Descriptor &&other) : number(other.number) { other.number = -1; }
  Descriptor &operator=(Descriptor &&other);
  ~Descriptor() { close(); }
  int get() const { return number; }
  void close();

private:
  int number = -1;
};

struct SpawnedProcess {
  int pid = -1;
  Descriptor pidDescriptor; ///< pidfd; none where the kernel has none.
  Descriptor output;        ///< What it prints; does not block.
  Descriptor linesTo;       ///< A socket; does not block.
  Descriptor linesFrom;     ///< Does not block.
  /// Of a contained program, `pid` is its keeper's (attune/Support/Keeper.h).
  Containment containment = Containment::Group;
  int programPid = -1;
  Descriptor keeperStatus; ///< Says how the program ended; does not block.
};

llvm::Expected<SpawnedProcess> spawnProcess(const ProcessOptions &options);

/// How a process ended, from wait's status.
ProcessEnd toProcessEnd(int status, double cpuSeconds);

/// Of `root` and its descendants. A root that is not the program is its keeper,
/// and does not count. Ends at one more than `mostProcesses`.
ProcessUsage usageOfTree(int root, int program, unsigned mostProcesses);

/// Waits for a process that is known to have ended or to be about to.
ProcessEnd reapProcess(int pid);

} // namespace attune

#endif // ATTUNE_LIB_SUPPORT_SPAWN_H
