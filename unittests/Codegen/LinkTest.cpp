//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// A linker that others kill.

#include "Stages.h"
#include "attune/Support/Files.h"

#include "llvm/Support/FileSystem.h"
#include "gmock/gmock.h"
#include <sys/stat.h>

using namespace attune;
using testing::HasSubstr;

namespace {

class LinkTest : public testing::Test {
protected:
  LinkTest() : folder(llvm::cantFail(TemporaryFolder::create())) {}

  /// What linking says with a linker that does `first` before its work.
  std::string link(const std::string &first) {
    Toolchain tools;
    tools.linker = folder.file("linker");
    tools.runtime = folder.file("runtime.a");
    llvm::cantFail(writeFile(
        tools.linker, "#!/bin/bash\n" + first +
                          "\nwhile [ $# -gt 0 ]; do\n  [ \"$1\" = -o ] && echo "
                          "linked > \"$2\"\n  shift\ndone\n"));
    EXPECT_EQ(::chmod(tools.linker.c_str(), 0755), 0);
    llvm::Error error =
        codegen::link({folder.file("a.o")}, tools, 1, folder.file("out.so"));
    return error ? llvm::toString(std::move(error)) : "linked";
  }

  TemporaryFolder folder;
};

TEST_F(LinkTest, OneKillIsAnAccident) {
  EXPECT_EQ(link("mkdir $0.once 2>/dev/null && kill -KILL $$"), "linked");
  EXPECT_TRUE(llvm::sys::fs::exists(folder.file("out.so")));
}

TEST_F(LinkTest, TwoAreAnError) {
  EXPECT_THAT(link("kill -KILL $$"), HasSubstr("out.so failed: Killed"));
  EXPECT_FALSE(llvm::sys::fs::exists(folder.file("out.so")));
}

TEST_F(LinkTest, ACrashIsNotTriedAgain) {
  EXPECT_THAT(link("mkdir $0.once 2>/dev/null && kill -SEGV $$"),
              HasSubstr("Segmentation fault"));
}

} // namespace
