//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Schedule/ConfigAttr.h"

#include "Constraints.h"
#include "attune/Support/Error.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace attune {

ConfigAttr toAttr(MLIRContext *context, const Configuration &configuration) {
  Builder builder(context);
  SmallVector<NamedAttribute> values;
  for (const auto &[name, value] : configuration.values)
    values.push_back(builder.getNamedAttr(name, toKnobAttr(context, value)));
  return ConfigAttr::get(context, configuration.schedule,
                         builder.getDictionaryAttr(values));
}

llvm::Expected<Configuration> toConfiguration(ConfigAttr config) {
  Configuration configuration;
  configuration.schedule = config.getSchedule().str();
  for (NamedAttribute entry : config.getValues()) {
    llvm::Expected<KnobValue> value = fromKnobAttr(entry.getValue());
    if (!value) {
      llvm::consumeError(value.takeError());
      return makeError("knob '{0}' of schedule '{1}' has a value that is no "
                       "integer, number, boolean, string or list of integers",
                       entry.getName().getValue(), config.getSchedule());
    }
    configuration.values.emplace_back(entry.getName().str(), *value);
  }
  return configuration;
}

} // namespace attune
