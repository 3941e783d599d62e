//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Profiles of all kinds: pprof, JSON lines, Tracy's tables. What is read can be
// written in every format, and what is written can be read.

#include "Fuzz.h"
#include "attune/Profile/Formats.h"

using namespace attune;
using namespace attune::fuzz;

static std::string print(const Profile &profile, ProfileFormat format) {
  return mustWork(printProfile(profile, format), "a profile in another format");
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::optional<Profile> profile =
      accept(parseProfile(textOf(data, size), "p"));
  if (!profile)
    return 0;
  print(*profile, ProfileFormat::Text);
  if (!profile->events.empty())
    print(*profile, ProfileFormat::ChromeTrace);
  // Neither is for a profile of nothing.
  if (profile->rows.empty())
    return 0;
  std::string lines = print(*profile, ProfileFormat::JsonLines);
  Profile again = mustWork(parseProfile(lines, "own.jsonl"), lines);
  // A row without a fingerprint may be one with the next of its name.
  require(!again.rows.empty(), "all rows got lost: " + lines);
  mustWork(parseProfile(print(*profile, ProfileFormat::Pprof), "own.pb.gz"),
           "own pprof");
  return 0;
}
