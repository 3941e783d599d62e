//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Which dialects a program may be made of, and what to do about the others.

#include "Steps.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace attune;
using namespace attune::import;
using llvm::Error;

static constexpr char tmTensor[] =
    "run `torch-mlir-opt --pass-pipeline='builtin.module(func.func("
    "tm-tensor-bufferize,tm-tensor-to-loops))'` on the file first and add "
    "`restrict` "
    "to each bufferization.to_tensor";
static constexpr char stablehlo[] =
    "run `python -m attune.import` on the file first, or `iree-opt "
    "--iree-stablehlo-input-transformation-pipeline` (pip install "
    "iree-base-compiler)";
static constexpr char torch[] =
    "run `torch-mlir-opt --pass-pipeline='builtin.module("
    "torch-backend-to-linalg-on-tensors-backend-pipeline)'` on the file first, "
    "or "
    "export with output_type=\"linalg-on-tensors\" (pip install torch-mlir)";
static constexpr char onnx[] =
    "run `python -m attune.import` on the .onnx file, or "
    "`torch-mlir-import-onnx` and then `torch-mlir-opt "
    "--pass-pipeline='builtin.module(torch-onnx-to-torch-backend-pipeline,"
    "torch-backend-to-linalg-on-tensors-backend-pipeline)'` (pip install "
    "torch-mlir)";
static constexpr char iree[] = "tune it with --backend=iree, or give the "
                               "program as it was before iree-compile";
static constexpr char device[] = "it is code for a device or a late stage; "
                                 "give the program as linalg or TOSA";
static constexpr char quant[] =
    "lower quantised types to plain integers first (mlir-opt "
    "--lower-quant-ops, or export without quantised types)";
static constexpr char sparse[] =
    "run `mlir-opt --sparsifier` on it first, or export it with dense tensors";

std::string import::wayOutOf(StringRef dialect) {
  return llvm::StringSwitch<std::string>(dialect)
      .Cases({"tm_tensor", "torch_c"}, tmTensor)
      .Cases({"stablehlo", "mhlo", "chlo", "vhlo", "sdy"}, stablehlo)
      .Case("torch", torch)
      .Cases({"onnx", "krnl"}, onnx)
      .Cases({"iree", "util", "flow", "hal", "stream", "vm", "iree_input",
              "iree_linalg_ext", "iree_encoding", "iree_codegen",
              "iree_tensor_ext", "iree_gpu", "check"},
             iree)
      .Cases({"tf", "tfl", "tf_executor", "tfr"},
             "export the model as TOSA (tf-opt or flatbuffer_translate) or as "
             "ONNX")
      .Cases({"gpu", "nvgpu", "nvvm", "rocdl", "amdgpu", "spirv", "xegpu",
              "llvm", "emitc", "omp", "async", "acc", "wasmssa", "xevm"},
             device)
      .Case("quant", quant)
      .Case("sparse_tensor", sparse)
      .Cases(
          {"shape"},
          "run `mlir-opt --shape-to-shape-lowering --convert-shape-constraints "
          "--convert-shape-to-std` on the file first")
      .Default("lower it to linalg on tensors with the tool that made the file "
               "(docs/inputs.md says how for common ones)");
}

Error import::checkDialects(ModuleOp module, StringRef file) {
  static const llvm::StringSet<> known = {
      "builtin", "func",    "linalg", "tensor", "arith", "math",
      "scf",     "cf",      "affine", "memref", "index", "bufferization",
      "vector",  "complex", "ub",     "attune"};
  Operation *foreign = nullptr;
  StringRef dialect;
  module->walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      if (auto tensor = dyn_cast<RankedTensorType>(type))
        if (Attribute encoding = tensor.getEncoding())
          foreign = op, dialect = encoding.getDialect().getNamespace();
    if (!known.contains(op->getName().getDialectNamespace()))
      foreign = op, dialect = op->getName().getDialectNamespace();
    return foreign ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (!foreign)
    return Error::success();
  if (dialect == "tosa")
    return errorAt(foreign, file,
                   "{0} has no lowering to linalg in MLIR 22 for these types; "
                   "export this part of the model as linalg",
                   foreign->getName());
  return errorAt(foreign, file,
                 "{0} needs the {1} dialect, which Attune does not "
                 "compile; {2}",
                 foreign->getName(), dialect, wayOutOf(dialect));
}
