//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// A machine that fails as it is told, for tests: preloaded (LD_PRELOAD) into
// attune, it answers for the kernel.
//
//   ATTUNE_SHIM_FAULT  ENOSPC, EIO: writes and fsync fail so.
//                      EROFS: opening to write fails so.
//                      short: every write writes half.
//                      subtract: where a program's text is written, an addition
//                      becomes a subtraction: a bug of whoever wrote it.
//                      memory: there is none left (malloc).
//                      clock: the date jumps years at every look.
//   ATTUNE_SHIM_PATH   Only files whose path has this text in it.
//   ATTUNE_SHIM_AFTER  So many writes to them work first.
//   ATTUNE_SHIM_WHILE  Only while this file exists.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static atomic_long writes;

static int isFault(const char *name) {
  const char *fault = getenv("ATTUNE_SHIM_FAULT");
  const char *trigger = getenv("ATTUNE_SHIM_WHILE");
  return fault && strcmp(fault, name) == 0 &&
         (!trigger || access(trigger, F_OK) == 0);
}

static int isMeant(const char *path) {
  const char *part = getenv("ATTUNE_SHIM_PATH");
  return part && strstr(path, part) != NULL;
}

static int isMeantFile(int file) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t size = readlink(link, path, sizeof path - 1);
  if (size <= 0)
    return 0;
  path[size] = 0;
  return isMeant(path);
}

/// The error that a write to this file has; 0: none.
static int writeError(int file) {
  int code = isFault("ENOSPC") ? ENOSPC : isFault("EIO") ? EIO : 0;
  if (!code || !isMeantFile(file))
    return 0;
  const char *after = getenv("ATTUNE_SHIM_AFTER");
  return atomic_fetch_add(&writes, 1) >= (after ? atol(after) : 0) ? code : 0;
}

static size_t shortened(int file, size_t size) {
  return size > 1 && isFault("short") && isMeantFile(file) ? size / 2 : size;
}

#define FAIL_IF_MEANT(file)                                                    \
  do {                                                                         \
    int code = writeError(file);                                               \
    if (code) {                                                                \
      errno = code;                                                            \
      return -1;                                                               \
    }                                                                          \
  } while (0)

/// A program that is written with its first addition wrong.
static ssize_t writeSubtraction(int file, const char *data, size_t size) {
  char *text = malloc(size);
  if (!text)
    return -1;
  memcpy(text, data, size);
  char *sum = memmem(text, size, "arith.addf", 10);
  if (sum)
    memcpy(sum, "arith.subf", 10);
  ssize_t written = REAL(write)(file, text, size);
  free(text);
  return written;
}

ssize_t write(int file, const void *data, size_t size) {
  FAIL_IF_MEANT(file);
  if (isFault("subtract") && isMeantFile(file))
    return writeSubtraction(file, data, size);
  return REAL(write)(file, data, shortened(file, size));
}

ssize_t pwrite(int file, const void *data, size_t size, off_t at) {
  FAIL_IF_MEANT(file);
  return REAL(pwrite)(file, data, shortened(file, size), at);
}

ssize_t pwrite64(int file, const void *data, size_t size, off64_t at) {
  FAIL_IF_MEANT(file);
  return REAL(pwrite64)(file, data, shortened(file, size), at);
}

int fsync(int file) {
  FAIL_IF_MEANT(file);
  return REAL(fsync)(file);
}

int fdatasync(int file) {
  FAIL_IF_MEANT(file);
  return REAL(fdatasync)(file);
}

static int isRefused(const char *path, int flags) {
  return (flags & O_ACCMODE) != O_RDONLY && isMeant(path) && isFault("EROFS");
}

#define OPEN(name)                                                             \
  int name(const char *path, int flags, ...) {                                 \
    va_list list;                                                              \
    va_start(list, flags);                                                     \
    mode_t mode = va_arg(list, mode_t);                                        \
    va_end(list);                                                              \
    if (isRefused(path, flags)) {                                              \
      errno = EROFS;                                                           \
      return -1;                                                               \
    }                                                                          \
    return REAL(name)(path, flags, mode);                                      \
  }
OPEN(open)
OPEN(open64)

extern void *__libc_malloc(size_t size);
void *malloc(size_t size) {
  if (!isFault("memory"))
    return __libc_malloc(size);
  errno = ENOMEM;
  return NULL;
}

/// Years forth and back.
static time_t jump(void) {
  static atomic_long looks;
  return (atomic_fetch_add(&looks, 1) % 2 ? -3 : 5) * 31536000L;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  int code = REAL(clock_gettime)(clock, now);
  if (code == 0 && clock == CLOCK_REALTIME && isFault("clock"))
    now->tv_sec += jump();
  return code;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  int code = REAL(gettimeofday)(now, zone);
  if (code == 0 && isFault("clock"))
    now->tv_sec += jump();
  return code;
}

time_t time(time_t *result) {
  time_t now = REAL(time)(NULL) + (isFault("clock") ? jump() : 0);
  if (result)
    *result = now;
  return now;
}
