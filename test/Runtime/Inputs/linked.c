/* Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see
 * LICENSE. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Linked, not loaded; two instances, and buffers that are aligned to a float
 * only. */
#include "attune/Runtime/program.h"

#include <stdio.h>
#include <string.h>

static float input[128 * 64 + 16], first[128 * 16 + 16], second[128 * 16 + 16];

static AttuneTensor matrix(float *data, int64_t rows, int64_t columns) {
  AttuneTensor tensor = {data, ATTUNE_F32, 2, {rows, columns}, {columns, 1}};
  return tensor;
}

int main(void) {
  AttuneProgram *programs[2];
  for (int i = 0; i < 128 * 64; ++i)
    input[i + 1] = (float)(i % 7);
  AttuneTensor in = matrix(input + 1, 128, 64);
  AttuneTensor outs[2] = {matrix(first + 1, 128, 16),
                          matrix(second + 3, 128, 16)};
  for (int i = 0; i < 2; ++i)
    if (attune_create(ATTUNE_ABI_VERSION, &programs[i]))
      return 1;
  for (int i = 0; i < 2; ++i)
    if (attune_run(programs[i], "encode", &in, 1, &outs[i], 1))
      return 2;
  if (memcmp(first + 1, second + 3, sizeof(float) * 128 * 16))
    return 3;
  if (first[0] || first[128 * 16 + 1] || second[2] || second[128 * 16 + 3])
    return 4; /* written beside the output */
  for (int i = 0; i < 2; ++i)
    attune_destroy(programs[i]);
  printf("2 instances, equal results\n");
  return 0;
}
