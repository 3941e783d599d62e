//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Support/Files.h"

#include "llvm/Support/FileSystem.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <csignal>
#include <fstream>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace attune;
using testing::HasSubstr;

static std::string messageOf(llvm::Error error) {
  return error ? llvm::toString(std::move(error)) : "success";
}

static TemporaryFolder makeFolder(llvm::StringRef parent = "") {
  return llvm::cantFail(TemporaryFolder::create(parent));
}

static size_t entriesOf(llvm::StringRef folder) {
  std::error_code code;
  size_t count = 0;
  for (llvm::sys::fs::directory_iterator it(folder, code), end;
       !code && it != end; it.increment(code))
    ++count;
  return count;
}

TEST(Files, WritesAndReadsBack) {
  TemporaryFolder folder = makeFolder();
  std::string path = folder.file("a.txt");
  ASSERT_EQ(messageOf(writeFile(path, "one")), "success");
  ASSERT_EQ(messageOf(writeFile(path, std::string("t\0wo", 4))), "success");
  EXPECT_EQ(llvm::cantFail(readFile(path)), std::string("t\0wo", 4));
  EXPECT_EQ(entriesOf(folder.getPath()), 1u);
}

TEST(Files, NewFilesHaveTheUsualRights) {
  TemporaryFolder folder = makeFolder();
  mode_t old = ::umask(022);
  EXPECT_EQ(messageOf(writeFile(folder.file("a"), "x")), "success");
  ::umask(old);
  struct stat status;
  ASSERT_EQ(::stat(folder.file("a").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0644u);
}

TEST(Files, ALinkStaysALink) {
  TemporaryFolder folder = makeFolder();
  ASSERT_EQ(messageOf(writeFile(folder.file("real"), "old")), "success");
  ASSERT_EQ(::symlink("real", folder.file("link").c_str()), 0);
  ASSERT_EQ(messageOf(writeFile(folder.file("link"), "new")), "success");
  EXPECT_EQ(llvm::cantFail(readFile(folder.file("real"))), "new");
  EXPECT_TRUE(llvm::sys::fs::is_symlink_file(folder.file("link")));
}

TEST(Files, DevicesAreWrittenInPlace) {
  EXPECT_EQ(messageOf(writeFile("/dev/null", "x")), "success");
  EXPECT_EQ(messageOf(writeFile("/dev/full", "x")),
            "/dev/full: cannot write: the disk is full");
}

TEST(Files, ErrorsNameTheFile) {
  EXPECT_EQ(messageOf(readFile("/no/such/file").takeError()),
            "/no/such/file: No such file or directory");
  EXPECT_THAT(messageOf(readFile("/tmp").takeError()),
              HasSubstr("is a folder"));
  EXPECT_THAT(messageOf(writeFile("/no/such/file", "x")),
              HasSubstr("/no/such/file: cannot write"));
  EXPECT_THAT(messageOf(writeFile("/tmp", "x")), HasSubstr("is a folder"));
}

// RLIMIT_FSIZE stands for a disk that fills up half-way.
TEST(Files, AFailedWriteLeavesTheOldFileAndNothingElse) {
  TemporaryFolder folder = makeFolder();
  std::string path = folder.file("a.txt");
  ASSERT_EQ(messageOf(writeFile(path, "old")), "success");
  pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    rlimit limit = {1000, 1000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    std::string message = messageOf(writeFile(path, std::string(5000, 'x')));
    ::_exit(message.find("cannot write: File too large") != std::string::npos
                ? 0
                : 1);
  }
  int status;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(llvm::cantFail(readFile(path)), "old");
  EXPECT_EQ(entriesOf(folder.getPath()), 1u);
}

TEST(Files, HashesAreXXH3) {
  // The published value of XXH3-64 of nothing.
  EXPECT_EQ(hashHex(""), "2d06800538d394c2");
  EXPECT_NE(hashHex("a"), hashHex("b"));
  TemporaryFolder folder = makeFolder();
  ASSERT_EQ(messageOf(writeFile(folder.file("a"), "abc")), "success");
  EXPECT_EQ(llvm::cantFail(hashFileHex(folder.file("a"))), hashHex("abc"));
  EXPECT_THAT(messageOf(hashFileHex("/no/such").takeError()),
              HasSubstr("/no/such"));
}

TEST(Files, ATemporaryFolderRemovesItself) {
  std::string path;
  {
    TemporaryFolder folder = makeFolder();
    path = folder.getPath();
    ASSERT_EQ(messageOf(createFolder(folder.file("a/b"))), "success");
    ASSERT_EQ(messageOf(writeFile(folder.file("a/b/c"), "x")), "success");
    TemporaryFolder moved = std::move(folder);
    EXPECT_TRUE(llvm::sys::fs::exists(path));
  }
  EXPECT_FALSE(llvm::sys::fs::exists(path));
}

TEST(Files, TheFolderOfAKilledProcessIsRemovedByTheNext) {
  TemporaryFolder parent = makeFolder();
  pid_t child = ::fork();
  if (child == 0) {
    TemporaryFolder folder = makeFolder(parent.getPath());
    llvm::cantFail(writeFile(folder.file("x"), "x"));
    ::kill(::getpid(), SIGKILL);
  }
  int status;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(entriesOf(parent.getPath()), 1u);
  TemporaryFolder mine = makeFolder(parent.getPath());
  TemporaryFolder other = makeFolder(parent.getPath());
  EXPECT_EQ(entriesOf(parent.getPath()), 2u);
  EXPECT_TRUE(llvm::sys::fs::exists(mine.getPath()));
}

TEST(Files, AParentThatCannotBeWrittenIsNamed) {
  EXPECT_THAT(messageOf(TemporaryFolder::create("/no/such").takeError()),
              HasSubstr("/no/such: cannot make a temporary folder"));
  EXPECT_THAT(messageOf(createFolder("/dev/null/x")),
              HasSubstr("/dev/null/x: cannot create the folder"));
}
