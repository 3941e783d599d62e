//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// The line protocol between the tuner and its children: docs/protocol.md. One
// JSON object a line, on descriptors 3 (jobs) and 4 (answers).

#ifndef ATTUNE_MEASURE_PROTOCOL_H
#define ATTUNE_MEASURE_PROTOCOL_H

#include "attune/Support/Outcome.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <functional>
#include <string>

namespace attune {

inline constexpr int64_t protocolVersion = 1;

/// One line with its newline; adds "version".
std::string formatMessage(llvm::json::Object message);

/// Checks what a stranger may get wrong: JSON, depth (64), an object, the
/// version.
llvm::Expected<llvm::json::Object> parseMessage(llvm::StringRef line);

/// {"outcome": ..., "reason": ...}: what a handler returns for a failure that
/// is an ordinary result.
llvm::json::Object failedAnswer(Outcome outcome, llvm::StringRef reason);

/// Does a job and returns the answer's fields: "outcome" and, unless ok,
/// "reason". An error means that the job makes no sense (a field is missing);
/// it becomes the answer's "error". Two more fields are for the parent:
/// "replace": true asks for a new worker after this answer (memory may be
/// damaged), "retry": true for the same job in a new worker.
using JobHandler = std::function<llvm::Expected<llvm::json::Object>(
    const llvm::json::Object &job)>;

/// The child's side: says hello, then answers jobs until descriptor 3 ends.
/// `handlers` by job kind. Standard output is made unbuffered, so that what a
/// dying program printed is not lost. Returns the exit status of the process.
int runWorkerLoop(llvm::StringRef name,
                  const llvm::StringMap<JobHandler> &handlers);

} // namespace attune

#endif // ATTUNE_MEASURE_PROTOCOL_H
