//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Is a result right? Compared with the reference, aware of NaN and infinity.

#ifndef ATTUNE_MEASURE_CHECK_H
#define ATTUNE_MEASURE_CHECK_H

#include "attune/Support/Tensor.h"

namespace attune {

/// |result - reference| <= absolute + relative * |reference|.
struct Tolerance {
  double relative = 0;
  double absolute = 0;
};

/// What rounding can do to a result of `type` that sums `reductionLength`
/// products (1 for elementwise), where `reference` is right: c * sqrt(K) * eps,
/// relative, and the same times the root mean square of the finite reference
/// values, absolute. Errors of a sum grow like a random walk, hence sqrt(K);
/// eps is that of the type; c is 16, and 4 for f16 and bf16, whose accumulation
/// is usually wider. Integers are exact: zeros.
Tolerance toleranceFor(ElementType type, int64_t reductionLength,
                       const Tensor &reference);

/// The root mean square of the finite values; 0 when there are none.
double rmsOfFinite(const Tensor &tensor);

struct CheckResult {
  bool ok = true;
  double maxError = 0;   ///< Largest |result - reference| of finite pairs.
  int64_t firstBad = -1; ///< Row-major index of the first bad element.
  int64_t badCount = 0;
  std::string reason; ///< `[0, 3] is 1.5, not 1.25 (...)`, when not ok.
};

/// NaN agrees with NaN only, infinity with the same infinity only. Integers and
/// booleans are equal or bad. Floats may have different widths (a reference in
/// f64). Different shapes are bad.
CheckResult checkResult(const Tensor &result, const Tensor &reference,
                        const Tolerance &tolerance);

} // namespace attune

#endif // ATTUNE_MEASURE_CHECK_H
