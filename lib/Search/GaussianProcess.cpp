//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "GaussianProcess.h"

#include <cmath>

using namespace attune;

//===----------------------------------------------------------------------===//
// Kernel
//===----------------------------------------------------------------------===//

static constexpr double rootOf5 = 2.2360679774997896;

/// Matérn 5/2 of a squared distance.
static double matern(double squared) {
  double r = rootOf5 * std::sqrt(squared);
  return (1 + r + r * r / 3) * std::exp(-r);
}

/// The usual logarithm of a scale: with more knobs, each alone matters less.
static double usualScale(size_t scales) {
  return std::log(0.5 * std::sqrt(double(std::max<size_t>(1, scales))));
}

Kernel::Kernel(const Coordinates &coordinates)
    : logScales(coordinates.scales(), usualScale(coordinates.scales())) {
  prepare(coordinates);
}

double Kernel::noise() const { return std::exp(logNoise); }

void Kernel::prepare(const Coordinates &coordinates) {
  weights.resize(coordinates.size());
  for (size_t i = 0; i < weights.size(); ++i)
    weights[i] = std::exp(-2 * logScales[coordinates.scaleOf(i)]);
}

double Kernel::operator()(const double *a, const double *b) const {
  double squared = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    double difference = a[i] - b[i];
    squared += weights[i] * difference * difference;
  }
  return matern(squared);
}

/// Several sums at once, so that the compiler may use vectors.
template <typename T> static T dot(const T *a, const T *b, size_t n) {
  T sums[8] = {};
  size_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (size_t j = 0; j < 8; ++j)
      sums[j] += a[i + j] * b[i + j];
  T rest = 0;
  for (; i < n; ++i)
    rest += a[i] * b[i];
  return rest + ((sums[0] + sums[4]) + (sums[1] + sums[5])) +
         ((sums[2] + sums[6]) + (sums[3] + sums[7]));
}

//===----------------------------------------------------------------------===//
// Scales
//===----------------------------------------------------------------------===//

namespace attune {

/// The logarithmic posterior of a kernel and its slope. The strength of the
/// signal is the most likely one for each kernel.
class KernelFit {
public:
  KernelFit(const Coordinates &coordinates,
            llvm::ArrayRef<const double *> points,
            llvm::ArrayRef<double> targets)
      : coordinates(coordinates), points(points), targets(targets),
        n(points.size()), factor(n * n), inverse(n * n), slopes(n * n) {}

  void climb(Kernel &kernel, unsigned steps);

private:
  /// -infinity where the matrix is not positive definite.
  double evaluate(Kernel &kernel, std::vector<double> &gradient);
  bool factorize(const Kernel &kernel);
  void invert();
  double addPriors(const Kernel &kernel, std::vector<double> &gradient) const;

  const Coordinates &coordinates;
  llvm::ArrayRef<const double *> points;
  llvm::ArrayRef<double> targets;
  size_t n;
  std::vector<double> factor, inverse, slopes;
};

} // namespace attune

bool KernelFit::factorize(const Kernel &kernel) {
  double noise = kernel.noise();
  for (size_t i = 0; i < n; ++i)
    for (size_t j = 0; j <= i; ++j) {
      double squared = 0;
      for (size_t k = 0; k < kernel.weights.size(); ++k) {
        double difference = points[i][k] - points[j][k];
        squared += kernel.weights[k] * difference * difference;
      }
      double r = rootOf5 * std::sqrt(squared), decay = std::exp(-r);
      slopes[i * n + j] = -5.0 / 6 * (1 + r) * decay;
      double value = (1 + r + r * r / 3) * decay + (i == j ? noise : 0);
      value -= dot(&factor[i * n], &factor[j * n], j);
      if (i == j && !(value > 1e-10))
        return false;
      factor[i * n + j] = i == j ? std::sqrt(value) : value / factor[j * n + j];
    }
  return true;
}

/// Columns of the factor's inverse (as rows, so that they lie together), then
/// their products.
void KernelFit::invert() {
  std::vector<double> &columns = inverse;
  for (size_t j = 0; j < n; ++j) {
    double *column = &columns[j * n];
    std::fill(column, column + n, 0.0);
    column[j] = 1 / factor[j * n + j];
    for (size_t i = j + 1; i < n; ++i)
      column[i] =
          -dot(&factor[i * n + j], column + j, i - j) / factor[i * n + i];
  }
  // Entry (i, j), i >= j, needs the columns from i on: rows from the top.
  for (size_t j = 0; j < n; ++j)
    for (size_t i = j; i < n; ++i)
      columns[j * n + i] = dot(&columns[j * n + i], &columns[i * n + i], n - i);
}

double KernelFit::evaluate(Kernel &kernel, std::vector<double> &gradient) {
  kernel.prepare(coordinates);
  if (!factorize(kernel))
    return -INFINITY;
  std::vector<double> white(n), solved(n);
  double squares = 0, result = 0;
  for (size_t i = 0; i < n; ++i) {
    white[i] =
        (targets[i] - dot(&factor[i * n], white.data(), i)) / factor[i * n + i];
    squares += white[i] * white[i];
    result -= std::log(factor[i * n + i]);
  }
  double signal = std::max(squares / double(n), 1e-12);
  result -= 0.5 * double(n) * std::log(signal);
  for (size_t i = n; i-- > 0;) {
    double sum = white[i];
    for (size_t j = i + 1; j < n; ++j)
      sum -= factor[j * n + i] * solved[j];
    solved[i] = sum / factor[i * n + i];
  }
  invert();

  size_t scales = kernel.logScales.size();
  std::vector<double> numbers(kernel.weights.size(), 0.0);
  double trace = 0;
  for (size_t i = 0; i < n; ++i) {
    trace += solved[i] * solved[i] / signal - inverse[i * n + i];
    for (size_t j = 0; j < i; ++j) {
      double slope = (solved[i] * solved[j] / signal - inverse[j * n + i]) *
                     slopes[i * n + j];
      for (size_t k = 0; k < numbers.size(); ++k) {
        double difference = points[i][k] - points[j][k];
        numbers[k] += slope * difference * difference;
      }
    }
  }
  gradient.assign(scales + 1, 0.0);
  for (size_t k = 0; k < numbers.size(); ++k)
    gradient[coordinates.scaleOf(k)] -= 2 * kernel.weights[k] * numbers[k];
  gradient[scales] = 0.5 * kernel.noise() * trace;

  return result + addPriors(kernel, gradient);
}

/// Normal, of the logarithms.
double KernelFit::addPriors(const Kernel &kernel,
                            std::vector<double> &gradient) const {
  double sum = 0;
  auto add = [&](double value, double mean, double deviation, double &slope) {
    double z = (value - mean) / deviation;
    sum -= z * z / 2;
    slope -= z / deviation;
  };
  size_t scales = kernel.logScales.size();
  for (size_t s = 0; s < scales; ++s)
    add(kernel.logScales[s], usualScale(scales), 1, gradient[s]);
  add(kernel.logNoise, -5, 1.5, gradient[scales]);
  return sum;
}

/// Rprop: Riedmiller, Braun, "A direct adaptive method for faster
/// backpropagation learning" (1993). Only the signs of slopes count.
void KernelFit::climb(Kernel &kernel, unsigned steps) {
  size_t scales = kernel.logScales.size();
  std::vector<double> gradient, last(scales + 1, 0.0), step(scales + 1, 0.2);
  Kernel best = kernel;
  double most = -INFINITY;
  auto move = [&](size_t p, double &value, double low, double high) {
    double agreement = gradient[p] * last[p];
    step[p] *= agreement > 0 ? 1.5 : agreement < 0 ? 0.5 : 1;
    step[p] = std::clamp(step[p], 0.01, 0.8);
    value += gradient[p] > 0 ? step[p] : gradient[p] < 0 ? -step[p] : 0;
    value = std::clamp(value, low, high);
  };
  for (unsigned i = 0; i < steps; ++i) {
    double value = evaluate(kernel, gradient);
    if (value == -INFINITY) {
      kernel = best;
      kernel.logNoise = best.logNoise += 1;
      continue;
    }
    if (value > most) {
      most = value;
      best = kernel;
    }
    for (size_t s = 0; s < scales; ++s)
      move(s, kernel.logScales[s], -4, 5);
    move(scales, kernel.logNoise, -9, 0);
    last = gradient;
  }
  kernel = best;
  kernel.prepare(coordinates);
}

void attune::fitKernel(Kernel &kernel, const Coordinates &coordinates,
                       llvm::ArrayRef<const double *> points,
                       llvm::ArrayRef<double> targets, unsigned steps) {
  KernelFit(coordinates, points, targets).climb(kernel, steps);
}

//===----------------------------------------------------------------------===//
// Process
//===----------------------------------------------------------------------===//

void GaussianProcess::add(const double *point, double target) {
  size_t n = points.size();
  std::vector<double> row(n + 1);
  for (size_t j = 0; j < n; ++j)
    row[j] = (kernel(point, points[j]) - dot(row.data(), rows[j].data(), j)) /
             rows[j][j];
  double rest = 1 + kernel.noise() - dot(row.data(), row.data(), n);
  row[n] = std::sqrt(std::max(rest, 1e-9));
  whitened.push_back((target - dot(row.data(), whitened.data(), n)) / row[n]);
  squares += whitened.back() * whitened.back();
  shortRows.emplace_back(row.begin(), row.end());
  rows.push_back(std::move(row));
  points.push_back(point);
}

void GaussianProcess::update(Query &query, const double *point) const {
  for (size_t i = query.solved.size(); i < points.size(); ++i) {
    const std::vector<float> &row = shortRows[i];
    float value = (float(kernel(point, points[i])) -
                   dot(query.solved.data(), row.data(), i)) /
                  row[i];
    query.solved.push_back(value);
    query.mean += double(value) * whitened[i];
    query.variance -= double(value) * double(value);
  }
}

double GaussianProcess::signal() const {
  return points.empty() ? 1 : std::max(squares / double(points.size()), 1e-12);
}
