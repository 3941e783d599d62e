//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// From pairs of times to a speed-up with an interval. The pairs of a candidate
// and its baseline were measured next to each other, so what slows the machine
// down for a while slows both down: their ratio is what counts.

#ifndef ATTUNE_MEASURE_STATISTICS_H
#define ATTUNE_MEASURE_STATISTICS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <vector>

namespace attune {

/// Of values that are not empty.
double median(llvm::ArrayRef<double> values);
/// `fraction` in 0 .. 1, linear between neighbours (numpy's default).
double quantile(llvm::ArrayRef<double> values, double fraction);

/// Intervals of the centre of a sample, at a confidence of 0.5 to 0.9999. The
/// mean, by Student's t: at least two values, better from a bell-shaped
/// distribution.
std::pair<double, double> meanInterval(llvm::ArrayRef<double> values,
                                       double confidence);
/// The median, by the sign test: order statistics, right for any distribution
/// (Conover 1999, ch. 3.2). Infinite where there are too few values.
std::pair<double, double> signInterval(llvm::ArrayRef<double> values,
                                       double confidence);

/// log(first / second) of two programs that ran in turns, by whichever of two
/// ways is more certain. The median over pairs takes out what slows both down.
/// The shortest 40 % of either compared, means of logarithms: others who
/// interrupt add to times and never take away, and where most samples are
/// interrupted few pairs have two good ones. `error` gets the standard error.
double logOfRatio(llvm::ArrayRef<double> first, llvm::ArrayRef<double> second,
                  double *error = nullptr);

/// Baseline time divided by candidate time, above 1 is faster, and the interval
/// that holds it with 95 %.
struct Speedup {
  double value = 1;
  double low = 1;
  double high = 1;
};

/// exp of the median of log(baseline / candidate) over pairs. The interval is
/// the bootstrap percentile interval (Efron & Tibshirani 1993, ch. 13) from
/// six pairs on, and that of the sign test over two hundred; with two to five,
/// Student's t on the logarithms; one pair says nothing: 0 to infinity. Errors:
/// no pairs, different lengths, a time that is not finite and positive.
llvm::Expected<Speedup> pairedSpeedup(llvm::ArrayRef<double> candidateSeconds,
                                      llvm::ArrayRef<double> baselineSeconds,
                                      uint64_t seed = 0);

/// How the machine's speed changed: the baseline's times (medians of trials, in
/// order) against the first ones. 1.2: a fifth slower than at the begin.
/// Candidates are compared with the baseline next to them, so this takes
/// nothing from the results; it tells people how calm the machine was.
struct Drift {
  double low = 1, high = 1; ///< 5 % of the times are beyond on either side.
  double last = 1;          ///< At the end.
};
Drift baselineDrift(llvm::ArrayRef<double> baselineSeconds);

enum class Verdict { Faster, Slower, Undecided };

/// Faster when the whole interval is above 1 + `margin`, Slower when it is
/// below 1 - `margin`.
Verdict decide(const Speedup &speedup, double margin = 0);

/// Speed-ups of parts of a program put together: each takes `share` of the
/// whole's baseline time (shares sum to at most 1; the rest stays as it is).
double combinedSpeedup(llvm::ArrayRef<std::pair<double, double>> shareSpeedup);

} // namespace attune

#endif // ATTUNE_MEASURE_STATISTICS_H
