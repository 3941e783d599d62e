//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Where Attune's own files are, in the build and in the install tree.

#include "attune/Backend/Cpu.h"
#include "attune/Support/Installation.h"

using namespace llvm;

namespace attune {

Expected<std::string> findSchedules() {
  return findInstalled(
      {"../share/attune/schedules/cpu", "../../../../schedules/cpu"},
      "the folder of schedules", "install Attune again");
}

Expected<std::string> findTool(StringRef name) {
  return findInstalled({name.str(), ("../" + name + "/" + name).str(),
                        ("../../tools/" + name + "/" + name).str()},
                       name, "install Attune again");
}

} // namespace attune
