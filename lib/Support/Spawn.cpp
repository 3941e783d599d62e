//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// The moment between clone and exec. The child shares our memory until exec, so
// it only makes system calls on what was prepared before.

#include "Spawn.h"

#include "attune/Support/Error.h"
#include "attune/Support/Installation.h"
#include "attune/Support/Keeper.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace attune;
using llvm::Expected;

extern "C" char **environ;

Descriptor &Descriptor::operator=(Descriptor &&other) {
  std::swap(number, other.number);
  return *this;
}
void Descriptor::close() {
  if (number >= 0)
    ::close(number);
  number = -1;
}

namespace {
/// All that the child needs, as plain C data.
struct ChildPlan {
  const char *program;
  char *const *arguments;
  char *const *environment;
  const char *workingFolder; // may be null
  int descriptors[6];        // what becomes 0 .. 5; -1: closed
  ProcessLimits limits;
  pid_t parent;
  cpu_set_t cores; // empty: unchanged
  int namespaces;  // CLONE_NEW...
  // Written by the child, in our memory.
  volatile int failedErrno = 0;
  const char *volatile failedStep = nullptr;
};
} // namespace

static void setLimit(int resource, uint64_t soft, uint64_t hard) {
  rlimit limit = {soft, hard};
  if (::setrlimit(resource, &limit) && errno == EPERM) {
    // A hard limit that is lower already: as near as we may.
    ::getrlimit(resource, &limit);
    limit.rlim_cur = std::min<rlim_t>(soft, limit.rlim_max);
    ::setrlimit(resource, &limit);
  }
}

static void setLimits(const ProcessLimits &limits) {
  setLimit(RLIMIT_CORE, 0, 0);
  if (limits.cpuSeconds)
    setLimit(RLIMIT_CPU, limits.cpuSeconds, limits.cpuSeconds + 5);
  if (limits.fileBytes)
    setLimit(RLIMIT_FSIZE, limits.fileBytes, RLIM_INFINITY);
  if (limits.addressSpaceBytes)
    setLimit(RLIMIT_AS, limits.addressSpaceBytes, limits.addressSpaceBytes);
}

[[noreturn]] static void failChild(ChildPlan &plan, const char *step) {
  plan.failedErrno = errno;
  plan.failedStep = step;
  ::_exit(127);
}

[[noreturn]] static void becomeProgram(ChildPlan &plan) {
  // A group of its own; and a session, so that the scheduler (autogroup) gives
  // us our share beside a program that fills the machine with processes.
  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // In a pid namespace of our own we see no parent; the keeper looks itself.
  if (!plan.namespaces && ::getppid() != plan.parent)
    ::_exit(127); // we were orphaned before the line above
  for (int target = 0; target < 6; ++target)
    if (plan.descriptors[target] < 0)
      ::close(target);
    else if (::dup2(plan.descriptors[target], target) < 0)
      failChild(plan, "cannot set up its descriptors");
  ::syscall(SYS_close_range, 6, ~0u, 0);
  setLimits(plan.limits);
  if (CPU_COUNT(&plan.cores) &&
      ::sched_setaffinity(0, sizeof(plan.cores), &plan.cores))
    failChild(plan, "cannot run on the cores it is meant for");
  if (plan.workingFolder && ::chdir(plan.workingFolder))
    failChild(plan, "cannot enter its folder");
  ::signal(SIGPIPE, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execve(plan.program, plan.arguments, plan.environment);
  failChild(plan, "cannot start");
}

static int becomeProgramOf(void *plan) {
  becomeProgram(*static_cast<ChildPlan *>(plan));
}

/// Like vfork, with namespaces and a stack for the child. No signal handler of
/// ours may run in the child while it shares our memory.
static pid_t startChild(ChildPlan &plan) {
  static constexpr size_t stackBytes = 64 << 10;
  std::unique_ptr<char[]> stack(new char[stackBytes]);
  // The stack grows down, on every machine that we know; aligned to 16.
  char *top = reinterpret_cast<char *>(
      reinterpret_cast<uintptr_t>(stack.get() + stackBytes) & ~uintptr_t(15));
  sigset_t all, old;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &old);
  pid_t child =
      ::clone(becomeProgramOf, top,
              CLONE_VM | CLONE_VFORK | SIGCHLD | plan.namespaces, &plan);
  int code = errno;
  ::pthread_sigmask(SIG_SETMASK, &old, nullptr);
  errno = code;
  return child;
}

//===----------------------------------------------------------------------===//
// Preparation
//===----------------------------------------------------------------------===//

/// Our environment with `additions` over it.
static std::vector<std::string>
mergeEnvironment(const std::vector<std::string> &additions) {
  auto nameOf = [](llvm::StringRef entry) { return entry.split('=').first; };
  llvm::StringMap<bool> replaced;
  for (const std::string &entry : additions)
    replaced[nameOf(entry)] = true;
  std::vector<std::string> merged = additions;
  for (char **entry = environ; *entry; ++entry)
    if (!replaced.count(nameOf(*entry)))
      merged.push_back(*entry);
  return merged;
}

static std::vector<char *> toPointers(const std::vector<std::string> &texts) {
  std::vector<char *> pointers;
  for (const std::string &text : texts)
    pointers.push_back(const_cast<char *>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

static cpu_set_t toSet(const std::vector<int> &cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int core : cores)
    if (core >= 0 && core < CPU_SETSIZE)
      CPU_SET(core, &set);
  return set;
}

/// Above the numbers that dup2 in the child writes to.
static Descriptor moveUp(int number) {
  Descriptor low(number);
  return Descriptor(::fcntl(number, F_DUPFD_CLOEXEC, 10));
}

static llvm::Error noDescriptors() {
  return makeError("cannot make a pipe: {0}", std::strerror(errno));
}

static llvm::Error makePipe(Descriptor &readEnd, Descriptor &writeEnd) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC))
    return noDescriptors();
  readEnd = moveUp(ends[0]);
  writeEnd = moveUp(ends[1]);
  if (readEnd.get() < 0 || writeEnd.get() < 0)
    return noDescriptors();
  ::fcntl(readEnd.get(), F_SETFL, O_NONBLOCK);
  return llvm::Error::success();
}

/// A socket, since writing to one can be told not to raise SIGPIPE.
static llvm::Error makeInput(Descriptor &theirs, Descriptor &ours) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
    return noDescriptors();
  theirs = moveUp(ends[0]);
  ours = moveUp(ends[1]);
  if (theirs.get() < 0 || ours.get() < 0)
    return noDescriptors();
  ::fcntl(ours.get(), F_SETFL, O_NONBLOCK);
  return llvm::Error::success();
}

static Expected<std::string> findProgram(llvm::StringRef name) {
  if (name.contains('/'))
    return name.str();
  if (auto found = llvm::sys::findProgramByName(name))
    return *found;
  return makeError("{0}: no such program in PATH; install it, or give its path",
                   name);
}

static llvm::Error makeChannels(LineChannel channel, ChildPlan &plan,
                                SpawnedProcess &ours, Descriptor (&theirs)[4]) {
  if (auto error = makePipe(ours.output, theirs[0]))
    return error;
  plan.descriptors[1] = plan.descriptors[2] = theirs[0].get();
  theirs[1] = moveUp(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  plan.descriptors[0] = theirs[1].get();
  if (channel == LineChannel::None)
    return llvm::Error::success();
  if (auto error = makeInput(theirs[2], ours.linesTo))
    return error;
  if (auto error = makePipe(ours.linesFrom, theirs[3]))
    return error;
  bool standard = channel == LineChannel::Standard;
  plan.descriptors[standard ? 0 : 3] = theirs[2].get();
  plan.descriptors[standard ? 1 : 4] = theirs[3].get();
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// The keeper
//===----------------------------------------------------------------------===//

/// Beside us, as installed or as built, or beside the program: a Python with
/// our bindings is somewhere else.
static Expected<std::string> findKeeper(llvm::StringRef program) {
  std::vector<std::string> places;
  for (std::string folder :
       {std::string(), llvm::sys::path::parent_path(program).str() + "/"})
    for (const char *place :
         {"attune-keeper", "../attune-keeper/attune-keeper",
          "../../tools/attune-keeper/attune-keeper", "../bin/attune-keeper"})
      places.push_back(folder + place);
  return findInstalled(places, "attune-keeper", "install Attune again");
}

namespace {
struct KeeperMode {
  Containment containment;
  const char *name;
  int namespaces;
};
} // namespace

/// The best first.
static constexpr KeeperMode keeperModes[] = {
    {Containment::Namespace, "namespace", CLONE_NEWPID | CLONE_NEWNET},
    {Containment::Namespace, "user",
     CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET},
    {Containment::Subreaper, "subreaper", 0}};

/// What the keeper says first.
static llvm::Error readStart(SpawnedProcess &ours, llvm::StringRef program) {
  AttuneKeeperStart start = {};
  ssize_t count;
  do
    count = ::read(ours.keeperStatus.get(), &start, sizeof(start));
  while (count < 0 && errno == EINTR);
  if (count != sizeof(start)) {
    ProcessEnd end = reapProcess(ours.pid);
    return makeError("{0}: attune-keeper did not start it ({1})", program,
                     end.describe());
  }
  ours.programPid = start.pid;
  ::fcntl(ours.keeperStatus.get(), F_SETFL, O_NONBLOCK);
  if (!start.error)
    return llvm::Error::success();
  reapProcess(ours.pid);
  return makeError("{0}: cannot start: {1}", program,
                   std::strerror(start.error));
}

/// Starts the plan's program below a keeper, in the best mode that the kernel
/// permits.
static llvm::Error startContained(ChildPlan &plan, Containment wanted,
                                  SpawnedProcess &ours) {
  std::string program = plan.program;
  Expected<std::string> keeper = findKeeper(program);
  if (!keeper)
    return keeper.takeError();
  Descriptor theirs;
  if (auto error = makePipe(ours.keeperStatus, theirs))
    return error;
  ::fcntl(ours.keeperStatus.get(), F_SETFL, 0);
  plan.descriptors[ATTUNE_KEEPER_DESCRIPTOR] = theirs.get();
  std::vector<std::string> head = {*keeper, "", std::to_string(::getuid()),
                                   std::to_string(::getgid()), program};
  std::vector<char *> arguments = toPointers(head);
  arguments.pop_back();
  for (char *const *argument = plan.arguments + 1; *argument; ++argument)
    arguments.push_back(*argument);
  arguments.push_back(nullptr);
  plan.program = keeper->c_str();
  plan.arguments = arguments.data();
  for (const KeeperMode &mode : keeperModes) {
    if (mode.containment > wanted)
      continue;
    arguments[1] = const_cast<char *>(mode.name);
    plan.namespaces = mode.namespaces;
    ours.containment = mode.containment;
    ours.pid = startChild(plan);
    if (ours.pid >= 0)
      break;
  }
  if (ours.pid < 0)
    return makeError("{0}: cannot start: {1}", program, std::strerror(errno));
  if (plan.failedStep) {
    reapProcess(ours.pid);
    return makeError("{0}: {1}: {2}", program,
                     static_cast<const char *>(plan.failedStep),
                     std::strerror(plan.failedErrno));
  }
  theirs.close();
  return readStart(ours, program);
}

static llvm::Error startAlone(ChildPlan &plan, SpawnedProcess &ours) {
  ours.pid = ours.programPid = startChild(plan);
  if (ours.pid < 0)
    return makeError("{0}: cannot start: {1}", plan.program,
                     std::strerror(errno));
  if (!plan.failedStep)
    return llvm::Error::success();
  reapProcess(ours.pid);
  return makeError("{0}: {1}: {2}", plan.program,
                   static_cast<const char *>(plan.failedStep),
                   std::strerror(plan.failedErrno));
}

Expected<SpawnedProcess> attune::spawnProcess(const ProcessOptions &options) {
  if (options.arguments.empty())
    return makeError("no program to start was given");
  Expected<std::string> program = findProgram(options.arguments[0]);
  if (!program)
    return program.takeError();
  std::vector<std::string> environment = mergeEnvironment(options.environment);
  std::vector<char *> arguments = toPointers(options.arguments);
  std::vector<char *> variables = toPointers(environment);
  ChildPlan plan = {
      program->c_str(),
      arguments.data(),
      variables.data(),
      options.workingFolder.empty() ? nullptr : options.workingFolder.c_str(),
      {-1, -1, -1, -1, -1, -1},
      options.limits,
      ::getpid(),
      toSet(options.cores),
      0};
  SpawnedProcess ours;
  Descriptor theirs[4];
  if (auto error = makeChannels(options.channel, plan, ours, theirs))
    return error;
  if (auto error = options.containment == Containment::Group
                       ? startAlone(plan, ours)
                       : startContained(plan, options.containment, ours))
    return std::move(error);
  ours.pidDescriptor =
      Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, ours.pid, 0)));
  return ours;
}
