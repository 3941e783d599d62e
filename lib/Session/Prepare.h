//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// What preparing programs and dispatches have in common. Internal to the room.

#ifndef ATTUNE_LIB_SESSION_PREPARE_H
#define ATTUNE_LIB_SESSION_PREPARE_H

#include "State.h"

namespace attune::session {

/// Files `PREFIX-0.npy`, ... in the work folder; their paths.
llvm::Expected<std::vector<std::string>>
writeTensors(State &state, llvm::ArrayRef<Tensor> tensors,
             llvm::StringRef prefix);

/// Before the search begins there is nothing to keep.
llvm::Error stopIfInterrupted();

/// `the reference: SIGSEGV (Segmentation fault): what it printed last`.
llvm::Error failure(llvm::StringRef what, llvm::StringRef reason,
                    llvm::StringRef detail);

/// However slow plain loops are.
inline constexpr double referenceLimitSeconds = 1800;

/// Runs the reference; its results, and how far others may be from them.
llvm::Error computeReferences(State &state, llvm::StringRef library,
                              llvm::StringRef entry,
                              llvm::ArrayRef<TensorType> types,
                              int64_t sumLength, llvm::StringRef prefix,
                              double wallSeconds, EntryRun &run);

} // namespace attune::session

#endif // ATTUNE_LIB_SESSION_PREPARE_H
