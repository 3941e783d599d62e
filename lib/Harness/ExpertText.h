//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// The text of the schedule that an expert stands for. Internal to the room.

#ifndef ATTUNE_LIB_HARNESS_EXPERTTEXT_H
#define ATTUNE_LIB_HARNESS_EXPERTTEXT_H

#include "attune/Harness/Expert.h"

namespace attune {

struct ExpertParts {
  llvm::StringRef name;
  llvm::ArrayRef<std::string> classes;
  llvm::ArrayRef<Transformation> steps;
  /// Expression, why.
  llvm::ArrayRef<std::pair<std::string, std::string>> requirements;
  /// Steps that go on from a schedule that was read: its knobs may be named in
  /// requirements, and its root is tiled already.
  bool continues = false;
};

/// A module with @fits (if there are classes), @schedule and, if there are
/// steps on buffers, @lower; not yet parsed.
llvm::Expected<std::string> writeSchedule(const ExpertParts &parts);

/// A constraint as an SMT region over named values: the region's text, and the
/// names of its arguments in order. Errors: an operation that the SMT dialect's
/// integers and booleans do not have.
struct SmtRegion {
  std::vector<std::string> arguments;
  std::string body;
};
llvm::Expected<SmtRegion> writeConstraint(llvm::StringRef expression);

} // namespace attune

#endif // ATTUNE_LIB_HARNESS_EXPERTTEXT_H
