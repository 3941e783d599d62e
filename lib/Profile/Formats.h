//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// One reader and one writer a format; internal to the room. Errors of readers
// have no file name.

#ifndef ATTUNE_LIB_PROFILE_FORMATS_H
#define ATTUNE_LIB_PROFILE_FORMATS_H

#include "attune/Profile/Formats.h"

namespace attune::profile {

std::string printPprof(const Profile &profile);
llvm::Expected<Profile> parsePprof(llvm::StringRef bytes);

std::string printJsonLines(const Profile &profile);
/// Ours and IREE's.
llvm::Expected<Profile> parseJsonLines(llvm::StringRef text);

llvm::Expected<Profile> parseTracy(llvm::StringRef text);

std::string printChromeTrace(const Profile &profile);
std::string printText(const Profile &profile);

/// Calls, time, counters and sizes.
void addCounts(ProfileRow &row, const ProfileRow &more, double factor);

/// Of a row's `sizes`: `8x784 (3), 32x784 (1)`.
std::string describeSizes(const ProfileRow &row);

/// Adds to the row of that name and entry, or makes it.
ProfileRow &rowOf(Profile &profile, const ProfileRow &like);

} // namespace attune::profile

#endif // ATTUNE_LIB_PROFILE_FORMATS_H
