//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Report/Doctor.h"

#include "attune/Database/Environment.h"
#include "attune/Measure/ControlGroup.h"
#include "attune/Support/Subprocess.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/TargetParser/Host.h"
#include <chrono>
#include <dlfcn.h>
#include <sched.h>
#include <sys/statvfs.h>
#include <thread>

using namespace llvm;
using namespace attune;
using Status = Finding::Status;

namespace {

/// Looks at one machine; each check adds one finding.
class Doctor {
public:
  explicit Doctor(const DoctorOptions &options) : options(options) {
    if (this->options.toolFolders.empty())
      this->options.toolFolders = {ATTUNE_LLVM_BINDIR};
  }
  std::vector<Finding> examine();

private:
  void checkTool(StringRef name, ArrayRef<StringRef> programs, Status missing,
                 StringRef advice);
  void checkOpenMP();
  void checkCPU();
  void checkCaches();
  void checkCores();
  void checkGovernor();
  void checkLoad();
  void checkSteal();
  void checkMemory();
  void checkSharedMemory();
  void checkDisk();
  void checkCounters();
  void checkContainment();

  void add(StringRef name, Status status, const Twine &found,
           const Twine &advice = "") {
    findings.push_back({name.str(), status, found.str(),
                        status == Status::Ok ? "" : advice.str()});
  }
  std::string read(const Twine &path) const {
    auto buffer = MemoryBuffer::getFileAsStream(options.root + path);
    return buffer ? (*buffer)->getBuffer().trim().str() : std::string();
  }
  int64_t coresUsable() const;

  DoctorOptions options;
  std::vector<Finding> findings;
};

} // namespace

//===----------------------------------------------------------------------===//
// Tools
//===----------------------------------------------------------------------===//

/// The first line of `program --version`, or empty if it does not run.
static std::string versionOf(StringRef program) {
  SmallString<64> output;
  if (sys::fs::createTemporaryFile("attune-doctor", "txt", output))
    return "";
  FileRemover remover(output);
  std::optional<StringRef> redirects[] = {StringRef(), StringRef(output),
                                          StringRef()};
  int status = sys::ExecuteAndWait(program, {program, "--version"},
                                   std::nullopt, redirects,
                                   /*SecondsToWait=*/10);
  auto text = MemoryBuffer::getFile(output);
  if (status != 0 || !text)
    return "";
  return (*text)->getBuffer().split('\n').first.trim().str();
}

void Doctor::checkTool(StringRef name, ArrayRef<StringRef> programs,
                       Status missing, StringRef advice) {
  SmallVector<StringRef> folders(options.toolFolders.begin(),
                                 options.toolFolders.end());
  for (StringRef program : programs)
    for (ArrayRef<StringRef> paths :
         {ArrayRef<StringRef>(folders), ArrayRef<StringRef>()}) {
      // Without paths, PATH is searched.
      auto found = sys::findProgramByName(program, paths);
      if (!found)
        continue;
      std::string version = versionOf(*found);
      if (version.empty())
        return add(name, missing, *found + " does not run",
                   "reinstall it: " + advice);
      return add(name, Status::Ok, version + " (" + *found + ")");
    }
  add(name, missing, "not found", advice);
}

void Doctor::checkOpenMP() {
  SmallVector<std::string> names;
  for (const std::string &folder : options.toolFolders)
    names.push_back(folder + "/../lib/libomp.so");
  append_range(names, ArrayRef<std::string>{"libomp.so.5", "libomp.so"});
  for (const std::string &name : names)
    if (void *handle = dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL)) {
      dlclose(handle);
      return add("libomp", Status::Ok, name);
    }
  add("libomp", Status::Error,
      "not found: programs with more than one thread "
      "cannot run",
      "apt-get install libomp-22-dev, or use --threads=1");
}

//===----------------------------------------------------------------------===//
// Processor
//===----------------------------------------------------------------------===//

void Doctor::checkCPU() {
  StringMap<bool> features = sys::getHostCPUFeatures();
  std::string vectors = "128-bit vectors";
  Status status = Status::Ok;
  for (auto [feature, text] :
       {std::pair("avx512f", "512-bit vectors"),
        std::pair("avx2", "256-bit vectors"), std::pair("sve", "SVE")})
    if (features.lookup(feature)) {
      vectors = text;
      break;
    }
  if (features.count("fma") && !features.lookup("fma"))
    status = Status::Warn;
  add("cpu", status, sys::getHostCPUName() + ", " + vectors,
      "without fused multiply-add, code runs at half the speed that the "
      "schedules are made for");
}

static std::string formatBytes(double bytes) {
  static constexpr const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < std::size(units); ++unit)
    bytes /= 1024;
  return formatv(bytes < 10 && unit ? "{0:f1} {1}" : "{0:f0} {1}", bytes,
                 units[unit]);
}

void Doctor::checkCaches() {
  std::string text;
  bool hasFirst = false;
  for (int index = 0; index < 8; ++index) {
    std::string folder =
        formatv("/sys/devices/system/cpu/cpu0/cache/index{0}/", index);
    std::string level = read(folder + "level"), size = read(folder + "size");
    if (level.empty() || size.empty() || read(folder + "type") == "Instruction")
      continue;
    hasFirst |= level == "1";
    text += (text.empty() ? "L" : ", L") + level + " " + size;
  }
  if (hasFirst)
    return add("caches", Status::Ok, text);
  add("caches", Status::Warn, "sizes unknown",
      "/sys/devices/system/cpu is missing: tile sizes start from guesses, and "
      "take longer to tune");
}

int64_t Doctor::coresUsable() const {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
}

void Doctor::checkCores() {
  int64_t usable = coresUsable(), online = sysconf(_SC_NPROCESSORS_ONLN);
  std::string siblings =
      read("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list");
  bool shared =
      StringRef(siblings).contains(',') || StringRef(siblings).contains('-');
  std::string text = formatv("{0} of {1} may be used", usable, online);
  if (shared)
    text += ", two threads a core";
  if (shared && usable == online)
    return add("cores", Status::Warn, text,
               "two programs on one core slow each other down: keep the "
               "siblings free while measuring, --threads at most half of them");
  // cgroups v2: "max 100000" or microseconds in a period.
  std::string maximum = read("/sys/fs/cgroup/cpu.max");
  auto [quota, period] = StringRef(maximum).split(' ');
  double limit = 0, length = 0;
  if (!quota.getAsDouble(limit) && !period.getAsDouble(length) && length > 0 &&
      limit / length < usable)
    return add("cores", Status::Warn,
               formatv("{0}, but only {1:f1} cores' worth of time", text,
                       limit / length),
               "the container's CPU quota stops programs in the middle of a "
               "measurement; raise it, or use fewer --threads");
  add("cores", usable > 0 ? Status::Ok : Status::Warn, text,
      "the affinity mask cannot be read");
}

void Doctor::checkGovernor() {
  std::string governor =
      read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  if (governor.empty())
    return add("governor", Status::Ok, "none (a virtual machine, or fixed)");
  bool steady = governor == "performance";
  double megahertz = Environment::sample(options.root).megahertz;
  add("governor", steady ? Status::Ok : Status::Warn,
      megahertz > 0 ? formatv("{0}, now {1:f0} MHz", governor, megahertz).str()
                    : governor,
      "the clock changes while measuring; for steadier times: cpupower "
      "frequency-set -g performance");
}

//===----------------------------------------------------------------------===//
// What else runs
//===----------------------------------------------------------------------===//

void Doctor::checkLoad() {
  double load = Environment::sample(options.root).load1;
  if (load < 0)
    return add("load", Status::Warn, "unknown", "/proc/loadavg is missing");
  bool busy = load > std::max<double>(0.5, 0.25 * coresUsable());
  add("load", busy ? Status::Warn : Status::Ok, formatv("{0:f2}", load),
      "other programs are running: times will be noisy; wait for them, or tune "
      "with fewer --threads");
}

void Doctor::checkSteal() {
  Environment before = Environment::sample(options.root);
  std::this_thread::sleep_for(
      std::chrono::duration<double>(options.watchSeconds));
  double steal = stealFraction(before, Environment::sample(options.root));
  if (steal < 0) {
    // Nothing passed (or a made-up machine): what was since boot.
    Environment boot;
    boot.totalTicks = boot.stealTicks = 0;
    steal = stealFraction(boot, before);
  }
  if (steal < 0)
    return add("steal", Status::Ok, "unknown");
  add("steal", steal > 0.02 ? Status::Warn : Status::Ok,
      formatv("{0:f1} % of CPU time taken by other guests", steal * 100),
      "the host is shared: tune longer, or on a quieter host");
}

void Doctor::checkMemory() {
  int64_t bytes = Environment::sample(options.root).freeMemoryBytes;
  if (bytes < 0)
    return add("memory", Status::Warn, "unknown", "/proc/meminfo is missing");
  add("memory", bytes < (int64_t(2) << 30) ? Status::Warn : Status::Ok,
      formatBytes(bytes) + " free",
      "compiling a large model needs about 2 GiB; candidates may end as "
      "outOfMemory");
}

/// Bytes that an ordinary user may still write; -1 if the folder is missing.
static double freeBytes(const Twine &folder) {
  struct statvfs status;
  if (statvfs(folder.str().c_str(), &status))
    return -1;
  return static_cast<double>(status.f_bavail) * status.f_frsize;
}

void Doctor::checkSharedMemory() {
  double bytes = freeBytes(options.root + "/dev/shm");
  if (bytes < 0)
    return add(
        "shm", Status::Warn, "/dev/shm is missing",
        "mount a tmpfs there; until then files are used, which is slower");
  add("shm", bytes < (64 << 20) ? Status::Warn : Status::Ok,
      formatBytes(bytes) + " free in /dev/shm",
      "inputs and outputs are handed over there; docker run --shm-size=1g");
}

void Doctor::checkDisk() {
  double bytes = freeBytes(options.resultFolder);
  if (bytes < 0)
    return add("disk", Status::Error, options.resultFolder + " does not exist",
               "make it, or give another folder with -o");
  if (sys::fs::access(options.resultFolder, sys::fs::AccessMode::Write))
    return add("disk", Status::Error,
               options.resultFolder + " cannot be written to",
               "give another folder with -o");
  add("disk", bytes < (int64_t(1) << 30) ? Status::Warn : Status::Ok,
      formatBytes(bytes) + " free in " + options.resultFolder,
      "a session writes up to 1 GiB of libraries, logs and trials");
}

void Doctor::checkCounters() {
  std::string level = read("/proc/sys/kernel/perf_event_paranoid");
  int64_t paranoia = 0;
  if (level.empty() || StringRef(level).getAsInteger(10, paranoia))
    return add("counters", Status::Warn, "no perf events in this kernel",
               "profiles have times only, no hardware counters");
  add("counters", paranoia > 2 ? Status::Warn : Status::Ok,
      formatv("perf_event_paranoid = {0}", paranoia),
      "for hardware counters in profiles: sysctl kernel.perf_event_paranoid=2");
}

/// What candidates can do to this machine.
void Doctor::checkContainment() {
  ControlGroupPlace place = ControlGroupPlace::ofThisProcess();
  place.root = options.root;
  auto bounds = findBounds(place);
  if (!bounds)
    return add("isolation", Status::Warn, llvm::toString(bounds.takeError()),
               "install Attune again");
  bool isNamespace = bounds->containment == Containment::Namespace;
  add("isolation", isNamespace ? Status::Ok : Status::Warn,
      isNamespace ? "candidates have processes of their own and no network"
                  : "the kernel permits no namespaces: candidates reach the "
                    "network, and what they start is looked for, not ended by "
                    "the kernel",
      "sysctl kernel.unprivileged_userns_clone=1, or run as root in a "
      "container of its own, when programs are not yours");
  // The watchdog is enough for all but a stranger's program.
  add("limits", Status::Ok,
      bounds->controlGroups
          ? formatv("memory and processes by control groups (version {0}), and "
                    "a watchdog",
                    bounds->controlGroups)
                .str()
          : "a watchdog that looks every 10 ms; no control groups: " +
                bounds->whyNoGroups);
}

std::vector<Finding> Doctor::examine() {
  checkTool("lld", {"ld.lld", "ld.lld-22"}, Status::Error,
            "apt-get install lld-22");
  checkTool("clang", {"clang", "clang-22"}, Status::Warn,
            "apt-get install clang-22 (to build Attune and C hosts; not needed "
            "to tune)");
  checkOpenMP();
  checkCPU();
  checkCaches();
  checkCores();
  checkGovernor();
  checkLoad();
  checkSteal();
  checkMemory();
  checkSharedMemory();
  checkDisk();
  checkCounters();
  checkContainment();
  return std::move(findings);
}

std::vector<Finding> attune::examineMachine(const DoctorOptions &options) {
  return Doctor(options).examine();
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

static StringRef nameOf(Status status) {
  switch (status) {
  case Status::Ok:
    return "ok";
  case Status::Warn:
    return "warn";
  case Status::Error:
    return "error";
  }
  llvm_unreachable("a status without a name");
}

int attune::printFindings(const std::vector<Finding> &findings,
                          DoctorFormat format, raw_ostream &out) {
  bool hasError = any_of(findings, [](const Finding &finding) {
    return finding.status == Status::Error;
  });
  if (format == DoctorFormat::Json) {
    json::Array array;
    for (const Finding &finding : findings)
      array.push_back(json::Object{{"name", finding.name},
                                   {"status", nameOf(finding.status)},
                                   {"found", json::fixUTF8(finding.found)},
                                   {"advice", json::fixUTF8(finding.advice)}});
    out << formatv("{0:2}\n",
                   json::Value(json::Object{{"version", 1},
                                            {"ok", !hasError},
                                            {"findings", std::move(array)}}));
    return hasError;
  }
  for (const Finding &finding : findings) {
    out << formatv("{0,-5} {1,-9} {2}", nameOf(finding.status), finding.name,
                   finding.found);
    if (!finding.advice.empty())
      out << "; " << finding.advice;
    out << "\n";
  }
  return hasError;
}

int attune::runDoctor(const DoctorOptions &options, DoctorFormat format,
                      raw_ostream &out) {
  return printFindings(examineMachine(options), format, out);
}
