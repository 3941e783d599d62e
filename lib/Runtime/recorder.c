/*===----------------------------------------------------------------------===
 * Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
 * See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#include "recorder.h"

#include "attune/Runtime/program.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ATTUNE_EXPORT __attribute__((visibility("default")))

enum { kDefaultEvents = 16384 };

/* The events of one thread, and no other writes here. The one that runs lies
 * behind the last one kept, so there is always a place for it. */
typedef struct Buffer {
  struct Buffer *next;
  uint64_t owner; /* number of the thread */
  int32_t thread;
  int64_t count, taken, lost;
  void *counters;
  AttuneEvent events[];
} Buffer;

struct AttuneRecorder {
  AttuneHooks hooks;
  AttuneCounters counters;
  int64_t capacity;
  uint64_t number;
  pthread_mutex_t lock; /* of what follows */
  Buffer *buffers;
  int32_t threads;
  int64_t lost; /* on threads that got no buffer */
};

/* Threads and recorders have numbers, since their addresses are used again. */
static uint64_t lastNumber;
static _Thread_local uint64_t threadNumber;
/* The buffer that this thread used last, and whose it is. */
static _Thread_local uint64_t cachedRecorder;
static _Thread_local Buffer *cachedBuffer;

static uint64_t nextNumber(void) {
  return __atomic_add_fetch(&lastNumber, 1, __ATOMIC_RELAXED);
}

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static Buffer *openBuffer(AttuneRecorder *recorder) {
  size_t bytes =
      sizeof(Buffer) + (size_t)(recorder->capacity + 1) * sizeof(AttuneEvent);
  Buffer *buffer = malloc(bytes);
  if (!buffer)
    return 0;
  /* Pages are touched here, not during the first events. */
  memset(buffer, 0, bytes);
  buffer->owner = threadNumber;
  buffer->thread = recorder->threads++;
  if (recorder->counters.open)
    buffer->counters = recorder->counters.open(recorder->counters.user);
  buffer->next = recorder->buffers;
  recorder->buffers = buffer;
  return buffer;
}

/* Not the quick way: the first event of a thread, or another recorder. */
static Buffer *findBuffer(AttuneRecorder *recorder) {
  if (!threadNumber)
    threadNumber = nextNumber();
  pthread_mutex_lock(&recorder->lock);
  Buffer *buffer = recorder->buffers;
  while (buffer && buffer->owner != threadNumber)
    buffer = buffer->next;
  if (!buffer)
    buffer = openBuffer(recorder);
  if (!buffer)
    ++recorder->lost;
  pthread_mutex_unlock(&recorder->lock);
  cachedRecorder = buffer ? recorder->number : 0;
  cachedBuffer = buffer;
  return buffer;
}

static Buffer *bufferOf(AttuneRecorder *recorder) {
  if (cachedRecorder == recorder->number)
    return cachedBuffer;
  return findBuffer(recorder);
}

static void begin(void *user, int32_t dispatch) {
  AttuneRecorder *recorder = user;
  Buffer *buffer = bufferOf(recorder);
  if (!buffer)
    return;
  AttuneEvent *event = &buffer->events[buffer->count];
  event->dispatch = dispatch;
  event->thread = buffer->thread;
  if (buffer->counters)
    recorder->counters.read(buffer->counters, event->counters);
  event->begin = now();
}

static void end(void *user, int32_t dispatch) {
  int64_t time = now();
  AttuneRecorder *recorder = user;
  /* A thread without a buffer counted its loss in begin. */
  if (cachedRecorder != recorder->number)
    return;
  Buffer *buffer = cachedBuffer;
  AttuneEvent *event = &buffer->events[buffer->count];
  event->end = time;
  if (buffer->counters) {
    uint64_t values[ATTUNE_MAX_COUNTERS] = {0};
    recorder->counters.read(buffer->counters, values);
    for (int i = 0; i < ATTUNE_MAX_COUNTERS; ++i)
      event->counters[i] = values[i] - event->counters[i];
  }
  if (event->dispatch != dispatch || buffer->count == recorder->capacity)
    ++buffer->lost;
  else
    ++buffer->count;
}

ATTUNE_EXPORT int attune_recorder_create(const AttuneRecorderOptions *options,
                                         AttuneRecorder **result) {
  *result = 0;
  AttuneRecorder *recorder = calloc(1, sizeof *recorder);
  if (!recorder)
    return attune_fail_create("out of memory");
  recorder->hooks.user = recorder;
  recorder->hooks.begin = begin;
  recorder->hooks.end = end;
  if (options->counters)
    recorder->counters = *options->counters;
  recorder->capacity =
      options->eventsPerThread > 0 ? options->eventsPerThread : kDefaultEvents;
  recorder->number = nextNumber();
  pthread_mutex_init(&recorder->lock, 0);
  /* Mostly this is the thread that will run. */
  errno = 0;
  Buffer *buffer = findBuffer(recorder);
  int error = errno;
  if (!buffer)
    attune_fail_create("out of memory: a buffer for %lld events",
                       (long long)recorder->capacity);
  else if (recorder->counters.open && !buffer->counters)
    attune_fail_create("counters cannot be opened%s%s", error ? ": " : "",
                       error ? strerror(error) : "");
  else {
    *result = recorder;
    return 0;
  }
  attune_recorder_destroy(recorder);
  return 1;
}

ATTUNE_EXPORT void attune_recorder_destroy(AttuneRecorder *recorder) {
  if (!recorder)
    return;
  while (recorder->buffers) {
    Buffer *buffer = recorder->buffers;
    recorder->buffers = buffer->next;
    if (buffer->counters)
      recorder->counters.close(buffer->counters);
    free(buffer);
  }
  pthread_mutex_destroy(&recorder->lock);
  free(recorder);
}

ATTUNE_EXPORT const AttuneHooks *
attune_recorder_hooks(AttuneRecorder *recorder) {
  return &recorder->hooks;
}

ATTUNE_EXPORT int64_t attune_recorder_take(AttuneRecorder *recorder,
                                           AttuneEvent *events,
                                           int64_t capacity, int64_t *lost) {
  pthread_mutex_lock(&recorder->lock);
  int64_t taken = 0, missing = recorder->lost;
  recorder->lost = 0;
  for (Buffer *buffer = recorder->buffers; buffer; buffer = buffer->next) {
    int64_t count = buffer->count - buffer->taken;
    if (count > capacity - taken)
      count = capacity - taken;
    if (count > 0)
      memcpy(events + taken, buffer->events + buffer->taken,
             (size_t)count * sizeof *events);
    taken += count;
    buffer->taken += count;
    if (buffer->taken == buffer->count)
      buffer->taken = buffer->count = 0;
    missing += buffer->lost;
    buffer->lost = 0;
  }
  pthread_mutex_unlock(&recorder->lock);
  if (lost)
    *lost = missing;
  return taken;
}
