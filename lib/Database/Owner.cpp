//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Impl.h"

#include "llvm/Support/MemoryBuffer.h"
#include <unistd.h>

using namespace llvm;
using namespace attune;

static std::string readWord(const Twine &path) {
  auto buffer = MemoryBuffer::getFileAsStream(path);
  return buffer ? (*buffer)->getBuffer().trim().str() : std::string();
}

/// When a process started, in ticks since boot; empty if there is none. The
/// second field of the file is a name that may hold spaces and parentheses.
static std::string startTime(StringRef process) {
  std::string stat = readWord("/proc/" + process + "/stat");
  SmallVector<StringRef> fields;
  StringRef(stat).rsplit(')').second.split(fields, ' ', -1, false);
  constexpr size_t startField = 22 - 3; // The third field is first here.
  return fields.size() > startField ? fields[startField].str() : std::string();
}

std::string db::describeOwner() {
  std::string process = std::to_string(getpid());
  return readWord("/proc/sys/kernel/random/boot_id") + " " + process + " " +
         startTime(process);
}

bool db::isOwnerAlive(StringRef owner) {
  auto [boot, rest] = owner.split(' ');
  auto [process, start] = rest.split(' ');
  // Another boot is another machine, or this one before: of the former we
  // cannot know, and a file that machines share is rather taken over twice
  // than never (trials of both are kept).
  if (boot != readWord("/proc/sys/kernel/random/boot_id"))
    return false;
  return !start.empty() && startTime(process) == start;
}
