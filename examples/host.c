/* Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see
 * LICENSE. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A C program that uses a compiled one: it encodes and decodes a batch with
 * examples/two_entries.mlir and prints the time of each dispatch. Nothing of
 * Attune is needed but the library and one header.
 *
 *   attune compile examples/two_entries.mlir -o two_entries.so
 *   clang-22 -Iinclude examples/host.c -ldl -lm -o host && ./host
 * two_entries.so
 *
 * Linking works too (clang-22 host.c ./two_entries.so), with calls by name
 * instead of by pointer. */
#include "attune/Runtime/program.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The functions of a library that was loaded at run time: several may be loaded
 * at once, since each is asked by its own handle. */
typedef struct Library {
  int (*create)(int32_t, AttuneProgram **);
  void (*destroy)(AttuneProgram *);
  int (*run)(AttuneProgram *, const char *, const AttuneTensor *, int64_t,
             AttuneTensor *, int64_t);
  void (*release)(AttuneProgram *, AttuneTensor *);
  const char *(*error)(const AttuneProgram *);
  const char *(*signature)(void);
  void (*setHooks)(AttuneProgram *, const AttuneHooks *);
} Library;

static void *find(void *handle, const char *name) {
  void *symbol = dlsym(handle, name);
  if (!symbol) {
    fprintf(stderr, "error: %s\n", dlerror());
    exit(1);
  }
  return symbol;
}

static Library load(const char *path) {
  void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    fprintf(stderr, "error: %s\n", dlerror());
    exit(1);
  }
  Library library;
  *(void **)&library.create = find(handle, "attune_create");
  *(void **)&library.destroy = find(handle, "attune_destroy");
  *(void **)&library.run = find(handle, "attune_run");
  *(void **)&library.release = find(handle, "attune_release");
  *(void **)&library.error = find(handle, "attune_error");
  *(void **)&library.signature = find(handle, "attune_signature");
  *(void **)&library.setHooks = find(handle, "attune_set_hooks");
  return library;
}

/* Hooks: the time between begin and end, for up to 16 dispatches. */
typedef struct Times {
  double started;
  double seconds[16];
  int calls[16];
} Times;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void begin(void *user, int32_t dispatch) {
  (void)dispatch;
  ((Times *)user)->started = now();
}

static void end(void *user, int32_t dispatch) {
  Times *times = user;
  if (dispatch < 16) {
    times->seconds[dispatch] += now() - times->started;
    ++times->calls[dispatch];
  }
}

/* A row-major matrix of floats. */
static AttuneTensor matrix(float *data, int64_t rows, int64_t columns) {
  AttuneTensor tensor = {data, ATTUNE_F32, 2, {rows, columns}, {columns, 1}};
  return tensor;
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: host LIBRARY\n");
    return 1;
  }
  Library library = load(argv[1]);
  AttuneProgram *program = 0;
  if (library.create(ATTUNE_ABI_VERSION, &program)) {
    fprintf(stderr, "error: %s\n", library.error(0));
    return 1;
  }
  printf("signature: %s\n", library.signature());
  Times times = {0};
  AttuneHooks hooks = {&times, begin, end};
  library.setHooks(program, &hooks);

  /* The input is ours; the code is given a place; the picture is allocated. */
  static float input[128 * 64], code[128 * 16];
  for (int i = 0; i < 128 * 64; ++i)
    input[i] = (float)sin(i);
  AttuneTensor in = matrix(input, 128, 64), middle = matrix(code, 128, 16);
  AttuneTensor out = {0};
  if (library.run(program, "encode", &in, 1, &middle, 1) ||
      library.run(program, "decode", &middle, 1, &out, 1)) {
    fprintf(stderr, "error: %s\n", library.error(program));
    return 1;
  }
  double sum = 0;
  for (int i = 0; i < 128 * 64; ++i)
    sum += ((float *)out.data)[i];
  printf("decoded: %lldx%lld, mean %.6f\n", (long long)out.sizes[0],
         (long long)out.sizes[1], sum / (128 * 64));
  for (int i = 0; i < 16; ++i)
    if (times.calls[i])
      printf("dispatch %d: %d call, %.1f us\n", i, times.calls[i],
             1e6 * times.seconds[i] / times.calls[i]);
  library.release(program, &out);

  /* What does not fit is said in words. */
  in.sizes[1] = 63;
  if (library.run(program, "encode", &in, 1, &middle, 1))
    printf("as it should be: %s\n", library.error(program));
  library.destroy(program);
  return 0;
}
