//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTUNE_DIALECT_TD
#define ATTUNE_DIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"

def Attune_Dialect : Dialect {
  let name = "attune";
  let cppNamespace = "::attune";
  let summary = "What a tuner adds to MLIR: configurations, domains, dispatches";
  let description = [{
    Programs are split into dispatches, and a configuration says how a dispatch
    is compiled. This dialect holds the words for both, and the domains that
    knobs of schedules (`transform.tune.knob`) range over.
  }];
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::mlir::func::FuncDialect",
                           "::mlir::tensor::TensorDialect"];
}

#endif // ATTUNE_DIALECT_TD
