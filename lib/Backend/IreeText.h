//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// IREE's programs as text: upstream MLIR cannot parse its dialects, so what is
// wanted of them is found in what its tools read and print. Internal.

#ifndef ATTUNE_LIB_BACKEND_IREETEXT_H
#define ATTUNE_LIB_BACKEND_IREETEXT_H

#include "attune/Import/Program.h"

namespace attune::iree {

/// Public functions of a module's text: func.func or util.func on tensors, or
/// on torch's. `name` is for errors.
llvm::Expected<std::vector<EntrySignature>> parseEntries(llvm::StringRef text,
                                                         llvm::StringRef name);

/// Sizes (-1: dynamic) and element type of `tensor<?x4xf32>`.
std::optional<std::pair<std::vector<int64_t>, std::string>>
parseShape(llvm::StringRef type);

/// Up to what closes the bracket before `text`; strings are skipped.
std::optional<llvm::StringRef> untilClosed(llvm::StringRef text);

/// Split at commas that are in no brackets.
std::vector<llvm::StringRef> splitList(llvm::StringRef text);

/// The text between `open`, whose last character is a bracket, and its end.
std::optional<llvm::StringRef> inside(llvm::StringRef line,
                                      llvm::StringRef open);

/// Names and types of `dense_resource` constants whose data is not in the text:
/// files for people to read are often written without.
std::vector<std::pair<std::string, std::string>>
findMissingResources(llvm::StringRef text);

} // namespace attune::iree

#endif // ATTUNE_LIB_BACKEND_IREETEXT_H
