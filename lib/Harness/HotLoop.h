//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// The loop in which a dispatch spends its time, from its disassembly. Internal
// to the room.

#ifndef ATTUNE_LIB_HARNESS_HOTLOOP_H
#define ATTUNE_LIB_HARNESS_HOTLOOP_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace attune {

/// Of the innermost loops (a jump back with none inside) in what
/// `llvm-objdump -d --no-show-raw-insn` prints, the one with most multiply-adds
/// of vectors, else most vector instructions; its instructions, one a line,
/// with a label, for llvm-mca. Empty: there is no loop.
std::string findHotLoop(llvm::StringRef disassembly);

} // namespace attune

#endif // ATTUNE_LIB_HARNESS_HOTLOOP_H
