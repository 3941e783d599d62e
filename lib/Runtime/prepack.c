/*===----------------------------------------------------------------------===
 * Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
 * See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#include "prepack.h"

#include "workspace.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Descriptors of blocks of bytes. */
typedef struct Bytes {
  void *allocated, *aligned;
  int64_t offset, size, stride;
} Bytes;

static Bytes describeBytes(const void *data, int64_t size) {
  Bytes bytes = {(void *)data, (void *)data, 0, size, 1};
  return bytes;
}

static void *allocate(const AttuneEntryInfo *entry) {
  void *block = attune_pages_alloc((size_t)entry->prepackedBytes);
  /* NaN where nothing is written. */
  if (block && attune_workspace_checked())
    memset(block, 0xFF, (size_t)entry->prepackedBytes);
  return block;
}

/* Calls the entry's function; 0 is success. */
static int fill(const AttuneEntryInfo *entry, void *block,
                void **inputDescriptors) {
  Bytes weights =
      describeBytes(attune_module_info.weights, attune_module_info.weightBytes);
  Bytes to = describeBytes(block, entry->prepackedBytes);
  void **arguments =
      malloc((size_t)(2 + entry->prepackInputCount) * sizeof *arguments);
  if (!arguments)
    return 1;
  arguments[0] = &weights;
  arguments[1] = &to;
  for (int32_t i = 0; i < entry->prepackInputCount; ++i)
    arguments[2 + i] = inputDescriptors[entry->prepackInputs[i]];
  entry->prepack(arguments);
  free(arguments);
  return 0;
}

/*===-- Weights -----------------------------------------------------------===*/

static pthread_mutex_t sharedLock = PTHREAD_MUTEX_INITIALIZER;
static void **shared; /* one an entry; 0: it has none */
static int64_t sharedUsers;

static int isShared(const AttuneEntryInfo *entry) {
  return entry->prepack && !entry->prepackInputCount;
}

static void freeShared(void) {
  for (int32_t i = 0; shared && i < attune_module_info.entryCount; ++i)
    attune_pages_free(shared[i]);
  free(shared);
  shared = 0;
}

static int makeShared(void) {
  size_t count = (size_t)attune_module_info.entryCount;
  shared = calloc(count ? count : 1, sizeof *shared);
  if (!shared)
    return 1;
  for (size_t i = 0; i < count; ++i) {
    const AttuneEntryInfo *entry = &attune_module_info.entries[i];
    if (isShared(entry) &&
        (!(shared[i] = allocate(entry)) || fill(entry, shared[i], 0)))
      return 1;
  }
  return 0;
}

int attune_prepack_open_shared(void) {
  pthread_mutex_lock(&sharedLock);
  int failed = sharedUsers == 0 && makeShared();
  if (failed)
    freeShared();
  else
    ++sharedUsers;
  pthread_mutex_unlock(&sharedLock);
  return failed;
}

void attune_prepack_close_shared(void) {
  pthread_mutex_lock(&sharedLock);
  if (--sharedUsers == 0)
    freeShared();
  pthread_mutex_unlock(&sharedLock);
}

/*===-- Inputs ------------------------------------------------------------===*/

void attune_prepack_forget(AttunePrepacked *own) {
  free(own->held);
  own->held = 0;
}

void attune_prepack_free(AttunePrepacked *own) {
  attune_prepack_forget(own);
  attune_pages_free(own->block);
  own->block = 0;
}

static int holds(const AttunePrepacked *own, const AttuneEntryInfo *entry,
                 const AttuneTensor *inputs) {
  if (!own->held)
    return 0;
  for (int32_t i = 0; i < entry->prepackInputCount; ++i)
    if (own->held[i] != inputs[entry->prepackInputs[i]].data)
      return 0;
  return 1;
}

void *attune_prepack_block(AttunePrepacked *own, const AttuneEntryInfo *entry,
                           const AttuneTensor *inputs, void **descriptors) {
  if (!entry->prepack)
    return 0;
  if (isShared(entry))
    return shared[entry - attune_module_info.entries];
  if (holds(own, entry, inputs))
    return own->block;
  attune_prepack_forget(own);
  if (!own->block && !(own->block = allocate(entry)))
    return 0;
  return fill(entry, own->block, descriptors) ? 0 : own->block;
}

int attune_prepack_hold(AttunePrepacked *own, const AttuneEntryInfo *entry,
                        const AttuneTensor *inputs, void **descriptors) {
  if (!entry->prepackInputCount)
    return 0;
  attune_prepack_forget(own);
  const void **held =
      malloc((size_t)entry->prepackInputCount * sizeof *own->held);
  if (!held || !attune_prepack_block(own, entry, inputs, descriptors)) {
    free(held);
    return 1;
  }
  for (int32_t i = 0; i < entry->prepackInputCount; ++i)
    held[i] = inputs[entry->prepackInputs[i]].data;
  own->held = held;
  return 0;
}
