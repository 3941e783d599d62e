//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Where Attune's own files are, in the build and in the install tree.

#include "attune/Backend/Cpu.h"
#include "attune/Support/Error.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace attune {

/// Looked up once: the executable may be replaced while it runs.
static const std::string &executableFolder() {
  static int here; // any address of this program
  static const std::string folder(
      sys::path::parent_path(sys::fs::getMainExecutable(nullptr, &here)));
  return folder;
}

static Expected<std::string> findBeside(ArrayRef<std::string> places,
                                        const char *what) {
  const std::string &folder = executableFolder();
  for (const std::string &place : places) {
    SmallString<256> path(folder);
    sys::path::append(path, place);
    sys::path::remove_dots(path, /*remove_dot_dot=*/true);
    if (sys::fs::exists(path))
      return std::string(path);
  }
  return makeError("{0} not found near {1}: install Attune again", what,
                   folder);
}

Expected<std::string> findSchedules() {
  return findBeside({"../share/attune/schedules/cpu",
                     "../../../../schedules/cpu"},
                    "the schedules");
}

Expected<std::string> findTool(StringRef name) {
  return findBeside({name.str(), "../" + name.str() + "/" + name.str()},
                    name.str().c_str());
}

} // namespace attune
