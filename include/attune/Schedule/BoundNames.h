//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// The names that a schedule's arguments may carry in `attune.bind`.

#ifndef ATTUNE_SCHEDULE_BOUNDNAMES_H
#define ATTUNE_SCHEDULE_BOUNDNAMES_H

#include "llvm/ADT/StringRef.h"

namespace attune {

/// Names that `attune.bind` may give to handles; every other name is a param.
bool isHandleName(llvm::StringRef name);
/// All names of params that some problem binds.
bool isParamName(llvm::StringRef name);

} // namespace attune

#endif // ATTUNE_SCHEDULE_BOUNDNAMES_H
