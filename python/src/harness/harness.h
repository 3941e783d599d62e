//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// The parts of the extension that knows MLIR.

#ifndef ATTUNE_PYTHON_HARNESS_H
#define ATTUNE_PYTHON_HARNESS_H

#include "../convert.h"

#include "attune/Harness/Problem.h"

namespace attune::python {

nanobind::dict toDict(const ProblemSizes &sizes);
ProblemSizes toSizes(nanobind::dict values);

void addProblem(nanobind::module_ &module);
void addExpert(nanobind::module_ &module);
void addResult(nanobind::module_ &module);
void addHarness(nanobind::module_ &module);
void addSpec(nanobind::module_ &module);
void addDimensions(nanobind::module_ &module);

} // namespace attune::python

#endif // ATTUNE_PYTHON_HARNESS_H
