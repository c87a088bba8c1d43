//===- BinaryPointwise.cpp - functions of two elements --------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/Pointwise.h"
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/Ops/Remainder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/PatternMatch.h"
#include <cmath>

using namespace mlir;

namespace meshc::nd {

namespace {
struct Numbers {
  static constexpr Domain domain = Domain::Number;
};
using Grads = SmallVectorImpl<Value>;

/// The op for floats or the one for i32.
template <typename FloatOp, typename IntegerOp>
Value emitNumeric(ElementCode &code, Value a, Value b) {
  if (isFloatElement(a))
    return code.make<FloatOp>(a, b);
  return code.make<IntegerOp>(a, b);
}

/// Integer division with rounding toward minus infinity, free of undefined
/// behaviour: the divisors 0 and -1 (which overflows for the least integer) are
/// replaced by 1 before dividing, which gives remainder 0, the right one for
/// both.
struct IntegerDivision {
  Value quotient, remainder; // for the replaced divisor, rounded down
  Value byZero, byMinusOne;

  IntegerDivision(ElementCode &code, Value a, Value b) {
    using P = arith::CmpIPredicate;
    Value zero = code.constant(a, 0), one = code.constant(a, 1);
    byZero = code.make<arith::CmpIOp>(P::eq, b, zero);
    byMinusOne = code.make<arith::CmpIOp>(P::eq, b, code.constant(a, -1));
    Value isUnsafe = code.make<arith::OrIOp>(byZero, byMinusOne);
    Value divisor = code.make<arith::SelectOp>(isUnsafe, one, b);
    Value q = code.make<arith::DivSIOp>(a, divisor);
    Value r = code.make<arith::SubIOp>(a, code.make<arith::MulIOp>(q, divisor));
    Value isInexact = code.make<arith::CmpIOp>(P::ne, r, zero);
    Value signs = code.make<arith::XOrIOp>(r, divisor);
    Value differ = code.make<arith::CmpIOp>(P::slt, signs, zero);
    Value isBelow = code.make<arith::AndIOp>(isInexact, differ);
    Value less = code.make<arith::SubIOp>(q, one);
    Value more = code.make<arith::AddIOp>(r, divisor);
    quotient = code.make<arith::SelectOp>(isBelow, less, q);
    remainder = code.make<arith::SelectOp>(isBelow, more, r);
  }
};

/// Gradient of maximum and minimum: all of it to the first where `goesToFirst`.
void shareGradient(ValueBuilder &b, Value goesToFirst, Value g, Grads &grads) {
  Value zero = b.scalar(g, 0.0);
  grads[0] = b.make<SelectOp>(goesToFirst, g, zero);
  grads[1] = b.make<SelectOp>(goesToFirst, zero, g);
}
} // namespace

template <> struct Pointwise<AddOp> : Numbers {
  static constexpr Linear linear = Linear::Joint;
  static constexpr OpCost cost = {1, 0};
  template <typename T> static T evaluate(T a, T b) { return a + b; }
  static void differentiate(ValueBuilder &, AddOp, Value g, Grads &grads) {
    grads[0] = grads[1] = g;
  }
  static Value emit(ElementCode &code, Value a, Value b) {
    return emitNumeric<arith::AddFOp, arith::AddIOp>(code, a, b);
  }
};

template <> struct Pointwise<SubOp> : Numbers {
  static constexpr Linear linear = Linear::Joint;
  static constexpr OpCost cost = {1, 0};
  template <typename T> static T evaluate(T a, T b) { return a - b; }
  static void differentiate(ValueBuilder &b, SubOp op, Value g, Grads &grads) {
    grads[0] = g;
    // Summed before it is negated: fewer elements.
    grads[1] = b.make<NegOp>(b.sumTo(g, op.getRhs().getType()));
  }
  static Value emit(ElementCode &code, Value a, Value b) {
    return emitNumeric<arith::SubFOp, arith::SubIOp>(code, a, b);
  }
};

template <> struct Pointwise<MulOp> : Numbers {
  static constexpr Linear linear = Linear::Each;
  static constexpr OpCost cost = {1, 0};
  template <typename T> static T evaluate(T a, T b) { return a * b; }
  static void differentiate(ValueBuilder &b, MulOp op, Value g, Grads &grads) {
    grads[0] = b.make<MulOp>(g, op.getRhs());
    grads[1] = b.make<MulOp>(g, op.getLhs());
  }
  static Value emit(ElementCode &code, Value a, Value b) {
    return emitNumeric<arith::MulFOp, arith::MulIOp>(code, a, b);
  }
};

template <> struct Pointwise<DivOp> : Numbers {
  // Integers are rounded, and a sum of rounded parts is not the rounded sum.
  static constexpr Linear linear = Linear::FirstOfFloats;
  static constexpr OpCost cost = {0, 1};
  static double evaluate(double a, double b) { return a / b; }
  static int64_t evaluate(int64_t a, int64_t b) {
    if (b == 0)
      return 0;
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
  }
  static void differentiate(ValueBuilder &b, DivOp op, Value g, Grads &grads) {
    grads[0] = b.make<DivOp>(widen(b, g), widen(b, op.getRhs()));
    Value y = widen(b, op.getResult());
    grads[1] = b.make<NegOp>(b.make<MulOp>(grads[0], y));
  }
  static Value emit(ElementCode &code, Value a, Value b) {
    if (isFloatElement(a))
      return code.make<arith::DivFOp>(a, b);
    IntegerDivision division(code, a, b);
    Value zero = code.constant(a, 0);
    Value negated = code.make<arith::SubIOp>(zero, a);
    Value q = code.make<arith::SelectOp>(division.byMinusOne, negated,
                                         division.quotient);
    return code.make<arith::SelectOp>(division.byZero, zero, q);
  }
};

template <> struct Pointwise<ModOp> : Numbers {
  static constexpr Linear linear = Linear::None;
  static constexpr OpCost cost = {12, 1};
  static double evaluate(double a, double b) { return computeRemainder(a, b); }
  static int64_t evaluate(int64_t a, int64_t b) {
    return b == 0 ? 0 : a - b * Pointwise<DivOp>::evaluate(a, b);
  }
  static void differentiate(ValueBuilder &b, ModOp op, Value g, Grads &grads) {
    Value ratio = b.make<DivOp>(widen(b, op.getLhs()), widen(b, op.getRhs()));
    Value times = b.make<FloorOp>(ratio);
    grads[0] = g;
    grads[1] = b.make<NegOp>(b.make<MulOp>(widen(b, g), times));
  }
  static Value emit(ElementCode &code, Value a, Value b) {
    return isFloatElement(a) ? emitRemainder(code, a, b)
                             : IntegerDivision(code, a, b).remainder;
  }
};

template <> struct Pointwise<MaximumOp> : Numbers {
  static constexpr Linear linear = Linear::None;
  static constexpr OpCost cost = {1, 0};
  template <typename T> static T evaluate(T a, T b) {
    return a != a || a >= b ? a : b;
  }
  static void differentiate(ValueBuilder &b, MaximumOp op, Value g,
                            Grads &grads) {
    shareGradient(b, b.compare(Predicate::Ge, op.getLhs(), op.getRhs()), g,
                  grads);
  }
  static Value emit(ElementCode &code, Value a, Value b) {
    return emitNumeric<arith::MaximumFOp, arith::MaxSIOp>(code, a, b);
  }
};

template <> struct Pointwise<MinimumOp> : Numbers {
  static constexpr Linear linear = Linear::None;
  static constexpr OpCost cost = {1, 0};
  template <typename T> static T evaluate(T a, T b) {
    return a != a || a <= b ? a : b;
  }
  static void differentiate(ValueBuilder &b, MinimumOp op, Value g,
                            Grads &grads) {
    shareGradient(b, b.compare(Predicate::Le, op.getLhs(), op.getRhs()), g,
                  grads);
  }
  static Value emit(ElementCode &code, Value a, Value b) {
    return emitNumeric<arith::MinimumFOp, arith::MinSIOp>(code, a, b);
  }
};

template <> struct Pointwise<PowOp> {
  static constexpr Domain domain = Domain::Float;
  static constexpr Linear linear = Linear::None;
  static constexpr OpCost cost = {0, 3};
  static double evaluate(double a, double b) { return std::pow(a, b); }
  // b·a^(b-1), and 0 for b = 0; y·log(a), and 0 for a = 0: its limit for b > 0.
  static void differentiate(ValueBuilder &b, PowOp op, Value g, Grads &grads) {
    g = widen(b, g);
    Value x = widen(b, op.getLhs()), power = widen(b, op.getRhs());
    Value y = widen(b, op.getResult());
    Value zero = b.scalar(g, 0.0), one = b.scalar(g, 1.0);
    Value lower = b.make<PowOp>(x, b.make<SubOp>(power, one));
    Value slope = b.make<SelectOp>(b.compare(Predicate::Eq, power, zero), zero,
                                   b.make<MulOp>(power, lower));
    grads[0] = b.make<MulOp>(g, slope);
    Value isZero = b.compare(Predicate::Eq, x, zero);
    Value log = b.make<LogOp>(b.make<SelectOp>(isZero, one, x));
    grads[1] = b.make<MulOp>(b.make<MulOp>(g, y), log);
  }
  static Value emit(ElementCode &code, Value a, Value b) {
    return code.make<math::PowFOp>(a, b);
  }
};

template <> struct Pointwise<AndOp> {
  static constexpr Domain domain = Domain::Boolean;
  static constexpr Linear linear = Linear::None;
  static constexpr OpCost cost = {1, 0};
  static double evaluate(double a, double b) { return a != 0 && b != 0; }
  static void differentiate(ValueBuilder &, AndOp, Value, Grads &) {}
  static Value emit(ElementCode &code, Value a, Value b) {
    return code.make<arith::AndIOp>(a, b);
  }
};

template <> struct Pointwise<OrOp> {
  static constexpr Domain domain = Domain::Boolean;
  static constexpr Linear linear = Linear::None;
  static constexpr OpCost cost = {1, 0};
  static double evaluate(double a, double b) { return a != 0 || b != 0; }
  static void differentiate(ValueBuilder &, OrOp, Value, Grads &) {}
  static Value emit(ElementCode &code, Value a, Value b) {
    return code.make<arith::OrIOp>(a, b);
  }
};

template <> struct Pointwise<InGenerationOp> {
  static constexpr Domain domain = Domain::Any;
  static constexpr Linear linear = Linear::None;
  static constexpr OpCost cost = {0, 0};
  template <typename T> static T evaluate(T, T trained) { return trained; }
  static void differentiate(ValueBuilder &, InGenerationOp, Value g,
                            Grads &grads) {
    grads[1] = g;
  }
  static Value emit(ElementCode &, Value, Value trained) { return trained; }
};

MESHC_POINTWISE_OP(AddOp, 2)
MESHC_POINTWISE_OP(SubOp, 2)
MESHC_POINTWISE_OP(MulOp, 2)
MESHC_POINTWISE_OP(DivOp, 2)
MESHC_POINTWISE_OP(ModOp, 2)
MESHC_POINTWISE_OP(MaximumOp, 2)
MESHC_POINTWISE_OP(MinimumOp, 2)
MESHC_POINTWISE_OP(PowOp, 2)
MESHC_POINTWISE_OP(AndOp, 2)
MESHC_POINTWISE_OP(OrOp, 2)
MESHC_POINTWISE_OP(InGenerationOp, 2)

//===----------------------------------------------------------------------===//
// Affine functions of positions
//===----------------------------------------------------------------------===//

/// `a` plus `b` times `factor`.
static std::optional<AffineIndex> addScaled(AffineIndex a, const AffineIndex &b,
                                            int64_t factor) {
  if (!a.add(b, factor))
    return std::nullopt;
  return a;
}

std::optional<AffineIndex>
AddOp::getAffineIndex(ArrayRef<AffineIndex> operands) {
  return addScaled(operands[0], operands[1], 1);
}

std::optional<AffineIndex>
SubOp::getAffineIndex(ArrayRef<AffineIndex> operands) {
  return addScaled(operands[0], operands[1], -1);
}

std::optional<AffineIndex>
MulOp::getAffineIndex(ArrayRef<AffineIndex> operands) {
  for (unsigned fixed : {0, 1})
    if (operands[fixed].steps.empty())
      return addScaled({}, operands[1 - fixed], operands[fixed].constant);
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Canonicalization
//===----------------------------------------------------------------------===//

/// `kept` where the other operand is `neutral` everywhere and adds no dim.
static Value foldNeutral(Value kept, Value other, double neutral, Type type) {
  return kept.getType() == type && isConstantOf(other, neutral) ? kept
                                                                : Value();
}

// Exact but for the sign of a zero: -0 + 0 is 0.
OpFoldResult AddOp::fold(FoldAdaptor adaptor) {
  if (Attribute constant =
          foldConstants<AddOp, 2>(*this, adaptor.getOperands()))
    return constant;
  if (Value kept = foldNeutral(getLhs(), getRhs(), 0, getType()))
    return kept;
  return foldNeutral(getRhs(), getLhs(), 0, getType());
}

OpFoldResult SubOp::fold(FoldAdaptor adaptor) {
  if (Attribute constant =
          foldConstants<SubOp, 2>(*this, adaptor.getOperands()))
    return constant;
  return foldNeutral(getLhs(), getRhs(), 0, getType());
}

// x · 0 stays: it is NaN for infinities and NaN.
OpFoldResult MulOp::fold(FoldAdaptor adaptor) {
  if (Attribute constant =
          foldConstants<MulOp, 2>(*this, adaptor.getOperands()))
    return constant;
  if (Value kept = foldNeutral(getLhs(), getRhs(), 1, getType()))
    return kept;
  return foldNeutral(getRhs(), getLhs(), 1, getType());
}

OpFoldResult DivOp::fold(FoldAdaptor adaptor) {
  if (Attribute constant =
          foldConstants<DivOp, 2>(*this, adaptor.getOperands()))
    return constant;
  return foldNeutral(getLhs(), getRhs(), 1, getType());
}

namespace {
/// Constant powers that have an op of their own.
struct StrengthReducePow : OpRewritePattern<PowOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(PowOp op,
                                PatternRewriter &rewriter) const override {
    Value x = op.getLhs(), power = op.getRhs();
    if (x.getType() != op.getType())
      return failure();
    if (isConstantOf(power, 1))
      rewriter.replaceOp(op, x);
    else if (isConstantOf(power, 2))
      rewriter.replaceOpWithNewOp<SquareOp>(op, op.getType(), x);
    else if (isConstantOf(power, 3) && !op.getType().isShortFloat())
      rewriter.replaceOpWithNewOp<MulOp>(
          op, op.getType(),
          SquareOp::create(rewriter, op.getLoc(), op.getType(), x), x);
    else if (isConstantOf(power, -1))
      rewriter.replaceOpWithNewOp<ReciprocalOp>(op, op.getType(), x);
    else if (isConstantOf(power, 0.5))
      rewriter.replaceOpWithNewOp<SqrtOp>(op, op.getType(), x);
    else if (isConstantOf(power, -0.5))
      rewriter.replaceOpWithNewOp<RsqrtOp>(op, op.getType(), x);
    else
      return failure();
    return success();
  }
};
} // namespace

void PowOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                        MLIRContext *context) {
  patterns.add<StrengthReducePow>(context);
}

} // namespace meshc::nd
