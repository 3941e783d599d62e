//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Session/Budget.h"

#include "attune/Support/Error.h"

#include <limits>

namespace attune {

llvm::Expected<Budget> parseBudget(llvm::StringRef text) {
  Budget budget;
  budget.text = text.str();
  auto bad = [&] {
    return makeError("--budget={0}: a time such as 90s, 10m or 2h, or a number "
                     "of trials such as 200, is needed",
                     text);
  };
  int64_t trials = 0;
  if (!text.getAsInteger(10, trials)) {
    if (trials <= 0)
      return bad();
    budget.trials = trials;
    budget.seconds = std::numeric_limits<double>::infinity();
    return budget;
  }
  double factor = text.ends_with("s")   ? 1
                  : text.ends_with("m") ? 60
                  : text.ends_with("h") ? 3600
                                        : 0;
  double number = 0;
  if (factor == 0 || text.drop_back().getAsDouble(number) || !(number > 0) ||
      number > 1e6)
    return bad();
  budget.seconds = number * factor;
  return budget;
}

} // namespace attune
