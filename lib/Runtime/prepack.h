/*===----------------------------------------------------------------------===
 * Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
 * See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

/* Weights in the form in which the code reads them: packed once, not in every
 * call. */
#ifndef ATTUNE_LIB_RUNTIME_PREPACK_H
#define ATTUNE_LIB_RUNTIME_PREPACK_H

#include "attune/Runtime/module_info.h"
#include "attune/Runtime/program.h"

/* What entries keep that have only weights to pack: one block for each, shared
 * by all programs of this library. The first program makes them, the last one
 * frees them. Fails when memory is short. */
int attune_prepack_open_shared(void);
void attune_prepack_close_shared(void);

/* The packed inputs of one entry of one program. */
typedef struct AttunePrepacked {
  void *block;       /* 0: none was made yet */
  const void **held; /* where each input of prepackInputs was; 0: not held */
} AttunePrepacked;

/* A block of `entry` for this call: `inputs` and their descriptors (by number)
 * are those of the call. Packs them unless they are held. 0: out of memory. */
void *attune_prepack_block(AttunePrepacked *own, const AttuneEntryInfo *entry,
                           const AttuneTensor *inputs, void **descriptors);
/* As attune_prepack_block, and holds them. Gives 0 on success. */
int attune_prepack_hold(AttunePrepacked *own, const AttuneEntryInfo *entry,
                        const AttuneTensor *inputs, void **descriptors);
/* They are packed anew in the next call. */
void attune_prepack_forget(AttunePrepacked *own);
void attune_prepack_free(AttunePrepacked *own);

#endif
