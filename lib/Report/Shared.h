//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// What the forms of a report share.

#ifndef ATTUNE_LIB_REPORT_SHARED_H
#define ATTUNE_LIB_REPORT_SHARED_H

#include "attune/Report/SessionReport.h"

namespace attune {

/// The dispatches, those with the most time first.
std::vector<const DispatchReport *> byShare(const SessionReport &report);

int64_t totalTrials(const SessionReport &report);

/// `112 ok, 5 crash`; `none` if there are no trials.
std::string describeCounts(const TrialCounts &counts);

/// `2026-01-31 13:05:00 UTC`.
std::string formatMoment(double secondsSince1970);

} // namespace attune

#endif // ATTUNE_LIB_REPORT_SHARED_H
