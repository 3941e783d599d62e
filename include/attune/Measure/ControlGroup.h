//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// A worker's process tree in a control group (cgroups(7), version 1 or 2),
// where we may make one: what the watchdog sees only every 10 ms, the kernel
// bounds at once. Without one, the watchdog is what there is.

#ifndef ATTUNE_MEASURE_CONTROLGROUP_H
#define ATTUNE_MEASURE_CONTROLGROUP_H

#include "attune/Support/Subprocess.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>
#include <vector>

namespace attune {

/// Where groups may be made.
struct ControlGroupPlace {
  /// Put before /proc and /sys: tests give a made-up machine.
  std::string root;
  /// The group below which ours are made, as /proc/self/cgroup writes it:
  /// `/attune`. Empty: our own, if it was delegated to us (Linux,
  /// Documentation/admin-guide/cgroup-v2.rst, "Delegation"): it belongs to a
  /// user who is not root, or carries systemd's mark. A group that a service
  /// manager keeps to itself is left alone, also by root.
  std::string parent;

  /// This machine; `parent` from the environment variable ATTUNE_CGROUP.
  static ControlGroupPlace ofThisProcess();
};

/// A group that is removed with this object. Its processes have ended by then.
class ControlGroup {
public:
  /// An error says in one line why there is none: no such controllers, a
  /// read-only file system, nobody delegated it.
  static llvm::Expected<ControlGroup> create(const ControlGroupPlace &place);
  ControlGroup(ControlGroup &&other) = default;
  ControlGroup &operator=(ControlGroup &&other);
  ~ControlGroup();

  /// 1 or 2.
  int getVersion() const { return version; }
  /// From now on; 0 is no limit. `tasks` are processes and threads.
  llvm::Error limit(uint64_t memoryBytes, uint64_t tasks);
  /// A process; what it starts from now on is in it, too.
  llvm::Error add(int pid);
  /// How often the kernel killed a process of it for its memory.
  uint64_t outOfMemoryKills() const;

private:
  ControlGroup(int version, std::vector<std::string> folders)
      : version(version), folders(std::move(folders)) {}
  void remove();

  int version;
  /// Version 2: one. Version 1: of memory, and of pids.
  std::vector<std::string> folders;
};

/// What bounds a candidate on this machine.
struct Bounds {
  Containment containment = Containment::Group;
  int controlGroups = 0;   ///< Their version; 0: there are none.
  std::string whyNoGroups; ///< One line.
};

/// Found out by starting a program as run processes are started. An error is
/// one that they will have, too.
llvm::Expected<Bounds> findBounds(const ControlGroupPlace &place);

/// `processes and network bounded by namespaces, memory by control groups
/// (version 2)`, `... by a watchdog`.
std::string describe(const Bounds &bounds);

} // namespace attune

#endif // ATTUNE_MEASURE_CONTROLGROUP_H
