/* Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see
 * LICENSE. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What recording costs: runs the program of bench/hooks.py in turn without
 * hooks, with the recorder, and with the recorder and the processor's counters.
 * Prints a line a round: the seconds of one run for each, in this order (-1: no
 * counters on this machine), and the dispatches of a run.
 *
 *   hooks ROUNDS (linked with the library) */
#include "attune/Runtime/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { kSize = 96, kRunsPerRound = 20 };

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void stop(const AttuneProgram *program) {
  fprintf(stderr, "error: %s\n", attune_error(program));
  exit(1);
}

/* The fastest of some runs: what disturbs can only add. */
static double timeRuns(AttuneProgram *program, const AttuneTensor *inputs,
                       AttuneTensor *output) {
  double best = 1e30;
  for (int i = 0; i < kRunsPerRound; ++i) {
    double begin = now();
    if (attune_run(program, "main", inputs, 2, output, 1))
      stop(program);
    double seconds = now() - begin;
    best = seconds < best ? seconds : best;
  }
  return best;
}

static AttuneTensor matrix(float *data) {
  AttuneTensor tensor = {data, ATTUNE_F32, 2, {kSize, kSize}, {kSize, 1}};
  for (int i = 0; i < kSize * kSize; ++i)
    data[i] = (float)(i % 17) / (17 * kSize);
  return tensor;
}

/* The number of events. */
static int64_t drain(AttuneRecorder *recorder) {
  static AttuneEvent events[4096];
  int64_t lost = 0, sum = 0, count = 0;
  do {
    count = attune_recorder_take(recorder, events, 4096, &lost);
    sum += count;
  } while (count == 4096);
  if (lost) {
    fprintf(stderr, "error: the recorder lost %lld events\n", (long long)lost);
    exit(1);
  }
  return sum;
}

int main(int argc, char **argv) {
  static float a[kSize * kSize], b[kSize * kSize], c[kSize * kSize];
  int rounds = argc > 1 ? atoi(argv[1]) : 100;
  AttuneProgram *program = 0;
  if (attune_create(ATTUNE_ABI_VERSION, &program))
    stop(0);
  AttuneTensor inputs[2] = {matrix(a), matrix(b)}, output = matrix(c);
  AttuneRecorder *recorders[3] = {0};
  AttuneRecorderOptions options = {0, 0};
  if (attune_recorder_create(&options, &recorders[1]))
    stop(0);
  options.counters = attune_perf_counters();
  if (attune_recorder_create(&options, &recorders[2]))
    fprintf(stderr, "note: %s\n", attune_error(0));
  for (int round = 0; round < rounds; ++round) {
    double seconds[3] = {-1, -1, -1};
    int64_t events = 0;
    for (int i = 0; i < 3; ++i) {
      int kind = (round + i) % 3;
      if (kind && !recorders[kind])
        continue;
      attune_set_hooks(program,
                       kind ? attune_recorder_hooks(recorders[kind]) : 0);
      seconds[kind] = timeRuns(program, inputs, &output);
      if (kind)
        events = drain(recorders[kind]);
    }
    printf("%.9f %.9f %.9f %lld\n", seconds[0], seconds[1], seconds[2],
           (long long)events / kRunsPerRound);
  }
  attune_recorder_destroy(recorders[1]);
  attune_recorder_destroy(recorders[2]);
  attune_destroy(program);
  return 0;
}
