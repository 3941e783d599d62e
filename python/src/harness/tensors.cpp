//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "tensors.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

namespace attune::python {

const char *dtypeOf(ElementType type) {
  switch (type) {
  case ElementType::F32:
    return "float32";
  case ElementType::F64:
    return "float64";
  case ElementType::F16:
    return "float16";
  case ElementType::BF16:
    return "uint16";
  case ElementType::I1:
    return "bool";
  case ElementType::I4:
  case ElementType::I8:
    return "int8";
  case ElementType::I16:
    return "int16";
  case ElementType::I32:
    return "int32";
  case ElementType::I64:
  case ElementType::Index:
    return "int64";
  }
  return "";
}

nb::object toArray(const Tensor &tensor) {
  nb::object numpy = nb::module_::import_("numpy");
  nb::bytes bytes(tensor.bytes.data(), tensor.bytes.size());
  nb::object flat = numpy.attr("frombuffer")(bytes, dtypeOf(tensor.type));
  return flat.attr("reshape")(nb::cast(tensor.shape)).attr("copy")();
}

/// As str() gives it.
static std::string textOf(nb::object object) {
  return nb::str(nb::handle(object)).c_str();
}

Tensor toTensor(nb::handle array, const TensorType &type,
                const std::string &what) {
  nb::object numpy = nb::module_::import_("numpy");
  nb::object given = numpy.attr("asarray")(array);
  std::string dtype = textOf(given.attr("dtype"));
  auto shape = nb::cast<std::vector<int64_t>>(given.attr("shape"));
  if (dtype != dtypeOf(type.type))
    throw nb::type_error((what + " is " + toString(type) + ", that is " +
                          dtypeOf(type.type) + "; the array is " + dtype)
                             .c_str());
  if (shape != type.shape)
    throw nb::value_error((what + " is " + toString(type) +
                           "; the array has the shape " +
                           textOf(given.attr("shape")))
                              .c_str());
  auto bytes = nb::cast<nb::bytes>(given.attr("tobytes")());
  Tensor tensor;
  tensor.type = type.type;
  tensor.shape = type.shape;
  tensor.bytes.assign(bytes.c_str(), bytes.c_str() + bytes.size());
  return tensor;
}

} // namespace attune::python
