/*===----------------------------------------------------------------------===
 * Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
 * See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#include "attune/Runtime/module_info.h"
#include "attune/Runtime/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* NumPy's names of the element types, in the order of AttuneType; bf16 and i4
 * travel as raw integers. */
static const char *const descriptions[] = {"<f4", "<f8", "<f2", "<u2",
                                           "|b1", "|u1", "|i1", "<i2",
                                           "<i4", "<i8", "<i8"};
static const int widths[] = {4, 8, 2, 2, 1, 1, 1, 2, 4, 8, 8};

/* The header of a .npy file, version 1: padded so that data begins at a
 * multiple of 64 (numpy.lib.format). */
static int writeHeader(FILE *file, int32_t type, int64_t rank,
                       const int64_t *sizes) {
  char text[1024];
  int at = snprintf(text, sizeof text,
                    "{'descr': '%s', 'fortran_order': False, 'shape': (",
                    descriptions[type]);
  for (int64_t i = 0; i < rank; ++i)
    at += snprintf(text + at, sizeof text - (size_t)at, "%lld,",
                   (long long)sizes[i]);
  at += snprintf(text + at, sizeof text - (size_t)at, "), }");
  int total = (10 + at + 1 + 63) / 64 * 64;
  for (; 10 + at + 1 < total; ++at)
    text[at] = ' ';
  text[at++] = '\n';
  unsigned char magic[10] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, 0, 0};
  magic[8] = (unsigned char)(at & 0xFF);
  magic[9] = (unsigned char)(at >> 8);
  return fwrite(magic, sizeof magic, 1, file) == 1 &&
         fwrite(text, (size_t)at, 1, file) == 1;
}

/* Sizes of every call; values are kept of the first one only. */
static int noteSizes(const char *path, int32_t dispatch, int32_t argument,
                     const AttuneUnrankedDescriptor *buffer) {
  FILE *file = fopen(path, "a");
  if (!file)
    return 0;
  fprintf(file, "%d %d ", dispatch, argument);
  for (int64_t i = 0; i < buffer->rank; ++i)
    fprintf(file, "%s%lld", i ? "x" : "",
            (long long)buffer->descriptor->sizesAndStrides[i]);
  fputc('\n', file);
  int ok = !ferror(file);
  return !fclose(file) && ok;
}

void attune_rt_capture(int32_t dispatch, int32_t argument, int32_t type,
                       const AttuneUnrankedDescriptor *buffer) {
  const char *folder = getenv("ATTUNE_CAPTURE");
  char path[4096], sizes[4096];
  if (!folder ||
      snprintf(path, sizeof path, "%s/d%d.a%d.npy", folder, dispatch,
               argument) >= (int)sizeof path ||
      snprintf(sizes, sizeof sizes, "%s/sizes.txt", folder) >=
          (int)sizeof sizes)
    return;
  if (!noteSizes(sizes, dispatch, argument, buffer)) {
    perror(sizes);
    abort();
  }
  if (access(path, F_OK) == 0)
    return;
  const AttuneDescriptor *d = buffer->descriptor;
  int64_t count = 1;
  for (int64_t i = 0; i < buffer->rank; ++i)
    count *= d->sizesAndStrides[i];
  FILE *file = fopen(path, "wb");
  const char *data = (const char *)d->aligned + d->offset * widths[type];
  int ok = file && writeHeader(file, type, buffer->rank, d->sizesAndStrides) &&
           (count == 0 || fwrite(data, (size_t)widths[type], (size_t)count,
                                 file) == (size_t)count);
  if (file && fclose(file))
    ok = 0;
  if (!ok) {
    perror(path);
    abort();
  }
}

#define CAPTURE(NAME, TYPE)                                                    \
  void _mlir_ciface_attune_rt_capture_##NAME(                                  \
      int32_t dispatch, int32_t argument,                                      \
      const AttuneUnrankedDescriptor *buffer) {                                \
    attune_rt_capture(dispatch, argument, TYPE, buffer);                       \
  }
CAPTURE(f32, ATTUNE_F32)
CAPTURE(f64, ATTUNE_F64)
CAPTURE(f16, ATTUNE_F16)
CAPTURE(bf16, ATTUNE_BF16)
CAPTURE(i1, ATTUNE_I1)
CAPTURE(i4, ATTUNE_I4)
CAPTURE(i8, ATTUNE_I8)
CAPTURE(i16, ATTUNE_I16)
CAPTURE(i32, ATTUNE_I32)
CAPTURE(i64, ATTUNE_I64)
CAPTURE(index, ATTUNE_INDEX)
