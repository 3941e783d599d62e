//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Schedule/ConfigAttr.h"

#include "attune/Support/Error.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace attune {

static Attribute toAttribute(Builder &builder, const KnobValue &value) {
  if (const auto *integer = std::get_if<int64_t>(&value))
    return builder.getI64IntegerAttr(*integer);
  if (const auto *number = std::get_if<double>(&value))
    return builder.getF64FloatAttr(*number);
  if (const auto *boolean = std::get_if<bool>(&value))
    return builder.getBoolAttr(*boolean);
  if (const auto *text = std::get_if<std::string>(&value))
    return builder.getStringAttr(*text);
  return builder.getDenseI64ArrayAttr(std::get<std::vector<int64_t>>(value));
}

ConfigAttr toAttr(MLIRContext *context, const Configuration &configuration) {
  Builder builder(context);
  SmallVector<NamedAttribute> values;
  for (const auto &[name, value] : configuration.values)
    values.push_back(builder.getNamedAttr(name, toAttribute(builder, value)));
  return ConfigAttr::get(context, configuration.schedule,
                         builder.getDictionaryAttr(values));
}

static std::optional<KnobValue> toValue(Attribute attribute) {
  if (auto boolean = dyn_cast<BoolAttr>(attribute))
    return KnobValue(boolean.getValue());
  if (auto integer = dyn_cast<IntegerAttr>(attribute))
    return KnobValue(integer.getInt());
  if (auto number = dyn_cast<FloatAttr>(attribute))
    return KnobValue(number.getValueAsDouble());
  if (auto text = dyn_cast<StringAttr>(attribute))
    return KnobValue(text.str());
  if (auto list = dyn_cast<DenseI64ArrayAttr>(attribute))
    return KnobValue(std::vector<int64_t>(list.asArrayRef()));
  return std::nullopt;
}

llvm::Expected<Configuration> toConfiguration(ConfigAttr config) {
  Configuration configuration;
  configuration.schedule = config.getSchedule().str();
  for (NamedAttribute entry : config.getValues()) {
    std::optional<KnobValue> value = toValue(entry.getValue());
    if (!value)
      return makeError("knob '{0}' of schedule '{1}' has a value that is no "
                       "integer, number, boolean, string or list of integers",
                       entry.getName().getValue(), config.getSchedule());
    configuration.values.emplace_back(entry.getName().str(), *value);
  }
  return configuration;
}

} // namespace attune
