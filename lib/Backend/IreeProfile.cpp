//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Where the time of a program goes, as iree-profile says.

#include "IreeImpl.h"
#include "attune/Support/Error.h"
#include "attune/Support/Json.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FileSystem.h"
#include <set>

using namespace llvm;
using namespace attune;

namespace {
struct ProfileLine {
  double seconds = 0; ///< The least of a call: the machine may be busy.
  int64_t calls = 0;
};
} // namespace

static void readProfileLines(StringRef output, StringMap<ProfileLine> &rows) {
  for (StringRef line : split(output, '\n')) {
    if (!line.starts_with("{"))
      continue;
    auto json = parseJson(line);
    if (!json) {
      consumeError(json.takeError()); // Tools print warnings between rows.
      continue;
    }
    const json::Object *row = json->getAsObject();
    if (!row || row->getString("type") != "host_dispatch_group")
      continue;
    ProfileLine &mine = rows[row->getString("key").value_or("")];
    mine.seconds = row->getNumber("min_ns").value_or(0) * 1e-9;
    mine.calls = row->getInteger("count").value_or(0);
  }
}

Error IreeBackend::Impl::profile(std::vector<double> &seconds,
                                 std::vector<double> &calls) {
  StringMap<ProfileLine> once, often;
  for (bool isOnce : {true, false}) {
    std::string file = newPath(".ireeprof");
    std::vector<std::string> flags = {"--device_profiling_mode=host-execution",
                                      "--device_profiling_output=" + file};
    double ignored = 0;
    CommandOutcome ran =
        isOnce ? run(sets[specBase].library, {}, 600, flags)
               : time(sets[specBase].library, 0.2, 600, ignored, flags);
    if (ran.outcome == Outcome::Ok)
      ran = start({options.tools.profile, "dispatch", "--format=jsonl", file},
                  60, JobPhase::Run);
    sys::fs::remove(file);
    if (ran.outcome != Outcome::Ok)
      return makeError("profiling: {0}", ran.reason);
    readProfileLines(ran.output, isOnce ? once : often);
  }
  seconds.assign(roots.size(), 0);
  calls.assign(roots.size(), 0);
  for (auto [index, root] : enumerate(roots))
    // Of dispatches with one name the profile has one row.
    for (const std::string &dispatch : std::set<std::string>(
             root.dispatches.begin(), root.dispatches.end())) {
      calls[index] += once[dispatch].calls;
      seconds[index] += once[dispatch].calls * often[dispatch].seconds;
    }
  return Error::success();
}
