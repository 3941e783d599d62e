/*===----------------------------------------------------------------------===
 * Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
 * See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

/* LLVM moves single bf16 values as floats and calls this to round them back;
 * older compilers' runtime libraries do not have it. */

#include <stdint.h>

#if defined(__clang__) || __GNUC__ >= 13

typedef union {
  float value;
  uint32_t bits;
} Float;

typedef union {
  uint16_t bits;
  __bf16 value;
} Bfloat;

__attribute__((weak)) __bf16 __truncsfbf2(float value);
__attribute__((weak)) __bf16 __truncsfbf2(float value) {
  Float from = {.value = value};
  Bfloat to;
  if (value != value)
    to.bits = (uint16_t)((from.bits >> 16) | 0x40); /* stays NaN, made quiet */
  else /* to the nearest, ties to even */
    to.bits = (uint16_t)((from.bits + 0x7FFF + ((from.bits >> 16) & 1)) >> 16);
  return to.value;
}

#endif
