//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Matchers.h"

#include "attune/Dialect/Attune.h"
#include "attune/Dialect/AttuneTransformOps.h"
#include "attune/Dispatch/RootOp.h"
#include "attune/Support/Error.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Transform/IR/TransformOps.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;

namespace attune {

std::unique_ptr<MLIRContext> makeSpecContext() {
  DialectRegistry registry;
  registry.insert<AttuneDialect, func::FuncDialect, tensor::TensorDialect,
                  arith::ArithDialect, math::MathDialect, linalg::LinalgDialect,
                  transform::TransformDialect>();
  registerTransformExtension(registry);
  auto context =
      std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  context->loadDialect<AttuneDialect>();
  return context;
}

bool isMatcher(Operation *op) { return isa<transform::NamedSequenceOp>(op); }

llvm::Expected<std::string> readMatcher(ModuleOp spec, StringRef name) {
  auto sequence = dyn_cast_or_null<transform::NamedSequenceOp>(
      SymbolTable::lookupSymbolIn(spec, name));
  if (!sequence)
    return makeError("there is no matcher '@{0}'", name);
  if (llvm::Error error = checkMatcher(sequence))
    return std::move(error);
  std::string text;
  llvm::raw_string_ostream out(text);
  sequence->print(out, OpPrintingFlags().useLocalScope());
  return text;
}

static OwningOpRef<ModuleOp> parseMatcher(MLIRContext *context,
                                          StringRef text) {
  std::string whole =
      ("module attributes {" + namedSequencesName + "} {\n" + text + "\n}\n")
          .str();
  return parseSourceString<ModuleOp>(whole, ParserConfig(context));
}

static transform::NamedSequenceOp sequenceOf(ModuleOp module) {
  auto sequences = module.getOps<transform::NamedSequenceOp>();
  return sequences.empty() ? transform::NamedSequenceOp() : *sequences.begin();
}

void addMatcher(ModuleOp spec, const SpecEntry &entry) {
  if (entry.matcher.empty())
    return;
  OwningOpRef<ModuleOp> parsed = parseMatcher(spec.getContext(), entry.matcher);
  auto sequence = parsed ? sequenceOf(*parsed) : transform::NamedSequenceOp();
  if (!sequence || SymbolTable::lookupSymbolIn(spec, sequence.getSymName()))
    return;
  spec->setAttr(namedSequencesName, UnitAttr::get(spec.getContext()));
  spec.getBody()->push_back(sequence->clone());
}

std::string renameMatcher(StringRef matcher, StringRef name) {
  auto context = makeSpecContext();
  OwningOpRef<ModuleOp> parsed = parseMatcher(context.get(), matcher);
  auto sequence = parsed ? sequenceOf(*parsed) : transform::NamedSequenceOp();
  if (!sequence)
    return matcher.str();
  sequence.setSymName(name);
  std::string text;
  llvm::raw_string_ostream out(text);
  sequence->print(out, OpPrintingFlags().useLocalScope());
  return text;
}

Matcher makeMatcher(MLIRContext *context, StringRef text) {
  OwningOpRef<ModuleOp> parsed = parseMatcher(context, text);
  return Matcher(sequenceOf(*parsed)); // it was printed by readMatcher
}

bool takesDispatch(const Matcher &matcher, func::FuncOp dispatch) {
  DispatchParts parts = analyzeDispatch(dispatch);
  linalg::LinalgOp target =
      matcher.getBound() == "last" ? parts.last : parts.root;
  return target && matcher.takes(target);
}

} // namespace attune
