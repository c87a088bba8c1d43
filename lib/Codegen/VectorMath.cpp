//===- VectorMath.cpp - elementary functions as arithmetic ----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/VectorMath.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/IR/BuiltinTypes.h"
#include <limits>

using namespace mlir;

namespace meshc::codegen {

namespace {
/// Writes arithmetic on values of one shape: f32 or i32, scalar or vector.
class Arithmetic {
public:
  Arithmetic(OpBuilder &builder, Location loc, Type like, bool scalesByPowers)
      : builder(builder), loc(loc), like(like), scalesByPowers(scalesByPowers) {
  }

  Value constant(double value) const {
    return splat(builder.getF32FloatAttr(value), builder.getF32Type());
  }
  Value integer(int32_t value) const {
    return splat(builder.getI32IntegerAttr(value), builder.getI32Type());
  }
  template <typename Op> Value make(Value a, Value b) const {
    return Op::create(builder, loc, a, b);
  }
  Value add(Value a, Value b) const { return make<arith::AddFOp>(a, b); }
  Value sub(Value a, Value b) const { return make<arith::SubFOp>(a, b); }
  Value mul(Value a, Value b) const { return make<arith::MulFOp>(a, b); }
  Value div(Value a, Value b) const { return make<arith::DivFOp>(a, b); }
  /// a·b + c, in one rounding where the processor can.
  Value fma(Value a, Value b, Value c) const {
    return LLVM::FMulAddOp::create(builder, loc, like, a, b, c);
  }
  /// ((c0·x + c1)·x + …)
  Value polynomial(Value x, ArrayRef<double> coefficients) const {
    Value sum = constant(coefficients.front());
    for (double coefficient : coefficients.drop_front())
      sum = fma(sum, x, constant(coefficient));
    return sum;
  }
  Value compare(arith::CmpFPredicate predicate, Value a, Value b) const {
    return arith::CmpFOp::create(builder, loc, predicate, a, b);
  }
  Value select(Value condition, Value a, Value b) const {
    return arith::SelectOp::create(builder, loc, condition, a, b);
  }
  Value toBits(Value value) const {
    return arith::BitcastOp::create(builder, loc, shaped(builder.getI32Type()),
                                    value);
  }
  Value fromBits(Value value) const {
    return arith::BitcastOp::create(builder, loc, shaped(builder.getF32Type()),
                                    value);
  }
  Value toFloat(Value value) const {
    return arith::SIToFPOp::create(builder, loc, shaped(builder.getF32Type()),
                                   value);
  }
  /// p · 2^k for p of about 1 and integers k between -252 and 254.
  Value scale(Value p, Value k) const {
    if (scalesByPowers)
      return LLVM::LoadExpOp::create(builder, loc, like, p, k);
    // In two steps, so that only the last one can overflow or lose bits.
    Value half = make<arith::ShRSIOp>(k, integer(1));
    Value rest = make<arith::SubIOp>(k, half);
    return mul(mul(p, powerOfTwo(half)), powerOfTwo(rest));
  }

private:
  /// 2^n for integers n between -126 and 127.
  Value powerOfTwo(Value n) const {
    Value biased = make<arith::AddIOp>(n, integer(127));
    return fromBits(make<arith::ShLIOp>(biased, integer(23)));
  }
  Type shaped(Type scalar) const {
    if (auto vector = dyn_cast<VectorType>(like))
      return VectorType::get(vector.getShape(), scalar);
    return scalar;
  }
  Value splat(TypedAttr attr, Type scalar) const {
    if (auto vector = dyn_cast<VectorType>(shaped(scalar)))
      attr = SplatElementsAttr::get(vector, Attribute(attr));
    return arith::ConstantOp::create(builder, loc, attr);
  }

  OpBuilder &builder;
  Location loc;
  Type like;
  bool scalesByPowers;
};

/// Rewrites an op on f32 by `Function(arithmetic, operand)`.
template <typename Op, Value (*Function)(const Arithmetic &, Value)>
struct AsArithmetic : OpRewritePattern<Op> {
  AsArithmetic(MLIRContext *context, bool scalesByPowers)
      : OpRewritePattern<Op>(context), scalesByPowers(scalesByPowers) {}

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const final {
    Value x = op.getOperand();
    if (!getElementTypeOrSelf(x.getType()).isF32())
      return failure();
    Arithmetic code(rewriter, op.getLoc(), x.getType(), scalesByPowers);
    rewriter.replaceOp(op, Function(code, x));
    return success();
  }

  bool scalesByPowers;
};

/// a·b + c that the code generator fuses where the processor can, and for which
/// it calls no function where it cannot. Targets fuse nothing else: an op's
/// value does not depend on what its operands are made of.
struct FmaAsMulAdd : OpRewritePattern<math::FmaOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::FmaOp op,
                                PatternRewriter &rewriter) const final {
    rewriter.replaceOpWithNewOp<LLVM::FMulAddOp>(op, op.getType(), op.getA(),
                                                 op.getB(), op.getC());
    return success();
  }
};
} // namespace

constexpr double infiniteValue = std::numeric_limits<double>::infinity();
constexpr double notANumber = std::numeric_limits<double>::quiet_NaN();
// ln 2 in two parts: products of the first with small integers are exact.
constexpr double ln2High = 0.693359375;
constexpr double ln2Low = -2.12194440e-4;

/// e^x = 2^n · e^r with |r| ≤ ln 2 / 2; the polynomial is that of the Cephes
/// library (S. Moshier). Exact to 1 ulp; 0 instead of subnormal results [L5.5]:
/// for them, and for what is computed from them, a processor would take 100
/// cycles or more. Scores that are masked by -100 have such exponentials.
static Value emitExp(const Arithmetic &code, Value x) {
  // Beyond these bounds results are infinite and zero. NaN passes. The second
  // is the least f32 whose exponential is at least 2^-126.
  Value most = code.constant(89.0), zero = code.constant(0.0);
  Value isZero = code.compare(arith::CmpFPredicate::OLT, x,
                              code.constant(-87.33654022216797));
  x = code.select(code.compare(arith::CmpFPredicate::OGT, x, most), most, x);
  x = code.select(isZero, zero, x);
  // Adding 1.5·2^23 leaves the nearest integer in the low bits.
  Value magic = code.constant(12582912.0);
  Value shifted = code.fma(x, code.constant(1.44269504088896341), magic);
  Value n = code.sub(shifted, magic);
  Value r = code.fma(n, code.constant(-ln2High), x);
  r = code.fma(n, code.constant(-ln2Low), r);
  Value p =
      code.polynomial(r, {1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3,
                          4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1});
  p = code.fma(code.mul(r, r), p, r);
  p = code.add(p, code.constant(1.0));
  Value result = code.scale(
      p, code.make<arith::SubIOp>(code.toBits(shifted), code.toBits(magic)));
  return code.select(isZero, zero, result);
}

/// ln x = e·ln 2 + ln m with m in [√½, √2); polynomial of Cephes. 1 ulp.
static Value emitLog(const Arithmetic &code, Value x) {
  Value smallest = code.constant(0x1p-126);
  Value isSmall = code.compare(arith::CmpFPredicate::OLT, x, smallest);
  Value scaled = code.select(isSmall, code.mul(x, code.constant(0x1p23)), x);
  Value bits = code.toBits(scaled);
  Value exponent = code.make<arith::ShRSIOp>(
      code.make<arith::SubIOp>(bits, code.integer(0x3f3504f3)),
      code.integer(23));
  Value m = code.fromBits(code.make<arith::SubIOp>(
      bits, code.make<arith::ShLIOp>(exponent, code.integer(23))));
  Value e = code.toFloat(exponent);
  e = code.select(isSmall, code.sub(e, code.constant(23.0)), e);
  Value f = code.sub(m, code.constant(1.0));
  Value square = code.mul(f, f);
  Value y =
      code.polynomial(f, {7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1,
                          -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1,
                          2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1});
  y = code.mul(code.mul(y, f), square);
  y = code.fma(e, code.constant(ln2Low), y);
  y = code.fma(square, code.constant(-0.5), y);
  Value result = code.fma(e, code.constant(ln2High), code.add(f, y));
  Value zero = code.constant(0.0), infinity = code.constant(infiniteValue);
  auto equals = [&](Value a) {
    return code.compare(arith::CmpFPredicate::OEQ, x, a);
  };
  result = code.select(equals(infinity), infinity, result);
  result = code.select(equals(zero), code.constant(-infiniteValue), result);
  Value isNan = code.compare(arith::CmpFPredicate::ULT, x, zero);
  return code.select(isNan, code.constant(notANumber), result);
}

/// ln(1 + x), corrected by what rounding 1 + x has lost. 3 ulp.
static Value emitLog1p(const Arithmetic &code, Value x) {
  Value one = code.constant(1.0), zero = code.constant(0.0);
  Value u = code.add(one, x);
  Value lost = code.sub(x, code.sub(u, one));
  Value correction = code.div(lost, u);
  // At 0 and infinity there is nothing to correct, and no number to divide by.
  Value isRegular =
      code.compare(arith::CmpFPredicate::OLT, code.mul(correction, zero), one);
  correction = code.select(isRegular, correction, zero);
  return code.add(emitLog(code, u), correction);
}

void populateVectorMathPatterns(RewritePatternSet &patterns,
                                bool scalesByPowers) {
  patterns.add<AsArithmetic<math::ExpOp, emitExp>,
               AsArithmetic<math::LogOp, emitLog>,
               AsArithmetic<math::Log1pOp, emitLog1p>>(patterns.getContext(),
                                                       scalesByPowers);
  patterns.add<FmaAsMulAdd>(patterns.getContext());
  // A quotient of polynomials: 5 ulp.
  populatePolynomialApproximateTanhPattern(patterns);
  populatePolynomialApproximateErfPattern(patterns);
}

} // namespace meshc::codegen
