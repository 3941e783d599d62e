//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Configurations as attributes of the IR, and back.

#ifndef ATTUNE_SCHEDULE_CONFIGATTR_H
#define ATTUNE_SCHEDULE_CONFIGATTR_H

#include "attune/Dialect/Attune.h"
#include "attune/Schedule/Configuration.h"

namespace attune {

/// Integers are i64, floats f64, choices strings, lists array<i64: ...>. The
/// dictionary sorts its entries by name, so the order of knobs is not kept.
ConfigAttr toAttr(mlir::MLIRContext *context,
                  const Configuration &configuration);

/// An error names a value of another type.
llvm::Expected<Configuration> toConfiguration(ConfigAttr config);

} // namespace attune

#endif // ATTUNE_SCHEDULE_CONFIGATTR_H
