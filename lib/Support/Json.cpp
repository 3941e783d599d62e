//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Support/Json.h"

#include "attune/Support/Error.h"
#include "attune/Support/Nesting.h"

using namespace attune;
using llvm::StringRef;

static constexpr int maxDepth = 64;

llvm::Expected<llvm::json::Value> attune::parseJson(StringRef text) {
  if (isNestedDeeper(text, maxDepth, Syntax::Json))
    return makeError("nested more than {0} deep", maxDepth);
  return llvm::json::parse(text);
}
