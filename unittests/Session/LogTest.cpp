//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// The log while a session runs.

#include "Fixture.h"
#include "llvm/Support/FileSystem.h"
#include "gmock/gmock.h"

using namespace attune;
using namespace attune::fakes;
using testing::HasSubstr;
using testing::Not;

namespace {

TEST_F(SessionTest, TheLogIsThereWhileItRuns) {
  world.dispatches = {{"valley", 1e-3, valley}};
  std::string log, lines;
  world.beforeMeasure = [&](int64_t measured) {
    if (measured != 60)
      return;
    log = llvm::cantFail(readFile(options.resultFolder + "/log.txt"));
    lines = llvm::cantFail(readFile(options.resultFolder + "/log.jsonl"));
  };
  mustTune();
  EXPECT_THAT(log, HasSubstr("valley: "));
  EXPECT_THAT(log, HasSubstr("why:   searching; best so far "));
  EXPECT_THAT(log, HasSubstr("running: "));
  EXPECT_THAT(log, Not(HasSubstr("whole program")));
  EXPECT_THAT(lines, HasSubstr("\"running\":true"));
  std::string end = llvm::cantFail(readFile(options.resultFolder + "/log.txt"));
  EXPECT_THAT(end, HasSubstr("whole program: "));
  EXPECT_THAT(end, Not(HasSubstr("running: ")));
  EXPECT_THAT(end, Not(HasSubstr("searching; ")));
}

TEST_F(SessionTest, ALogThatCannotBeWrittenStopsNothing) {
  world.dispatches = {{"valley", 1e-3, valley}};
  bool isBroken = false;
  std::string path = folder.file("result") + "/log.txt";
  world.beforeMeasure = [&](int64_t measured) {
    // A folder in its place while the search runs.
    if (measured == 10) {
      llvm::sys::fs::remove(path);
      isBroken = !llvm::sys::fs::create_directory(path);
    }
    if (measured == 90)
      llvm::sys::fs::remove(path);
  };
  SessionReport report = mustTune();
  EXPECT_TRUE(isBroken);
  EXPECT_GT(report.program.speedup.value, 1.5);
  llvm::StringRef text = said;
  EXPECT_EQ(text.count("the log is written at the end"), 1u) << said;
  EXPECT_THAT(llvm::cantFail(readFile(path)), HasSubstr("whole program: "));
}

} // namespace
