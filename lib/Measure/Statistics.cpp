//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Measure/Statistics.h"

#include "attune/Support/Error.h"
#include "llvm/ADT/STLExtras.h"
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

/// The quantile of the normal distribution for a probability above a half
/// (Abramowitz & Stegun 26.2.23, error under 4.5e-4).
static double normalQuantile(double probability) {
  double t = std::sqrt(-2 * std::log(1 - probability));
  return t - (2.515517 + 0.802853 * t + 0.010328 * t * t) /
                 (1 + 1.432788 * t + 0.189269 * t * t + 0.001308 * t * t * t);
}

/// The quantile of Student's t: exact for one and two degrees of freedom, by
/// Hill's expansion above (Algorithm 396, CACM 13, 1970).
static double studentQuantile(double probability, size_t freedom) {
  double tail = 2 * (1 - probability);
  if (freedom == 1)
    return 1 / std::tan(tail * M_PI_2);
  if (freedom == 2)
    return std::sqrt(2 / (tail * (2 - tail)) - 2);
  double n = static_cast<double>(freedom);
  double a = 1 / (n - 0.5), b = 48 / (a * a);
  double c = ((20700 * a / b - 98) * a - 16) * a + 96.36;
  double d = ((94.5 / (b + c) - 3) / b + 1) * std::sqrt(a * M_PI_2) * n;
  double x = d * tail, y = std::pow(x, 2 / n);
  if (y > 0.05 + a) {
    x = -normalQuantile(1 - tail / 2);
    y = x * x;
    if (n < 5)
      c += 0.3 * (n - 4.5) * (x + 0.6);
    c = (((0.05 * d * x - 5) * x - 7) * x - 2) * x + b + c;
    y = (((((0.4 * y + 6.3) * y + 36) * y + 94.5) / c - y - 3) / b + 1) * x;
    y = std::expm1(a * y * y);
  } else {
    y = ((1 / (((n + 6) / (n * y) - 0.089 * d - 0.822) * (n + 2) * 3) +
          0.5 / (n + 4)) *
             y -
         1) *
            (n + 1) / (n + 2) +
        1 / y;
  }
  return std::sqrt(n * y);
}

std::pair<double, double> attune::meanInterval(ArrayRef<double> values,
                                               double confidence) {
  double count = static_cast<double>(values.size());
  double mean = 0, squares = 0;
  for (double value : values)
    mean += value / count;
  for (double value : values)
    squares += (value - mean) * (value - mean);
  double half = studentQuantile((1 + confidence) / 2, values.size() - 1) *
                std::sqrt(squares / (count - 1) / count);
  return {mean - half, mean + half};
}

std::pair<double, double> attune::signInterval(ArrayRef<double> values,
                                               double confidence) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  std::vector<double> sorted(values);
  std::sort(sorted.begin(), sorted.end());
  // As many values on each side as a fair coin would leave there too rarely.
  double tail = (1 - confidence) / 2, logHalf = -std::log(2.0);
  double size = static_cast<double>(sorted.size()), below = 0;
  size_t outside = 0;
  while (outside < sorted.size() / 2) {
    double k = static_cast<double>(outside);
    below += std::exp(std::lgamma(size + 1) - std::lgamma(k + 1) -
                      std::lgamma(size - k + 1) + size * logHalf);
    if (below > tail)
      break;
    ++outside;
  }
  if (outside == 0)
    return {-infinity, infinity};
  return {sorted[outside - 1], sorted[sorted.size() - outside]};
}

static std::pair<double, double> bootstrapInterval(ArrayRef<double> logs,
                                                   uint64_t seed) {
  size_t resamples = 1000; // enough for the tails
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

/// With many values the sign test gives the same as the bootstrap, and sooner.
static std::pair<double, double> intervalOf(ArrayRef<double> logs,
                                            uint64_t seed) {
  if (logs.size() < 6)
    return meanInterval(logs, 0.95);
  if (logs.size() > 200)
    return signInterval(logs, 0.95);
  return bootstrapInterval(logs, seed);
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
  auto [low, high] = intervalOf(logs, seed);
  return Speedup{centre, std::min(centre, std::exp(low)),
                 std::max(centre, std::exp(high))};
}

/// The standard error of the median of values, as for a normal distribution:
/// its quartiles are 1.349 apart, and the median is 1.253 times as uncertain as
/// the mean.
static double errorOfMedian(ArrayRef<double> values) {
  return 1.253 / 1.349 * (quantile(values, 0.75) - quantile(values, 0.25)) /
         std::sqrt(static_cast<double>(values.size()));
}

/// The mean of the logarithms of the shortest 40 %, and its variance.
static std::pair<double, double> shortTimes(ArrayRef<double> times) {
  std::vector<double> logs;
  for (double time : times)
    logs.push_back(std::log(time));
  std::sort(logs.begin(), logs.end());
  size_t wanted = static_cast<size_t>(0.4 * double(logs.size()) + 0.5);
  logs.resize(std::max(std::min<size_t>(3, logs.size()), wanted));
  double count = static_cast<double>(logs.size()), mean = 0, squares = 0;
  for (double value : logs)
    mean += value / count;
  for (double value : logs)
    squares += (value - mean) * (value - mean);
  return {mean, squares / count / count};
}

double attune::logOfRatio(ArrayRef<double> first, ArrayRef<double> second,
                          double *error) {
  std::vector<double> ratios;
  for (auto [one, other] : llvm::zip_equal(first, second))
    ratios.push_back(std::log(one / other));
  double ofPairs = errorOfMedian(ratios);
  auto [shortFirst, firstVariance] = shortTimes(first);
  auto [shortSecond, secondVariance] = shortTimes(second);
  // Half as much again: what was cut off scattered, too.
  double ofShort = 1.5 * std::sqrt(firstVariance + secondVariance);
  if (error)
    *error = std::min(ofPairs, ofShort);
  return ofPairs < ofShort ? medianInPlace(ratios) : shortFirst - shortSecond;
}

Drift attune::baselineDrift(ArrayRef<double> baselineSeconds) {
  if (baselineSeconds.size() < 2)
    return {};
  // Some at either end: one time alone may be an accident.
  size_t some = std::clamp<size_t>(baselineSeconds.size() / 10, 1, 5);
  double first = median(baselineSeconds.take_front(some));
  return {quantile(baselineSeconds, 0.05) / first,
          quantile(baselineSeconds, 0.95) / first,
          median(baselineSeconds.take_back(some)) / first};
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
