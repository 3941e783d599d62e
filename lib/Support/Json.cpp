//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Support/Json.h"

#include "attune/Support/Error.h"

using namespace attune;
using llvm::StringRef;

static constexpr int maxDepth = 64;

static bool isNestedTooDeep(StringRef text) {
  int depth = 0;
  bool inString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (inString) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        inString = false;
    } else if (c == '"') {
      inString = true;
    } else if (c == '[' || c == '{') {
      if (++depth > maxDepth)
        return true;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}

llvm::Expected<llvm::json::Value> attune::parseJson(StringRef text) {
  if (isNestedTooDeep(text))
    return makeError("nested more than {0} deep", maxDepth);
  return llvm::json::parse(text);
}
