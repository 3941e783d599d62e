//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

/* The C interface of a compiled program. A library that Attune writes exports
 * these functions; a host program needs this header and nothing else.
 *
 *   AttuneProgram *program = 0;
 *   if (attune_create(ATTUNE_ABI_VERSION, &program)) ...attune_error(0)
 *   AttuneTensor in = {...}, out = {.data = 0};
 *   if (attune_run(program, "main", &in, 1, &out, 1)) ...attune_error(program)
 *   attune_release(program, &out);     // only what the library allocated
 *   attune_destroy(program);
 *
 * A program instance is used by one thread at a time; several instances may run
 * side by side. Functions return 0 on success.
 */
#ifndef ATTUNE_RUNTIME_PROGRAM_H
#define ATTUNE_RUNTIME_PROGRAM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ATTUNE_ABI_VERSION 1
#define ATTUNE_MAX_RANK 16

typedef enum AttuneType {
  ATTUNE_F32 = 0,
  ATTUNE_F64 = 1,
  ATTUNE_F16 = 2,
  ATTUNE_BF16 = 3,
  ATTUNE_I1 = 4, /* one byte each, 0 or 1 */
  ATTUNE_I4 = 5, /* one byte each */
  ATTUNE_I8 = 6,
  ATTUNE_I16 = 7,
  ATTUNE_I32 = 8,
  ATTUNE_I64 = 9,
  ATTUNE_INDEX = 10 /* 64 bits */
} AttuneType;

/* A described tensor. Data need only be aligned to its element. Scalars are
 * tensors of rank 0. */
typedef struct AttuneTensor {
  void *data;   /* outputs: 0 asks the library to allocate */
  int32_t type; /* AttuneType */
  int32_t rank;
  int64_t sizes[ATTUNE_MAX_RANK];
  int64_t strides[ATTUNE_MAX_RANK]; /* in elements */
} AttuneTensor;

typedef struct AttuneProgram AttuneProgram;

/* Called around every dispatch while set. `dispatch` is the place of its name
 * in "dispatches" of attune_signature. A program without hooks pays one test.
 */
typedef struct AttuneHooks {
  void *user;
  void (*begin)(void *user, int32_t dispatch);
  void (*end)(void *user, int32_t dispatch);
} AttuneHooks;

int attune_create(int32_t abiVersion, AttuneProgram **program);
void attune_destroy(AttuneProgram *program);

/* Runs an entry function. Outputs whose data is 0 are allocated by the library
 * and stay valid until attune_release; others must be row-major, have the
 * result's sizes, and not overlap an input. Inputs may have any strides, 0 and
 * negative ones too. After an error nothing is allocated, and what given
 * outputs hold is not defined. */
int attune_run(AttuneProgram *program, const char *entry,
               const AttuneTensor *inputs, int64_t inputCount,
               AttuneTensor *outputs, int64_t outputCount);
void attune_release(AttuneProgram *program, AttuneTensor *output);

/* The last error of this program (0: of attune_create), one line. */
const char *attune_error(const AttuneProgram *program);

/* A program packs its weights for its code when it is created. Of an entry
 * whose inputs the program knows to be weights (a dispatch that was taken out
 * of its program), this packs those inputs: runs of the entry with the same
 * pointers use the packed form, and the values behind them must stay. Without
 * it they are packed in every run. What is packed lasts until the next call,
 * until attune_set_checked, or until attune_destroy. */
int attune_prepack(AttuneProgram *program, const char *entry,
                   const AttuneTensor *inputs, int64_t inputCount);

/* JSON: {"version": 1, "entries": [{"name", "inputs": [{"type": "4x?xf32"}],
 * "outputs": [...]}], "dispatches": ["name", ...], "lowered": [{"name", "how",
 * "code"}], "threads": N}: what each dispatch was compiled with, and a hash of
 * its code. */
const char *attune_signature(void);

void attune_set_hooks(AttuneProgram *program, const AttuneHooks *hooks);

/* Hooks that come with the library: a recorder keeps an event for each
 * dispatch, in a buffer of the thread that ran it. One recorder may serve
 * several programs of this library on several threads at once.
 *
 *   AttuneRecorder *recorder = 0;
 *   AttuneRecorderOptions options = {0};
 *   if (attune_recorder_create(&options, &recorder)) ...attune_error(0)
 *   attune_set_hooks(program, attune_recorder_hooks(recorder));
 *   attune_run(program, ...);
 *   AttuneEvent events[1000];
 *   int64_t count = attune_recorder_take(recorder, events, 1000, 0);
 *   attune_set_hooks(program, 0);
 *   attune_recorder_destroy(recorder);
 */
#define ATTUNE_MAX_COUNTERS 4

typedef struct AttuneEvent {
  int32_t dispatch; /* as for hooks */
  int32_t thread;   /* 0, 1, ... in the order of first events */
  int64_t begin;    /* nanoseconds of CLOCK_MONOTONIC */
  int64_t end;
  uint64_t counters[ATTUNE_MAX_COUNTERS]; /* between begin and end */
} AttuneEvent;

/* Where counters come from. `open` is called on each thread before its first
 * event (0: this thread has none, and its counters stay 0); `read` gives
 * ascending values; `close` is called by attune_recorder_destroy. */
typedef struct AttuneCounters {
  void *user;
  void *(*open)(void *user);
  void (*read)(void *state, uint64_t values[ATTUNE_MAX_COUNTERS]);
  void (*close)(void *state);
} AttuneCounters;

typedef struct AttuneRecorderOptions {
  int64_t eventsPerThread;        /* 0: 16384. More are counted, not kept. */
  const AttuneCounters *counters; /* 0: none; copied */
} AttuneRecorderOptions;

typedef struct AttuneRecorder AttuneRecorder;

/* Fails when memory is short, or when the counters cannot be opened on the
 * calling thread. */
int attune_recorder_create(const AttuneRecorderOptions *options,
                           AttuneRecorder **recorder);
void attune_recorder_destroy(AttuneRecorder *recorder);
const AttuneHooks *attune_recorder_hooks(AttuneRecorder *recorder);
/* Moves up to `capacity` events out, those of a thread in their order, and
 * returns how many; again until there are none. `lost` (may be 0) is how many
 * did not fit since the last call. Not while a program runs with the hooks. */
int64_t attune_recorder_take(AttuneRecorder *recorder, AttuneEvent *events,
                             int64_t capacity, int64_t *lost);

/* The processor's cycles, instructions, cache misses and branch misses of the
 * thread, in this order, by Linux's perf events. Reading them costs two system
 * calls a dispatch. What the processor does not count is 0. */
const AttuneCounters *attune_perf_counters(void);

/* Every byte handed out as workspace is set to 0xFF first (NaN for floats), so
 * that a read of memory nobody wrote shows. Off by default. Switching it on
 * puts what the library remembers between runs (a random seed) back to the
 * start, and forgets what attune_prepack packed. */
void attune_set_checked(AttuneProgram *program, int on);

#ifdef __cplusplus
}
#endif
#endif /* ATTUNE_RUNTIME_PROGRAM_H */
