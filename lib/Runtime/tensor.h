/*===----------------------------------------------------------------------===
 * Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
 * See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

/* Sizes, strides and types of the tensors that a caller describes. */
#ifndef ATTUNE_LIB_RUNTIME_TENSOR_H
#define ATTUNE_LIB_RUNTIME_TENSOR_H

#include "attune/Runtime/module_info.h"
#include "attune/Runtime/program.h"

#include <stddef.h>

/* Of one element of an AttuneType in memory. */
int64_t attune_element_bytes(int32_t type);
int64_t attune_element_count(int32_t rank, const int64_t *sizes);
/* `text` becomes e.g. 4x?xf32. */
void attune_describe_type(char *text, size_t size, int32_t type, int32_t rank,
                          const int64_t *sizes);
int attune_is_static(const AttuneTypeInfo *type);

void attune_set_row_major(AttuneTensor *tensor);
/* Strides of dimensions of size 1 do not count. */
int attune_is_row_major(const AttuneTensor *tensor);
/* Copies a strided tensor into row-major bytes. */
void attune_copy_row_major(char *to, const AttuneTensor *from);

#endif
