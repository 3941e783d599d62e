//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// The run process: loads and runs compiled programs, so that nobody else has
// to. It links no MLIR; docs/protocol.md says what it reads and writes.

#include "attune/Measure/Buffer.h"
#include "attune/Measure/Runner.h"

int main() {
  attune::explainFaults();
  attune::SystemClock clock;
  attune::Runner runner(clock);
  return attune::runWorkerLoop("attune-runner", runner.handlers());
}
