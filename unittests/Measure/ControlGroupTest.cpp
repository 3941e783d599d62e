//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Control groups on machines made of files: the kernel's own are not ours to
// play with where tests run.

#include "attune/Measure/Worker.h"

#include "attune/Support/Files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <filesystem>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace attune;
using testing::HasSubstr;

namespace {

class ControlGroupTest : public testing::Test {
protected:
  ControlGroupTest() : folder(llvm::cantFail(TemporaryFolder::create())) {
    place.root = folder.getPath();
    place.parent = "/tuners";
  }
  void put(const std::string &path, const std::string &text) {
    std::string whole = place.root + "/" + path;
    llvm::cantFail(createFolder(llvm::StringRef(whole).rsplit('/').first));
    llvm::cantFail(writeFile(whole, text));
  }
  /// The one group below `parent`.
  std::string groupIn(const std::string &parent) {
    for (const auto &entry :
         std::filesystem::directory_iterator(place.root + "/" + parent))
      if (entry.is_directory())
        return entry.path();
    return "";
  }
  static std::string read(const std::string &path) {
    auto text = readFile(path);
    return text ? *text : "error: " + llvm::toString(text.takeError());
  }
  void makeVersion1() {
    put("proc/self/cgroup", "5:memory:/mine\n4:cpu,pids:/mine\n0::/\n");
    for (const char *controller : {"memory", "pids"})
      put(std::string("sys/fs/cgroup/") + controller + "/tuners/cgroup.procs",
          "");
  }
  void makeVersion2() {
    put("proc/self/cgroup", "0::/mine\n");
    put("sys/fs/cgroup/cgroup.controllers", "cpu memory pids\n");
    put("sys/fs/cgroup/tuners/cgroup.subtree_control", "memory pids\n");
  }
  std::string whyNot() {
    auto group = ControlGroup::create(place);
    return group ? "there is one" : llvm::toString(group.takeError());
  }

  TemporaryFolder folder;
  ControlGroupPlace place;
};

TEST_F(ControlGroupTest, Version2BoundsMemoryAndTasks) {
  makeVersion2();
  auto group = llvm::cantFail(ControlGroup::create(place));
  EXPECT_EQ(group.getVersion(), 2);
  std::string made = groupIn("sys/fs/cgroup/tuners");
  llvm::cantFail(group.limit(1 << 20, 64));
  llvm::cantFail(group.add(4711));
  EXPECT_EQ(read(made + "/memory.max"), "1048576");
  EXPECT_EQ(read(made + "/pids.max"), "64");
  EXPECT_EQ(read(made + "/cgroup.procs"), "4711");
  EXPECT_EQ(group.outOfMemoryKills(), 0u);
  llvm::cantFail(
      writeFile(made + "/memory.events", "low 0\noom 3\noom_kill 2\n"));
  EXPECT_EQ(group.outOfMemoryKills(), 2u);
}

TEST_F(ControlGroupTest, Version1HasAFolderForEachController) {
  makeVersion1();
  auto group = llvm::cantFail(ControlGroup::create(place));
  EXPECT_EQ(group.getVersion(), 1);
  std::string memory = groupIn("sys/fs/cgroup/memory/tuners");
  std::string pids = groupIn("sys/fs/cgroup/pids/tuners");
  llvm::cantFail(group.limit(1 << 20, 64));
  llvm::cantFail(group.add(4711));
  EXPECT_EQ(read(memory + "/memory.limit_in_bytes"), "1048576");
  EXPECT_EQ(read(pids + "/pids.max"), "64");
  EXPECT_EQ(read(memory + "/cgroup.procs"), "4711");
  EXPECT_EQ(read(pids + "/cgroup.procs"), "4711");
  llvm::cantFail(writeFile(memory + "/memory.oom_control",
                           "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n"));
  EXPECT_EQ(group.outOfMemoryKills(), 1u);
}

TEST_F(ControlGroupTest, GroupsEndWithTheirOwner) {
  makeVersion2();
  std::string made;
  {
    auto group = llvm::cantFail(ControlGroup::create(place));
    auto moved = std::move(group);
    made = groupIn("sys/fs/cgroup/tuners");
    EXPECT_TRUE(std::filesystem::exists(made));
  }
  EXPECT_FALSE(std::filesystem::exists(made));
}

TEST_F(ControlGroupTest, GroupsOfKilledTunersAreRemoved) {
  makeVersion2();
  pid_t child = ::fork();
  if (child == 0)
    ::_exit(0);
  ::waitpid(child, nullptr, 0); // a number that nobody has
  std::string tuners = place.root + "/sys/fs/cgroup/tuners/";
  std::string forsaken = tuners + "attune-" + std::to_string(child) + "-0";
  std::string other = tuners + "attune-" + std::to_string(::getppid()) + "-0";
  llvm::cantFail(createFolder(forsaken));
  llvm::cantFail(createFolder(other));
  auto group = llvm::cantFail(ControlGroup::create(place));
  EXPECT_FALSE(std::filesystem::exists(forsaken));
  EXPECT_TRUE(std::filesystem::exists(other));
}

TEST_F(ControlGroupTest, WhatNobodyDelegatedIsLeftAlone) {
  makeVersion2();
  place.parent.clear();
  put("sys/fs/cgroup/mine/cgroup.subtree_control", "memory pids\n");
  std::string mine = place.root + "/sys/fs/cgroup/mine";
  if (::geteuid() != 0)
    GTEST_SKIP() << "for a user who is not root, ownership is delegation";
  EXPECT_THAT(whyNot(), HasSubstr("mine: nobody delegated it to us"));
  EXPECT_EQ(groupIn("sys/fs/cgroup/mine"), "");
}

TEST_F(ControlGroupTest, MissingControllersAreNamed) {
  EXPECT_THAT(whyNot(), HasSubstr("no control groups for memory"));
  makeVersion2();
  put("sys/fs/cgroup/tuners/cgroup.subtree_control", "cpu memory\n");
  EXPECT_THAT(whyNot(), HasSubstr("does not give pids"));
  place.parent = "/nowhere";
  EXPECT_THAT(whyNot(), HasSubstr("/nowhere: its cgroup.subtree_control"));
}

/// As in most containers: a real read-only file system.
TEST_F(ControlGroupTest, ReadOnlyIsAnErrorOfOneLine) {
  makeVersion2();
  pid_t child = ::fork(); // Its mounts are its own, and end with it.
  if (child == 0) {
    std::string hierarchy = place.root + "/sys/fs/cgroup";
    if (::unshare(CLONE_NEWNS) ||
        ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) ||
        ::mount(hierarchy.c_str(), hierarchy.c_str(), nullptr, MS_BIND,
                nullptr) ||
        ::mount(nullptr, hierarchy.c_str(), nullptr,
                MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr))
      ::_exit(77);
    std::string reason = whyNot();
    bool isRight = llvm::StringRef(reason).ends_with("Read-only file system") &&
                   reason.find('\n') == std::string::npos;
    ::_exit(isRight ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77)
    GTEST_SKIP() << "the kernel lets us mount nothing here";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

//===----------------------------------------------------------------------===//
// Workers in groups
//===----------------------------------------------------------------------===//

/// A worker that answers, or does `instead` when it is asked.
static WorkerOptions shell(const ControlGroupPlace &place,
                           const std::string &instead = "") {
  WorkerOptions options;
  options.arguments = {
      "/bin/bash", "-c",
      R"(echo '{"version":1,"kind":"hello"}' >&4; while read -r line <&3; do )" +
          instead +
          R"( id=${line#*\"id\":}; id=${id%%[,\}]*};
             echo "{\"version\":1,\"id\":$id,\"outcome\":\"ok\"}" >&4; done)"};
  options.controlGroups = place;
  return options;
}

TEST_F(ControlGroupTest, AWorkerIsInOneWithTheLimitsOfItsJob) {
  makeVersion2();
  WorkerProcess worker(shell(place));
  Limits limits;
  limits.memoryBytes = 100 << 20;
  limits.processes = 10;
  JobResult result =
      llvm::cantFail(worker.call(llvm::json::Object{{"kind", "x"}}, limits));
  EXPECT_EQ(result.reason, "");
  ASSERT_NE(worker.getControlGroup(), nullptr);
  std::string made = groupIn("sys/fs/cgroup/tuners");
  EXPECT_EQ(read(made + "/cgroup.procs"), std::to_string(worker.getPid()));
  EXPECT_EQ(read(made + "/memory.max"), std::to_string(164 << 20));
  EXPECT_EQ(read(made + "/pids.max"), "160");
}

TEST_F(ControlGroupTest, WhatTheKernelKillsForItsMemoryIsNoAccident) {
  makeVersion2();
  WorkerProcess worker(
      shell(place, "for group in " + place.root +
                       "/sys/fs/cgroup/tuners/attune-*; do echo 'oom_kill 1' > "
                       "$group/memory.events; done; kill -KILL $$;"));
  Limits limits;
  limits.memoryBytes = 100 << 20;
  JobResult result =
      llvm::cantFail(worker.call(llvm::json::Object{{"kind", "x"}}, limits));
  EXPECT_EQ(result.outcome, Outcome::OutOfMemory);
  EXPECT_EQ(result.reason, "used more than 105 MB of memory");
  EXPECT_EQ(worker.getStartCount(), 1u); // and not once more
}

TEST_F(ControlGroupTest, WithoutOneAWorkerWorksAsWell) {
  WorkerProcess worker(shell(place));
  JobResult result =
      llvm::cantFail(worker.call(llvm::json::Object{{"kind", "x"}}));
  EXPECT_EQ(result.outcome, Outcome::Ok) << result.reason;
  EXPECT_EQ(worker.getControlGroup(), nullptr);
}

} // namespace
