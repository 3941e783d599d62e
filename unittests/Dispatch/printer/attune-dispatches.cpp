//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// For the tests of this folder: imports a program, cleans it up, splits it into
// dispatches and prints what came of it.
//   attune-dispatches FILE

#include "attune/Dialect/Attune.h"
#include "attune/Dispatch/Dispatches.h"
#include "attune/Import/CleanUp.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"

using namespace attune;

static llvm::cl::opt<std::string> file(llvm::cl::Positional,
                                       llvm::cl::Required);

static int fail(llvm::Error error) {
  llvm::errs() << "error: " << llvm::toString(std::move(error)) << "\n";
  return 1;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  llvm::cl::ParseCommandLineOptions(argc, argv);
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  auto program = importProgram(context, file);
  if (!program)
    return fail(program.takeError());
  if (llvm::Error error = cleanUp(*program))
    return fail(std::move(error));
  if (llvm::Error error = formDispatches(*program))
    return fail(std::move(error));
  llvm::outs() << **program->module << "\n";
  return 0;
}
