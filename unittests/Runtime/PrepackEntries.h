//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Entries whose weights are packed, as compiled code would be.

#ifndef ATTUNE_UNITTESTS_RUNTIME_PREPACKENTRIES_H
#define ATTUNE_UNITTESTS_RUNTIME_PREPACKENTRIES_H

#include "attune/Runtime/module_info.h"

void packForWeigh(void **arguments);
void weigh(void **arguments);
void packForBias(void **arguments);
void bias(void **arguments);

#endif // ATTUNE_UNITTESTS_RUNTIME_PREPACKENTRIES_H
