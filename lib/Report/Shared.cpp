//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Shared.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <ctime>

using namespace llvm;
using namespace attune;

std::vector<const DispatchReport *>
attune::byShare(const SessionReport &report) {
  std::vector<const DispatchReport *> result;
  for (const DispatchReport &dispatch : report.dispatches)
    result.push_back(&dispatch);
  // Of equal shares, the order of the report (of addresses in one vector).
  llvm::sort(result, [](const DispatchReport *a, const DispatchReport *b) {
    return a->share != b->share ? a->share > b->share : a < b;
  });
  return result;
}

int64_t attune::totalTrials(const SessionReport &report) {
  int64_t total = 0;
  for (const DispatchReport &dispatch : report.dispatches)
    total += dispatch.trials.total();
  return total;
}

std::string attune::describeCounts(const TrialCounts &counts) {
  std::string text;
  for (size_t i = 0; i < outcomeCount; ++i)
    if (counts.counts[i])
      text += formatv("{0}{1} {2}", text.empty() ? "" : ", ", counts.counts[i],
                      outcomeNames[i])
                  .str();
  return text.empty() ? "none" : text;
}

std::string attune::formatMoment(double secondsSince1970) {
  std::time_t seconds = static_cast<std::time_t>(secondsSince1970);
  std::tm parts = {};
  char text[40] = "";
  if (gmtime_r(&seconds, &parts))
    std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts);
  return text;
}
