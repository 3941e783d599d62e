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

/// Baseline time divided by candidate time, above 1 is faster, and the interval
/// that holds it with 95 %.
struct Speedup {
  double value = 1;
  double low = 1;
  double high = 1;
};

/// exp of the median of log(baseline / candidate) over pairs. The interval is
/// the bootstrap percentile interval (Efron & Tibshirani 1993, ch. 13) from
/// six pairs on; with two to five, Student's t on the logarithms; one pair says
/// nothing: 0 to infinity. Errors: no pairs, different lengths, a time that is
/// not finite and positive.
llvm::Expected<Speedup> pairedSpeedup(llvm::ArrayRef<double> candidateSeconds,
                                      llvm::ArrayRef<double> baselineSeconds,
                                      uint64_t seed = 0);

enum class Verdict { Faster, Slower, Undecided };

/// Faster when the whole interval is above 1 + `margin`, Slower when it is
/// below 1 - `margin`.
Verdict decide(const Speedup &speedup, double margin = 0);

/// Speed-ups of parts of a program put together: each takes `share` of the
/// whole's baseline time (shares sum to at most 1; the rest stays as it is).
double combinedSpeedup(llvm::ArrayRef<std::pair<double, double>> shareSpeedup);

} // namespace attune

#endif // ATTUNE_MEASURE_STATISTICS_H
