//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Reading JSON that may come from a stranger.

#ifndef ATTUNE_SUPPORT_JSON_H
#define ATTUNE_SUPPORT_JSON_H

#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

namespace attune {

/// llvm::json::parse for text from outside. That one parses by recursion, so a
/// file of brackets would end the stack: what is nested deeper than 64 is an
/// error here. Nothing that Attune reads is nested deeper than 10. So is a
/// number that overflows: it would be infinite, which JSON cannot write.
llvm::Expected<llvm::json::Value> parseJson(llvm::StringRef text);

} // namespace attune

#endif // ATTUNE_SUPPORT_JSON_H
