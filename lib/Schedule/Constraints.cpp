//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Constraints.h"

#include "attune/Support/Error.h"
#include "mlir/Dialect/SMT/IR/SMTOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace attune;

namespace {

using Values = llvm::DenseMap<Value, int64_t>;

/// Euclidean, as SMT-LIB has it: the remainder is never negative.
int64_t euclideanMod(int64_t a, int64_t b) {
  int64_t r = a % b;
  return r < 0 ? r + std::abs(b) : r;
}
int64_t euclideanDiv(int64_t a, int64_t b) {
  return (a - euclideanMod(a, b)) / b;
}

std::string locate(Operation *op) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  op->getLoc().print(stream);
  return text;
}

llvm::Expected<int64_t> divide(Operation *op, int64_t a, int64_t b) {
  if (b == 0)
    return makeError("{0}: division by zero in a constraint", locate(op));
  return isa<smt::IntDivOp>(op) ? euclideanDiv(a, b) : euclideanMod(a, b);
}

int64_t compare(smt::IntPredicate predicate, int64_t a, int64_t b) {
  switch (predicate) {
  case smt::IntPredicate::lt:
    return a < b;
  case smt::IntPredicate::le:
    return a <= b;
  case smt::IntPredicate::gt:
    return a > b;
  case smt::IntPredicate::ge:
    return a >= b;
  }
  return 0;
}

int64_t allDistinct(ArrayRef<int64_t> values) {
  for (size_t i = 0; i < values.size(); ++i)
    for (size_t j = i + 1; j < values.size(); ++j)
      if (values[i] == values[j])
        return 0;
  return 1;
}

llvm::Expected<int64_t> evaluate(Operation &op, ArrayRef<int64_t> in) {
  auto all = [&](auto predicate) {
    return int64_t(llvm::all_of(in, predicate));
  };
  auto isTrue = [](int64_t v) { return v != 0; };
  return llvm::TypeSwitch<Operation *, llvm::Expected<int64_t>>(&op)
      .Case<smt::IntConstantOp>(
          [](auto o) { return o.getValue().getSExtValue(); })
      .Case<smt::BoolConstantOp>([](auto o) { return int64_t(o.getValue()); })
      .Case<smt::IntAddOp>([&](auto) {
        int64_t sum = 0;
        for (int64_t v : in)
          sum += v;
        return sum;
      })
      .Case<smt::IntMulOp>([&](auto) {
        int64_t product = 1;
        for (int64_t v : in)
          product *= v;
        return product;
      })
      .Case<smt::IntSubOp>([&](auto) { return in[0] - in[1]; })
      .Case<smt::IntAbsOp>([&](auto) { return std::abs(in[0]); })
      .Case<smt::IntDivOp, smt::IntModOp>(
          [&](auto o) { return divide(o, in[0], in[1]); })
      .Case<smt::IntCmpOp>(
          [&](auto o) { return compare(o.getPred(), in[0], in[1]); })
      .Case<smt::EqOp>(
          [&](auto) { return all([&](int64_t v) { return v == in[0]; }); })
      .Case<smt::DistinctOp>([&](auto) { return allDistinct(in); })
      .Case<smt::NotOp>([&](auto) { return int64_t(in[0] == 0); })
      .Case<smt::AndOp>([&](auto) { return all(isTrue); })
      .Case<smt::OrOp>([&](auto) { return int64_t(llvm::any_of(in, isTrue)); })
      .Case<smt::XOrOp>(
          [&](auto) { return int64_t(llvm::count_if(in, isTrue) % 2); })
      .Case<smt::ImpliesOp>(
          [&](auto) { return int64_t(in[0] == 0 || in[1] != 0); })
      .Case<smt::IteOp>([&](auto) { return in[0] ? in[1] : in[2]; })
      .Default([&](Operation *o) -> llvm::Expected<int64_t> {
        return makeError("{0}: '{1}' is not evaluated in constraints",
                         locate(o), o->getName().getStringRef());
      });
}

} // namespace

llvm::Error attune::evaluateConstraint(
    transform::smt::ConstrainParamsOp constraint,
    llvm::function_ref<llvm::Expected<int64_t>(Value)> valueOf) {
  Values values;
  Block &body = constraint.getBody().front();
  std::string inputs;
  for (auto [operand, argument] :
       llvm::zip_equal(constraint.getParams(), body.getArguments())) {
    auto value = valueOf(operand);
    if (!value)
      return value.takeError();
    values[argument] = *value;
    inputs += (inputs.empty() ? "" : ", ") + std::to_string(*value);
  }
  for (Operation &op : body) {
    if (isa<smt::YieldOp>(op))
      continue;
    SmallVector<int64_t> in;
    for (Value operand : op.getOperands())
      in.push_back(values.lookup(operand));
    if (isa<smt::AssertOp>(op)) {
      if (in[0] == 0) {
        auto why = constraint->getAttrOfType<StringAttr>("attune.why");
        return makeError("constraint violated: {0} (values {1})",
                         why ? why.getValue() : StringRef(locate(&op)), inputs);
      }
      continue;
    }
    auto result = evaluate(op, in);
    if (!result)
      return result.takeError();
    values[op.getResult(0)] = *result;
  }
  return llvm::Error::success();
}
