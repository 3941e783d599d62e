//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Where Attune's own files are, in the build and in the install tree.

#ifndef ATTUNE_SUPPORT_INSTALLATION_H
#define ATTUNE_SUPPORT_INSTALLATION_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <string>

namespace attune {

/// The folder of the running executable. Looked up once: it may be replaced
/// while it runs.
const std::string &executableFolder();

/// The first of `places` that exists: absolute, or relative to executableFolder
/// and then to the folder of the program that $ATTUNE names (for programs that
/// link Attune and are not installed with it: Python). The error says that
/// `what` is missing, where it was looked for, and `advice`.
llvm::Expected<std::string> findInstalled(llvm::ArrayRef<std::string> places,
                                          llvm::StringRef what,
                                          llvm::StringRef advice);

} // namespace attune

#endif // ATTUNE_SUPPORT_INSTALLATION_H
