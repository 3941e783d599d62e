/*===----------------------------------------------------------------------===
 * Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
 * See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#include "attune/Runtime/program.h"
#include "recorder.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Counters of one thread, a group: they count the same stretch of time, and one
 * system call reads them all. */
typedef struct Group {
  int files[ATTUNE_MAX_COUNTERS];
  int slots[ATTUNE_MAX_COUNTERS]; /* where the n-th of the group belongs */
  int count;
} Group;

static int openEvent(const AttunePerfEvent *event, int leader) {
  struct perf_event_attr attributes;
  memset(&attributes, 0, sizeof attributes);
  attributes.size = sizeof attributes;
  attributes.type = event->type;
  attributes.config = event->config;
  attributes.read_format = PERF_FORMAT_GROUP;
  /* Also an ordinary user may count what is outside the kernel. */
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  /* An event that joins a group which counts already begins to count when the
   * kernel next schedules the group, which may be a tick (4 ms) later: nothing
   * counts until all are there. */
  attributes.disabled = leader < 0;
  return (int)syscall(SYS_perf_event_open, &attributes, 0, -1, leader,
                      PERF_FLAG_FD_CLOEXEC);
}

void *attune_perf_open(const AttunePerfEvent *events, int count) {
  Group *group = malloc(sizeof *group);
  if (!group)
    return 0;
  group->count = 0;
  int error = 0;
  for (int i = 0; i < count && i < ATTUNE_MAX_COUNTERS; ++i) {
    int file = openEvent(&events[i], group->count ? group->files[0] : -1);
    if (file < 0) {
      error = errno;
      continue;
    }
    group->files[group->count] = file;
    group->slots[group->count++] = i;
  }
  if (group->count) {
    if (ioctl(group->files[0], PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP) == 0)
      return group;
    error = errno;
    attune_perf_close(group);
  } else {
    free(group);
  }
  errno = error;
  return 0;
}

void attune_perf_read(void *state, uint64_t *values) {
  const Group *group = state;
  struct {
    uint64_t count;
    uint64_t values[ATTUNE_MAX_COUNTERS];
  } found;
  memset(values, 0, ATTUNE_MAX_COUNTERS * sizeof *values);
  if (read(group->files[0], &found, sizeof found) < (ssize_t)sizeof found.count)
    return;
  for (int i = 0; i < group->count && i < (int)found.count; ++i)
    values[group->slots[i]] = found.values[i];
}

void attune_perf_close(void *state) {
  Group *group = state;
  for (int i = group->count; i-- > 0;)
    close(group->files[i]);
  free(group);
}

static void *openHardware(void *user) {
  static const AttunePerfEvent events[] = {
      {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
      {PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
      {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
      {PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES}};
  (void)user;
  return attune_perf_open(events, ATTUNE_MAX_COUNTERS);
}

__attribute__((visibility("default"))) const AttuneCounters *
attune_perf_counters(void) {
  static const AttuneCounters counters = {0, openHardware, attune_perf_read,
                                          attune_perf_close};
  return &counters;
}
