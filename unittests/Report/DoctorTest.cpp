//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Report/Doctor.h"

#include "attune/Support/Files.h"
#include "llvm/Support/JSON.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <sys/stat.h>

using namespace llvm;
using namespace attune;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {

/// A machine made of files, sound until a test breaks it.
class DoctorTest : public testing::Test {
protected:
  DoctorTest() : folder(cantFail(TemporaryFolder::create())) {
    options.root = folder.file("machine");
    options.toolFolders = {folder.file("tools")};
    options.resultFolder = folder.getPath();
    options.watchSeconds = 0;
    put("proc/loadavg", "0.10 0.10 0.10 1/99 7\n");
    put("proc/stat", "cpu  100 0 50 840 10 0 0 0 0 0\n");
    put("proc/meminfo", "MemAvailable: 16777216 kB\n");
    put("proc/sys/kernel/perf_event_paranoid", "2\n");
    put(cpu + "cpufreq/scaling_governor", "performance\n");
    put(cpu + "cache/index0/level", "1\n");
    put(cpu + "cache/index0/type", "Data\n");
    put(cpu + "cache/index0/size", "32K\n");
    put(cpu + "cache/index1/level", "1\n");
    put(cpu + "cache/index1/type", "Instruction\n");
    put(cpu + "cache/index1/size", "64K\n");
    put(cpu + "cache/index2/level", "2\n");
    put(cpu + "cache/index2/type", "Unified\n");
    put(cpu + "cache/index2/size", "512K\n");
    cantFail(createFolder(options.root + "/dev/shm"));
    putTool("ld.lld", "echo LLD 22.1.0");
    putTool("clang", "echo clang version 22.1.0; echo Target: x86_64");
  }
  void put(StringRef path, StringRef text) {
    std::string whole = options.root + "/" + path.str();
    cantFail(createFolder(StringRef(whole).rsplit('/').first));
    cantFail(writeFile(whole, text));
  }
  void putTool(StringRef name, StringRef script) {
    std::string path = options.toolFolders[0] + "/" + name.str();
    cantFail(createFolder(options.toolFolders[0]));
    cantFail(writeFile(path, ("#!/bin/sh\n" + script + "\n").str()));
    ASSERT_EQ(chmod(path.c_str(), 0755), 0);
  }
  Finding find(StringRef name) {
    for (const Finding &finding : examineMachine(options))
      if (finding.name == name)
        return finding;
    ADD_FAILURE() << "no finding " << name.str();
    return {};
  }
  void expectWarning(StringRef name, StringRef found, StringRef advice) {
    Finding finding = find(name);
    EXPECT_EQ(finding.status, Finding::Status::Warn) << name.str();
    EXPECT_THAT(finding.found, HasSubstr(found.str()));
    EXPECT_THAT(finding.advice, HasSubstr(advice.str()));
  }
  void expectOk(StringRef name, StringRef found) {
    Finding finding = find(name);
    EXPECT_EQ(finding.status, Finding::Status::Ok) << finding.found;
    EXPECT_THAT(finding.found, HasSubstr(found.str()));
    EXPECT_THAT(finding.advice, IsEmpty());
  }

  const std::string cpu = "sys/devices/system/cpu/cpu0/";
  TemporaryFolder folder;
  DoctorOptions options;
};

TEST_F(DoctorTest, SoundMachineIsOk) {
  expectOk("lld", "LLD 22.1.0 (");
  expectOk("clang", "clang version 22.1.0 (");
  expectOk("caches", "L1 32K, L2 512K");
  put(cpu + "cpufreq/scaling_cur_freq", "2500000\n");
  expectOk("governor", "performance, now 2500 MHz");
  expectOk("load", "0.10");
  expectOk("steal", "0.0 %");
  expectOk("memory", "16 GiB free");
  expectOk("counters", "perf_event_paranoid = 2");
  expectOk("disk", "free in");
  EXPECT_THAT(find("isolation").found, HasSubstr("candidates"));
}

TEST_F(DoctorTest, ControlGroupsAreUsedWhereTheyAreAllowed) {
  expectOk("limits", "watchdog that looks every 10 ms; no control groups: ");
  expectOk("limits", "no control groups for memory and processes");
  put("sys/fs/cgroup/cgroup.controllers", "memory pids\n");
  put("sys/fs/cgroup/tuners/cgroup.subtree_control", "memory pids\n");
  setenv("ATTUNE_CGROUP", "/tuners", 1);
  expectOk("limits", "by control groups (version 2), and a watchdog");
  unsetenv("ATTUNE_CGROUP");
}

TEST_F(DoctorTest, BusyMachineIsAWarning) {
  put("proc/loadavg", "7.50 1 1 1/99 7\n");
  put("proc/stat", "cpu  100 0 50 740 10 0 0 100 0 0\n");
  put("proc/meminfo", "MemAvailable: 1048576 kB\n");
  expectWarning("load", "7.50", "noisy");
  expectWarning("steal", "10.0 %", "quieter host");
  expectWarning("memory", "1.0 GiB free", "outOfMemory");
}

TEST_F(DoctorTest, UnsteadyMachineIsAWarning) {
  put(cpu + "cpufreq/scaling_governor", "powersave\n");
  put("proc/sys/kernel/perf_event_paranoid", "4\n");
  put("sys/fs/cgroup/cpu.max", "50000 100000\n");
  expectWarning("governor", "powersave", "cpupower");
  expectWarning("counters", "= 4", "sysctl kernel.perf_event_paranoid=2");
  expectWarning("cores", "0.5 cores' worth", "quota");
  put("sys/fs/cgroup/cpu.max", "max 100000\n");
  put(cpu + "topology/thread_siblings_list", "0,4\n");
  expectWarning("cores", "two threads a core", "siblings free");
}

TEST_F(DoctorTest, MachineThatTellsNothingIsAWarning) {
  options.root = folder.file("nothing");
  expectWarning("caches", "unknown", "guesses");
  expectWarning("load", "unknown", "/proc/loadavg");
  expectWarning("memory", "unknown", "/proc/meminfo");
  expectWarning("shm", "missing", "tmpfs");
  expectWarning("counters", "no perf events", "times only");
  expectOk("governor", "none");
  expectOk("steal", "unknown");
}

TEST_F(DoctorTest, BrokenToolIsAnError) {
  putTool("ld.lld", "exit 1");
  Finding finding = find("lld");
  EXPECT_EQ(finding.status, Finding::Status::Error);
  EXPECT_THAT(finding.found, HasSubstr("ld.lld does not run"));
  EXPECT_THAT(finding.advice, HasSubstr("apt-get install lld-22"));
  putTool("clang", "exit 1");
  expectWarning("clang", "does not run", "clang-22");
}

TEST_F(DoctorTest, MissingToolIsAnError) {
  options.toolFolders = {folder.file("no tools")};
  std::string path = getenv("PATH");
  setenv("PATH", "/nowhere", 1);
  Finding finding = find("lld");
  setenv("PATH", path.c_str(), 1);
  EXPECT_EQ(finding.status, Finding::Status::Error);
  EXPECT_EQ(finding.found, "not found");
}

TEST_F(DoctorTest, MissingResultFolderIsAnError) {
  options.resultFolder = folder.file("none");
  EXPECT_EQ(find("disk").status, Finding::Status::Error);
  EXPECT_THAT(find("disk").found, HasSubstr("none does not exist"));
}

TEST(FindingsTest, OnlyErrorsFail) {
  std::vector<Finding> findings = {
      {"lld", Finding::Status::Ok, "LLD 22", ""},
      {"governor", Finding::Status::Warn, "powersave", "do this"}};
  std::string text;
  raw_string_ostream out(text);
  EXPECT_EQ(printFindings(findings, DoctorFormat::Text, out), 0);
  EXPECT_EQ(text, "ok    lld       LLD 22\n"
                  "warn  governor  powersave; do this\n");
  findings[0].status = Finding::Status::Error;
  text.clear();
  EXPECT_EQ(printFindings(findings, DoctorFormat::Json, out), 1);
  auto value = cantFail(json::parse(text));
  EXPECT_EQ(value.getAsObject()->getBoolean("ok"), false);
  const json::Object &warned =
      *(*value.getAsObject()->getArray("findings"))[1].getAsObject();
  EXPECT_EQ(warned.getString("name"), "governor");
  EXPECT_EQ(warned.getString("status"), "warn");
  EXPECT_EQ(warned.getString("found"), "powersave");
  EXPECT_EQ(warned.getString("advice"), "do this");
}

} // namespace
