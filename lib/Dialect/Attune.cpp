//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Dialect/Attune.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

/// The results of attune.dispatch have the types of its destinations, so the
/// text does not repeat them.
static ParseResult parseSameTypes(OpAsmParser &, ArrayRef<Type> outputs,
                                  SmallVectorImpl<Type> &results) {
  results.assign(outputs.begin(), outputs.end());
  return success();
}
static void printSameTypes(OpAsmPrinter &, Operation *, TypeRange, TypeRange) {}

#include "attune/Dialect/AttuneDialect.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "attune/Dialect/AttuneAttrs.cpp.inc"
#define GET_OP_CLASSES
#include "attune/Dialect/AttuneOps.cpp.inc"

using namespace attune;

void AttuneDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "attune/Dialect/AttuneAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "attune/Dialect/AttuneOps.cpp.inc"
      >();
}

LogicalResult RangeAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                int64_t lower, int64_t upper, int64_t step) {
  if (step <= 0)
    return emitError() << "step must be positive, got " << step;
  if (lower > upper)
    return emitError() << "empty range " << lower << " .. " << upper;
  return success();
}

LogicalResult Pow2Attr::verify(function_ref<InFlightDiagnostic()> emitError,
                               int64_t lower, int64_t upper) {
  if (lower <= 0 || !llvm::isPowerOf2_64(lower))
    return emitError() << lower << " is not a power of two";
  if (lower > upper)
    return emitError() << "empty range " << lower << " .. " << upper;
  return success();
}

LogicalResult
PermutationAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                        int64_t size) {
  if (size < 1 || size > 10)
    return emitError() << "permutations of 1 to 10 elements, not " << size;
  return success();
}

LogicalResult MultipleAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   int64_t of) {
  if (of < 1)
    return emitError() << "multiples of a positive number, not of " << of;
  return success();
}

LogicalResult DispatchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto callee = symbols.lookupNearestSymbolFrom<func::FuncOp>(getOperation(),
                                                              getCalleeAttr());
  if (!callee)
    return emitOpError() << "'" << getCallee() << "' is not a function";
  if (TypeRange(callee.getArgumentTypes()) != TypeRange(getOperandTypes()) ||
      TypeRange(callee.getResultTypes()) != TypeRange(getResultTypes()))
    return emitOpError() << "operands and results do not fit '" << getCallee()
                         << "' of type " << callee.getFunctionType();
  return success();
}

LogicalResult SizesOp::verify() {
  if (getRanges().empty())
    return emitOpError() << "has no ranges";
  for (Attribute attribute : getRanges()) {
    auto range = dyn_cast<RangeAttr>(attribute);
    if (!range || range.getStep() != 1 || range.getLower() < 0)
      return emitOpError() << attribute
                           << " is not a range of sizes: #attune.range<8, 16>";
  }
  return success();
}
