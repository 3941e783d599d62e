//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Commands.h"

#include "attune/Backend/CompileJob.h"
#include "attune/Backend/PrepareJob.h"
#include "attune/Measure/Protocol.h"

namespace attune::cli {

void addWorker(CLI::App &app, Action &chosen) {
  auto *command = app.add_subcommand("worker", "a compile worker (internal)");
  command->group(""); // not in --help
  command->callback([&chosen] {
    chosen = []() -> llvm::Error {
      llvm::StringMap<JobHandler> handlers;
      handlers["compile"] = runCompileJob;
      handlers["prepare"] = runPrepareJob;
      if (runWorkerLoop("attune worker", handlers) == 0)
        return llvm::Error::success();
      return llvm::make_error<SilentFailure>();
    };
  });
}

} // namespace attune::cli
