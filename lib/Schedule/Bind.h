//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// What the arguments of a schedule's sequences are bound to.

#ifndef ATTUNE_LIB_SCHEDULE_BIND_H
#define ATTUNE_LIB_SCHEDULE_BIND_H

#include "attune/Dispatch/RootOp.h"
#include "attune/Schedule/BoundNames.h"
#include "attune/Schedule/Library.h"

namespace attune {

/// Writes `attune.kind` and `attune.roles` on the linalg ops of a dispatch.
void annotateOps(DispatchParts &parts);
void eraseAnnotations(mlir::func::FuncOp dispatch);

/// The values of everything a schedule may name, for the dispatch as it is.
llvm::Expected<Bindings> bindDispatch(mlir::func::FuncOp dispatch,
                                      const Target &target, int64_t threads);

/// Runs `sequence` of `module`, its arguments bound as their `attune.bind`
/// says. Diagnostics become the error's text.
llvm::Error runSequence(mlir::transform::NamedSequenceOp sequence,
                        mlir::func::FuncOp dispatch, DispatchParts &parts,
                        const Bindings &bindings);

} // namespace attune

#endif // ATTUNE_LIB_SCHEDULE_BIND_H
