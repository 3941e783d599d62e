//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Measure/Check.h"

#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

using namespace attune;

//===----------------------------------------------------------------------===//
// Reading elements quickly: one loop for each type, not one switch an element
//===----------------------------------------------------------------------===//

template <typename T> static T loadAt(const char *bytes, int64_t index) {
  T value;
  std::memcpy(&value, bytes + index * sizeof(T), sizeof(T));
  return value;
}

/// Calls `use` with a function from index to double.
template <typename Use>
static void withFloats(const Tensor &tensor, const Use &use) {
  const char *bytes = tensor.bytes.data();
  switch (tensor.type) {
  case ElementType::F32:
    return use([=](int64_t i) -> double { return loadAt<float>(bytes, i); });
  case ElementType::F64:
    return use([=](int64_t i) { return loadAt<double>(bytes, i); });
  default:
    return use([&](int64_t i) { return tensor.at(i); });
  }
}

//===----------------------------------------------------------------------===//
// Tolerance
//===----------------------------------------------------------------------===//

double attune::rmsOfFinite(const Tensor &tensor) {
  double sum = 0;
  int64_t count = 0;
  withFloats(tensor, [&](auto at) {
    for (int64_t i = 0, e = tensor.elementCount(); i < e; ++i) {
      double value = at(i);
      if (!std::isfinite(value))
        continue;
      sum += value * value;
      ++count;
    }
  });
  return count ? std::sqrt(sum / count) : 0;
}

static double epsilonOf(ElementType type) {
  switch (type) {
  case ElementType::F64:
    return 0x1p-52;
  case ElementType::F32:
    return 0x1p-23;
  case ElementType::F16:
    return 0x1p-10;
  case ElementType::BF16:
    return 0x1p-7;
  default:
    return 0;
  }
}

Tolerance attune::toleranceFor(ElementType type, int64_t reductionLength,
                               const Tensor &reference) {
  if (!isFloat(type))
    return {};
  double factor = byteWidth(type) == 2 ? 4 : 16;
  double length = static_cast<double>(std::max<int64_t>(1, reductionLength));
  double relative = factor * std::sqrt(length) * epsilonOf(type);
  return {relative, relative * rmsOfFinite(reference)};
}

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

/// `[1, 0, 3]` of a row-major index.
static std::string placeOf(int64_t index, llvm::ArrayRef<int64_t> shape) {
  std::vector<int64_t> place(shape.size());
  for (size_t d = shape.size(); d-- > 0; index /= shape[d])
    place[d] = index % shape[d];
  return llvm::formatv("[{0:$[, ]}]",
                       llvm::make_range(place.begin(), place.end()));
}

static bool agree(double value, double expected, double limit) {
  if (std::isnan(expected) || std::isnan(value))
    return std::isnan(expected) && std::isnan(value);
  if (std::isinf(expected) || std::isinf(value))
    return value == expected;
  return std::fabs(value - expected) <= limit;
}

static void noteBad(CheckResult &check, int64_t index) {
  if (check.badCount++ == 0)
    check.firstBad = index;
}

static void checkFloats(const Tensor &result, const Tensor &reference,
                        const Tolerance &tolerance, CheckResult &check) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  withFloats(result, [&](auto valueAt) {
    withFloats(reference, [&](auto expectedAt) {
      for (int64_t i = 0, e = result.elementCount(); i < e; ++i) {
        double value = valueAt(i), expected = expectedAt(i);
        double error = std::fabs(value - expected);
        double limit =
            tolerance.absolute + tolerance.relative * std::fabs(expected);
        if (error < infinity && error > check.maxError)
          check.maxError = error;
        // False for everything with NaN or infinity in it: looked at again.
        if (error <= limit && limit < infinity)
          continue;
        if (!agree(value, expected, limit))
          noteBad(check, i);
      }
    });
  });
}

static void checkIntegers(const Tensor &result, const Tensor &reference,
                          CheckResult &check) {
  if (result.type == reference.type && result.bytes == reference.bytes)
    return;
  for (int64_t i = 0, e = result.elementCount(); i < e; ++i) {
    int64_t value = result.integerAt(i), expected = reference.integerAt(i);
    if (value == expected)
      continue;
    check.maxError =
        std::max(check.maxError, std::fabs(static_cast<double>(value) -
                                           static_cast<double>(expected)));
    noteBad(check, i);
  }
}

static std::string toText(double value, int digits) {
  if (std::isnan(value))
    return "nan"; // its sign says nothing
  char text[32];
  std::snprintf(text, sizeof(text), "%.*g", digits, value);
  return text;
}

static std::string describeBad(const Tensor &result, const Tensor &reference,
                               const Tolerance &tolerance,
                               const CheckResult &check) {
  int64_t i = check.firstBad;
  std::string place = placeOf(i, result.shape);
  std::string text;
  if (isFloat(result.type)) {
    double expected = reference.at(i);
    text = place + " is " + toText(result.at(i), 9) + ", not " +
           toText(expected, 9);
    if (std::isfinite(expected))
      text +=
          " (allowed error " +
          toText(tolerance.absolute + tolerance.relative * std::fabs(expected),
                 3) +
          ")";
  } else {
    text = llvm::formatv("{0} is {1}, not {2}", place, result.integerAt(i),
                         reference.integerAt(i));
  }
  if (check.badCount > 1)
    text += llvm::formatv("; {0} of {1} elements are wrong", check.badCount,
                          result.elementCount());
  return text;
}

CheckResult attune::checkResult(const Tensor &result, const Tensor &reference,
                                const Tolerance &tolerance) {
  CheckResult check;
  auto typeOf = [](const Tensor &tensor) {
    return toString(TensorType{tensor.type, tensor.shape});
  };
  if (result.shape != reference.shape ||
      isFloat(result.type) != isFloat(reference.type)) {
    check.ok = false;
    check.reason =
        llvm::formatv("is a {0}, not a {1}", typeOf(result), typeOf(reference));
    return check;
  }
  if (isFloat(result.type))
    checkFloats(result, reference, tolerance, check);
  else
    checkIntegers(result, reference, check);
  check.ok = check.badCount == 0;
  if (!check.ok)
    check.reason = describeBad(result, reference, tolerance, check);
  return check;
}
