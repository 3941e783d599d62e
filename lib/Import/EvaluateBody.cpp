//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Evaluate.h"
#include "Steps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace attune;
using namespace attune::import;

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

namespace attune::import {

class BodyCompiler {
public:
  BodyCompiler(Block &block, Constants &constants, Rounding rounding)
      : block(block), constants(constants), rounding(rounding) {}

  std::optional<Body> compile() {
    for (BlockArgument argument : block.getArguments())
      slotOf[argument] = addSlot();
    for (Operation &op : block) {
      if (op.hasTrait<OpTrait::IsTerminator>())
        return finish(op);
      if (!compileOp(&op))
        return std::nullopt;
    }
    return std::nullopt;
  }

private:
  std::optional<Body> finish(Operation &yield) {
    for (Value value : yield.getOperands()) {
      std::optional<unsigned> slot = read(value);
      if (!slot)
        return std::nullopt;
      body.results.push_back(*slot);
    }
    return std::move(body);
  }

  unsigned addSlot() {
    body.slots.emplace_back();
    return body.slots.size() - 1;
  }

  /// A value of the body, or a constant from outside, which keeps its slot.
  std::optional<unsigned> read(Value value) {
    auto known = slotOf.find(value);
    if (known != slotOf.end())
      return known->second;
    std::optional<Scalar> constant = constants.readScalar(value);
    if (!constant)
      return std::nullopt;
    unsigned slot = slotOf[value] = addSlot();
    body.slots[slot] = *constant;
    return slot;
  }

  bool compileOp(Operation *op);
  bool compileExtract(tensor::ExtractOp op);
  bool compileReal(Operation *op, ArrayRef<unsigned> in, unsigned out);
  bool compileWhole(Operation *op, ArrayRef<unsigned> in, unsigned out);
  bool compileConversion(Operation *op, ArrayRef<unsigned> in, unsigned out);
  bool compileComparison(Operation *op, ArrayRef<unsigned> in, unsigned out);

  template <typename Function>
  bool unary(ArrayRef<unsigned> in, unsigned out, Type type, Function compute) {
    auto round = rounderFor(type);
    body.steps.push_back([=, a = in[0]](Body::Frame &frame) {
      frame.slots[out].real = round(compute(frame.slots[a].real));
      return true;
    });
    return true;
  }
  template <typename Function>
  bool binary(ArrayRef<unsigned> in, unsigned out, Type type,
              Function compute) {
    auto round = rounderFor(type);
    body.steps.push_back([=, a = in[0], b = in[1]](Body::Frame &frame) {
      frame.slots[out].real =
          round(compute(frame.slots[a].real, frame.slots[b].real));
      return true;
    });
    return true;
  }
  template <typename Function>
  bool whole(ArrayRef<unsigned> in, unsigned out, Type type, Function compute) {
    unsigned width = widthOf(type);
    body.steps.push_back(
        [=, a = in[0], b = in.size() > 1 ? in[1] : in[0]](Body::Frame &frame) {
          frame.slots[out].whole =
              wrap(compute(frame.slots[a].whole, frame.slots[b].whole), width);
          return true;
        });
    return true;
  }
  /// Divisions fail where the program would be undefined.
  template <typename Function>
  bool division(ArrayRef<unsigned> in, unsigned out, Type type,
                Function compute) {
    unsigned width = widthOf(type);
    body.steps.push_back([=, a = in[0], b = in[1]](Body::Frame &frame) {
      int64_t x = frame.slots[a].whole, y = frame.slots[b].whole;
      if (y == 0 || (y == -1 && x == INT64_MIN))
        return false;
      frame.slots[out].whole = wrap(compute(x, y, width), width);
      return true;
    });
    return true;
  }

  static unsigned widthOf(Type type) {
    return type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  }
  static int64_t wrap(int64_t value, unsigned width) {
    if (width == 1)
      return value & 1;
    return width >= 64 ? value : llvm::SignExtend64(value, width);
  }
  static uint64_t asUnsigned(int64_t value, unsigned width) {
    return width >= 64 ? value : value & ((uint64_t(1) << width) - 1);
  }
  static int64_t asSigned(int64_t value, unsigned width) {
    return width == 1 ? -(value & 1) : value;
  }
  std::function<double(double)> rounderFor(Type type) const;

  Block &block;
  Constants &constants;
  Rounding rounding;
  Body body;
  llvm::DenseMap<Value, unsigned> slotOf;
};

} // namespace attune::import

/// Rounds to a narrow type; a double computed from two f32 and rounded once is
/// the f32 result, because 53 bits are more than twice 24.
std::function<double(double)> BodyCompiler::rounderFor(Type type) const {
  if (rounding == Rounding::None || type.isF64() || !isa<FloatType>(type))
    return [](double value) { return value; };
  if (type.isF32())
    return [](double value) { return double(float(value)); };
  const llvm::fltSemantics &semantics =
      cast<FloatType>(type).getFloatSemantics();
  return [&semantics](double value) {
    llvm::APFloat rounded(value);
    bool lost;
    rounded.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &lost);
    rounded.convert(llvm::APFloat::IEEEdouble(),
                    llvm::APFloat::rmNearestTiesToEven, &lost);
    return rounded.convertToDouble();
  };
}

std::optional<Body> Body::compile(Block &block, Constants &constants,
                                  Rounding rounding) {
  return BodyCompiler(block, constants, rounding).compile();
}

bool Body::run(ArrayRef<Scalar> arguments, ArrayRef<int64_t> indices) {
  llvm::copy(arguments, slots.begin());
  Frame frame{slots, indices};
  return llvm::all_of(steps, [&](Step &step) { return step(frame); });
}

bool BodyCompiler::compileExtract(tensor::ExtractOp op) {
  std::shared_ptr<const Tensor> tensor = constants.read(op.getTensor());
  if (!tensor)
    return false;
  SmallVector<unsigned> indices;
  for (Value index : op.getIndices()) {
    auto slot = read(index);
    if (!slot)
      return false;
    indices.push_back(*slot);
  }
  unsigned out = slotOf[op.getResult()] = addSlot();
  body.steps.push_back([=](Body::Frame &frame) {
    int64_t at = 0;
    for (auto [slot, size] : llvm::zip(indices, tensor->shape)) {
      int64_t index = frame.slots[slot].whole;
      if (index < 0 || index >= size)
        return false;
      at = at * size + index;
    }
    frame.slots[out] = loadScalar(*tensor, at);
    return true;
  });
  return true;
}

bool BodyCompiler::compileOp(Operation *op) {
  if (auto extract = dyn_cast<tensor::ExtractOp>(op))
    return compileExtract(extract);
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return read(constant).has_value();
  if (op->getNumRegions() || op->getNumResults() > 1)
    return false;
  for (Type type : op->getResultTypes())
    if (!type.isIntOrIndexOrFloat())
      return false;
  SmallVector<unsigned> in;
  for (Value operand : op->getOperands()) {
    auto slot = read(operand);
    if (!slot)
      return false;
    in.push_back(*slot);
  }
  if (isa<cf::AssertOp>(op)) {
    body.steps.push_back([condition = in[0]](Body::Frame &frame) {
      return frame.slots[condition].whole != 0;
    });
    return true;
  }
  if (!op->getNumResults())
    return false;
  unsigned out = addSlot();
  slotOf[op->getResult(0)] = out;
  if (auto index = dyn_cast<linalg::IndexOp>(op)) {
    body.steps.push_back([out, dim = index.getDim()](Body::Frame &frame) {
      frame.slots[out].whole = frame.indices[dim];
      return true;
    });
    return true;
  }
  if (isa<arith::SelectOp>(op)) {
    if (!op->getOperand(0).getType().isInteger(1))
      return false;
    body.steps.push_back([=](Body::Frame &frame) {
      frame.slots[out] = frame.slots[frame.slots[in[0]].whole ? in[1] : in[2]];
      return true;
    });
    return true;
  }
  return compileReal(op, in, out) || compileWhole(op, in, out) ||
         compileConversion(op, in, out) || compileComparison(op, in, out);
}

bool BodyCompiler::compileReal(Operation *op, ArrayRef<unsigned> in,
                               unsigned out) {
  Type type = op->getResult(0).getType();
  auto one = [&](auto compute) {
    return [&, compute](auto) { return unary(in, out, type, compute); };
  };
  auto two = [&](auto compute) {
    return [&, compute](auto) { return binary(in, out, type, compute); };
  };
  auto propagatesNan = [](double a, double b, double chosen) {
    return std::isnan(a) ? a : std::isnan(b) ? b : chosen;
  };
  // clang-format off
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<arith::AddFOp>(two([](double a, double b) { return a + b; }))
      .Case<arith::SubFOp>(two([](double a, double b) { return a - b; }))
      .Case<arith::MulFOp>(two([](double a, double b) { return a * b; }))
      .Case<arith::DivFOp>(two([](double a, double b) { return a / b; }))
      .Case<arith::MaximumFOp>(two([=](double a, double b) { return propagatesNan(a, b, std::fmax(a, b)); }))
      .Case<arith::MinimumFOp>(two([=](double a, double b) { return propagatesNan(a, b, std::fmin(a, b)); }))
      .Case<arith::MaxNumFOp>(two([](double a, double b) { return std::fmax(a, b); }))
      .Case<arith::MinNumFOp>(two([](double a, double b) { return std::fmin(a, b); }))
      .Case<arith::NegFOp>(one([](double a) { return -a; }))
      .Case<math::AbsFOp>(one([](double a) { return std::fabs(a); }))
      .Case<math::SqrtOp>(one([](double a) { return std::sqrt(a); }))
      .Case<math::RsqrtOp>(one([](double a) { return 1 / std::sqrt(a); }))
      .Case<math::ExpOp>(one([](double a) { return std::exp(a); }))
      .Case<math::Exp2Op>(one([](double a) { return std::exp2(a); }))
      .Case<math::ExpM1Op>(one([](double a) { return std::expm1(a); }))
      .Case<math::LogOp>(one([](double a) { return std::log(a); }))
      .Case<math::Log2Op>(one([](double a) { return std::log2(a); }))
      .Case<math::Log1pOp>(one([](double a) { return std::log1p(a); }))
      .Case<math::SinOp>(one([](double a) { return std::sin(a); }))
      .Case<math::CosOp>(one([](double a) { return std::cos(a); }))
      .Case<math::TanhOp>(one([](double a) { return std::tanh(a); }))
      .Case<math::ErfOp>(one([](double a) { return std::erf(a); }))
      .Case<math::FloorOp>(one([](double a) { return std::floor(a); }))
      .Case<math::CeilOp>(one([](double a) { return std::ceil(a); }))
      .Case<math::TruncOp>(one([](double a) { return std::trunc(a); }))
      .Case<math::RoundOp>(one([](double a) { return std::round(a); }))
      .Case<math::RoundEvenOp>(one([](double a) { return std::nearbyint(a); }))
      .Case<math::PowFOp>(two([](double a, double b) { return std::pow(a, b); }))
      .Default([](Operation *) { return false; });
  // clang-format on
}

bool BodyCompiler::compileWhole(Operation *op, ArrayRef<unsigned> in,
                                unsigned out) {
  Type type = op->getResult(0).getType();
  if (!type.isIntOrIndex())
    return false;
  unsigned width = widthOf(type);
  auto two = [&](auto compute) {
    return [&, compute](auto) { return whole(in, out, type, compute); };
  };
  auto divide = [&](auto compute) {
    return [&, compute](auto) { return division(in, out, type, compute); };
  };
  // Sums and products wrap, so they are computed without a sign.
  using U = uint64_t;
  // clang-format off
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<arith::AddIOp>(two([](U a, U b) { return int64_t(a + b); }))
      .Case<arith::SubIOp>(two([](U a, U b) { return int64_t(a - b); }))
      .Case<arith::MulIOp>(two([](U a, U b) { return int64_t(a * b); }))
      .Case<arith::AndIOp>(two([](int64_t a, int64_t b) { return a & b; }))
      .Case<arith::OrIOp>(two([](int64_t a, int64_t b) { return a | b; }))
      .Case<arith::XOrIOp>(two([](int64_t a, int64_t b) { return a ^ b; }))
      .Case<arith::MaxSIOp>(two([=](int64_t a, int64_t b) { return asSigned(a, width) > asSigned(b, width) ? a : b; }))
      .Case<arith::MinSIOp>(two([=](int64_t a, int64_t b) { return asSigned(a, width) < asSigned(b, width) ? a : b; }))
      .Case<arith::MaxUIOp>(two([](U a, U b) { return int64_t(a > b ? a : b); }))
      .Case<arith::MinUIOp>(two([](U a, U b) { return int64_t(a < b ? a : b); }))
      .Case<arith::DivSIOp>(divide([](int64_t a, int64_t b, unsigned) { return a / b; }))
      .Case<arith::RemSIOp>(divide([](int64_t a, int64_t b, unsigned) { return a % b; }))
      .Case<arith::DivUIOp>(divide([](int64_t a, int64_t b, unsigned w) { return int64_t(asUnsigned(a, w) / asUnsigned(b, w)); }))
      .Case<arith::RemUIOp>(divide([](int64_t a, int64_t b, unsigned w) { return int64_t(asUnsigned(a, w) % asUnsigned(b, w)); }))
      .Case<arith::FloorDivSIOp>(divide([](int64_t a, int64_t b, unsigned) { return a / b - ((a % b != 0) && ((a < 0) != (b < 0))); }))
      .Case<arith::CeilDivSIOp>(divide([](int64_t a, int64_t b, unsigned) { return a / b + ((a % b != 0) && ((a < 0) == (b < 0))); }))
      .Default([](Operation *) { return false; });
  // clang-format on
}

bool BodyCompiler::compileConversion(Operation *op, ArrayRef<unsigned> in,
                                     unsigned out) {
  Type to = op->getResult(0).getType();
  if (op->getNumOperands() != 1)
    return false;
  Type from = op->getOperand(0).getType();
  unsigned source = in[0];
  if (isa<arith::ExtFOp, arith::TruncFOp>(op))
    return unary(in, out, to, [](double value) { return value; });
  if (isa<arith::SIToFPOp, arith::UIToFPOp>(op)) {
    bool isSigned = isa<arith::SIToFPOp>(op);
    unsigned width = widthOf(from);
    auto round = rounderFor(to);
    body.steps.push_back([=](Body::Frame &frame) {
      int64_t value = frame.slots[source].whole;
      frame.slots[out].real =
          round(isSigned ? double(asSigned(value, width))
                         : double(asUnsigned(value, width)));
      return true;
    });
    return true;
  }
  if (isa<arith::FPToSIOp>(op)) {
    double limit = std::ldexp(1.0, std::min(62u, widthOf(to) - 1));
    body.steps.push_back([=](Body::Frame &frame) {
      double value = frame.slots[source].real;
      // Outside of the type the program is undefined.
      if (!(value > -limit - 1 && value < limit))
        return false;
      frame.slots[out].whole = int64_t(value);
      return true;
    });
    return true;
  }
  if (isa<arith::ExtSIOp, arith::IndexCastOp, arith::TruncIOp>(op))
    return whole(in, out, to, [from](int64_t value, int64_t) {
      return asSigned(value, widthOf(from));
    });
  if (isa<arith::ExtUIOp, arith::IndexCastUIOp>(op))
    return whole(in, out, to, [from](int64_t value, int64_t) {
      return int64_t(asUnsigned(value, widthOf(from)));
    });
  return false;
}

static bool compareReal(arith::CmpFPredicate predicate, double a, double b) {
  bool unordered = std::isnan(a) || std::isnan(b);
  using P = arith::CmpFPredicate;
  switch (predicate) {
  case P::AlwaysFalse:
    return false;
  case P::OEQ:
    return !unordered && a == b;
  case P::OGT:
    return !unordered && a > b;
  case P::OGE:
    return !unordered && a >= b;
  case P::OLT:
    return !unordered && a < b;
  case P::OLE:
    return !unordered && a <= b;
  case P::ONE:
    return !unordered && a != b;
  case P::ORD:
    return !unordered;
  case P::UEQ:
    return unordered || a == b;
  case P::UGT:
    return unordered || a > b;
  case P::UGE:
    return unordered || a >= b;
  case P::ULT:
    return unordered || a < b;
  case P::ULE:
    return unordered || a <= b;
  case P::UNE:
    return unordered || a != b;
  case P::UNO:
    return unordered;
  case P::AlwaysTrue:
    return true;
  }
  llvm_unreachable("all predicates are above");
}

static bool compareWhole(arith::CmpIPredicate predicate, int64_t a, int64_t b,
                         uint64_t ua, uint64_t ub) {
  using P = arith::CmpIPredicate;
  switch (predicate) {
  case P::eq:
    return a == b;
  case P::ne:
    return a != b;
  case P::slt:
    return a < b;
  case P::sle:
    return a <= b;
  case P::sgt:
    return a > b;
  case P::sge:
    return a >= b;
  case P::ult:
    return ua < ub;
  case P::ule:
    return ua <= ub;
  case P::ugt:
    return ua > ub;
  case P::uge:
    return ua >= ub;
  }
  llvm_unreachable("all predicates are above");
}

bool BodyCompiler::compileComparison(Operation *op, ArrayRef<unsigned> in,
                                     unsigned out) {
  if (auto compare = dyn_cast<arith::CmpFOp>(op)) {
    auto predicate = compare.getPredicate();
    body.steps.push_back([=, a = in[0], b = in[1]](Body::Frame &frame) {
      frame.slots[out].whole =
          compareReal(predicate, frame.slots[a].real, frame.slots[b].real);
      return true;
    });
    return true;
  }
  if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
    auto predicate = compare.getPredicate();
    unsigned width = widthOf(compare.getLhs().getType());
    body.steps.push_back([=, a = in[0], b = in[1]](Body::Frame &frame) {
      int64_t x = frame.slots[a].whole, y = frame.slots[b].whole;
      frame.slots[out].whole =
          compareWhole(predicate, asSigned(x, width), asSigned(y, width),
                       asUnsigned(x, width), asUnsigned(y, width));
      return true;
    });
    return true;
  }
  return false;
}
