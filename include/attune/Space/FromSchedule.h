//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// The space of a schedule: its knobs and what its constraints leave of them,
// for one problem and target.

#ifndef ATTUNE_SPACE_FROMSCHEDULE_H
#define ATTUNE_SPACE_FROMSCHEDULE_H

#include "attune/Space/Space.h"
#include "llvm/ADT/StringMap.h"

namespace mlir {
class Operation;
} // namespace mlir

namespace attune {

struct ScheduleSpace {
  Space space;
  /// The values that the schedule selects, or the valid configuration nearest
  /// to them.
  Configuration defaults;
};

/// Reads everything below `root` (a schedule's module or named sequence).
///
/// Knobs are `transform.tune.knob` ops, with the domains of docs/dialect.md,
/// and `transform.tune.alternatives` without a selected region, whose values
/// are the numbers of their regions (the default is 0); what is in a region
/// exists when it is chosen. Constraints are the assertions in
/// `transform.smt.constrain_params`, over knobs, arguments with `attune.bind`,
/// `transform.param.constant`, and results of other constraint ops and
/// alternatives. Integers and booleans of SMT, no bitvectors, arrays,
/// quantifiers or declared functions.
///
/// `bindings` are the numbers behind `attune.bind` and symbolic domains:
/// {"m": 1024, "l1_bytes": 32768}. Errors begin with the file and line; an
/// unsatisfiable space is one, too.
llvm::Expected<ScheduleSpace>
spaceFromSchedule(llvm::StringRef schedule, mlir::Operation *root,
                  const llvm::StringMap<int64_t> &bindings);

} // namespace attune

#endif // ATTUNE_SPACE_FROMSCHEDULE_H
