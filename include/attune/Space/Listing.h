//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// What `attune space` prints of a space: for people, or one JSON value that
// `parseSpace` reads.

#ifndef ATTUNE_SPACE_LISTING_H
#define ATTUNE_SPACE_LISTING_H

#include "attune/Space/Space.h"
#include "llvm/Support/raw_ostream.h"

namespace attune {

/// Knobs with their domains, constraints, and the number of configurations.
void describeSpace(const Space &space, llvm::raw_ostream &out);
llvm::json::Value toJSON(const Space &space);

/// Configurations 0 .. limit-1, one a line.
void listSpace(const Space &space, uint64_t limit, llvm::raw_ostream &out);

/// `count` different configurations, uniform, the same for the same seed; all
/// of them, in order, if there are no more.
std::vector<Configuration> sampleDistinct(const Space &space, size_t count,
                                          uint64_t seed);

/// The number alone; `2^64 or more` is written as `18446744073709551615+`.
std::string countText(const Space &space);

} // namespace attune

#endif // ATTUNE_SPACE_LISTING_H
