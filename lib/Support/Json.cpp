//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Support/Json.h"

#include "attune/Support/Error.h"
#include "attune/Support/Nesting.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace attune;
using llvm::StringRef;

static constexpr int maxDepth = 64;

/// A number that overflows is read as infinite, which JSON cannot write.
static bool isFinite(const llvm::json::Value &value) {
  if (auto number = value.getAsNumber())
    return std::isfinite(*number);
  if (const llvm::json::Array *array = value.getAsArray())
    return llvm::all_of(*array, isFinite);
  if (const llvm::json::Object *object = value.getAsObject())
    return llvm::all_of(
        *object, [](const auto &member) { return isFinite(member.second); });
  return true;
}

llvm::Expected<llvm::json::Value> attune::parseJson(StringRef text) {
  if (isNestedDeeper(text, maxDepth, Syntax::Json))
    return makeError("nested more than {0} deep", maxDepth);
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(text);
  if (value && !isFinite(*value))
    return makeError("a number is too large");
  return value;
}
