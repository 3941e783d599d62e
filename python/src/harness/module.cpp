//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "harness.h"

namespace nb = nanobind;

/// Errors are those of the other extension.
static void translate(const std::exception_ptr &pointer, void *type) {
  try {
    std::rethrow_exception(pointer);
  } catch (const attune::python::AttuneError &error) {
    PyErr_SetString(static_cast<PyObject *>(type), error.what());
  }
}

NB_MODULE(_attune_harness, module) {
  using namespace attune::python;
  module.doc() = "The compiled part of the package attune that knows MLIR.";
  // Space and Error are made there.
  nb::object error = nb::module_::import_("_attune").attr("Error");
  nb::register_exception_translator(translate, error.release().ptr());
  addProblem(module);
  addExpert(module);
  addResult(module);
  addHarness(module);
  addSpec(module);
  addDimensions(module);
}
