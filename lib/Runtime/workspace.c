/*===----------------------------------------------------------------------===
 * Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
 * See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#include "workspace.h"

#include "attune/Runtime/module_info.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { kAlignment = 64, kHeader = 64, kClasses = 256 };
static const size_t kHugePage = (size_t)2 << 20;

typedef struct Block {
  struct Block *next;
  uint32_t sizeClass;
} Block;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Block *freeBlocks[kClasses];
static int checked = 0;

/* Four classes for each power of two, so that at most a fifth is wasted. */
static uint32_t classOf(size_t bytes, size_t *rounded) {
  size_t size = 256;
  uint32_t index = 0;
  for (; index + 4 <= kClasses; index += 4, size *= 2)
    for (uint32_t quarter = 0; quarter < 4; ++quarter) {
      *rounded = size + size / 4 * quarter;
      if (bytes <= *rounded)
        return index + quarter;
    }
  return kClasses;
}

void *attune_pages_alloc(size_t bytes) {
  size_t alignment = bytes >= kHugePage ? kHugePage : kAlignment;
  void *pointer = 0;
  if (bytes > SIZE_MAX - alignment ||
      posix_memalign(&pointer, alignment, bytes))
    return 0;
  if (bytes >= kHugePage)
    madvise(pointer, bytes, MADV_HUGEPAGE);
  return pointer;
}

void attune_pages_free(void *pointer) { free(pointer); }

void *attune_workspace_alloc(size_t bytes) {
  size_t rounded = 0;
  if (bytes > SIZE_MAX / 4)
    return 0;
  uint32_t sizeClass = classOf(bytes, &rounded);
  if (sizeClass >= kClasses)
    return 0;
  pthread_mutex_lock(&lock);
  Block *block = freeBlocks[sizeClass];
  if (block)
    freeBlocks[sizeClass] = block->next;
  pthread_mutex_unlock(&lock);
  if (!block) {
    block = attune_pages_alloc(rounded + kHeader);
    if (!block)
      return 0;
    block->sizeClass = sizeClass;
  }
  void *data = (char *)block + kHeader;
  if (checked)
    memset(data, 0xFF, bytes);
  return data;
}

void attune_workspace_free(void *pointer) {
  if (!pointer)
    return;
  Block *block = (Block *)((char *)pointer - kHeader);
  pthread_mutex_lock(&lock);
  block->next = freeBlocks[block->sizeClass];
  freeBlocks[block->sizeClass] = block;
  pthread_mutex_unlock(&lock);
}

void attune_workspace_trim(void) {
  pthread_mutex_lock(&lock);
  for (int i = 0; i < kClasses; ++i)
    while (freeBlocks[i]) {
      Block *block = freeBlocks[i];
      freeBlocks[i] = block->next;
      attune_pages_free(block);
    }
  pthread_mutex_unlock(&lock);
}

void attune_workspace_set_checked(int on) { checked = on; }
int attune_workspace_checked(void) { return checked; }

/* Compiled code cannot go on without the memory it asked for. */
static void *allocOrDie(uint64_t bytes) {
  void *pointer = attune_workspace_alloc(bytes);
  if (!pointer) {
    fprintf(stderr, "attune: out of memory: %llu bytes of workspace\n",
            (unsigned long long)bytes);
    abort();
  }
  return pointer;
}

void *_mlir_memref_to_llvm_alloc(uint64_t bytes) { return allocOrDie(bytes); }

void *_mlir_memref_to_llvm_aligned_alloc(uint64_t alignment, uint64_t bytes) {
  (void)alignment; /* never above 64: Codegen asks for no more */
  return allocOrDie(bytes);
}

void _mlir_memref_to_llvm_free(void *pointer) {
  attune_workspace_free(pointer);
}
