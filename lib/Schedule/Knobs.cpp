//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Constraints.h"

#include "attune/Dialect/Attune.h"
#include "attune/Support/Error.h"
#include "mlir/IR/Builders.h"
#include <numeric>

using namespace mlir;
using namespace attune;

Attribute attune::toKnobAttr(MLIRContext *context, const KnobValue &value) {
  Builder builder(context);
  if (auto integer = std::get_if<int64_t>(&value))
    return builder.getI64IntegerAttr(*integer);
  if (auto boolean = std::get_if<bool>(&value))
    return builder.getBoolAttr(*boolean);
  if (auto number = std::get_if<double>(&value))
    return builder.getF64FloatAttr(*number);
  if (auto text = std::get_if<std::string>(&value))
    return builder.getStringAttr(*text);
  return builder.getDenseI64ArrayAttr(std::get<std::vector<int64_t>>(value));
}

llvm::Expected<KnobValue> attune::fromKnobAttr(Attribute attribute) {
  if (auto boolean = dyn_cast<BoolAttr>(attribute))
    return KnobValue(boolean.getValue());
  if (auto integer = dyn_cast<IntegerAttr>(attribute))
    return KnobValue(integer.getInt());
  if (auto number = dyn_cast<FloatAttr>(attribute))
    return KnobValue(number.getValueAsDouble());
  if (auto text = dyn_cast<StringAttr>(attribute))
    return KnobValue(text.getValue().str());
  if (auto list = dyn_cast<DenseI64ArrayAttr>(attribute))
    return KnobValue(std::vector<int64_t>(list.asArrayRef()));
  std::string text;
  llvm::raw_string_ostream(text) << attribute;
  return makeError("{0} is no value of a knob", text);
}

/// The number a `#attune.divisors` speaks of; dynamic sizes count as 1.
static llvm::Expected<int64_t> resolve(StringRef name,
                                       const Bindings &bindings) {
  int64_t number;
  if (!name.getAsInteger(10, number))
    return number;
  auto found = bindings.find(name);
  if (found == bindings.end())
    return makeError("a domain names '{0}', which this problem does not have",
                     name);
  return std::max<int64_t>(1, found->second);
}

llvm::Expected<std::vector<KnobValue>>
attune::listDomain(Attribute domain, const Bindings &bindings) {
  std::vector<KnobValue> values;
  if (auto options = dyn_cast<ArrayAttr>(domain)) {
    for (Attribute option : options) {
      auto value = fromKnobAttr(option);
      if (!value)
        return value.takeError();
      values.push_back(*value);
    }
  } else if (auto range = dyn_cast<RangeAttr>(domain)) {
    for (int64_t v = range.getLower();
         v <= range.getUpper() && values.size() < 4096; v += range.getStep())
      values.push_back(v);
  } else if (auto pow2 = dyn_cast<Pow2Attr>(domain)) {
    for (int64_t v = pow2.getLower(); v <= pow2.getUpper(); v *= 2)
      values.push_back(v);
  } else if (auto divisors = dyn_cast<DivisorsAttr>(domain)) {
    auto of = resolve(divisors.getOf(), bindings);
    if (!of)
      return of.takeError();
    for (int64_t v = 1; v * v <= *of; ++v)
      if (*of % v == 0) {
        values.push_back(v);
        if (v * v != *of)
          values.push_back(*of / v);
      }
    llvm::sort(values);
  } else if (auto permutation = dyn_cast<PermutationAttr>(domain)) {
    std::vector<int64_t> order(permutation.getSize());
    std::iota(order.begin(), order.end(), 0);
    do
      values.push_back(order);
    while (std::next_permutation(order.begin(), order.end()) &&
           values.size() < 4096);
  } else {
    std::string text;
    llvm::raw_string_ostream(text) << domain;
    return makeError("{0} is not a domain", text);
  }
  return values;
}

llvm::Expected<bool> attune::isInDomain(Attribute domain,
                                        const KnobValue &value,
                                        const Bindings &bindings) {
  if (auto range = dyn_cast<RangeAttr>(domain)) {
    auto integer = std::get_if<int64_t>(&value);
    return integer && *integer >= range.getLower() &&
           *integer <= range.getUpper() &&
           (*integer - range.getLower()) % range.getStep() == 0;
  }
  auto values = listDomain(domain, bindings);
  if (!values)
    return values.takeError();
  return llvm::is_contained(*values, value);
}
