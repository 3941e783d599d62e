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

#include <cstdlib>

using namespace llvm;

namespace attune {

const std::string &executableFolder() {
  static int here; // any address of this program
  static const std::string folder(
      sys::path::parent_path(sys::fs::getMainExecutable(nullptr, &here)));
  return folder;
}

/// Of the installation that a program which only links Attune (Python, a host
/// program) is to use.
static std::string namedFolder() {
  const char *program = std::getenv("ATTUNE");
  if (!program || !*program)
    return "";
  SmallString<256> path;
  // In the build, `attune` is run through no link; an installed one may be.
  if (sys::fs::real_path(program, path))
    return "";
  return sys::path::parent_path(path).str();
}

Expected<std::string> findInstalled(ArrayRef<std::string> places,
                                    StringRef what, StringRef advice) {
  std::string named = namedFolder();
  for (const std::string &folder : {executableFolder(), named}) {
    for (const std::string &place : places) {
      SmallString<256> path(place);
      // A program whose file was removed while it starts has no folder.
      if (!sys::path::is_absolute(path) && folder.empty())
        continue;
      if (!sys::path::is_absolute(path)) {
        path = folder;
        sys::path::append(path, place);
        sys::path::remove_dots(path, /*remove_dot_dot=*/true);
      }
      if (sys::fs::exists(path))
        return std::string(path);
    }
  }
  return makeError("{0} not found (looked in {1}{2}): {3}", what,
                   executableFolder(), named.empty() ? "" : ", " + named,
                   advice);
}

} // namespace attune
