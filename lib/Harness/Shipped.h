//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// The shipped problems, by file. Internal to the room.

#ifndef ATTUNE_LIB_HARNESS_SHIPPED_H
#define ATTUNE_LIB_HARNESS_SHIPPED_H

#include "attune/Harness/Problem.h"

namespace attune {

std::vector<Problem> contractionProblems();
std::vector<Problem> convolutionProblems();
std::vector<Problem> memoryProblems();
std::vector<Problem> rowProblems();

} // namespace attune

#endif // ATTUNE_LIB_HARNESS_SHIPPED_H
