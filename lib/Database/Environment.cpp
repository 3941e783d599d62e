//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Database/Environment.h"

#include "attune/Support/Error.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;
using namespace attune;

/// The whole file, or nothing: a machine without it is an ordinary machine.
static std::string readFile(const Twine &path) {
  auto buffer = MemoryBuffer::getFileAsStream(path);
  return buffer ? (*buffer)->getBuffer().str() : std::string();
}

static double toDouble(StringRef text) {
  double value = -1;
  return text.trim().getAsDouble(value) ? -1 : value;
}

static void readTicks(StringRef stat, Environment &environment) {
  // "cpu  user nice system idle iowait irq softirq steal guest guest_nice";
  // guest time is already in user time.
  SmallVector<StringRef> fields;
  stat.split('\n').first.split(fields, ' ', -1, /*KeepEmpty=*/false);
  if (fields.size() < 9 || fields[0] != "cpu")
    return;
  int64_t total = 0, ticks = 0;
  for (size_t i = 1; i <= 8; ++i) {
    if (fields[i].getAsInteger(10, ticks))
      return;
    total += ticks;
  }
  environment.totalTicks = total;
  environment.stealTicks = ticks; // The eighth.
}

/// Of a list such as `0,4` or `0-3`; -1 if it is none.
static int countCores(StringRef list) {
  int count = 0;
  for (StringRef part : split(list.trim(), ',')) {
    auto [first, last] = part.split('-');
    int from = 0, to = 0;
    if (first.getAsInteger(10, from) ||
        (!last.empty() && last.getAsInteger(10, to)))
      return -1;
    count += last.empty() ? 1 : to - from + 1;
  }
  return count;
}

Environment Environment::sample(StringRef root) {
  Environment result;
  SmallVector<StringRef> loads;
  std::string loadavg = readFile(root + "/proc/loadavg");
  StringRef(loadavg).split(loads, ' ');
  if (loads.size() >= 2) {
    result.load1 = toDouble(loads[0]);
    result.load5 = toDouble(loads[1]);
  }
  const std::string cpufreq =
      (root + "/sys/devices/system/cpu/cpu0/cpufreq/").str();
  result.governor = StringRef(readFile(cpufreq + "scaling_governor")).trim();
  double kilohertz = toDouble(readFile(cpufreq + "scaling_cur_freq"));
  if (kilohertz > 0)
    result.megahertz = kilohertz / 1000;
  result.threadsPerCore =
      countCores(readFile(root + "/sys/devices/system/cpu/cpu0/topology/"
                                 "thread_siblings_list"));
  readTicks(readFile(root + "/proc/stat"), result);

  std::string meminfo = readFile(root + "/proc/meminfo");
  StringRef available = StringRef(meminfo).split("MemAvailable:").second;
  int64_t kilobytes = 0;
  if (!available.ltrim().consumeInteger(10, kilobytes))
    result.freeMemoryBytes = kilobytes * 1024;
  return result;
}

double attune::stealFraction(const Environment &before,
                             const Environment &after) {
  if (before.totalTicks < 0 || after.totalTicks <= before.totalTicks)
    return -1;
  return static_cast<double>(after.stealTicks - before.stealTicks) /
         static_cast<double>(after.totalTicks - before.totalTicks);
}

std::string attune::describe(const Environment &before,
                             const Environment &after) {
  std::vector<std::string> parts;
  if (before.load1 >= 0)
    parts.push_back(formatv("load {0:f2}", before.load1).str());
  parts.push_back(before.governor.empty()
                      ? "no clock governor"
                      : "clock governor " + before.governor);
  if (after.megahertz > 0)
    parts.back() += formatv(" at {0:f0} MHz", after.megahertz).str();
  if (before.threadsPerCore > 0)
    parts.push_back(
        before.threadsPerCore == 1
            ? "one thread a core"
            : formatv("{0} threads a core", before.threadsPerCore).str());
  if (double steal = stealFraction(before, after); steal >= 0)
    parts.push_back(formatv("{0:f1} % of CPU time stolen", 100 * steal).str());
  if (!before.bounds.empty())
    parts.push_back(before.bounds);
  return join(parts, ", ");
}

std::vector<std::string> attune::findDisturbances(const Environment &before,
                                                  const Environment &after,
                                                  int64_t cores) {
  std::vector<std::string> lines;
  if (before.load1 > std::max(0.5, 0.25 * static_cast<double>(cores)))
    lines.push_back(formatv("other programs were running (load {0:f2}): times "
                            "are noisy, and small gains may be missed",
                            before.load1)
                        .str());
  if (double steal = stealFraction(before, after); steal > 0.02)
    lines.push_back(formatv("{0:f1} % of CPU time went to other guests of this "
                            "host: tune longer, or on a quieter host",
                            100 * steal)
                        .str());
  if (!before.governor.empty() && before.governor != "performance")
    lines.push_back("the clock changes with the load (governor " +
                    before.governor +
                    "): cpupower frequency-set -g performance");
  return lines;
}

json::Value attune::toJSON(const Environment &environment) {
  return json::Object{{"load1", environment.load1},
                      {"load5", environment.load5},
                      {"governor", environment.governor},
                      {"megahertz", environment.megahertz},
                      {"threadsPerCore", environment.threadsPerCore},
                      {"bounds", json::fixUTF8(environment.bounds)},
                      {"stealTicks", environment.stealTicks},
                      {"totalTicks", environment.totalTicks},
                      {"freeMemoryBytes", environment.freeMemoryBytes}};
}

Expected<Environment> attune::environmentFromJSON(const json::Value &json) {
  Environment result;
  json::Path::Root root("environment");
  json::ObjectMapper map(json, root);
  if (map && map.map("load1", result.load1) && map.map("load5", result.load5) &&
      map.map("governor", result.governor) &&
      map.map("megahertz", result.megahertz) &&
      // Not in what was written before there were they.
      map.mapOptional("threadsPerCore", result.threadsPerCore) &&
      map.mapOptional("bounds", result.bounds) &&
      map.map("stealTicks", result.stealTicks) &&
      map.map("totalTicks", result.totalTicks) &&
      map.map("freeMemoryBytes", result.freeMemoryBytes))
    return result;
  return root.getError();
}
