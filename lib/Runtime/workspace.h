/*===----------------------------------------------------------------------===
 * Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
 * See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

/* Buffers that compiled code asks for while it runs. Freed blocks are kept and
 * handed out again: fresh pages in every call cost a quarter of a matmul. */
#ifndef ATTUNE_LIB_RUNTIME_WORKSPACE_H
#define ATTUNE_LIB_RUNTIME_WORKSPACE_H

#include <stddef.h>
#include <stdint.h>

/* At least `bytes` bytes aligned to 64, or 0. */
void *attune_workspace_alloc(size_t bytes);
void attune_workspace_free(void *pointer);
/* Gives every kept block back to the system. */
void attune_workspace_trim(void);
/* Whether blocks are filled with 0xFF when handed out. */
void attune_workspace_set_checked(int on);
int attune_workspace_checked(void);

/* Fresh memory aligned to 64 (large blocks: to huge pages), and its release. */
void *attune_pages_alloc(size_t bytes);
void attune_pages_free(void *pointer);

#endif
