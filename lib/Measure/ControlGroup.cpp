//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Measure/ControlGroup.h"

#include "attune/Support/Error.h"
#include "attune/Support/Files.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

using namespace attune;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

ControlGroupPlace ControlGroupPlace::ofThisProcess() {
  const char *parent = std::getenv("ATTUNE_CGROUP");
  return {"", parent ? parent : ""};
}

//===----------------------------------------------------------------------===//
// Where we are
//===----------------------------------------------------------------------===//

/// Files of /proc and /sys have no size; those that are not there are empty.
static std::string readAll(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFileAsStream(path);
  return buffer ? (*buffer)->getBuffer().str() : std::string();
}

/// The group of `controller` in /proc/self/cgroup: `4:memory:/user`, or `0::/`
/// of version 2, whose controllers have no name there.
static std::string ownGroup(StringRef text, StringRef controller) {
  for (StringRef line : llvm::split(text, '\n')) {
    auto [controllers, path] = line.split(':').second.split(':');
    for (StringRef name : llvm::split(controllers, ','))
      if (name == controller && !path.empty())
        return path.str();
  }
  return "";
}

static bool isDelegated(const std::string &folder) {
  struct stat status = {};
  if (::stat(folder.c_str(), &status))
    return false;
  if (status.st_uid != 0 && status.st_uid == ::geteuid())
    return true;
  for (const char *mark : {"user.delegate", "trusted.delegate"}) {
    char value = 0;
    if (::getxattr(folder.c_str(), mark, &value, 1) == 1 && value == '1')
      return true;
  }
  return false;
}

static bool hasWord(StringRef text, StringRef word) {
  for (StringRef part : llvm::split(text.trim(), ' '))
    if (part == word)
      return true;
  return false;
}

/// Folders below which ours are made.
static Expected<std::vector<std::string>>
findParents(const ControlGroupPlace &place, int &version) {
  std::string hierarchy = place.root + "/sys/fs/cgroup";
  std::string own = readAll(place.root + "/proc/self/cgroup");
  auto folderOf = [&](StringRef controller) {
    std::string group =
        place.parent.empty() ? ownGroup(own, controller) : place.parent;
    std::string mount =
        hierarchy + (controller.empty() ? "" : ("/" + controller).str());
    return group.empty() ? "" : mount + group;
  };
  std::vector<std::string> folders;
  if (llvm::sys::fs::exists(hierarchy + "/cgroup.controllers")) {
    version = 2;
    folders = {folderOf("")};
    std::string given = readAll(folders[0] + "/cgroup.subtree_control");
    for (StringRef controller : {"memory", "pids"})
      if (!hasWord(given, controller))
        return makeError("{0}: its cgroup.subtree_control does not give {1} to "
                         "groups in it",
                         folders[0].empty() ? hierarchy : folders[0],
                         controller);
  } else {
    version = 1;
    folders = {folderOf("memory"), folderOf("pids")};
  }
  for (const std::string &folder : folders) {
    if (folder.empty() || !llvm::sys::fs::is_directory(folder))
      return makeError("{0}: no control groups for memory and processes",
                       folder.empty() ? hierarchy : folder);
    if (place.parent.empty() && !isDelegated(folder))
      return makeError("{0}: nobody delegated it to us; ATTUNE_CGROUP names a "
                       "group to use instead",
                       folder);
  }
  return folders;
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

/// The kernel makes a group's files with its folder; no others can be made.
static Error writeValue(const std::string &path, const std::string &value) {
  int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  bool isWritten = file >= 0 && ::write(file, value.data(), value.size()) ==
                                    ssize_t(value.size());
  int code = errno;
  if (file >= 0)
    ::close(file);
  return isWritten ? Error::success()
                   : makeError("{0}: {1}", path, std::strerror(code));
}

/// Groups of tuners that were killed.
static void removeForsaken(const std::string &parent) {
  std::error_code code;
  for (llvm::sys::fs::directory_iterator entry(parent, code), end;
       entry != end && !code; entry.increment(code)) {
    StringRef name = llvm::sys::path::filename(entry->path());
    int pid = 0;
    if (name.consume_front("attune-") && !name.consumeInteger(10, pid) &&
        pid > 0 && ::kill(pid, 0) && errno == ESRCH)
      ::rmdir(entry->path().c_str());
  }
}

Expected<ControlGroup> ControlGroup::create(const ControlGroupPlace &place) {
  static std::atomic<unsigned> count = 0;
  int version = 0;
  auto parents = findParents(place, version);
  if (!parents)
    return parents.takeError();
  std::string name =
      "/attune-" + std::to_string(::getpid()) + "-" + std::to_string(count++);
  ControlGroup group(version, {});
  for (const std::string &parent : *parents) {
    removeForsaken(parent);
    if (::mkdir((parent + name).c_str(), 0755))
      return makeError("{0}: {1}", parent + name, std::strerror(errno));
    group.folders.push_back(parent + name);
  }
  return group;
}

Error ControlGroup::limit(uint64_t memoryBytes, uint64_t tasks) {
  auto text = [&](uint64_t value, const char *none) {
    return value ? std::to_string(value) : none;
  };
  Error error = version == 2 ? writeValue(folders[0] + "/memory.max",
                                          text(memoryBytes, "max"))
                             : writeValue(folders[0] + "/memory.limit_in_bytes",
                                          text(memoryBytes, "-1"));
  if (error)
    return error;
  return writeValue(folders.back() + "/pids.max", text(tasks, "max"));
}

Error ControlGroup::add(int pid) {
  for (const std::string &folder : folders)
    if (Error error = writeValue(folder + "/cgroup.procs", std::to_string(pid)))
      return error;
  return Error::success();
}

uint64_t ControlGroup::outOfMemoryKills() const {
  std::string text = readAll(
      folders[0] + (version == 2 ? "/memory.events" : "/memory.oom_control"));
  for (StringRef line : llvm::split(StringRef(text), '\n')) {
    uint64_t count = 0;
    if (line.consume_front("oom_kill ") && !line.trim().getAsInteger(10, count))
      return count;
  }
  return 0;
}

void ControlGroup::remove() {
  for (const std::string &folder : folders)
    // Until the kernel has buried the last process it says EBUSY.
    for (int i = 0; i < 100 && ::rmdir(folder.c_str()) && errno == EBUSY; ++i)
      ::usleep(1000);
  folders.clear();
}

ControlGroup &ControlGroup::operator=(ControlGroup &&other) {
  remove();
  version = other.version;
  folders = std::move(other.folders);
  other.folders.clear();
  return *this;
}

ControlGroup::~ControlGroup() { remove(); }

//===----------------------------------------------------------------------===//
// What there is
//===----------------------------------------------------------------------===//

Expected<Bounds> attune::findBounds(const ControlGroupPlace &place) {
  ProcessOptions probe;
  probe.arguments = {"/bin/true"};
  probe.containment = Containment::Namespace;
  auto process = Subprocess::spawn(probe);
  if (!process)
    return process.takeError();
  Bounds bounds;
  bounds.containment = process->getContainment();
  if (auto group = ControlGroup::create(place))
    bounds.controlGroups = group->getVersion();
  else
    bounds.whyNoGroups = llvm::toString(group.takeError());
  return bounds;
}

std::string attune::describe(const Bounds &bounds) {
  std::string processes = bounds.containment == Containment::Namespace
                              ? "processes and network bounded by namespaces"
                              : "processes bounded by their keeper";
  if (bounds.controlGroups)
    return llvm::formatv("{0}, memory by control groups (version {1})",
                         processes, bounds.controlGroups);
  return processes + ", memory by a watchdog";
}
