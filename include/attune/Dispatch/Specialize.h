//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Variants of entries for certain sizes: the compiled program picks one by the
// sizes of its inputs, and the general entry is for all others.

#ifndef ATTUNE_DISPATCH_SPECIALIZE_H
#define ATTUNE_DISPATCH_SPECIALIZE_H

#include "attune/Import/Program.h"

namespace attune {

/// Adds a variant for each of `sizes` to a cleaned-up program, before its
/// dispatches are formed. Where a range is one size, the variant is as static
/// as a program written for it: its dispatches are those of such a program, and
/// have their fingerprints. Open dimensions stay open in a variant for a range;
/// its dispatches are its own, so that they are configured on their own. Sizes
/// that are for no entry of this program become a note.
llvm::Error specialize(Program &program, llvm::ArrayRef<EntrySizes> sizes);

} // namespace attune

#endif // ATTUNE_DISPATCH_SPECIALIZE_H
