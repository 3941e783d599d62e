/*===----------------------------------------------------------------------===
 * Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
 * See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#include "tensor.h"

#include <stdio.h>
#include <string.h>

int64_t attune_element_bytes(int32_t type) {
  switch (type) {
  case ATTUNE_F32:
  case ATTUNE_I32:
    return 4;
  case ATTUNE_F64:
  case ATTUNE_I64:
  case ATTUNE_INDEX:
    return 8;
  case ATTUNE_F16:
  case ATTUNE_BF16:
  case ATTUNE_I16:
    return 2;
  default:
    return 1;
  }
}

static const char *typeName(int32_t type) {
  static const char *const names[] = {"f32", "f64", "f16", "bf16", "i1",   "i4",
                                      "i8",  "i16", "i32", "i64",  "index"};
  return type >= 0 && type <= ATTUNE_INDEX ? names[type] : "unknown type";
}

void attune_describe_type(char *text, size_t size, int32_t type, int32_t rank,
                          const int64_t *sizes) {
  size_t at = 0;
  for (int32_t i = 0; i < rank && at + 24 < size; ++i)
    at += (size_t)(sizes[i] < 0 ? snprintf(text + at, size - at, "?x")
                                : snprintf(text + at, size - at, "%lldx",
                                           (long long)sizes[i]));
  snprintf(text + at, size - at, "%s", typeName(type));
}

int64_t attune_element_count(int32_t rank, const int64_t *sizes) {
  int64_t count = 1;
  for (int32_t i = 0; i < rank; ++i)
    count *= sizes[i];
  return count;
}

void attune_set_row_major(AttuneTensor *tensor) {
  int64_t stride = 1;
  for (int32_t i = tensor->rank; i-- > 0;) {
    tensor->strides[i] = stride;
    stride *= tensor->sizes[i];
  }
}

int attune_is_row_major(const AttuneTensor *tensor) {
  int64_t stride = 1;
  for (int32_t i = tensor->rank; i-- > 0;) {
    if (tensor->sizes[i] != 1 && tensor->strides[i] != stride)
      return 0;
    stride *= tensor->sizes[i];
  }
  return 1;
}

/* Copies a strided tensor into row-major bytes. */
void attune_copy_row_major(char *to, const AttuneTensor *from) {
  int64_t bytes = attune_element_bytes(from->type);
  int64_t count = attune_element_count(from->rank, from->sizes);
  int64_t at[ATTUNE_MAX_RANK] = {0};
  for (int64_t i = 0; i < count; ++i) {
    int64_t offset = 0;
    for (int32_t d = 0; d < from->rank; ++d)
      offset += at[d] * from->strides[d];
    memcpy(to + i * bytes, (const char *)from->data + offset * bytes,
           (size_t)bytes);
    for (int32_t d = from->rank; d-- > 0;) {
      if (++at[d] < from->sizes[d])
        break;
      at[d] = 0;
    }
  }
}

int attune_is_static(const AttuneTypeInfo *type) {
  for (int32_t i = 0; i < type->rank; ++i)
    if (type->sizes[i] < 0)
      return 0;
  return 1;
}
