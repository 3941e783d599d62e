//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// The tables, and how a file of an older version becomes one of this version.

#ifndef ATTUNE_LIB_DATABASE_SCHEMA_H
#define ATTUNE_LIB_DATABASE_SCHEMA_H

#include "Sqlite.h"
#include "llvm/ADT/ArrayRef.h"

namespace attune::sqlite {

/// Marks a SQLite file as Attune's: "Attn".
inline constexpr int64_t applicationId = 0x4174746e;

/// migrations()[v] brings a file from version v to v + 1. Only ever added to:
/// a released migration does not change.
llvm::ArrayRef<llvm::StringLiteral> migrations();

/// The version of the file's schema: 0 for a new file. Errors: a database of
/// something else, or of a newer Attune.
llvm::Expected<int64_t>
schemaVersion(const Connection &connection,
              llvm::ArrayRef<llvm::StringLiteral> known);

/// Brings the file up to the last of `steps`, all of it or nothing. Two
/// processes may do so at once.
llvm::Error migrate(const Connection &connection,
                    llvm::ArrayRef<llvm::StringLiteral> steps);

} // namespace attune::sqlite

#endif // ATTUNE_LIB_DATABASE_SCHEMA_H
