/*===----------------------------------------------------------------------===
 * Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
 * See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

/* Preloaded: a processor whose counters advance by a fixed step with each read,
 * for machines that have none (virtual ones, mostly). With FAKE_COUNTERS=none
 * it has none for certain. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static const uint64_t steps[] = {3000, 6000, 6, 12};
static int leader = -1;
static uint64_t opened, reads;

static int openFake(int group) {
  const char *kind = getenv("FAKE_COUNTERS");
  if (kind && !strcmp(kind, "none")) {
    errno = ENOENT; /* As a kernel says of what the processor does not count. */
    return -1;
  }
  int file = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (group < 0) {
    leader = file;
    opened = 0;
  }
  ++opened;
  return file;
}

long syscall(long number, ...) {
  static long (*next)(long, ...);
  long a[6];
  va_list arguments;
  va_start(arguments, number);
  for (int i = 0; i < 6; ++i)
    a[i] = va_arg(arguments, long);
  va_end(arguments);
  if (number == SYS_perf_event_open)
    return openFake((int)a[3]);
  if (!next)
    next = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
  return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* Counters are switched on together; these always run. */
int ioctl(int file, unsigned long request, ...) {
  static int (*next)(int, unsigned long, ...);
  va_list arguments;
  va_start(arguments, request);
  void *argument = va_arg(arguments, void *);
  va_end(arguments);
  if (file >= 0 && file == leader)
    return 0;
  if (!next)
    next = (int (*)(int, unsigned long, ...))dlsym(RTLD_NEXT, "ioctl");
  return next(file, request, argument);
}

ssize_t read(int file, void *buffer, size_t size) {
  static ssize_t (*next)(int, void *, size_t);
  if (file >= 0 && file == leader) {
    uint64_t *values = buffer;
    ++reads;
    values[0] = opened;
    for (uint64_t i = 0; i < opened && i < 4; ++i)
      values[i + 1] = reads * steps[i];
    return (ssize_t)((opened + 1) * sizeof *values);
  }
  if (!next)
    next = (ssize_t (*)(int, void *, size_t))dlsym(RTLD_NEXT, "read");
  return next(file, buffer, size);
}
