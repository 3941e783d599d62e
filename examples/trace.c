/* Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see
 * LICENSE. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A C program that records every dispatch of two threads and prints the events
 * in the format of chrome://tracing and Perfetto. Each thread has a program of
 * its own; one recorder serves both. As counters it uses the processor's, or,
 * where there are none, one of its own: the processor time of the thread.
 *
 *   attune compile examples/two_entries.mlir --threads=1 -o two_entries.so
 *   clang-22 -Iinclude examples/trace.c ./two_entries.so -o trace
 *   ./trace > trace.json */
#include "attune/Runtime/program.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { kThreads = 2, kRuns = 3, kEvents = 64 };

/* Counters of our own: anything that only grows. */
static void *openTime(void *user) { return user; }

static void readTime(void *state, uint64_t values[ATTUNE_MAX_COUNTERS]) {
  (void)state;
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  values[0] = (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void closeTime(void *state) { (void)state; }

static void stop(const AttuneProgram *program) {
  fprintf(stderr, "error: %s\n", attune_error(program));
  exit(1);
}

static void *encodeOften(void *recorder) {
  static float input[128 * 64];
  float code[128 * 16];
  AttuneTensor in = {input, ATTUNE_F32, 2, {128, 64}, {64, 1}};
  AttuneTensor out = {code, ATTUNE_F32, 2, {128, 16}, {16, 1}};
  AttuneProgram *program = 0;
  if (attune_create(ATTUNE_ABI_VERSION, &program))
    stop(0);
  attune_set_hooks(program, attune_recorder_hooks(recorder));
  for (int i = 0; i < kRuns; ++i)
    if (attune_run(program, "encode", &in, 1, &out, 1))
      stop(program);
  attune_destroy(program);
  return 0;
}

int main(void) {
  static int anything;
  const AttuneCounters ours = {&anything, openTime, readTime, closeTime};
  AttuneRecorderOptions options = {kEvents, attune_perf_counters()};
  AttuneRecorder *recorder = 0;
  const char *counter = "cycles";
  if (attune_recorder_create(&options, &recorder)) {
    fprintf(stderr, "note: %s\n", attune_error(0));
    options.counters = &ours;
    counter = "cpuNanoseconds";
    if (attune_recorder_create(&options, &recorder))
      stop(0);
  }
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i)
    if (pthread_create(&threads[i], 0, encodeOften, recorder)) {
      fprintf(stderr, "error: no thread\n");
      return 1;
    }
  for (int i = 0; i < kThreads; ++i)
    pthread_join(threads[i], 0);

  AttuneEvent events[kThreads * kEvents];
  int64_t lost = 0;
  int64_t count =
      attune_recorder_take(recorder, events, kThreads * kEvents, &lost);
  printf("[\n");
  for (int64_t i = 0; i < count; ++i)
    printf("{\"name\": \"dispatch %d\", \"ph\": \"X\", \"pid\": 1, "
           "\"tid\": %d, \"ts\": %.3f, \"dur\": %.3f, "
           "\"args\": {\"%s\": %llu}}%s\n",
           events[i].dispatch, events[i].thread, 1e-3 * (double)events[i].begin,
           1e-3 * (double)(events[i].end - events[i].begin), counter,
           (unsigned long long)events[i].counters[0], i + 1 < count ? "," : "");
  printf("]\n");
  fprintf(stderr, "%lld events, %lld lost\n", (long long)count,
          (long long)lost);
  attune_recorder_destroy(recorder);
  return 0;
}
