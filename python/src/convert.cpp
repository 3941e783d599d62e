//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "convert.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

namespace attune::python {

nb::object toObject(const KnobValue &value) {
  return std::visit(
      [](const auto &plain) -> nb::object { return nb::cast(plain); }, value);
}

nb::dict toDict(const Configuration &configuration) {
  nb::dict values;
  for (const auto &[name, value] : configuration.values)
    values[name.c_str()] = toObject(value);
  return values;
}

KnobValue toValue(const std::string &name, nb::handle object) {
  if (nb::hasattr(object, "tolist"))
    return toValue(name, object.attr("tolist")());
  // A bool is an int to Python: first things first.
  if (nb::isinstance<nb::bool_>(object))
    return nb::cast<bool>(object);
  if (int64_t integer; nb::try_cast(object, integer))
    return integer;
  if (double number; nb::try_cast(object, number))
    return number;
  if (std::string text; nb::try_cast(object, text))
    return text;
  if (std::vector<int64_t> list; nb::try_cast(object, list))
    return list;
  throw AttuneError("knob '" + name +
                    "': " + nb::cast<std::string>(nb::repr(object)) +
                    " is not a number, a boolean, a text or a list of "
                    "integers");
}

Configuration toConfiguration(nb::dict values) {
  Configuration configuration;
  for (auto [key, value] : values) {
    std::string name;
    if (!nb::try_cast(key, name))
      throw AttuneError("a configuration is a dict of knobs by their names");
    configuration.values.emplace_back(name, toValue(name, value));
  }
  return configuration;
}

} // namespace attune::python
