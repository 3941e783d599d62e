//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// A session in a made-up world.

#ifndef ATTUNE_UNITTESTS_SESSION_FIXTURE_H
#define ATTUNE_UNITTESTS_SESSION_FIXTURE_H

#include "Fakes.h"
#include "attune/Support/Files.h"
#include "attune/Support/Interrupt.h"

#include "llvm/Support/FileSystem.h"
#include "gtest/gtest.h"
#include <cmath>
#include <limits>

namespace attune::fakes {

/// Fastest at tile 24 and unroll 2, three times as fast as the baseline there.
inline Behaviour valley(int64_t tile, int64_t unroll) {
  Behaviour behaviour;
  behaviour.seconds = 1e-3 * (1.0 / 3 + 0.08 * std::abs(tile - 24) +
                              0.2 * std::abs(unroll - 2));
  return behaviour;
}

/// Never faster than the baseline.
inline Behaviour plateau(int64_t tile, int64_t) {
  Behaviour behaviour;
  behaviour.seconds = 1e-3 * (1 + 0.01 * tile);
  return behaviour;
}

/// Memory, if there is such a place: tests write thousands of trials.
inline llvm::StringRef fastFolder() {
  return llvm::sys::fs::can_write("/dev/shm") ? "/dev/shm" : "";
}

class SessionTest : public testing::Test {
protected:
  SessionTest()
      : database(llvm::cantFail(Database::inMemory())),
        folder(llvm::cantFail(TemporaryFolder::create(fastFolder()))) {
    options.model = "fake.mlir";
    options.command = "attune tune fake.mlir";
    options.target = Target::host();
    options.target.cores = 2;
    options.versions = {{"attune", "test"}};
    options.seed = 3;
    options.budget.seconds = std::numeric_limits<double>::infinity();
  }
  ~SessionTest() override { requestInterrupt(Interrupt::None); }

  llvm::Expected<SessionReport> tune() {
    // As in two runs of the command: new folders for files in between.
    ++runs;
    options.workFolder = folder.file("work" + std::to_string(runs));
    llvm::cantFail(createFolder(options.workFolder));
    if (options.resultFolder.empty()) {
      options.resultFolder = folder.file("result");
      llvm::cantFail(createFolder(options.resultFolder));
    }
    FakeBackend backend(world);
    backend.scheduleVersion = scheduleVersion;
    backend.hash = programHash;
    llvm::raw_string_ostream out(said);
    Progress progress(out, Progress::Style::Lines, world.clock);
    auto create = [&](std::vector<std::string> environment) {
      std::string capture;
      for (llvm::StringRef variable : environment)
        if (variable.consume_front("ATTUNE_CAPTURE="))
          capture = variable.str();
      return std::unique_ptr<Executor>(new FakeExecutor(world, capture));
    };
    EntryInputs inputs{"main", "", {Tensor::zeros(ElementType::F32, {4})}};
    return runSession(
        {backend, create, database, world.clock, progress, onEvent}, options,
        {inputs});
  }

  SessionReport mustTune() {
    auto report = tune();
    if (!report)
      llvm::report_fatal_error(report.takeError());
    return std::move(*report);
  }

  Spec writtenSpec() {
    return llvm::cantFail(readSpec(options.resultFolder + "/spec.mlir"));
  }

  static const DispatchReport &row(const SessionReport &report,
                                   llvm::StringRef name) {
    for (const DispatchReport &dispatch : report.dispatches)
      if (dispatch.name == name)
        return dispatch;
    llvm::report_fatal_error("no row " + name);
  }

  World world;
  Database database;
  SessionOptions options;
  TemporaryFolder folder;
  std::string said, scheduleVersion = "1", programHash = "fake";
  std::function<void(llvm::json::Object)> onEvent;
  int runs = 0;
};

} // namespace attune::fakes

#endif // ATTUNE_UNITTESTS_SESSION_FIXTURE_H
