//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Support/Installation.h"

#include "attune/Support/Error.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace attune {

const std::string &executableFolder() {
  static int here; // any address of this program
  static const std::string folder(
      sys::path::parent_path(sys::fs::getMainExecutable(nullptr, &here)));
  return folder;
}

Expected<std::string> findInstalled(ArrayRef<std::string> places,
                                    StringRef what, StringRef advice) {
  for (const std::string &place : places) {
    SmallString<256> path(place);
    if (!sys::path::is_absolute(path)) {
      path = executableFolder();
      sys::path::append(path, place);
      sys::path::remove_dots(path, /*remove_dot_dot=*/true);
    }
    if (sys::fs::exists(path))
      return std::string(path);
  }
  return makeError("{0} not found (looked in {1}): {2}", what,
                   executableFolder(), advice);
}

} // namespace attune
