//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// What a process and all that it started use, from /proc. Orphans are found
// because they fall to the keeper at the root.

#include "Spawn.h"
#include "llvm/ADT/StringExtras.h"
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

using namespace attune;
using llvm::StringRef;

/// The begin of a small file; empty when the process has just ended.
static StringRef readProc(const char *path, char *buffer, size_t bytes) {
  Descriptor file(::open(path, O_RDONLY | O_CLOEXEC));
  ssize_t count = file.get() < 0 ? -1 : ::read(file.get(), buffer, bytes);
  return StringRef(buffer, std::max<ssize_t>(0, count));
}

/// Children are listed with the thread that made them.
static void addChildren(int pid, size_t most, std::vector<int> &pids) {
  char path[64], text[4096];
  std::snprintf(path, sizeof(path), "/proc/%d/task", pid);
  DIR *threads = ::opendir(path);
  if (!threads)
    return;
  while (dirent *thread = ::readdir(threads)) {
    if (thread->d_name[0] == '.')
      continue;
    std::snprintf(path, sizeof(path), "/proc/%d/task/%.20s/children", pid,
                  thread->d_name);
    StringRef rest = readProc(path, text, sizeof(text));
    while (!rest.empty() && pids.size() < most) {
      int child;
      auto [first, others] = rest.split(' ');
      rest = others;
      if (!first.getAsInteger(10, child))
        pids.push_back(child);
    }
  }
  ::closedir(threads);
}

static double cpuSecondsOf(int pid) {
  clockid_t clock;
  timespec time;
  if (::clock_getcpuclockid(pid, &clock) || ::clock_gettime(clock, &time))
    return 0;
  return static_cast<double>(time.tv_sec) + 1e-9 * time.tv_nsec;
}

/// Pages in memory, and those of them that may be another's too.
static std::pair<uint64_t, uint64_t> residentOf(int pid) {
  char path[64], text[256];
  std::snprintf(path, sizeof(path), "/proc/%d/statm", pid);
  StringRef rest = readProc(path, text, sizeof(text)).split(' ').second;
  uint64_t resident = 0, shared = 0;
  auto [first, others] = rest.split(' ');
  if (first.getAsInteger(10, resident) ||
      others.split(' ').first.getAsInteger(10, shared))
    return {0, 0};
  return {resident, shared};
}

ProcessUsage attune::usageOfTree(int root, int program,
                                 unsigned mostProcesses) {
  std::vector<int> pids = {root};
  ProcessUsage usage;
  static const uint64_t pageBytes = ::sysconf(_SC_PAGESIZE);
  for (size_t i = 0; i < pids.size(); ++i) {
    int pid = pids[i];
    addChildren(pid, size_t(mostProcesses) + 2, pids);
    if (pid == root && root != program)
      continue; // the keeper
    auto [resident, shared] = residentOf(pid);
    usage.residentBytes +=
        pageBytes *
        (pid == program ? resident : resident - std::min(resident, shared));
    usage.cpuSeconds += cpuSecondsOf(pid);
    ++usage.processes;
  }
  return usage;
}
