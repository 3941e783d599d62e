//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Measure/Statistics.h"

#include "attune/Support/Error.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

using namespace attune;
using llvm::ArrayRef;
using llvm::Expected;

/// `values` are rearranged.
static double medianInPlace(std::vector<double> &values) {
  size_t middle = values.size() / 2;
  std::nth_element(values.begin(), values.begin() + middle, values.end());
  if (values.size() % 2)
    return values[middle];
  return (values[middle] +
          *std::max_element(values.begin(), values.begin() + middle)) /
         2;
}

double attune::median(ArrayRef<double> values) {
  std::vector<double> copy(values);
  return medianInPlace(copy);
}

double attune::quantile(ArrayRef<double> values, double fraction) {
  std::vector<double> sorted(values);
  std::sort(sorted.begin(), sorted.end());
  double place = fraction * (sorted.size() - 1);
  size_t below = static_cast<size_t>(place);
  size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - below) * (sorted[above] - sorted[below]);
}

//===----------------------------------------------------------------------===//
// Intervals of the centre of logarithms
//===----------------------------------------------------------------------===//

static std::pair<double, double> studentInterval(ArrayRef<double> logs) {
  // The 97.5 % quantiles of Student's t with 1 to 4 degrees of freedom.
  static constexpr double quantiles[] = {12.706, 4.303, 3.182, 2.776};
  double count = static_cast<double>(logs.size());
  double mean = 0, squares = 0;
  for (double value : logs)
    mean += value / count;
  for (double value : logs)
    squares += (value - mean) * (value - mean);
  double half =
      quantiles[logs.size() - 2] * std::sqrt(squares / (count - 1) / count);
  return {mean - half, mean + half};
}

static std::pair<double, double> bootstrapInterval(ArrayRef<double> logs,
                                                   uint64_t seed) {
  // Enough for the tails; fewer where each costs more.
  size_t resamples = logs.size() > 1000 ? 400 : 1000;
  std::mt19937_64 random(seed);
  std::vector<double> sample(logs.size()), medians(resamples);
  for (double &result : medians) {
    // The fast way to a number below size (Lemire): no bias that matters here.
    for (double &value : sample)
      value = logs[static_cast<size_t>(
          (static_cast<unsigned __int128>(random()) * logs.size()) >> 64)];
    result = medianInPlace(sample);
  }
  return {quantile(medians, 0.025), quantile(medians, 0.975)};
}

Expected<Speedup> attune::pairedSpeedup(ArrayRef<double> candidateSeconds,
                                        ArrayRef<double> baselineSeconds,
                                        uint64_t seed) {
  if (candidateSeconds.size() != baselineSeconds.size())
    return makeError("{0} times of the candidate and {1} of the baseline are "
                     "not pairs",
                     candidateSeconds.size(), baselineSeconds.size());
  if (candidateSeconds.empty())
    return makeError("no times were measured");
  std::vector<double> logs;
  for (auto [candidate, baseline] :
       llvm::zip(candidateSeconds, baselineSeconds)) {
    double ratio = baseline / candidate;
    if (!(candidate > 0) || !(baseline > 0) || !std::isfinite(ratio) ||
        !(ratio > 0))
      return makeError("a measured time is not positive: {0} and {1} s",
                       candidate, baseline);
    logs.push_back(std::log(ratio));
  }
  double centre = std::exp(median(logs));
  if (logs.size() == 1)
    return Speedup{centre, 0, std::numeric_limits<double>::infinity()};
  auto [low, high] =
      logs.size() < 6 ? studentInterval(logs) : bootstrapInterval(logs, seed);
  return Speedup{centre, std::min(centre, std::exp(low)),
                 std::max(centre, std::exp(high))};
}

Verdict attune::decide(const Speedup &speedup, double margin) {
  if (speedup.low > 1 + margin)
    return Verdict::Faster;
  if (speedup.high < 1 - margin)
    return Verdict::Slower;
  return Verdict::Undecided;
}

double
attune::combinedSpeedup(ArrayRef<std::pair<double, double>> shareSpeedup) {
  double time = 1;
  for (auto [share, speedup] : shareSpeedup)
    time += share / speedup - share;
  return 1 / time;
}
