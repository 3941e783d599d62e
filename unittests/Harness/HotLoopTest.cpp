//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "../../lib/Harness/HotLoop.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace attune;

namespace {

TEST(HotLoop, isTheInnermostWithMostMultiplyAdds) {
  const char *text = R"(
matmul.o:	file format elf64-x86-64

0000000000000000 <contraction_1>:
       0:      	xorl	%eax, %eax
      10:      	vmovups	(%rdi), %ymm0
      14:      	incq	%rax
      18:      	jne	0x10 <contraction_1+0x10>
      20:      	xorl	%ecx, %ecx
      30:      	vfmadd231ps	(%rsi), %ymm1, %ymm2   # ymm2 = x
      34:      	vfmadd231ps	0x20(%rsi), %ymm1, %ymm3
      38:      	cmpq	%rcx, %rdx
      3c:      	jne	0x30 <contraction_1+0x30>
      40:      	decq	%r8
      44:      	jne	0x20 <contraction_1+0x20>
      48:      	retq
)";
  EXPECT_EQ(findHotLoop(text), ".Lhot:\n"
                               "  vfmadd231ps\t(%rsi), %ymm1, %ymm2\n"
                               "  vfmadd231ps\t0x20(%rsi), %ymm1, %ymm3\n"
                               "  cmpq\t%rcx, %rdx\n"
                               "  jne .Lhot\n");
}

TEST(HotLoop, isNothingWhereThereIsNoLoop) {
  EXPECT_EQ(findHotLoop(""), "");
  EXPECT_EQ(findHotLoop("   0:\tjne\t0x8 <f+0x8>\n   8:\tretq\n"), "");
}

} // namespace
