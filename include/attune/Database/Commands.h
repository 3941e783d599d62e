//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// `attune db ...` as functions: results on `out`, errors returned.

#ifndef ATTUNE_DATABASE_COMMANDS_H
#define ATTUNE_DATABASE_COMMANDS_H

#include "attune/Database/Database.h"
#include "llvm/Support/raw_ostream.h"

namespace attune::db {

enum class Format { Text, Json };

/// Counts, outcomes and the time of the last trial.
llvm::Error show(llvm::StringRef path, Format format, llvm::raw_ostream &out);
/// Sessions, then dispatches with their best configuration.
llvm::Error list(llvm::StringRef path, Format format, llvm::raw_ostream &out);
/// `ok`, or what is wrong, a line each, and an error that counts them.
llvm::Error check(llvm::StringRef path, Format format, llvm::raw_ostream &out);
/// JSON lines to `out`.
llvm::Error exportTo(llvm::StringRef path, llvm::raw_ostream &out);
/// JSON lines from the file `from` (`-` is standard input).
llvm::Error importFrom(llvm::StringRef path, llvm::StringRef from,
                       Format format, llvm::raw_ostream &out);
/// Adds all of `others` to `path`, which is made if missing.
llvm::Error merge(llvm::StringRef path, llvm::ArrayRef<std::string> others,
                  Format format, llvm::raw_ostream &out);
llvm::Error prune(llvm::StringRef path, const PruneOptions &options,
                  Format format, llvm::raw_ostream &out);

} // namespace attune::db

#endif // ATTUNE_DATABASE_COMMANDS_H
