//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Backend/Backend.h"

#include "llvm/Support/FileSystem.h"

using namespace attune;

void Backend::removeLibrary(llvm::StringRef library) {
  llvm::sys::fs::remove(library);
}

std::string Backend::specName() const { return "spec.mlir"; }

llvm::Error Backend::writeSpec(const Spec &spec, llvm::StringRef path) const {
  return attune::writeSpec(spec, path);
}
