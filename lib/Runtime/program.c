/*===----------------------------------------------------------------------===
 * Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
 * See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#include "attune/Runtime/program.h"

#include "attune/Runtime/module_info.h"
#include "prepack.h"
#include "recorder.h"
#include "tensor.h"
#include "workspace.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ATTUNE_EXPORT __attribute__((visibility("default")))

enum { kErrorBytes = 512 };

/* The descriptors of one call, copies of inputs that were not row-major, and
 * which outputs were allocated here. */
typedef struct Call {
  void **arguments;
  void **copies;
  int64_t copyCount;
  char *owned; /* one an output */
  char *storage;
} Call;

struct AttuneProgram {
  void *arena;
  int64_t arenaBytes;
  AttunePrepacked *prepacked; /* one an entry */
  AttuneHooks hooks;
  const AttuneEntryInfo *entry; /* while running */
  AttuneTensor *outputs;
  Call *call;
  int failed;
  char error[kErrorBytes];
};

/* The program that runs on this thread: compiled code calls back without
 * carrying it along. Dispatches begin and end on the thread of attune_run. */
static _Thread_local AttuneProgram *current;
static char createError[kErrorBytes];

static int fail(AttuneProgram *program, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(program ? program->error : createError, kErrorBytes, format, args);
  va_end(args);
  if (program)
    program->failed = 1;
  return 1;
}

int attune_fail_create(const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(createError, kErrorBytes, format, args);
  va_end(args);
  return 1;
}

ATTUNE_EXPORT int attune_create(int32_t abiVersion, AttuneProgram **program) {
  *program = 0;
  if (abiVersion != ATTUNE_ABI_VERSION)
    return fail(0, "this library speaks version %d of the interface, not %d",
                ATTUNE_ABI_VERSION, abiVersion);
  AttuneProgram *p = calloc(1, sizeof *p);
  if (!p)
    return fail(0, "out of memory");
  for (int32_t i = 0; i < attune_module_info.entryCount; ++i)
    if (attune_module_info.entries[i].arenaBytes > p->arenaBytes)
      p->arenaBytes = attune_module_info.entries[i].arenaBytes;
  if (p->arenaBytes) {
    p->arena = attune_pages_alloc((size_t)p->arenaBytes);
    if (!p->arena) {
      int64_t bytes = p->arenaBytes;
      free(p);
      return fail(0, "out of memory: %lld bytes of arena", (long long)bytes);
    }
    memset(p->arena, 0xFF, (size_t)p->arenaBytes);
  }
  size_t entryCount = (size_t)attune_module_info.entryCount;
  p->prepacked = calloc(entryCount ? entryCount : 1, sizeof *p->prepacked);
  if (!p->prepacked || attune_prepack_open_shared()) {
    free(p->prepacked);
    attune_pages_free(p->arena);
    free(p);
    return fail(0, "out of memory: packed weights");
  }
  *program = p;
  return 0;
}

ATTUNE_EXPORT void attune_destroy(AttuneProgram *program) {
  if (!program)
    return;
  for (int32_t i = 0; i < attune_module_info.entryCount; ++i)
    attune_prepack_free(&program->prepacked[i]);
  attune_prepack_close_shared();
  free(program->prepacked);
  attune_pages_free(program->arena);
  free(program);
  attune_workspace_trim();
}

ATTUNE_EXPORT const char *attune_error(const AttuneProgram *program) {
  return program ? program->error : createError;
}

ATTUNE_EXPORT const char *attune_signature(void) {
  return attune_module_info.signature;
}

ATTUNE_EXPORT void attune_set_hooks(AttuneProgram *program,
                                    const AttuneHooks *hooks) {
  if (hooks)
    program->hooks = *hooks;
  else
    memset(&program->hooks, 0, sizeof program->hooks);
}

/* Codegen puts what a program remembers between runs (a seed, say) into one
 * section, whose ends the linker names; null when there is none. */
extern char __start_attune_state[] __attribute__((weak, visibility("hidden")));
extern char __stop_attune_state[] __attribute__((weak, visibility("hidden")));
static char *initialState;

__attribute__((constructor)) static void keepInitialState(void) {
  size_t bytes = (size_t)(__stop_attune_state - __start_attune_state);
  if (bytes && (initialState = malloc(bytes)))
    memcpy(initialState, __start_attune_state, bytes);
}

__attribute__((destructor)) static void dropInitialState(void) {
  free(initialState);
}

static void resetState(void) {
  if (initialState)
    memcpy(__start_attune_state, initialState,
           (size_t)(__stop_attune_state - __start_attune_state));
}

ATTUNE_EXPORT void attune_set_checked(AttuneProgram *program, int on) {
  if (on)
    resetState();
  for (int32_t i = 0; on && i < attune_module_info.entryCount; ++i)
    attune_prepack_free(&program->prepacked[i]);
  attune_workspace_set_checked(on);
}

ATTUNE_EXPORT void attune_release(AttuneProgram *program,
                                  AttuneTensor *output) {
  (void)program;
  attune_pages_free(output->data);
  output->data = 0;
}

void attune_rt_begin(int32_t dispatch) {
  if (current && current->hooks.begin)
    current->hooks.begin(current->hooks.user, dispatch);
}

void attune_rt_end(int32_t dispatch) {
  if (current && current->hooks.end)
    current->hooks.end(current->hooks.user, dispatch);
}

static int check(AttuneProgram *program, const char *role, int64_t index,
                 const AttuneTypeInfo *want, const AttuneTensor *have) {
  int fits = have->type == want->type && have->rank == want->rank &&
             have->rank <= ATTUNE_MAX_RANK;
  for (int32_t i = 0; fits && i < want->rank; ++i)
    fits = want->sizes[i] < 0 ? have->sizes[i] >= 0
                              : have->sizes[i] == want->sizes[i];
  if (fits)
    return 0;
  char wanted[256], given[256];
  attune_describe_type(wanted, sizeof wanted, want->type, want->rank,
                       want->sizes);
  attune_describe_type(given, sizeof given, have->type,
                       have->rank > ATTUNE_MAX_RANK ? 0 : have->rank,
                       have->sizes);
  return fail(program, "%s %lld is %s, but '%s' takes %s", role,
              (long long)index, given, program->entry->name, wanted);
}

static void *allocOutput(AttuneTensor *output) {
  attune_set_row_major(output);
  int64_t bytes = attune_element_count(output->rank, output->sizes) *
                  attune_element_bytes(output->type);
  return attune_pages_alloc((size_t)(bytes ? bytes : 1));
}

static AttuneDescriptor *describeBuffer(AttuneDescriptor *to, void *data,
                                        int32_t rank, const int64_t *sizes) {
  to->allocated = to->aligned = data;
  to->offset = 0;
  int64_t stride = 1;
  for (int32_t i = rank; i-- > 0;) {
    to->sizesAndStrides[i] = sizes[i];
    to->sizesAndStrides[rank + i] = stride;
    stride *= sizes[i];
  }
  return to;
}

/* The first dimension that is not as found; the rank if all are. */
static int32_t differingDimension(const AttuneTensor *output,
                                  const int64_t *found) {
  int32_t i = 0;
  while (i < output->rank && output->sizes[i] == found[i])
    ++i;
  return i;
}

int64_t _mlir_ciface_attune_rt_output(int64_t index, AttuneDescriptor *sizes) {
  AttuneProgram *program = current;
  AttuneTensor *output = &program->outputs[index];
  const AttuneTypeInfo *want = &program->entry->outputs[index];
  const int64_t *found = (const int64_t *)sizes->aligned + sizes->offset;
  void *data = output->data;
  int32_t wrong = data ? differingDimension(output, found) : want->rank;
  if (wrong < want->rank) {
    fail(program, "output %lld has %lld elements in dimension %d, not %lld",
         (long long)index, (long long)found[wrong], wrong,
         (long long)output->sizes[wrong]);
    /* The code goes on, and writes its result where nobody looks. */
    data = attune_workspace_alloc(
        (size_t)(attune_element_count(want->rank, found) *
                 attune_element_bytes(want->type)));
    program->call->copies[program->call->copyCount++] = data;
  } else if (!data) {
    memcpy(output->sizes, found, (size_t)want->rank * sizeof *found);
    data = output->data = allocOutput(output);
    program->call->owned[index] = 1;
  }
  if (!data) {
    fprintf(stderr, "attune: out of memory: output %lld\n", (long long)index);
    abort();
  }
  return (int64_t)(intptr_t)data;
}

/* Whether a variant is for inputs of these sizes. */
static int suits(const AttuneEntryInfo *variant, const AttuneTensor *inputs,
                 int64_t inputCount) {
  if (inputCount != variant->inputCount)
    return 0;
  const int64_t *bounds = variant->bounds;
  for (int32_t i = 0; i < variant->inputCount; ++i) {
    if (inputs[i].rank != variant->inputs[i].rank)
      return 0;
    for (int32_t d = 0; d < inputs[i].rank; ++d, bounds += 2)
      if (inputs[i].sizes[d] < bounds[0] || inputs[i].sizes[d] > bounds[1])
        return 0;
  }
  return 1;
}

/* The first variant for these sizes, else the entry for all. */
static const AttuneEntryInfo *
findEntry(const char *name, const AttuneTensor *inputs, int64_t inputCount) {
  const AttuneEntryInfo *general = 0;
  for (int32_t i = 0; i < attune_module_info.entryCount; ++i) {
    const AttuneEntryInfo *entry = &attune_module_info.entries[i];
    if (strcmp(entry->name, name))
      continue;
    if (!entry->bounds)
      general = entry;
    else if (suits(entry, inputs, inputCount))
      return entry;
  }
  return general;
}

/* Weights, arena and prepacked come before the inputs. */
enum { kFixed = 3 };

enum { kDescriptorBytes = sizeof(AttuneDescriptor) + 16 * ATTUNE_MAX_RANK };

static int openCall(AttuneProgram *program, Call *call, int64_t count) {
  call->copyCount = 0;
  call->storage = malloc((size_t)(count + kFixed) * (kDescriptorBytes + 17));
  if (!call->storage)
    return fail(program, "out of memory");
  call->arguments =
      (void **)(call->storage + (size_t)(count + kFixed) * kDescriptorBytes);
  call->copies = call->arguments + count + kFixed;
  call->owned = (char *)(call->copies + count + kFixed);
  memset(call->owned, 0, (size_t)count + kFixed);
  return 0;
}

static void freeCall(Call *call) {
  for (int64_t i = 0; i < call->copyCount; ++i)
    attune_workspace_free(call->copies[i]);
  free(call->storage);
}

/* After an error the caller holds what it held before. */
static void closeCall(AttuneProgram *program, Call *call) {
  for (int32_t i = 0; program->failed && i < program->entry->outputCount; ++i)
    if (call->owned[i])
      attune_release(program, &program->outputs[i]);
  freeCall(call);
}

static void *slot(Call *call, int64_t index) {
  return call->storage + index * kDescriptorBytes;
}

static int bindInputs(AttuneProgram *program, Call *call,
                      const AttuneTensor *inputs) {
  const AttuneEntryInfo *entry = program->entry;
  for (int32_t i = 0; i < entry->inputCount; ++i) {
    if (check(program, "input", i, &entry->inputs[i], &inputs[i]))
      return 1;
    void *data = inputs[i].data;
    int64_t count = attune_element_count(inputs[i].rank, inputs[i].sizes);
    if (!data && count)
      return fail(program, "input %d has no data", i);
    if (count && !attune_is_row_major(&inputs[i])) {
      data = attune_workspace_alloc(
          (size_t)(count * attune_element_bytes(inputs[i].type)));
      if (!data)
        return fail(program, "out of memory");
      call->copies[call->copyCount++] = data;
      attune_copy_row_major(data, &inputs[i]);
    }
    call->arguments[kFixed + i] = describeBuffer(
        slot(call, kFixed + i), data, inputs[i].rank, inputs[i].sizes);
  }
  return 0;
}

static int bindOutputs(AttuneProgram *program, Call *call,
                       AttuneTensor *outputs) {
  const AttuneEntryInfo *entry = program->entry;
  int64_t next = kFixed + entry->inputCount;
  for (int32_t i = 0; i < entry->outputCount; ++i) {
    const AttuneTypeInfo *type = &entry->outputs[i];
    if (outputs[i].data) {
      if (check(program, "output", i, type, &outputs[i]))
        return 1;
      if (!attune_is_row_major(&outputs[i]))
        return fail(program, "output %d is not row-major", i);
    } else {
      outputs[i].type = type->type;
      outputs[i].rank = type->rank;
      for (int32_t d = 0; d < type->rank; ++d)
        outputs[i].sizes[d] = type->sizes[d];
    }
    if (!attune_is_static(type))
      continue;
    if (!outputs[i].data) {
      if (!(outputs[i].data = allocOutput(&outputs[i])))
        return fail(program, "out of memory: output %d", i);
      call->owned[i] = 1;
    }
    call->arguments[next] = describeBuffer(slot(call, next), outputs[i].data,
                                           type->rank, type->sizes);
    ++next;
  }
  return 0;
}

/* Finds the entry and looks at the number of its inputs. */
static int begin(AttuneProgram *program, const char *name,
                 const AttuneTensor *inputs, int64_t inputCount) {
  program->failed = 0;
  program->error[0] = 0;
  const AttuneEntryInfo *entry = findEntry(name, inputs, inputCount);
  if (!entry)
    return fail(program, "no entry function '%s'", name);
  program->entry = entry;
  if (inputCount != entry->inputCount)
    return fail(program, "'%s' takes %d inputs, not %lld", name,
                entry->inputCount, (long long)inputCount);
  return 0;
}

static AttunePrepacked *prepackedOf(AttuneProgram *program) {
  return &program->prepacked[program->entry - attune_module_info.entries];
}

/* Weights, arena and what is prepacked. */
static int bindFixed(AttuneProgram *program, Call *call,
                     const AttuneTensor *inputs) {
  const AttuneEntryInfo *entry = program->entry;
  void *prepacked = attune_prepack_block(prepackedOf(program), entry, inputs,
                                         call->arguments + kFixed);
  if (entry->prepack && !prepacked)
    return fail(program, "out of memory: packed weights");
  call->arguments[0] =
      describeBuffer(slot(call, 0), (void *)attune_module_info.weights, 1,
                     &attune_module_info.weightBytes);
  call->arguments[1] =
      describeBuffer(slot(call, 1), program->arena, 1, &program->arenaBytes);
  call->arguments[2] =
      describeBuffer(slot(call, 2), prepacked, 1, &entry->prepackedBytes);
  if (program->arena && attune_workspace_checked())
    memset(program->arena, 0xFF, (size_t)program->arenaBytes);
  return 0;
}

ATTUNE_EXPORT int attune_prepack(AttuneProgram *program, const char *name,
                                 const AttuneTensor *inputs,
                                 int64_t inputCount) {
  if (begin(program, name, inputs, inputCount))
    return 1;
  Call call;
  if (openCall(program, &call, inputCount))
    return 1;
  if (!bindInputs(program, &call, inputs) &&
      attune_prepack_hold(prepackedOf(program), program->entry, inputs,
                          call.arguments + kFixed))
    fail(program, "out of memory: packed weights");
  freeCall(&call);
  return program->failed;
}

ATTUNE_EXPORT int attune_run(AttuneProgram *program, const char *name,
                             const AttuneTensor *inputs, int64_t inputCount,
                             AttuneTensor *outputs, int64_t outputCount) {
  program->outputs = outputs;
  if (begin(program, name, inputs, inputCount))
    return 1;
  const AttuneEntryInfo *entry = program->entry;
  if (outputCount != entry->outputCount)
    return fail(program, "'%s' gives %d outputs, not %lld", name,
                entry->outputCount, (long long)outputCount);
  Call call;
  if (openCall(program, &call, inputCount + outputCount))
    return 1;
  if (!bindInputs(program, &call, inputs) &&
      !bindOutputs(program, &call, outputs) &&
      !bindFixed(program, &call, inputs)) {
    AttuneProgram *outer = current;
    current = program;
    program->call = &call;
    entry->call(call.arguments);
    current = outer;
  }
  closeCall(program, &call);
  return program->failed;
}
