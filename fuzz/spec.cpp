//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Specs: read, written, read again, merged with itself, and put on a program.

#include "attune/Spec/Spec.h"
#include "Fuzz.h"
#include "attune/Dialect/Attune.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

using namespace attune;
using namespace attune::fuzz;

/// With dispatches of the fingerprints that the corpus has.
static constexpr char programText[] = R"(
  module attributes {attune.dispatch_version = 1 : i64} {
    func.func private @contraction_1(%a: tensor<4xf32>)
        attributes {attune.dispatch = {fingerprint = "9f86d081884c7d65",
                                       root = "contraction", shapes = "4"}}
    func.func private @contraction_2(%a: tensor<4xf32>)
        attributes {attune.dispatch = {fingerprint = "0123456789abcdef",
                                       root = "contraction", shapes = "4"}}
  })";

static void apply(const Spec &spec) {
  mlir::DialectRegistry registry;
  registry.insert<AttuneDialect, mlir::func::FuncDialect>();
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  auto program = mlir::parseSourceString<mlir::ModuleOp>(programText, &context);
  require(bool(program), "the program of the fuzzer");
  std::string said;
  llvm::raw_string_ostream out(said);
  ApplyResult result = applySpec(spec, *program);
  result.print(out);
  require(result.entries.size() == spec.entries.size(), "entries got lost");
  require(mlir::succeeded(mlir::verify(*program)), "a program that is wrong");
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string text = textOf(data, size).str();
  std::optional<Spec> spec = accept(parseSpec(text, "spec.mlir"));
  if (!spec)
    return 0;
  std::string written = printSpec(*spec);
  Spec again = mustWork(parseSpec(written, "written.mlir"), written);
  require(printSpec(again) == written, "a spec changes: " + written);
  apply(*spec);
  if (std::optional<Spec> merged = accept(mergeSpecs({*spec, again})))
    require(printSpec(*merged) == written, "merged with itself: " + written);
  return 0;
}
