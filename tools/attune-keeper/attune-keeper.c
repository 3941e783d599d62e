//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Stands between the tuner and a program that may start others: when the
// program or the tuner ends, nothing of what it started is left. See
// attune/Support/Keeper.h. It is C and links nothing, because it starts with
// every worker.

#include "attune/Support/Keeper.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

enum { maxProcesses = 1 << 16 };
static struct {
  int pid, parent, isOurs;
} table[maxProcesses];

static void say(const void *record, size_t bytes) {
  while (write(ATTUNE_KEEPER_DESCRIPTOR, record, bytes) < 0 && errno == EINTR)
    ;
}

static void writeText(const char *path, const char *text) {
  int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0)
    return;
  if (write(file, text, strlen(text)) < 0) {
    // Unmapped numbers are shown as nobody's; nothing else changes.
  }
  close(file);
}

/// In a user namespace of our own: we are who we were.
static void keepIdentity(const char *uid, const char *gid) {
  char text[64];
  writeText("/proc/self/setgroups", "deny");
  snprintf(text, sizeof text, "%s %s 1", uid, uid);
  writeText("/proc/self/uid_map", text);
  snprintf(text, sizeof text, "%s %s 1", gid, gid);
  writeText("/proc/self/gid_map", text);
}

/// The tuner counts processes and ends those that are too many; until it gets
/// to it, a fork bomb must find an end. Since Linux 6.14 the largest number of
/// a process is the namespace's own; before, it is the machine's, and not ours
/// to change.
static void boundProcesses(void) {
  struct utsname kernel;
  int major = 0, minor = 0;
  if (uname(&kernel) || sscanf(kernel.release, "%d.%d", &major, &minor) != 2 ||
      major < 6 || (major == 6 && minor < 14))
    return;
  char text[32];
  // Threads have numbers, too.
  snprintf(text, sizeof text, "%ld", 1024 + 4 * sysconf(_SC_NPROCESSORS_CONF));
  writeText("/proc/sys/kernel/pid_max", text);
}

/// Our number as those see it who mounted /proc.
static int pidOutside(void) {
  char text[32];
  ssize_t length = readlink("/proc/self", text, sizeof text - 1);
  if (length <= 0)
    return 0;
  text[length] = 0;
  return atoi(text);
}

//===----------------------------------------------------------------------===//
// Without a pid namespace: find what is left, and kill it
//===----------------------------------------------------------------------===//

static int readParent(int pid) {
  char path[64], text[512];
  snprintf(path, sizeof path, "/proc/%d/stat", pid);
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return 0;
  ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  if (length <= 0)
    return 0;
  text[length] = 0;
  // The name in parentheses may hold anything.
  const char *rest = strrchr(text, ')');
  char state;
  int parent = 0;
  if (!rest || sscanf(rest + 1, " %c %d", &state, &parent) != 2)
    return 0;
  return parent;
}

/// Sends a signal to all that descend from us.
static void signalDescendants(int signal) {
  int count = 0;
  DIR *proc = opendir("/proc");
  if (!proc)
    return;
  for (struct dirent *entry; count < maxProcesses && (entry = readdir(proc));) {
    int pid = atoi(entry->d_name);
    if (pid <= 0)
      continue;
    table[count].pid = pid;
    table[count].parent = readParent(pid);
    table[count++].isOurs = 0;
  }
  closedir(proc);
  int self = getpid();
  for (int changed = 1; changed;) {
    changed = 0;
    for (int i = 0; i < count; ++i) {
      if (table[i].isOurs)
        continue;
      int ours = table[i].parent == self;
      for (int j = 0; j < count && !ours; ++j)
        ours = table[j].isOurs && table[j].pid == table[i].parent;
      table[i].isOurs = ours;
      changed |= ours;
    }
  }
  for (int i = 0; i < count; ++i)
    if (table[i].isOurs)
      kill(table[i].pid, signal);
}

/// Orphans become our children (PR_SET_CHILD_SUBREAPER): when we have none,
/// nothing is left.
static void killDescendants(pid_t program) {
  kill(-program, SIGKILL);
  // Those that fork faster than we look are stopped first.
  signalDescendants(SIGSTOP);
  for (int round = 0; round < 1000; ++round) {
    signalDescendants(SIGKILL);
    usleep(1000);
    pid_t child;
    while ((child = waitpid(-1, NULL, WNOHANG)) > 0)
      ;
    if (child < 0 && errno == ECHILD)
      return;
  }
}

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

static volatile int execError, programPid;

static pid_t start(char **arguments, int isGroupOfItsOwn) {
  pid_t child = vfork();
  if (child != 0)
    return child;
  programPid = pidOutside();
  if (isGroupOfItsOwn)
    setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  execv(arguments[0], arguments);
  execError = errno;
  _exit(127);
}

/// Nobody reads what we say: the tuner died before it could tell the kernel to
/// end us with it.
static int isAlone(void) {
  struct pollfd status = {ATTUNE_KEEPER_DESCRIPTOR, 0, 0};
  return poll(&status, 1, 0) > 0 && (status.revents & POLLERR);
}

/// Waits for the program, and buries everybody else's children meanwhile. False
/// when we are told to end first.
static int waitFor(pid_t program, const sigset_t *signals,
                   struct AttuneKeeperEnd *end) {
  while (1) {
    int status;
    struct rusage usage;
    pid_t child;
    while ((child = wait4(-1, &status, WNOHANG, &usage)) > 0) {
      if (child != program)
        continue;
      end->status = status;
      end->cpuSeconds =
          (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
          1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
      return 1;
    }
    siginfo_t info;
    if (sigwaitinfo(signals, &info) == SIGTERM)
      return 0;
  }
}

int main(int count, char **arguments) {
  if (count < 5 || fcntl(ATTUNE_KEEPER_DESCRIPTOR, F_SETFD, FD_CLOEXEC)) {
    fprintf(stderr, "error: attune-keeper is started by attune\n");
    return 2;
  }
  int isSubreaper = !strcmp(arguments[1], "subreaper");
  if (!strcmp(arguments[1], "user"))
    keepIdentity(arguments[2], arguments[3]);
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGCHLD);
  sigaddset(&signals, SIGTERM);
  sigprocmask(SIG_SETMASK, &signals, NULL);
  if (!isSubreaper)
    boundProcesses();
  if (isSubreaper) {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    // The kernel does not end our children with us: we have to.
    prctl(PR_SET_PDEATHSIG, SIGTERM);
  }
  if (isAlone())
    return 0;

  pid_t program = start(arguments + 4, isSubreaper);
  struct AttuneKeeperStart started = {programPid,
                                      program < 0 ? errno : execError};
  say(&started, sizeof started);
  if (started.error)
    return 127;
  // The program's output ends with the program.
  for (int descriptor = 0; descriptor < ATTUNE_KEEPER_DESCRIPTOR; ++descriptor)
    close(descriptor);
  struct AttuneKeeperEnd end = {0, 0};
  int hasEnded = waitFor(program, &signals, &end);
  if (isSubreaper)
    killDescendants(program);
  if (hasEnded)
    say(&end, sizeof end);
  return 0;
}
