//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Files of gzip (RFC 1952), in memory.

#ifndef ATTUNE_SUPPORT_GZIP_H
#define ATTUNE_SUPPORT_GZIP_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>

namespace attune {

/// The result is the same for the same bytes: no time, no name.
std::string compressGzip(llvm::StringRef bytes);
/// Refuses more than 1 GiB: what we read is small, a stranger's file may not
/// be.
llvm::Expected<std::string> decompressGzip(llvm::StringRef bytes);

} // namespace attune

#endif // ATTUNE_SUPPORT_GZIP_H
