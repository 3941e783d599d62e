//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Knobs and constraints of a schedule, evaluated for one configuration.

#ifndef ATTUNE_LIB_SCHEDULE_CONSTRAINTS_H
#define ATTUNE_LIB_SCHEDULE_CONSTRAINTS_H

#include "attune/Schedule/Library.h"
#include "mlir/Dialect/Transform/SMTExtension/SMTExtensionOps.h"
#include "mlir/Dialect/Transform/TuneExtension/TuneExtensionOps.h"

namespace attune {

/// The attribute a knob's value becomes in a schedule.
mlir::Attribute toKnobAttr(mlir::MLIRContext *context, const KnobValue &value);
llvm::Expected<KnobValue> fromKnobAttr(mlir::Attribute attribute);

/// The domain's values, if they are few enough to list (at most 4096).
llvm::Expected<std::vector<KnobValue>> listDomain(mlir::Attribute domain,
                                                  const Bindings &bindings);

/// Whether `value` is in the domain; a symbolic domain looks up `bindings`.
llvm::Expected<bool> isInDomain(mlir::Attribute domain, const KnobValue &value,
                                const Bindings &bindings);

/// Success if every smt.assert of the op holds. `valueOf` gives the integer for
/// an operand. Integer division and remainder are Euclidean.
llvm::Error evaluateConstraint(
    mlir::transform::smt::ConstrainParamsOp constraint,
    llvm::function_ref<llvm::Expected<int64_t>(mlir::Value)> valueOf);

} // namespace attune

#endif // ATTUNE_LIB_SCHEDULE_CONSTRAINTS_H
