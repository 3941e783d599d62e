//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// For the tests of this folder: imports a program and prints what came of it.
//   attune-import FILE [--clean-up] [--entry=NAME] [--no-module] [--weights=N]
//                 [--inline-weights] [--weights-file=PATH]

#include "attune/Dialect/Attune.h"
#include "attune/Import/CleanUp.h"
#include "attune/Import/Program.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"

using namespace attune;

static llvm::cl::opt<std::string> file(llvm::cl::Positional,
                                       llvm::cl::Required);
static llvm::cl::opt<std::string> entry("entry");
static llvm::cl::opt<bool> clean("clean-up");
static llvm::cl::opt<bool> noModule("no-module");
static llvm::cl::opt<std::string> weightsFile("weights-file");
static llvm::cl::opt<int>
    weightValues("weights",
                 llvm::cl::desc("print so many values of each weight"));

static llvm::cl::opt<bool>
    inlineWeights("inline-weights",
                  llvm::cl::desc("print weights as constants, for mlir-opt"));

static void putWeightsBack(Program &program) {
  llvm::SmallVector<WeightOp> ops;
  program.module->walk([&](WeightOp op) { ops.push_back(op); });
  for (WeightOp op : ops) {
    auto type = llvm::cast<mlir::RankedTensorType>(op.getType());
    llvm::ArrayRef<char> bytes = program.weights.bytes(op.getIndex());
    mlir::DenseElementsAttr value;
    if (type.getElementType().isInteger(1))
      value = mlir::DenseElementsAttr::get(
          type, llvm::SmallVector<bool>(bytes.begin(), bytes.end()));
    else
      value = mlir::DenseElementsAttr::getFromRawBuffer(type, bytes);
    mlir::OpBuilder builder(op);
    mlir::Value constant =
        mlir::arith::ConstantOp::create(builder, op.getLoc(), value);
    op.getResult().replaceAllUsesWith(constant);
    op->erase();
  }
}

static void printValue(const ValueSignature &value) {
  llvm::outs() << " " << toString(value.type)
               << (value.isScalar ? "(scalar)" : "");
  if (value.updates >= 0)
    llvm::outs() << "(updates " << value.updates << ")";
}

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
  ImportOptions options;
  options.entry = entry;
  auto program = importProgram(context, file, options);
  if (!program)
    return fail(program.takeError());
  if (clean)
    if (llvm::Error error = cleanUp(*program))
      return fail(std::move(error));

  for (const EntrySignature &e : program->entries) {
    llvm::outs() << "// entry '" << e.name << "'"
                 << (e.onBuffers ? " on buffers" : "") << ":";
    for (const ValueSignature &value : e.inputs)
      printValue(value);
    llvm::outs() << " ->";
    for (const ValueSignature &value : e.outputs)
      printValue(value);
    llvm::outs() << "\n";
  }
  for (const std::string &note : program->notes)
    llvm::outs() << "// note: " << note << "\n";
  for (int64_t i = 0; i < program->weights.size(); ++i) {
    const Weight &weight = program->weights[i];
    llvm::outs() << "// weight " << i << ": " << toString(weight.type)
                 << (weight.generated ? " generated" : "");
    Tensor tensor = program->weights.tensor(i);
    for (int64_t at = 0;
         at < std::min<int64_t>(weightValues, tensor.elementCount()); ++at)
      llvm::outs() << llvm::formatv(" {0:f4}", tensor.at(at));
    llvm::outs() << "\n";
  }
  if (inlineWeights)
    putWeightsBack(*program);
  if (!noModule)
    llvm::outs() << **program->module << "\n";
  if (!weightsFile.empty())
    if (llvm::Error error = program->weights.write(weightsFile))
      return fail(std::move(error));
  return 0;
}
