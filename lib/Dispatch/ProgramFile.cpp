//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Dispatch/ProgramFile.h"

#include "attune/Dialect/Attune.h"
#include "attune/Support/Error.h"
#include "attune/Support/Files.h"
#include "attune/Support/Nesting.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace attune {

/// On an entry on buffers: which arguments are its outputs.
static constexpr llvm::StringLiteral updatesName = "attune.updates";

std::string weightsPathFor(StringRef path) { return (path + ".weights").str(); }

llvm::Error writeProgram(const Program &program, StringRef path) {
  OwningOpRef<ModuleOp> module = (*program.module).clone();
  Builder builder(module->getContext());
  for (const EntrySignature &entry : program.entries) {
    if (!entry.onBuffers)
      continue;
    SmallVector<int64_t> updates;
    for (const ValueSignature &output : entry.outputs)
      updates.push_back(output.updates);
    module->lookupSymbol(entry.name)
        ->setAttr(updatesName, builder.getDenseI64ArrayAttr(updates));
  }
  std::string text;
  llvm::raw_string_ostream out(text);
  module->print(out);
  out << '\n';
  if (llvm::Error error = writeFile(path, text))
    return error;
  if (program.weights.size() == 0)
    return llvm::Error::success();
  return program.weights.write(weightsPathFor(path));
}

static llvm::Error addTypes(TypeRange types,
                            std::vector<ValueSignature> &values) {
  for (Type type : types) {
    auto value = signatureOf(type);
    if (!value)
      return value.takeError();
    values.push_back(*value);
  }
  return llvm::Error::success();
}

static llvm::Expected<EntrySignature> readSignature(func::FuncOp func) {
  EntrySignature entry;
  entry.name = func.getName().str();
  if (llvm::Error error = addTypes(func.getArgumentTypes(), entry.inputs))
    return std::move(error);
  if (llvm::Error error = addTypes(func.getResultTypes(), entry.outputs))
    return std::move(error);
  if (auto variantOf = func->getAttrOfType<StringAttr>(attr::variantOf)) {
    auto text = func->getAttrOfType<StringAttr>(attr::sizes);
    auto sizes = parseSizeRanges(text ? text.getValue() : "");
    if (!sizes)
      return sizes.takeError();
    entry.variantOf = variantOf.str();
    entry.sizes = std::move(*sizes);
  }
  if (auto updates = func->getAttrOfType<DenseI64ArrayAttr>(updatesName)) {
    entry.onBuffers = true;
    for (int64_t argument : updates.asArrayRef()) {
      if (argument < 0 || argument >= int64_t(entry.inputs.size()))
        return makeError("@{0} updates its argument {1} and has {2}",
                         entry.name, argument, entry.inputs.size());
      entry.outputs.push_back(entry.inputs[argument]);
      entry.outputs.back().updates = argument;
    }
  }
  return entry;
}

/// Names of dispatches become names of files.
static bool isPlainName(StringRef name) {
  return !name.empty() && llvm::all_of(name, [](char c) {
    return llvm::isAlnum(c) || c == '_';
  });
}

static llvm::Error checkWeight(WeightOp op, const WeightStore &weights) {
  int64_t index = op.getIndex();
  if (index < 0 || index >= weights.size())
    return makeError("it has no weight {0}", index);
  auto signature = signatureOf(op.getType());
  if (!signature)
    return signature.takeError();
  std::string wanted = toString(signature->type);
  std::string found = toString(weights[index].type);
  if (wanted != found)
    return makeError("weight {0} is {1} in the program and {2} in the weights "
                     "beside it",
                     index, wanted, found);
  return llvm::Error::success();
}

/// What a file that a stranger changed may have, and nobody checks later.
static llvm::Error checkProgram(const Program &program) {
  SmallVector<WeightOp> weights;
  (*program.module)->walk([&](WeightOp op) { weights.push_back(op); });
  for (WeightOp op : weights)
    if (llvm::Error error = checkWeight(op, program.weights))
      return error;
  for (auto func : (*program.module).getOps<func::FuncOp>())
    if (func->hasAttr(attr::dispatch) && !isPlainName(func.getName()))
      return makeError("'{0}' is no name for a dispatch", func.getName());
  for (const EntrySignature &entry : program.entries) {
    if (!entry.isVariant())
      continue;
    const EntrySignature *of = program.findEntry(entry.variantOf);
    if (!of || of->openDimensions() != int64_t(entry.sizes.size()) ||
        of->inputs.size() != entry.inputs.size() ||
        of->outputs.size() != entry.outputs.size())
      return makeError("'{0}' is no variant of '{1}'", entry.name,
                       entry.variantOf);
  }
  return llvm::Error::success();
}

/// Values for inputs, as files beside the program's.
static llvm::Error readInputFiles(func::FuncOp func, StringRef path,
                                  EntrySignature &entry) {
  for (unsigned i = 0; i < func.getNumArguments(); ++i) {
    auto file = func.getArgAttrOfType<StringAttr>(i, attr::input);
    if (!file)
      continue;
    if (llvm::sys::path::filename(file.getValue()) != file.getValue())
      return makeError("{0}: the file of input {1} is not beside the program",
                       path, i);
    llvm::SmallString<256> full(llvm::sys::path::parent_path(path));
    llvm::sys::path::append(full, file.getValue());
    entry.inputs[i].file = std::string(full);
  }
  return llvm::Error::success();
}

llvm::Expected<Program> readProgram(MLIRContext &context, StringRef path) {
  Program program;
  program.file = path.str();
  auto text = readFile(path);
  if (!text)
    return text.takeError();
  if (isNestedDeeper(*text, maxMlirDepth, Syntax::Mlir))
    return makeError("{0}: nested more than {1} deep", path, maxMlirDepth);
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (message.empty())
      message = diagnostic.str();
    return success();
  });
  program.module =
      parseSourceString<ModuleOp>(*text, ParserConfig(&context), path);
  if (!program.module)
    return makeError("{0}: not a program written by Attune: {1}", path,
                     message);
  for (auto func : program.module->getOps<func::FuncOp>()) {
    if (!func->hasAttr(attr::entry))
      continue;
    auto entry = readSignature(func);
    if (!entry)
      return entry.takeError();
    if (llvm::Error error = readInputFiles(func, path, *entry))
      return std::move(error);
    program.entries.push_back(std::move(*entry));
  }
  if (llvm::sys::fs::exists(weightsPathFor(path))) {
    auto weights = WeightStore::map(weightsPathFor(path));
    if (!weights)
      return weights.takeError();
    program.weights = std::move(*weights);
  }
  if (llvm::Error error = checkProgram(program))
    return makeError("{0}: not a program written by Attune: {1}", path,
                     llvm::toString(std::move(error)));
  return program;
}

} // namespace attune
