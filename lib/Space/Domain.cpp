//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Space/Domain.h"

#include "attune/Support/Error.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>
#include <numeric>
#include <set>

using namespace attune;

/// Listing more values than this means that the domain was meant as a range.
static constexpr int64_t maxListed = int64_t(1) << 22;

llvm::Expected<Domain> Domain::range(int64_t lower, int64_t upper,
                                     int64_t step) {
  if (step < 1)
    return makeError("the step of a range is at least 1, not {0}", step);
  if (lower > upper)
    return makeError("empty domain: the range {0} .. {1} holds no value", lower,
                     upper);
  uint64_t width = uint64_t(upper) - uint64_t(lower);
  if (width / uint64_t(step) >= uint64_t(1) << 62)
    return makeError("the range {0} .. {1} is too long", lower, upper);
  Domain domain;
  domain.kind = Kind::Range;
  domain.count = width / uint64_t(step) + 1;
  domain.lower = lower;
  domain.step = step;
  return domain;
}

llvm::Expected<Domain> Domain::powersOfTwo(int64_t lower, int64_t upper) {
  std::vector<int64_t> values;
  for (int bit = 0; bit < 63; ++bit)
    if (int64_t power = int64_t(1) << bit; power >= lower && power <= upper)
      values.push_back(power);
  if (values.empty())
    return makeError("empty domain: no power of two from {0} to {1}", lower,
                     upper);
  return integers(std::move(values));
}

llvm::Expected<Domain> Domain::divisors(int64_t number) {
  if (number < 1)
    return integers({1});
  if (number > int64_t(1) << 50)
    return makeError("{0} is too large to list its divisors", number);
  std::vector<int64_t> small, large;
  for (int64_t divisor = 1; divisor <= number / divisor; ++divisor) {
    if (number % divisor)
      continue;
    small.push_back(divisor);
    if (divisor != number / divisor)
      large.push_back(number / divisor);
  }
  small.insert(small.end(), large.rbegin(), large.rend());
  return integers(std::move(small));
}

template <typename T>
static llvm::Error checkListed(const std::vector<T> &values) {
  if (values.empty())
    return makeError("empty domain: it lists no value");
  if (int64_t(values.size()) > maxListed)
    return makeError("a domain lists at most {0} values, not {1}", maxListed,
                     values.size());
  std::vector<T> sorted = values;
  llvm::sort(sorted);
  auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end())
    return makeError("the domain lists {0} twice", *twice);
  return llvm::Error::success();
}

llvm::Expected<Domain> Domain::integers(std::vector<int64_t> values) {
  if (llvm::Error error = checkListed(values))
    return std::move(error);
  Domain domain;
  domain.kind = Kind::Integers;
  domain.count = values.size();
  domain.numbers = std::move(values);
  return domain;
}

llvm::Expected<Domain> Domain::choice(std::vector<std::string> texts) {
  if (llvm::Error error = checkListed(texts))
    return std::move(error);
  Domain domain;
  domain.kind = Kind::Choice;
  domain.count = texts.size();
  domain.texts = std::move(texts);
  return domain;
}

llvm::Expected<Domain> Domain::floats(std::vector<double> values) {
  for (double value : values)
    if (!std::isfinite(value))
      return makeError("a domain of floats holds finite numbers, not {0}",
                       value);
  if (llvm::Error error = checkListed(values))
    return std::move(error);
  Domain domain;
  domain.kind = Kind::Floats;
  domain.count = values.size();
  domain.reals = std::move(values);
  return domain;
}

llvm::Expected<Domain> Domain::linear(double lower, double upper,
                                      int64_t steps) {
  if (steps < 1 || steps > maxListed || !(lower <= upper))
    return makeError("empty domain: {0} steps from {1} to {2}", steps, lower,
                     upper);
  std::vector<double> values;
  for (int64_t i = 0; i < steps; ++i)
    values.push_back(i + 1 == steps && i ? upper
                     : i ? lower + (upper - lower) * double(i) / (steps - 1)
                         : lower);
  return floats(std::move(values));
}

llvm::Expected<Domain> Domain::logarithmic(double lower, double upper,
                                           int64_t steps) {
  if (!(lower > 0))
    return makeError("a logarithmic domain starts above 0, not at {0}", lower);
  if (steps < 1 || steps > maxListed || !(lower <= upper))
    return makeError("empty domain: {0} steps from {1} to {2}", steps, lower,
                     upper);
  std::vector<double> values;
  for (int64_t i = 0; i < steps; ++i)
    values.push_back(i + 1 == steps && i ? upper
                     : i ? lower *
                               std::pow(upper / lower, double(i) / (steps - 1))
                         : lower);
  return floats(std::move(values));
}

llvm::Expected<Domain> Domain::permutation(int64_t n) {
  if (n < 1 || n > 10)
    return makeError("permutations of 1 to 10 elements, not {0}", n);
  Domain domain;
  domain.kind = Kind::Permutation;
  domain.lower = n;
  domain.count = 1;
  for (int64_t factor = 2; factor <= n; ++factor)
    domain.count *= factor;
  return domain;
}

Domain Domain::boolean(bool first) {
  Domain domain;
  domain.kind = Kind::Boolean;
  domain.count = 2;
  domain.numbers = {first, !first};
  return domain;
}

/// Permutation number `index` of 0 .. n-1 in lexicographic order.
static std::vector<int64_t> permutationAt(int64_t n, uint64_t index) {
  std::vector<int64_t> rest(n), result;
  std::iota(rest.begin(), rest.end(), 0);
  uint64_t block = 1;
  for (int64_t i = 2; i <= n; ++i)
    block *= i;
  for (int64_t i = n; i > 0; --i) {
    block /= i;
    auto next = rest.begin() + index / block;
    index %= block;
    result.push_back(*next);
    rest.erase(next);
  }
  return result;
}

static std::optional<uint64_t>
permutationIndex(int64_t n, const std::vector<int64_t> &values) {
  if (int64_t(values.size()) != n)
    return std::nullopt;
  std::vector<int64_t> rest(n);
  std::iota(rest.begin(), rest.end(), 0);
  uint64_t index = 0;
  for (int64_t value : values) {
    auto place = llvm::find(rest, value);
    if (place == rest.end())
      return std::nullopt;
    index = index * rest.size() + (place - rest.begin());
    rest.erase(place);
  }
  return index;
}

KnobValue Domain::at(uint64_t index) const {
  switch (kind) {
  case Kind::Range:
    return int64_t(lower + int64_t(index) * step);
  case Kind::Integers:
    return numbers[index];
  case Kind::Boolean:
    return numbers[index] != 0;
  case Kind::Choice:
    return texts[index];
  case Kind::Floats:
    return reals[index];
  case Kind::Permutation:
    return permutationAt(lower, index);
  }
  llvm_unreachable("unknown kind of domain");
}

template <typename T>
static std::optional<uint64_t> find(const std::vector<T> &list,
                                    const T &value) {
  auto place = llvm::find(list, value);
  if (place == list.end())
    return std::nullopt;
  return place - list.begin();
}

std::optional<uint64_t> Domain::indexOf(const KnobValue &value) const {
  switch (kind) {
  case Kind::Range:
    if (auto *number = std::get_if<int64_t>(&value)) {
      if (*number < lower)
        return std::nullopt;
      uint64_t offset = uint64_t(*number) - uint64_t(lower);
      if (offset % step == 0 && offset / step < count)
        return offset / step;
    }
    return std::nullopt;
  case Kind::Integers:
    if (auto *number = std::get_if<int64_t>(&value))
      return find(numbers, *number);
    return std::nullopt;
  case Kind::Boolean:
    if (auto *boolean = std::get_if<bool>(&value))
      return find(numbers, int64_t(*boolean));
    return std::nullopt;
  case Kind::Choice:
    if (auto *text = std::get_if<std::string>(&value))
      return find(texts, *text);
    return std::nullopt;
  case Kind::Floats:
    if (auto *number = std::get_if<double>(&value))
      return find(reals, *number);
    if (auto *number = std::get_if<int64_t>(&value))
      return find(reals, double(*number));
    return std::nullopt;
  case Kind::Permutation:
    if (auto *list = std::get_if<std::vector<int64_t>>(&value))
      return permutationIndex(lower, *list);
    return std::nullopt;
  }
  llvm_unreachable("unknown kind of domain");
}

int64_t Domain::constraintValue(uint64_t index) const {
  switch (kind) {
  case Kind::Range:
    return lower + int64_t(index) * step;
  case Kind::Integers:
  case Kind::Boolean:
    return numbers[index];
  case Kind::Choice:
  case Kind::Floats:
  case Kind::Permutation:
    return int64_t(index);
  }
  llvm_unreachable("unknown kind of domain");
}

static std::optional<double> asNumber(const KnobValue &value) {
  if (auto *integer = std::get_if<int64_t>(&value))
    return double(*integer);
  if (auto *real = std::get_if<double>(&value))
    return *real;
  return std::nullopt;
}

/// Doublings away from 0, with a sign: what a step means for a size.
static double doublings(double value) {
  return std::copysign(std::log2(1 + std::fabs(value)), value);
}

std::optional<double> Domain::distance(const KnobValue &left,
                                       const KnobValue &right) const {
  if (isOrdered()) {
    auto a = asNumber(left), b = asNumber(right);
    if (!a || !b)
      return std::nullopt;
    return std::fabs(doublings(*a) - doublings(*b));
  }
  if (left.index() != right.index())
    return std::nullopt;
  if (kind != Kind::Permutation)
    return left == right ? 0.0 : 1.0;
  auto *a = std::get_if<std::vector<int64_t>>(&left);
  auto *b = std::get_if<std::vector<int64_t>>(&right);
  if (!a || a->size() != b->size())
    return std::nullopt;
  double differ = 0;
  for (auto [x, y] : llvm::zip(*a, *b))
    differ += x != y;
  return differ / std::max<size_t>(a->size(), 1);
}

std::string Domain::describe() const {
  if (kind == Kind::Permutation)
    return llvm::formatv("permutations of {0}", lower).str();
  if (kind == Kind::Range && count > 1) {
    std::string text =
        llvm::formatv("{0}..{1}", lower, constraintValue(count - 1)).str();
    return step == 1 ? text : text + llvm::formatv(" by {0}", step).str();
  }
  std::string text = "[";
  for (uint64_t i = 0; i < count; ++i) {
    if (i == 8 && count > 12) {
      text += ", ... " + toString(at(count - 1));
      break;
    }
    text += (i ? ", " : "") + toString(at(i));
  }
  return text + "]";
}
