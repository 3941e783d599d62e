/*===----------------------------------------------------------------------===
 * Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
 * See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

/* What the files of the recorder share. */
#ifndef ATTUNE_LIB_RUNTIME_RECORDER_H
#define ATTUNE_LIB_RUNTIME_RECORDER_H

#include <stdint.h>

/* Sets what attune_error(0) says; returns 1. */
int attune_fail_create(const char *format, ...);

/* One counter as perf_event_open names it. */
typedef struct AttunePerfEvent {
  uint32_t type;
  uint64_t config;
} AttunePerfEvent;

/* Opens up to ATTUNE_MAX_COUNTERS counters of this thread as a group; those
 * that are refused stay 0. Null, and the reason in errno, if all are. */
void *attune_perf_open(const AttunePerfEvent *events, int count);
void attune_perf_read(void *state, uint64_t *values);
void attune_perf_close(void *state);

#endif
