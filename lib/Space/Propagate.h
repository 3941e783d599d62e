//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// What can be said about single knobs and pairs before anything is built.

#ifndef ATTUNE_LIB_SPACE_PROPAGATE_H
#define ATTUNE_LIB_SPACE_PROPAGATE_H

#include "CompiledExpression.h"

namespace attune {

/// Knobs that share constraints, directly or over others; ascending. A knob
/// without constraints is a group of its own.
struct Group {
  std::vector<int> variables;
  std::vector<const Constraint *> constraints;
};

/// The variables of knobs: all values, except that a range no constraint speaks
/// of is not listed.
llvm::Expected<std::vector<KnobVariable>>
listVariables(llvm::ArrayRef<Knob> knobs,
              llvm::ArrayRef<Constraint> constraints);

/// Takes away values that cannot be part of a valid configuration: by every
/// constraint on one knob, by bounds, and by pairs of small domains. Returns
/// the constraints that still say something. A variable may end without values.
std::vector<const Constraint *>
propagate(llvm::ArrayRef<Constraint> constraints,
          std::vector<KnobVariable> &variables);

std::vector<Group> formGroups(size_t variableCount,
                              llvm::ArrayRef<const Constraint *> constraints);

/// The order in which to assign the variables of a group, so that few different
/// states are met on the way.
std::vector<int> chooseOrder(const Group &group,
                             llvm::ArrayRef<KnobVariable> variables);

} // namespace attune

#endif // ATTUNE_LIB_SPACE_PROPAGATE_H
