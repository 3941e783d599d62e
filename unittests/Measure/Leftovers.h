//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Whatever a candidate did: no process and no temporary folder of it is left.

#ifndef ATTUNE_UNITTESTS_MEASURE_LEFTOVERS_H
#define ATTUNE_UNITTESTS_MEASURE_LEFTOVERS_H

#include "Programs.h"
#include "llvm/Support/FileSystem.h"
#include <unistd.h>

namespace attune {

class MeasureFaults : public MeasureTest {
protected:
  /// Workers and what they start have our folder in their environment.
  std::vector<std::string> livingProcesses() {
    std::vector<std::string> living;
    std::error_code code;
    for (llvm::sys::fs::directory_iterator it("/proc", code), end;
         !code && it != end; it.increment(code)) {
      auto environment = readFile(it->path() + "/environ");
      if (!environment) {
        llvm::consumeError(environment.takeError());
        continue;
      }
      if (llvm::StringRef(*environment)
              .contains("TMPDIR=" + folder.getPath() + "/"))
        living.push_back(it->path());
    }
    return living;
  }

  void TearDown() override {
    executor.getWorker().stop();
    for (int i = 0; i < 200 && !livingProcesses().empty(); ++i)
      ::usleep(10000);
    EXPECT_EQ(livingProcesses(), std::vector<std::string>());
    std::error_code code;
    for (llvm::sys::fs::directory_iterator it(folder.getPath(), code), end;
         !code && it != end; it.increment(code))
      EXPECT_FALSE(llvm::sys::fs::is_directory(it->path())) << it->path();
  }
};

} // namespace attune

#endif // ATTUNE_UNITTESTS_MEASURE_LEFTOVERS_H
