//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Profiles as files. docs/profile-format.md has every field, and why pprof.

#ifndef ATTUNE_PROFILE_FORMATS_H
#define ATTUNE_PROFILE_FORMATS_H

#include "attune/Profile/Profile.h"
#include <optional>

namespace attune {

enum class ProfileFormat {
  Pprof,       ///< profile.proto, compressed with gzip: pprof, speedscope,
               ///< Perfetto and Pyroscope open it.
  ChromeTrace, ///< chrome://tracing and Perfetto; needs events.
  JsonLines,   ///< An object a line, docs/profile-format.md.
  Text,        ///< A table for people, by share.
};

/// `pprof`, `chrome-trace`, `jsonl`, `text`.
std::optional<ProfileFormat> profileFormatFromString(llvm::StringRef name);

/// The bytes of the file. An error when the format needs what is not there.
llvm::Expected<std::string> printProfile(const Profile &profile,
                                         ProfileFormat format);

/// Reads pprof (with or without gzip), our JSON lines, exports of
/// tracy-csvexport (aggregated, or `-u`), and `iree-profile dispatch
/// --format=jsonl`; which it is, the content says. Errors name the file.
llvm::Expected<Profile> readProfile(llvm::StringRef path);
/// `name` stands for the file in errors.
llvm::Expected<Profile> parseProfile(llvm::StringRef bytes,
                                     llvm::StringRef name);

} // namespace attune

#endif // ATTUNE_PROFILE_FORMATS_H
