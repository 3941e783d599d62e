//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Vector code for elementary functions of f32, instead of a call of libm for
// each element. All are right at NaN, at the infinities and for subnormals, and
// otherwise within a few ulp (exp 1, log 1, log1p 3, erf and tanh 5): measured
// over the whole range against f64. MLIR's own flushes subnormal results of
// exp, and takes the logarithm of a subnormal to be that of the smallest normal
// number.

#include "Stages.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace attune::codegen {
namespace {

/// Makes elementwise ops of one type, a scalar or a vector.
class Elementwise {
public:
  Elementwise(OpBuilder &builder, Location loc, Type type)
      : builder(builder), loc(loc), type(type) {}

  Value number(double value) {
    return constant(builder.getF32FloatAttr(value), type);
  }
  Value integer(int32_t value) {
    return constant(builder.getI32IntegerAttr(value), integers());
  }
  Value add(Value a, Value b) {
    return arith::AddFOp::create(builder, loc, a, b);
  }
  Value mul(Value a, Value b) {
    return arith::MulFOp::create(builder, loc, a, b);
  }
  Value fma(Value a, Value b, Value c) {
    return math::FmaOp::create(builder, loc, a, b, c);
  }
  Value compare(arith::CmpFPredicate predicate, Value a, Value b) {
    return arith::CmpFOp::create(builder, loc, predicate, a, b);
  }
  Value select(Value condition, Value a, Value b) {
    return arith::SelectOp::create(builder, loc, condition, a, b);
  }
  /// 2 to the power of an integer within the exponents of normal numbers.
  Value power(Value exponent) {
    Value biased = arith::AddIOp::create(builder, loc, exponent, integer(127));
    Value bits = arith::ShLIOp::create(builder, loc, biased, integer(23));
    return arith::BitcastOp::create(builder, loc, type, bits);
  }
  Type integers() {
    Type i32 = builder.getI32Type();
    if (auto vector = dyn_cast<VectorType>(type))
      return vector.clone(i32);
    return i32;
  }

private:
  Value constant(TypedAttr value, Type of) {
    if (auto vector = dyn_cast<VectorType>(of))
      value = SplatElementsAttr::get(vector, value);
    return arith::ConstantOp::create(builder, loc, of, value);
  }

  OpBuilder &builder;
  Location loc;
  Type type;
};

/// exp(x) = 2^k exp(r), |r| <= ln(2)/2. 2^k is multiplied in two steps, so that
/// subnormal results come out, and overflow is infinity.
struct ExpPattern : OpRewritePattern<math::ExpOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::ExpOp op,
                                PatternRewriter &rewriter) const override {
    Type type = op.getType();
    if (!getElementTypeOrSelf(type).isF32())
      return failure();
    Location loc = op.getLoc();
    Elementwise b(rewriter, loc, type);
    Value input = op.getOperand();
    // The operand order is that of minps and maxps: NaN becomes a bound.
    using arith::CmpFPredicate;
    Value high = b.number(89.0), low = b.number(-105.0);
    Value x = b.select(b.compare(CmpFPredicate::OLT, input, high), input, high);
    x = b.select(b.compare(CmpFPredicate::OGT, x, low), x, low);
    Value k = math::RoundEvenOp::create(
        rewriter, loc, b.mul(x, b.number(1.44269504088896341)));
    Value r = b.fma(k, b.number(-0.693145751953125), x);
    r = b.fma(k, b.number(-1.428606765330187045e-06), r);
    Value sum = b.number(0.000198527617612853646278381);
    for (double coefficient :
         {0.00139304355252534151077271, 0.00833336077630519866943359,
          0.0416664853692054748535156, 0.166666671633720397949219, 0.5})
      sum = b.fma(sum, r, b.number(coefficient));
    sum = b.fma(b.mul(r, r), sum, r);
    sum = b.add(sum, b.number(1.0));
    Value whole = arith::FPToSIOp::create(rewriter, loc, b.integers(), k);
    Value half = arith::ShRSIOp::create(rewriter, loc, whole, b.integer(1));
    Value rest = arith::SubIOp::create(rewriter, loc, whole, half);
    Value result = b.mul(b.mul(sum, b.power(half)), b.power(rest));
    rewriter.replaceOp(op, b.select(b.compare(CmpFPredicate::UNO, input, input),
                                    input, result));
    return success();
  }
};

/// MLIR's logarithm of normal numbers serves for subnormal ones too: they are
/// scaled first.
void scaleLogarithms(ModuleOp module) {
  SmallVector<math::LogOp> logarithms;
  module.walk([&](math::LogOp op) {
    if (getElementTypeOrSelf(op.getType()).isF32())
      logarithms.push_back(op);
  });
  for (math::LogOp op : logarithms) {
    OpBuilder builder(op);
    Elementwise b(builder, op.getLoc(), op.getType());
    Value x = op.getOperand();
    Value tiny = b.compare(arith::CmpFPredicate::OLT, x,
                           b.number(1.17549435082228751e-38));
    op.getOperandMutable().assign(
        b.select(tiny, b.mul(x, b.number(8388608.0)), x));
    builder.setInsertionPointAfter(op);
    Value shift = b.select(tiny, b.number(-15.9423851528787418), b.number(0.0));
    auto shifted = arith::AddFOp::create(builder, op.getLoc(), op, shift);
    op.getResult().replaceAllUsesExcept(shifted, shifted);
  }
}

/// erf(-0) is -0.
void keepSignOfErf(ModuleOp module) {
  SmallVector<math::ErfOp> ops;
  module.walk([&](math::ErfOp op) {
    if (getElementTypeOrSelf(op.getType()).isF32())
      ops.push_back(op);
  });
  for (math::ErfOp op : ops) {
    OpBuilder builder(op);
    builder.setInsertionPointAfter(op);
    auto signedResult = math::CopySignOp::create(
        builder, op.getLoc(), op.getResult(), op.getOperand());
    op.getResult().replaceAllUsesExcept(signedResult, signedResult);
  }
}

} // namespace

void approximateMath(ModuleOp module) {
  scaleLogarithms(module);
  keepSignOfErf(module);
  RewritePatternSet patterns(module.getContext());
  patterns.add<ExpPattern>(module.getContext(), /*benefit=*/10);
  populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) {
    return llvm::is_contained(
        {"math.expm1", "math.erf", "math.tanh", "math.log", "math.log1p"},
        name);
  });
  (void)applyPatternsGreedily(module, std::move(patterns));
}

} // namespace attune::codegen
