//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Recordings of measurements (.csv, .csv.gz), as `attune replay` reads them,
// and a short search on what was read.

#include "Fuzz.h"
#include "attune/Search/Recording.h"
#include "attune/Support/Gzip.h"
#include <cmath>

using namespace attune;
using namespace attune::fuzz;

/// Every configuration has a time or failed, and is found where it is.
static void check(const Recording &recording) {
  size_t count = recording.space.count(), failures = 0;
  require(count > 0 && recording.seconds.size() == count,
          "as many times as configurations");
  require(std::isfinite(recording.optimum) && recording.optimum > 0,
          "an optimum that is no time");
  for (size_t i = 0; i < count; ++i) {
    double seconds = recording.seconds[i];
    require(std::isfinite(seconds) && seconds >= 0, "a time that is none");
    require(seconds == 0 || seconds >= recording.optimum,
            "faster than the optimum");
    failures += seconds == 0;
    auto configuration = recording.space.at(i);
    require(recording.space.indexOf(configuration) == i,
            "a configuration is not where it is: " + toString(configuration));
  }
  require(failures == recording.failures, "failures are counted wrong");
}

static void search(const Recording &recording) {
  auto searcher = mustWork(createSearcher("random", recording.space, 1), "");
  ReplayRun run = replaySearch(recording, *searcher, 8);
  require(!run.bestSeconds.empty(), "a searcher that asks nothing");
  ReplayPoint point = summarizeReplay(recording, {run}, 8);
  for (double value : {point.median, point.lowerQuartile, point.upperQuartile,
                       point.randomFraction})
    require(value >= 0 && value <= 1 + 1e-9, "a fraction that is none");
  require(std::isfinite(point.score), "a score that is none");
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string text = textOf(data, size).str();
  if (llvm::StringRef(text).starts_with("\x1f\x8b")) {
    auto unpacked = accept(decompressGzip(text));
    if (!unpacked)
      return 0;
    text = std::move(*unpacked);
  }
  if (auto recording = accept(parseRecording(text, "recording.csv"))) {
    check(*recording);
    search(*recording);
  }
  return 0;
}
