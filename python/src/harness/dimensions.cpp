//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// What the loops of a dispatch's root op are.

#include "harness.h"

#include "attune/Dialect/Attune.h"
#include "attune/Dispatch/RootOp.h"
#include "attune/Support/Error.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace nb::literals;

namespace attune::python {

static const char *nameOf(LoopRole role) {
  switch (role) {
  case LoopRole::Batch:
    return "batch";
  case LoopRole::M:
    return "m";
  case LoopRole::N:
    return "n";
  case LoopRole::K:
    return "k";
  case LoopRole::Window:
    return "window";
  }
  return "";
}

/// `text` is what `attune dispatches --dump-to` wrote: it has been read before.
static nb::dict dimensionsOf(const std::string &text) {
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  mlir::MLIRContext context(registry);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module)
    throw AttuneError("the dispatch cannot be read");
  nb::dict dimensions;
  for (auto func : module->getOps<mlir::func::FuncOp>()) {
    DispatchParts parts = analyzeDispatch(func);
    if (!parts.root)
      continue;
    for (const char *name : {"batch", "m", "n", "k", "window"})
      dimensions[name] = nb::list();
    for (auto [role, extent] :
         llvm::zip(inferLoopRoles(parts.root), loopExtents(parts.root)))
      nb::cast<nb::list>(dimensions[nameOf(role)]).append(extent);
    break;
  }
  return dimensions;
}

void addDimensions(nb::module_ &module) {
  module.def("dimensions_of", dimensionsOf, "text"_a);
}

} // namespace attune::python
