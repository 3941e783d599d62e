//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Schedule/Target.h"

#include "attune/Support/Error.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/SubtargetFeature.h"
#include "llvm/TargetParser/Triple.h"
#include <algorithm>
#include <sched.h>

using namespace attune;
using llvm::StringRef;

/// "32K", "1M" or "65536" in bytes; 0 if it is none of them.
static int64_t parseCacheSize(StringRef text) {
  text = text.trim();
  int64_t scale = 1;
  if (text.consume_back("K"))
    scale = 1 << 10;
  else if (text.consume_back("M"))
    scale = 1 << 20;
  int64_t number = 0;
  return text.getAsInteger(10, number) ? 0 : number * scale;
}

/// As a stream: sysfs says that every file has 4096 bytes, and the rest of a
/// buffer of that size is zeros.
static std::string readSmallFile(const llvm::Twine &path) {
  auto buffer = llvm::MemoryBuffer::getFileAsStream(path);
  return buffer ? (*buffer)->getBuffer().str() : std::string();
}

/// Containers may hide sysfs; then the defaults of Target stay.
static void readCacheSizes(Target &target) {
  for (int index = 0; index < 8; ++index) {
    std::string folder =
        "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index);
    std::string type = readSmallFile(folder + "/type");
    if (type.empty())
      return;
    if (StringRef(type).trim() == "Instruction")
      continue;
    int64_t size = parseCacheSize(readSmallFile(folder + "/size"));
    if (size <= 0)
      continue;
    std::string levelText = readSmallFile(folder + "/level");
    StringRef level = StringRef(levelText).trim();
    if (level == "1")
      target.l1Bytes = size;
    else if (level == "2")
      target.l2Bytes = size;
    else if (level == "3")
      target.l3Bytes = size;
  }
}

static int64_t countUsableCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0)
    return 1;
  return std::max(1, CPU_COUNT(&set));
}

/// Features that this machine has beyond its CPU's name, or lacks (a hypervisor
/// may hide some): `+rdpid,-avx512f`. Short, unlike the list of all.
static std::string describeDifferences(const Target &target,
                                       const llvm::StringMap<bool> &features) {
  llvm::InitializeAllTargetInfos();
  llvm::InitializeAllTargetMCs();
  llvm::Triple triple(target.triple);
  std::string message;
  const llvm::Target *backend =
      llvm::TargetRegistry::lookupTarget(triple, message);
  std::unique_ptr<llvm::MCSubtargetInfo> info(
      backend ? backend->createMCSubtargetInfo(triple, target.cpu, "")
              : nullptr);
  std::vector<std::string> names;
  for (const auto &feature : features) {
    std::string on = "+" + feature.first().str();
    if (!info || info->checkFeatures(on) != feature.second)
      names.push_back((feature.second ? "+" : "-") + feature.first().str());
  }
  std::sort(names.begin(), names.end());
  return llvm::join(names, ",");
}

/// Vector registers from the features that are on: 512 bits only with AVX-512.
static void setVectorRegisters(Target &target,
                               const llvm::StringMap<bool> &features) {
  llvm::Triple triple(target.triple);
  if (triple.isAArch64()) {
    target.vectorBytes = 16;
    target.vectorRegisters = 32;
    return;
  }
  bool avx512 = features.lookup("avx512f");
  bool avx = features.lookup("avx2") || features.lookup("avx");
  target.vectorBytes = avx512 ? 64 : avx ? 32 : 16;
  target.vectorRegisters = avx512 ? 32 : 16;
}

Target Target::host() {
  Target target;
  target.triple = llvm::sys::getDefaultTargetTriple();
  target.cpu = llvm::sys::getHostCPUName().str();
  llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  target.features = describeDifferences(target, features);
  setVectorRegisters(target, features);
  target.cores = countUsableCores();
  readCacheSizes(target);
  return target;
}

llvm::Expected<Target> Target::forCPU(StringRef cpu) {
  if (cpu == "host" || cpu == "native")
    return host();
  llvm::InitializeAllTargetInfos();
  llvm::InitializeAllTargets();
  llvm::InitializeAllTargetMCs();
  Target target;
  target.triple = llvm::sys::getDefaultTargetTriple();
  target.cpu = cpu.str();
  std::string message;
  llvm::Triple triple(target.triple);
  const llvm::Target *backend =
      llvm::TargetRegistry::lookupTarget(triple, message);
  if (!backend)
    return makeError("no LLVM target for {0}: {1}", target.triple, message);
  std::unique_ptr<llvm::MCSubtargetInfo> info(
      backend->createMCSubtargetInfo(triple, cpu, ""));
  std::unique_ptr<llvm::MCSubtargetInfo> generic(
      backend->createMCSubtargetInfo(triple, "", ""));
  if (!info || !generic)
    return makeError("LLVM cannot describe CPUs of {0}", target.triple);
  auto known = generic->getAllProcessorDescriptions();
  if (llvm::none_of(known, [&](const llvm::SubtargetSubTypeKV &entry) {
        return cpu == entry.Key;
      })) {
    std::string names;
    for (const llvm::SubtargetSubTypeKV &entry : known)
      names += (names.empty() ? "" : ", ") + std::string(entry.Key);
    return makeError("unknown CPU '{0}'; known are host, {1}", cpu, names);
  }
  llvm::StringMap<bool> features;
  for (const llvm::SubtargetFeatureKV &feature :
       info->getEnabledProcessorFeatures())
    features[feature.Key] = true;
  setVectorRegisters(target, features);
  target.cores = countUsableCores();
  readCacheSizes(target);
  return target;
}

llvm::json::Value attune::toJSON(const Target &target) {
  return llvm::json::Object{
      {"triple", target.triple},
      {"cpu", target.cpu},
      {"features", target.features},
      {"vectorBytes", target.vectorBytes},
      {"vectorRegisters", target.vectorRegisters},
      {"cores", target.cores},
      {"l1Bytes", target.l1Bytes},
      {"l2Bytes", target.l2Bytes},
      {"l3Bytes", target.l3Bytes},
  };
}

llvm::Expected<Target> attune::targetFromJSON(const llvm::json::Value &json) {
  llvm::json::Path::Root root("target");
  llvm::json::ObjectMapper mapper(json, root);
  Target target;
  if (!mapper || !mapper.map("triple", target.triple) ||
      !mapper.map("cpu", target.cpu) ||
      !mapper.map("features", target.features) ||
      !mapper.map("vectorBytes", target.vectorBytes) ||
      !mapper.map("vectorRegisters", target.vectorRegisters) ||
      !mapper.map("cores", target.cores) ||
      !mapper.map("l1Bytes", target.l1Bytes) ||
      !mapper.map("l2Bytes", target.l2Bytes) ||
      !mapper.map("l3Bytes", target.l3Bytes))
    return root.getError();
  return target;
}
