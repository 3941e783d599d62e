//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Support/Nesting.h"

using namespace attune;
using llvm::StringRef;

/// The quote that ends the text which begins at `start`. Texts may be hundreds
/// of megabytes of weights.
static size_t findEndOfText(StringRef text, size_t start) {
  size_t i = start + 1;
  while ((i = text.find_first_of("\"\\", i)) != StringRef::npos &&
         text[i] == '\\')
    i += 2;
  return std::min(i, text.size());
}

bool attune::isNestedDeeper(StringRef text, int depth, Syntax syntax) {
  bool mlir = syntax == Syntax::Mlir;
  auto at = [&](size_t i) { return i < text.size() ? text[i] : ' '; };
  int level = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    int step = 0;
    switch (text[i]) {
    case '"':
      i = findEndOfText(text, i);
      break;
    case '/':
      if (mlir && at(i + 1) == '/')
        i = std::min(text.find('\n', i), text.size());
      break;
    case '[':
    case '{':
      step = 1;
      break;
    case ']':
    case '}':
      step = -1;
      break;
    case '(':
      step = mlir;
      break;
    case ')':
      step = -int(mlir);
      break;
    case '<':
      step = mlir && at(i + 1) != '=';
      break;
    case '>': // not of an arrow or a comparison
      step = -int(mlir && at(i + 1) != '=' && at(i - 1) != '-');
      break;
    }
    level = std::max(0, level + step);
    if (level > depth)
      return true;
  }
  return false;
}
