//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Steps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;
using namespace attune;
using namespace attune::import;
using llvm::Error;
using llvm::Expected;

/// Signatures of the entries, from their types. `liftBuffers` has filled in
/// what it changed.
static Error describeEntries(Program &program) {
  for (auto function : program.module->getOps<func::FuncOp>()) {
    if (!function->hasAttr(attr::entry))
      continue;
    EntrySignature *entry = nullptr;
    for (EntrySignature &known : program.entries)
      if (known.name == function.getSymName())
        entry = &known;
    if (!entry) {
      program.entries.emplace_back();
      entry = &program.entries.back();
      entry->name = function.getSymName().str();
    }
    auto describe = [&](Type type, StringRef what, unsigned number,
                        std::vector<ValueSignature> &into) -> Error {
      auto signature = signatureOf(type);
      if (!signature)
        return errorAt(function, program.file, "{0} {1} of @{2}: {3}", what,
                       number, entry->name,
                       llvm::toString(signature.takeError()));
      into.push_back(std::move(*signature));
      return Error::success();
    };
    for (auto [i, type] : llvm::enumerate(function.getArgumentTypes()))
      if (Error error = describe(type, "input", i, entry->inputs))
        return error;
    std::vector<ValueSignature> marked = std::move(entry->outputs);
    entry->outputs.clear();
    for (auto [i, type] : llvm::enumerate(function.getResultTypes()))
      if (Error error = describe(type, "result", i, entry->outputs))
        return error;
    for (ValueSignature &mark : marked) {
      if (entry->onBuffers) {
        entry->outputs.push_back(entry->inputs[mark.updates]);
        entry->outputs.back().updates = mark.updates;
      }
    }
    // Results of a lifted function that are the new contents of an argument
    // come last, in the order of `marked`.
    if (!entry->onBuffers)
      for (auto [i, mark] : llvm::enumerate(llvm::reverse(marked)))
        entry->outputs[entry->outputs.size() - 1 - i].updates = mark.updates;
  }
  return Error::success();
}

static Expected<Program>
importBuffer(MLIRContext &context, std::unique_ptr<llvm::MemoryBuffer> buffer,
             StringRef file, const ImportOptions &options) {
  // What the steps below create, whether or not the file has any of it.
  context.loadDialect<AttuneDialect, arith::ArithDialect, linalg::LinalgDialect,
                      tensor::TensorDialect, memref::MemRefDialect,
                      bufferization::BufferizationDialect, math::MathDialect,
                      scf::SCFDialect, complex::ComplexDialect>();
  Program program;
  program.file = file.str();
  auto module = parseModule(context, std::move(buffer), file);
  if (!module)
    return module.takeError();
  program.module = std::move(*module);

  // Weights leave first, so that no pass ever folds or copies them.
  if (Error error = extractWeights(program, options))
    return std::move(error);
  if (hasTosa(*program.module)) {
    if (Error error = lowerTosa(*program.module, file))
      return std::move(error);
  }
  if (Error error = lowerShape(*program.module, file))
    return std::move(error);
  if (Error error = lowerGlobals(program))
    return std::move(error);
  if (Error error = chooseEntries(program, options))
    return std::move(error);
  if (Error error = checkDialects(*program.module, file))
    return std::move(error);
  cropPads(*program.module);
  if (Error error = liftBuffers(program))
    return std::move(error);
  if (Error error = splitComplex(program))
    return std::move(error);
  if (Error error = simplify(*program.module, file))
    return std::move(error);
  // Once more: lowerings leave constants behind that were attributes before.
  if (Error error = extractWeights(program, options))
    return std::move(error);
  if (Error error = generateLeftOutWeights(program, options))
    return std::move(error);
  compactWeights(program, options.maxInlineElements);
  if (Error error = describeEntries(program))
    return std::move(error);

  FirstError first(context, file);
  if (failed(verify(*program.module)))
    return makeError("{0}", first.text());
  return std::move(program);
}

Expected<Program> attune::importProgram(MLIRContext &context, StringRef path,
                                        const ImportOptions &options) {
  llvm::sys::fs::file_status status;
  if (std::error_code code = llvm::sys::fs::status(path, status)) {
    if (code == std::errc::no_such_file_or_directory)
      return makeError("{0}: no such file", path);
    return makeError("{0}: cannot be read: {1}", path, code.message());
  }
  if (llvm::sys::fs::is_directory(status))
    return makeError("{0}: is a folder; give the .mlir or .mlirbc file in it",
                     path);
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return makeError("{0}: cannot be read: {1}", path,
                     buffer.getError().message());
  return importBuffer(context, std::move(*buffer), path, options);
}

Expected<Program>
attune::importProgramFromString(MLIRContext &context, StringRef contents,
                                StringRef name, const ImportOptions &options) {
  return importBuffer(context,
                      llvm::MemoryBuffer::getMemBufferCopy(contents, name),
                      name, options);
}
