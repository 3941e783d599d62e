//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// mlir-opt with the attune dialect, its transform ops and its passes.

#include "attune/Codegen/Passes.h"
#include "attune/Dialect/Attune.h"
#include "attune/Schedule/Library.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::registerAllPasses();
  attune::registerSchedulePasses();
  attune::registerCodegenPasses();
  mlir::DialectRegistry registry;
  attune::registerAllDialects(registry);
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "Attune optimizer driver\n", registry));
}
