//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Sizes of problems, and what follows from them.

#include "attune/Harness/Problem.h"

#include "attune/Import/Inputs.h"
#include "attune/Space/Expression.h"
#include "attune/Support/Error.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace attune {

Expected<ProblemSizes> parseProblemSizes(StringRef text) {
  ProblemSizes sizes;
  for (StringRef part : split(text, ',')) {
    auto [name, number] = part.trim().split('=');
    int64_t value;
    if (name.trim().empty() || number.trim().getAsInteger(10, value))
      return makeError("'{0}' is no size; write name=number, as in m=128,n=64",
                       part);
    sizes.push_back({name.trim().str(), value});
  }
  return sizes;
}

std::string toString(const ProblemSizes &sizes) {
  return join(map_range(sizes,
                        [](const auto &size) {
                          return size.first + "=" + std::to_string(size.second);
                        }),
              ",");
}

static std::optional<int64_t> lookUp(const ProblemSizes &sizes,
                                     StringRef name) {
  for (const auto &[key, value] : sizes)
    if (key == name)
      return value;
  return std::nullopt;
}

static std::string listDimensions(const Problem &problem) {
  std::vector<std::string> names;
  for (const ProblemDimension &dimension : problem.dimensions)
    if (dimension.expression.empty())
      names.push_back(dimension.name);
  return join(names, ", ");
}

static Expected<int64_t> evaluate(const Problem &problem, StringRef expression,
                                  const ProblemSizes &sizes) {
  auto parsed = Expression::parse(expression);
  if (!parsed)
    return makeError("problem '{0}', '{1}': {2}", problem.name, expression,
                     toString(parsed.takeError()));
  auto value = parsed->evaluate([&](StringRef name) -> std::optional<int64_t> {
    return lookUp(sizes, name);
  });
  if (!value)
    return makeError("problem '{0}', '{1}': {2}", problem.name, expression,
                     toString(value.takeError()));
  return *value;
}

static Error checkGiven(const Problem &problem, const ProblemSizes &sizes) {
  for (size_t i = 0; i < sizes.size(); ++i) {
    StringRef name = sizes[i].first;
    auto found = find_if(problem.dimensions, [&](const ProblemDimension &d) {
      return d.name == name;
    });
    if (found == problem.dimensions.end())
      return makeError("problem '{0}' has no dimension '{1}'; it has {2}",
                       problem.name, name, listDimensions(problem));
    // What follows from other sizes may be repeated, but not changed.
    for (size_t j = 0; j < i; ++j)
      if (sizes[j].first == name)
        return makeError("problem '{0}': the size of '{1}' is given twice",
                         problem.name, name);
  }
  return Error::success();
}

Expected<ProblemSizes> resolveSizes(const Problem &problem,
                                    const ProblemSizes &sizes) {
  if (Error error = checkGiven(problem, sizes))
    return std::move(error);
  ProblemSizes resolved;
  for (const ProblemDimension &dimension : problem.dimensions) {
    std::optional<int64_t> given = lookUp(sizes, dimension.name);
    int64_t value;
    if (!dimension.expression.empty()) {
      auto computed = evaluate(problem, dimension.expression, resolved);
      if (!computed)
        return computed.takeError();
      if (given && *given != *computed)
        return makeError("problem '{0}': '{1}' is {2} = {3} for these sizes, "
                         "not {4}",
                         problem.name, dimension.name, dimension.expression,
                         *computed, *given);
      value = *computed;
    } else if (given || dimension.defaultSize) {
      value = given ? *given : *dimension.defaultSize;
    } else {
      return makeError("problem '{0}' needs a size for '{1}'; it has {2}",
                       problem.name, dimension.name, listDimensions(problem));
    }
    bool isParameter = dimension.kind == ProblemDimension::Kind::Parameter;
    if (value < (isParameter ? 0 : 1))
      return makeError("problem '{0}': '{1}' is {2}, and must be {3}",
                       problem.name, dimension.name, value,
                       isParameter ? "0 or more" : "1 or more");
    resolved.push_back({dimension.name, value});
  }
  return resolved;
}

Problem Problem::withType(ElementType other) const {
  Problem result = *this;
  result.type = other;
  return result;
}

static Expected<TensorType> typeOf(const Problem &problem,
                                   const ProblemTensor &tensor,
                                   const ProblemSizes &resolved) {
  TensorType type{tensor.type.value_or(problem.type), {}};
  SmallVector<StringRef> words;
  SplitString(tensor.shape, words);
  for (StringRef word : words) {
    std::optional<int64_t> size = lookUp(resolved, word);
    if (!size)
      return makeError("problem '{0}': tensor '{1}' has a dimension '{2}', "
                       "which the problem does not have",
                       problem.name, tensor.name, word);
    type.shape.push_back(*size);
  }
  if (!checkedElementCount(type.shape, byteWidth(type.type)))
    return makeError("problem '{0}': tensor '{1}' of {2} is too large",
                     problem.name, tensor.name, toString(type));
  return type;
}

Expected<ProblemTypes> typesOf(const Problem &problem,
                               const ProblemSizes &sizes) {
  auto resolved = resolveSizes(problem, sizes);
  if (!resolved)
    return resolved.takeError();
  ProblemTypes types;
  for (bool isInput : {true, false})
    for (const ProblemTensor &tensor :
         isInput ? problem.inputs : problem.outputs) {
      auto type = typeOf(problem, tensor, *resolved);
      if (!type)
        return type.takeError();
      (isInput ? types.inputs : types.outputs).push_back(std::move(*type));
    }
  return types;
}

Expected<double> flopsOf(const Problem &problem, const ProblemSizes &sizes) {
  auto resolved = resolveSizes(problem, sizes);
  if (!resolved)
    return resolved.takeError();
  if (problem.flops.empty())
    return 0;
  auto value = evaluate(problem, problem.flops, *resolved);
  if (!value)
    return value.takeError();
  return double(*value);
}

Expected<double> bytesOf(const Problem &problem, const ProblemSizes &sizes) {
  if (!problem.bytes.empty()) {
    auto resolved = resolveSizes(problem, sizes);
    if (!resolved)
      return resolved.takeError();
    auto value = evaluate(problem, problem.bytes, *resolved);
    if (!value)
      return value.takeError();
    return double(*value);
  }
  auto types = typesOf(problem, sizes);
  if (!types)
    return types.takeError();
  double bytes = 0;
  for (const auto *list : {&types->inputs, &types->outputs})
    for (const TensorType &type : *list)
      bytes += double(*checkedElementCount(type.shape)) *
               double(byteWidth(type.type));
  return bytes;
}

Expected<int64_t> reductionLengthOf(const Problem &problem,
                                    const ProblemSizes &sizes) {
  auto resolved = resolveSizes(problem, sizes);
  if (!resolved)
    return resolved.takeError();
  int64_t length = 1;
  for (auto [dimension, size] : zip_equal(problem.dimensions, *resolved))
    if (dimension.kind == ProblemDimension::Kind::Reduction)
      length *= size.second;
  return length;
}

Expected<std::vector<Tensor>> makeProblemInputs(const Problem &problem,
                                                const ProblemSizes &sizes,
                                                uint64_t seed) {
  auto types = typesOf(problem, sizes);
  if (!types)
    return types.takeError();
  std::vector<Tensor> inputs;
  for (auto [index, type] : enumerate(types->inputs))
    // Different inputs with different values, whatever their order.
    inputs.push_back(makeRandom(type.type, type.shape,
                                seed * 1000003 + uint64_t(index) + 1));
  return inputs;
}

} // namespace attune
