//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// How the files of test/data/noise were made.

#include "Programs.h"

#include "llvm/Support/JSON.h"
#include <cmath>

using namespace attune;
namespace json = llvm::json;

/// AttuneMeasureTests --gtest_also_run_disabled_tests \
///   --gtest_filter='*RecordsNoise' | grep '^{' > recorded.json
TEST_F(MeasureTest, DISABLED_RecordsNoise) {
  const std::pair<const char *, const char *> programs[] = {
      {"arithmetic, 0.3 ms", "volatile float x = 1; for (int k = 0; k < 80000; "
                             "++k) x = x * 1.0001f;"},
      {"memory, 4 MB",
       "static char block[4 << 20]; for (int k = 0; k < sizeof block; k += 64) "
       "block[k]++;"}};
  job.timing.minSeconds = 0;
  job.timing.minRepetitions = job.timing.maxRepetitions = 150;
  job.timing.loserPairs = 0;
  json::Array out;
  for (auto [name, body] : programs) {
    job.baseline = library(std::string(body) + good);
    std::string candidate = library(std::string(body) + good);
    json::Array processes;
    for (int process = 0; process < 10; ++process) {
      executor.getWorker().stop();
      Measurement result = measure(candidate);
      ASSERT_EQ(result.reason, "");
      auto round = [](const std::vector<double> &times) {
        json::Array array;
        for (double time : times)
          array.push_back(std::round(time * 1e8) / 1e8);
        return array;
      };
      processes.push_back(
          json::Object{{"seconds", round(result.seconds)},
                       {"baselineSeconds", round(result.baselineSeconds)}});
    }
    out.push_back(
        json::Object{{"name", name}, {"processes", std::move(processes)}});
  }
  llvm::outs() << json::Value(json::Object{{"version", 1},
                                           {"programs", std::move(out)}})
               << '\n';
  llvm::outs().flush();
}
