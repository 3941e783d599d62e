//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// What the tests of this room share.

#ifndef ATTUNE_UNITTESTS_DATABASE_FIXTURE_H
#define ATTUNE_UNITTESTS_DATABASE_FIXTURE_H

#include "attune/Database/Database.h"
#include "attune/Support/Files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace attune {

inline const DispatchKey matmulKey{"9f86d081884c7d65", "", "contraction",
                                   "4x784x10xf32"};

/// A made-up machine, so that tests give the same everywhere.
inline Conditions makeConditions() {
  Conditions result;
  result.target.triple = "x86_64-unknown-linux-gnu";
  result.target.cpu = "znver3";
  result.threads = 2;
  result.versions = {{"attune", "0.1.0"}, {"llvm", "22.1.0"}};
  return result;
}

inline SessionStart makeStart() {
  SessionStart result;
  result.programHash = "abc";
  result.programName = "mlp.mlir";
  result.command = "attune tune mlp.mlir";
  result.seed = 0xfedcba9876543210;
  result.budget = "10m";
  result.conditions = makeConditions();
  return result;
}

/// An ok trial that is `speedup` times as fast as its baseline.
inline TrialRecord makeRecord(int64_t tile, double speedup = 1.25) {
  TrialRecord record;
  record.dispatch = matmulKey;
  record.trial.configuration = {"contraction_packed", {{"m_tile", tile}}};
  record.trial.seconds = {1e-5 / speedup, 1.1e-5 / speedup, 0.1 / 3};
  record.trial.baselineSeconds = {1e-5, 1.1e-5, 0.1 / 3 * speedup};
  record.trial.compileSeconds = 0.25;
  record.scheduleVersion = "1";
  record.wallSeconds = 0.5;
  return record;
}

inline int64_t tileOf(const Trial &trial) {
  return std::get<int64_t>(*trial.configuration.find("m_tile"));
}

class DatabaseTest : public testing::Test {
protected:
  void SetUp() override {
    auto made = TemporaryFolder::create();
    ASSERT_TRUE(static_cast<bool>(made));
    folder.emplace(std::move(*made));
    path = folder->file("trials.db");
  }

  Database open(OpenMode mode = OpenMode::Write, double timeout = 10) {
    DatabaseOptions options;
    options.busyTimeoutSeconds = timeout;
    options.now = [this] { return time++; };
    return llvm::cantFail(Database::open(path, mode, options));
  }
  /// The message of a failing open; the test fails if it does not.
  std::string openError(OpenMode mode, double timeout = 0.1) {
    DatabaseOptions options;
    options.busyTimeoutSeconds = timeout;
    auto database = Database::open(path, mode, options);
    EXPECT_FALSE(static_cast<bool>(database));
    return database ? "" : llvm::toString(database.takeError());
  }
  int64_t countTrials() {
    Database database = open(OpenMode::Read);
    EXPECT_THAT(llvm::cantFail(database.check()), testing::IsEmpty());
    return llvm::cantFail(database.summarize()).trials;
  }
  /// A file with one session and trials of tiles 1 .. count.
  void fill(int64_t count) {
    Database database = open();
    int64_t session = llvm::cantFail(database.beginSession(makeStart()));
    for (int64_t i = 1; i <= count; ++i)
      llvm::cantFail(database.record(session, makeRecord(i)));
  }

  std::optional<TemporaryFolder> folder;
  std::string path;
  double time = 1000;
};

} // namespace attune

#endif // ATTUNE_UNITTESTS_DATABASE_FIXTURE_H
