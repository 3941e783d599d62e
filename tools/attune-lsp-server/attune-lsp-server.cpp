//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// mlir-lsp-server with the attune dialect and its transform ops: what an editor
// starts to show errors, definitions and documentation in schedules and specs.

#include "attune/Dialect/Attune.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  attune::registerAllDialects(registry);
  return failed(mlir::MlirLspServerMain(argc, argv, registry));
}
