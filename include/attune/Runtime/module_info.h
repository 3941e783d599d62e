/*===----------------------------------------------------------------------===
 * Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
 * See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

/* The table that Codegen writes into every library, and the functions that
 * compiled code calls. Internal: host programs use program.h. */
#ifndef ATTUNE_RUNTIME_MODULE_INFO_H
#define ATTUNE_RUNTIME_MODULE_INFO_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ATTUNE_MODULE_INFO_VERSION 2

typedef struct AttuneTypeInfo {
  int32_t type; /* AttuneType */
  int32_t rank;
  const int64_t *sizes; /* -1: known at run time only */
} AttuneTypeInfo;

typedef struct AttuneEntryInfo {
  const char *name;
  /* Takes pointers to memref descriptors: weights, arena, prepacked, inputs,
   * then the outputs whose sizes are all static. */
  void (*call)(void **descriptors);
  /* Writes all of prepacked, from weights, prepacked, and the inputs numbered
   * prepackInputs. Null when nothing is prepacked. */
  void (*prepack)(void **descriptors);
  int64_t arenaBytes;
  int64_t prepackedBytes;
  const int32_t *prepackInputs;
  int32_t prepackInputCount;
  int32_t inputCount;
  int32_t outputCount;
  const AttuneTypeInfo *inputs;
  const AttuneTypeInfo *outputs;
  /* Of a variant, which has its entry's name: the least and the greatest size
   * of each dimension of each input. Null: for all other sizes. */
  const int64_t *bounds;
} AttuneEntryInfo;

typedef struct AttuneModuleInfo {
  int32_t version; /* ATTUNE_MODULE_INFO_VERSION */
  int32_t entryCount;
  const AttuneEntryInfo *entries;
  const char *signature; /* JSON, see attune_signature */
  const char *weights;   /* aligned to 64 bytes; null when there are none */
  int64_t weightBytes;
  int32_t dispatchCount;
  int32_t threads; /* 0: whatever OpenMP says; 1: code without OpenMP */
} AttuneModuleInfo;

extern const AttuneModuleInfo attune_module_info;

/* A memref descriptor as MLIR's LLVM lowering lays it out; sizes and strides
 * follow one another, rank of each. */
typedef struct AttuneDescriptor {
  void *allocated;
  void *aligned;
  int64_t offset;
  int64_t sizesAndStrides[];
} AttuneDescriptor;

/* Called by compiled code. */
void *_mlir_memref_to_llvm_alloc(uint64_t bytes);
void *_mlir_memref_to_llvm_aligned_alloc(uint64_t alignment, uint64_t bytes);
void _mlir_memref_to_llvm_free(void *pointer);
void attune_rt_begin(int32_t dispatch);
void attune_rt_end(int32_t dispatch);
/* The address of output `index`, whose sizes are known only now; `sizes` is a
 * memref<?xi64>. */
int64_t _mlir_ciface_attune_rt_output(int64_t index, AttuneDescriptor *sizes);
/* Writes one input of a dispatch to
 * $ATTUNE_CAPTURE/d<dispatch>.a<argument>.npy, the first time it is seen.
 * `buffer` is a row-major memref<*xT>; there is one function for each T. Only
 * libraries compiled for it call these. */
typedef struct AttuneUnrankedDescriptor {
  int64_t rank;
  AttuneDescriptor *descriptor;
} AttuneUnrankedDescriptor;
void attune_rt_capture(int32_t dispatch, int32_t argument, int32_t type,
                       const AttuneUnrankedDescriptor *buffer);

#ifdef __cplusplus
}
#endif
#endif /* ATTUNE_RUNTIME_MODULE_INFO_H */
