//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "convert.h"

NB_MODULE(_attune, module) {
  using namespace attune::python;
  module.doc() = "The compiled part of the package attune.";
  nanobind::exception<AttuneError>(module, "Error", PyExc_RuntimeError)
      .attr("__doc__") = "What went wrong, in the words of the command line.";
  addSpace(module);
  addSearch(module);
  addFunction(module);
}
