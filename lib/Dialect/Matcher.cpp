//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Dialect/Matcher.h"

#include "attune/Dialect/Attune.h"
#include "attune/Support/Error.h"
#include "attune/Support/Nesting.h"

#include "mlir/Dialect/Transform/Interfaces/MatchInterfaces.h"
#include "mlir/Dialect/Transform/Transforms/TransformInterpreterUtils.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;
using transform::NamedSequenceOp;

namespace attune {

llvm::Error checkMatcher(NamedSequenceOp sequence) {
  StringRef name = sequence.getSymName();
  if (sequence.isExternal() || sequence.getNumArguments() != 1)
    return makeError("matcher '@{0}' needs a body and one argument, an op",
                     name);
  for (Operation &op : sequence.getBody().front().without_terminator())
    if (!isa<transform::MatchOpInterface>(op))
      return makeError("matcher '@{0}' has a '{1}', which is no match op", name,
                       op.getName());
  return llvm::Error::success();
}

Matcher::Matcher(NamedSequenceOp sequence)
    : module(ModuleOp::create(sequence.getLoc())) {
  (*module)->setAttr(namedSequencesName, UnitAttr::get(sequence.getContext()));
  module->getBody()->push_back(sequence->clone());
}

static NamedSequenceOp sequenceOf(ModuleOp module) {
  return cast<NamedSequenceOp>(module.getBody()->front());
}

std::string Matcher::getName() const {
  return sequenceOf(*module).getSymName().str();
}

std::string Matcher::getBound() const {
  auto bound = sequenceOf(*module).getArgAttrOfType<StringAttr>(0, attr::bind);
  return bound ? bound.str() : "root";
}

bool Matcher::takes(Operation *op) const {
  RaggedArray<transform::MappedValue> mapping;
  mapping.push_back(SmallVector<transform::MappedValue>{op});
  // That an op does not match is told as an error.
  ScopedDiagnosticHandler quiet((*module)->getContext(),
                                [](Diagnostic &) { return success(); });
  transform::TransformOptions options;
  options.enableExpensiveChecks(false);
  options.enableEnforceSingleToplevelTransformOp(false);
  return succeeded(transform::applyTransformNamedSequence(
      std::move(mapping),
      cast<transform::TransformOpInterface>(sequenceOf(*module).getOperation()),
      *module, options));
}

llvm::Expected<std::vector<Matcher>>
parseMatchers(MLIRContext &context, StringRef text, StringRef file) {
  if (isNestedDeeper(text, maxMlirDepth, Syntax::Mlir))
    return makeError("{0}: nested more than {1} deep", file, maxMlirDepth);
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (message.empty() &&
        diagnostic.getSeverity() == DiagnosticSeverity::Error)
      message = diagnostic.str();
    return success();
  });
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(text, ParserConfig(&context), file);
  if (!module)
    return makeError("{0}: {1}", file, StringRef(message).split('\n').first);
  std::vector<Matcher> matchers;
  for (auto sequence : module->getOps<NamedSequenceOp>()) {
    if (llvm::Error error = checkMatcher(sequence))
      return makeError("{0}: {1}", file, llvm::toString(std::move(error)));
    matchers.emplace_back(sequence);
  }
  if (matchers.empty())
    return makeError("{0}: there is no transform.named_sequence in it", file);
  return std::move(matchers);
}

} // namespace attune
