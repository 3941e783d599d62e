//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Regression by a Gaussian process with a scale for each knob: Rasmussen,
// Williams, "Gaussian Processes for Machine Learning" (2006), chapters 2, 4.2
// (Matérn 5/2) and 5.4. Points are added one by one in quadratic time, and what
// is predicted follows in linear time.

#ifndef ATTUNE_LIB_SEARCH_GAUSSIANPROCESS_H
#define ATTUNE_LIB_SEARCH_GAUSSIANPROCESS_H

#include "Coordinates.h"

namespace attune {

/// How alike the outcomes of two points are, by their distance.
class Kernel {
public:
  /// As alike as points usually are, before anything is known.
  explicit Kernel(const Coordinates &coordinates);

  /// 1 for equal points, towards 0 far away.
  double operator()(const double *a, const double *b) const;
  /// Variance of the noise, over the signal's.
  double noise() const;

private:
  friend class KernelFit;
  void prepare(const Coordinates &coordinates); ///< After a change of scales.

  std::vector<double> logScales; ///< One for each scale of the coordinates.
  double logNoise = -3;
  std::vector<double> weights; ///< 1 / scale^2 of each number of a point.
};

/// Makes the scales and the noise more likely (their logarithmic posterior with
/// broad normal priors), by `steps` steps of Rprop from where they are.
void fitKernel(Kernel &kernel, const Coordinates &coordinates,
               llvm::ArrayRef<const double *> points,
               llvm::ArrayRef<double> targets, unsigned steps);

class GaussianProcess {
public:
  /// A point whose outcome is asked for. `update` brings it up to date.
  struct Query {
    std::vector<float> solved; ///< Of the triangular system, so far.
    double mean = 0, variance = 1;
  };

  explicit GaussianProcess(const Kernel &kernel) : kernel(kernel) {}

  /// `point` must live as long as the process.
  void add(const double *point, double target);
  void update(Query &query, const double *point) const;
  /// The variance of the signal, from the targets; those of queries are shares
  /// of it.
  double signal() const;

private:
  const Kernel &kernel;
  std::vector<const double *> points;
  /// Cholesky factor, below and on the diagonal; and shorter, for queries.
  std::vector<std::vector<double>> rows;
  std::vector<std::vector<float>> shortRows;
  std::vector<double> whitened; ///< Of the targets.
  double squares = 0;
};

} // namespace attune

#endif // ATTUNE_LIB_SEARCH_GAUSSIANPROCESS_H
