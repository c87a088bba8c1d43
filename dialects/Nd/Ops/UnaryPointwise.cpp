//===- UnaryPointwise.cpp - functions of one element ----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gradients use the op's result rather than its operand where both serve: the
// result is often kept anyway, as operand of the next product. Those of several
// ops are computed in f32: in 16 bits, a factor may overflow although the
// product does not, and each op would round.
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/Pointwise.h"
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>

using namespace mlir;

namespace meshc::nd {

double exponential(double x) {
  const double result = std::exp(x);
  return result < 0x1p-126 ? 0 : result; // NaN stays
}

namespace {
/// Functions of floats: all but the formulas.
struct FloatFunction {
  static constexpr Domain domain = Domain::Float;
  static constexpr Linear linear = Linear::None;
};
struct NumberFunction {
  static constexpr Domain domain = Domain::Number;
  static constexpr Linear linear = Linear::None;
};
using Grads = SmallVectorImpl<Value>;

/// 1 / (1 + exp(-x)). exp overflows to infinity for x < -88, which gives 0.
Value emitSigmoid(ElementCode &code, Value x) {
  Value one = code.constant(x, 1.0);
  Value e = code.make<math::ExpOp>(code.make<arith::NegFOp>(x));
  return code.make<arith::DivFOp>(one, code.make<arith::AddFOp>(one, e));
}

/// x · sigmoid(u) = x / (1 + exp(-u)), with one division.
Value emitGated(ElementCode &code, Value x, Value u) {
  Value e = code.make<math::ExpOp>(code.make<arith::NegFOp>(u));
  Value sum = code.make<arith::AddFOp>(code.constant(x, 1.0), e);
  return code.make<arith::DivFOp>(x, sum);
}

double sigmoid(double x) { return 1 / (1 + exponential(-x)); }

// gelu(x) = x/2 · (1 + tanh(√(2/π)·(x + cubic·x³))) = x · sigmoid(u),
// u = scale·(x + cubic·x³), since (1 + tanh(z))/2 = sigmoid(2z).
constexpr double geluScale = 1.5957691216057308; // 2·√(2/π)
constexpr double geluCubic = 0.044715;
constexpr double geluLargestSquare = 256;
} // namespace

template <> struct Pointwise<ExpOp> : FloatFunction {
  static constexpr OpCost cost = {0, 1};
  static double evaluate(double x) { return exponential(x); }
  static void differentiate(ValueBuilder &b, ExpOp op, Value g, Grads &grads) {
    grads[0] = b.make<MulOp>(g, op.getResult());
  }
  static Value emit(ElementCode &code, Value x) {
    return code.make<math::ExpOp>(x);
  }
};

template <> struct Pointwise<LogOp> : FloatFunction {
  static constexpr OpCost cost = {0, 1};
  static double evaluate(double x) { return std::log(x); }
  static void differentiate(ValueBuilder &b, LogOp op, Value g, Grads &grads) {
    grads[0] = b.make<DivOp>(g, op.getInput());
  }
  static Value emit(ElementCode &code, Value x) {
    return code.make<math::LogOp>(x);
  }
};

template <> struct Pointwise<SqrtOp> : FloatFunction {
  static constexpr OpCost cost = {0, 1};
  static double evaluate(double x) { return std::sqrt(x); }
  static void differentiate(ValueBuilder &b, SqrtOp op, Value g, Grads &grads) {
    g = widen(b, g);
    Value y = widen(b, op.getResult());
    grads[0] = b.make<DivOp>(b.make<MulOp>(g, b.scalar(g, 0.5)), y);
  }
  static Value emit(ElementCode &code, Value x) {
    return code.make<math::SqrtOp>(x);
  }
};

template <> struct Pointwise<RsqrtOp> : FloatFunction {
  static constexpr OpCost cost = {0, 2};
  static double evaluate(double x) { return 1 / std::sqrt(x); }
  static void differentiate(ValueBuilder &b, RsqrtOp op, Value g,
                            Grads &grads) {
    g = widen(b, g);
    Value y = widen(b, op.getResult());
    Value cube = b.make<MulOp>(b.make<SquareOp>(y), y);
    grads[0] = b.make<MulOp>(b.make<MulOp>(g, b.scalar(g, -0.5)), cube);
  }
  static Value emit(ElementCode &code, Value x) {
    return code.make<arith::DivFOp>(code.constant(x, 1.0),
                                    code.make<math::SqrtOp>(x));
  }
};

template <> struct Pointwise<ReciprocalOp> : FloatFunction {
  static constexpr OpCost cost = {0, 1};
  static double evaluate(double x) { return 1 / x; }
  static void differentiate(ValueBuilder &b, ReciprocalOp op, Value g,
                            Grads &grads) {
    Value square = b.make<SquareOp>(widen(b, op.getResult()));
    grads[0] = b.make<NegOp>(b.make<MulOp>(widen(b, g), square));
  }
  static Value emit(ElementCode &code, Value x) {
    return code.make<arith::DivFOp>(code.constant(x, 1.0), x);
  }
};

template <> struct Pointwise<TanhOp> : FloatFunction {
  static constexpr OpCost cost = {0, 1};
  static double evaluate(double x) { return std::tanh(x); }
  static void differentiate(ValueBuilder &b, TanhOp op, Value g, Grads &grads) {
    g = widen(b, g);
    Value square = b.make<SquareOp>(widen(b, op.getResult()));
    grads[0] = b.make<MulOp>(g, b.make<SubOp>(b.scalar(g, 1.0), square));
  }
  static Value emit(ElementCode &code, Value x) {
    return code.make<math::TanhOp>(x);
  }
};

template <> struct Pointwise<ErfOp> : FloatFunction {
  static constexpr OpCost cost = {0, 1};
  static double evaluate(double x) { return std::erf(x); }
  // d/dx erf(x) = 2/sqrt(pi) · exp(-x²)
  static void differentiate(ValueBuilder &b, ErfOp op, Value g, Grads &grads) {
    g = widen(b, g);
    Value square = b.make<SquareOp>(widen(b, op.getInput()));
    Value power = b.make<ExpOp>(b.make<NegOp>(square));
    Value slope = b.make<MulOp>(power, b.scalar(g, M_2_SQRTPI));
    grads[0] = b.make<MulOp>(g, slope);
  }
  static Value emit(ElementCode &code, Value x) {
    return code.make<math::ErfOp>(x);
  }
};

template <> struct Pointwise<SigmoidOp> : FloatFunction {
  static constexpr OpCost cost = {2, 2};
  static double evaluate(double x) { return sigmoid(x); }
  static void differentiate(ValueBuilder &b, SigmoidOp op, Value g,
                            Grads &grads) {
    g = widen(b, g);
    Value y = widen(b, op.getResult());
    Value slope = b.make<MulOp>(y, b.make<SubOp>(b.scalar(g, 1.0), y));
    grads[0] = b.make<MulOp>(g, slope);
  }
  static Value emit(ElementCode &code, Value x) { return emitSigmoid(code, x); }
};

template <> struct Pointwise<GeluOp> : FloatFunction {
  static constexpr OpCost cost = {6, 2};
  static double evaluate(double x) {
    return x * sigmoid(geluScale * (x + geluCubic * x * x * x));
  }
  // s + s·(1 - s)·x·u', u' = scale·(1 + 3·cubic·x²). From x² = 256 on, s is 0
  // or 1 in f32: the bound keeps 0 · u' from being NaN. A kernel that computes
  // gelu(x) again beside its gradient has u in the same ops, and one exp.
  static void differentiate(ValueBuilder &b, GeluOp op, Value g, Grads &grads) {
    g = widen(b, g);
    Value x = widen(b, op.getInput()), one = b.scalar(g, 1.0);
    Value square = b.make<SquareOp>(x);
    Value inner =
        b.make<AddOp>(b.make<MulOp>(square, b.scalar(g, geluScale * geluCubic)),
                      b.scalar(g, geluScale));
    Value s = b.make<SigmoidOp>(b.make<MulOp>(x, inner));
    Value bound = b.make<MinimumOp>(square, b.scalar(g, geluLargestSquare));
    Value slope = b.make<AddOp>(
        b.make<MulOp>(bound, b.scalar(g, 3 * geluScale * geluCubic)),
        b.scalar(g, geluScale));
    Value rise = b.make<MulOp>(s, b.make<SubOp>(one, s));
    Value bend = b.make<MulOp>(b.make<MulOp>(rise, x), slope);
    grads[0] = b.make<MulOp>(g, b.make<AddOp>(s, bend));
  }
  static Value emit(ElementCode &code, Value x) {
    Value square = code.make<arith::MulFOp>(x, x);
    Value inner = code.make<arith::AddFOp>(
        code.make<arith::MulFOp>(square,
                                 code.constant(x, geluScale * geluCubic)),
        code.constant(x, geluScale));
    return emitGated(code, x, code.make<arith::MulFOp>(x, inner));
  }
};

template <> struct Pointwise<SiluOp> : FloatFunction {
  static constexpr OpCost cost = {2, 2};
  static double evaluate(double x) { return x * sigmoid(x); }
  // s·(1 + x·(1 - s)).
  static void differentiate(ValueBuilder &b, SiluOp op, Value g, Grads &grads) {
    g = widen(b, g);
    Value x = widen(b, op.getInput()), one = b.scalar(g, 1.0);
    Value s = b.make<SigmoidOp>(x);
    Value bend = b.make<MulOp>(x, b.make<SubOp>(one, s));
    Value slope = b.make<MulOp>(s, b.make<AddOp>(bend, one));
    grads[0] = b.make<MulOp>(g, slope);
  }
  static Value emit(ElementCode &code, Value x) {
    return emitGated(code, x, x);
  }
};

// max(x, 0) + log1p(exp(-|x|)): exp never overflows, and nothing is lost near
// either end.
template <> struct Pointwise<SoftplusOp> : FloatFunction {
  static constexpr OpCost cost = {3, 2};
  static double evaluate(double x) {
    return (x < 0 ? 0 : x) + std::log1p(exponential(-std::fabs(x)));
  }
  static void differentiate(ValueBuilder &b, SoftplusOp op, Value g,
                            Grads &grads) {
    Value slope = b.make<SigmoidOp>(widen(b, op.getInput()));
    grads[0] = b.make<MulOp>(widen(b, g), slope);
  }
  static Value emit(ElementCode &code, Value x) {
    Value zero = code.constant(x, 0.0);
    Value isNegative =
        code.make<arith::CmpFOp>(arith::CmpFPredicate::OLT, x, zero);
    Value positive = code.make<arith::SelectOp>(isNegative, zero, x);
    Value magnitude = code.make<math::AbsFOp>(x);
    Value e = code.make<math::ExpOp>(code.make<arith::NegFOp>(magnitude));
    return code.make<arith::AddFOp>(positive, code.make<math::Log1pOp>(e));
  }
};

template <> struct Pointwise<SinOp> : FloatFunction {
  static constexpr OpCost cost = {0, 1};
  static double evaluate(double x) { return std::sin(x); }
  static void differentiate(ValueBuilder &b, SinOp op, Value g, Grads &grads) {
    Value cosine = b.make<CosOp>(widen(b, op.getInput()));
    grads[0] = b.make<MulOp>(widen(b, g), cosine);
  }
  static Value emit(ElementCode &code, Value x) {
    return code.make<math::SinOp>(x);
  }
};

template <> struct Pointwise<CosOp> : FloatFunction {
  static constexpr OpCost cost = {0, 1};
  static double evaluate(double x) { return std::cos(x); }
  static void differentiate(ValueBuilder &b, CosOp op, Value g, Grads &grads) {
    Value sine = b.make<SinOp>(widen(b, op.getInput()));
    grads[0] = b.make<NegOp>(b.make<MulOp>(widen(b, g), sine));
  }
  static Value emit(ElementCode &code, Value x) {
    return code.make<math::CosOp>(x);
  }
};

template <> struct Pointwise<FloorOp> : FloatFunction {
  static constexpr OpCost cost = {1, 0};
  static double evaluate(double x) { return std::floor(x); }
  /// Zero almost everywhere: no gradient.
  static void differentiate(ValueBuilder &, FloorOp, Value, Grads &) {}
  static Value emit(ElementCode &code, Value x) {
    return code.make<math::FloorOp>(x);
  }
};

template <> struct Pointwise<NegOp> {
  static constexpr Domain domain = Domain::Number;
  static constexpr Linear linear = Linear::First;
  static constexpr OpCost cost = {1, 0};
  template <typename T> static T evaluate(T x) { return -x; }
  static void differentiate(ValueBuilder &b, NegOp, Value g, Grads &grads) {
    grads[0] = b.make<NegOp>(g);
  }
  static Value emit(ElementCode &code, Value x) {
    if (isFloatElement(x))
      return code.make<arith::NegFOp>(x);
    return code.make<arith::SubIOp>(code.constant(x, 0), x);
  }
};

template <> struct Pointwise<AbsOp> : NumberFunction {
  static constexpr OpCost cost = {1, 0};
  template <typename T> static T evaluate(T x) { return x < 0 ? -x : x; }
  static void differentiate(ValueBuilder &b, AbsOp op, Value g, Grads &grads) {
    grads[0] = b.make<MulOp>(g, b.make<SignOp>(op.getInput()));
  }
  static Value emit(ElementCode &code, Value x) {
    if (isFloatElement(x))
      return code.make<math::AbsFOp>(x);
    // By hand: math.absi leaves the least integer undefined.
    Value zero = code.constant(x, 0);
    Value isNegative =
        code.make<arith::CmpIOp>(arith::CmpIPredicate::slt, x, zero);
    Value negated = code.make<arith::SubIOp>(zero, x);
    return code.make<arith::SelectOp>(isNegative, negated, x);
  }
};

// NaN gives NaN.
template <> struct Pointwise<SignOp> : NumberFunction {
  static constexpr OpCost cost = {2, 0};
  template <typename T> static T evaluate(T x) {
    return x > 0 ? 1 : x < 0 ? -1 : x;
  }
  /// Zero almost everywhere: no gradient.
  static void differentiate(ValueBuilder &, SignOp, Value, Grads &) {}
  static Value emit(ElementCode &code, Value x) {
    Value zero = code.constant(x, 0), one = code.constant(x, 1);
    Value minusOne = code.constant(x, -1);
    Value isPositive, isNegative;
    if (isFloatElement(x)) {
      using P = arith::CmpFPredicate;
      isPositive = code.make<arith::CmpFOp>(P::OGT, x, zero);
      isNegative = code.make<arith::CmpFOp>(P::OLT, x, zero);
    } else {
      using P = arith::CmpIPredicate;
      isPositive = code.make<arith::CmpIOp>(P::sgt, x, zero);
      isNegative = code.make<arith::CmpIOp>(P::slt, x, zero);
    }
    Value rest = code.make<arith::SelectOp>(isNegative, minusOne, x);
    return code.make<arith::SelectOp>(isPositive, one, rest);
  }
};

template <> struct Pointwise<SquareOp> : NumberFunction {
  static constexpr OpCost cost = {1, 0};
  template <typename T> static T evaluate(T x) { return x * x; }
  static void differentiate(ValueBuilder &b, SquareOp op, Value g,
                            Grads &grads) {
    g = widen(b, g);
    Value twice = b.make<MulOp>(widen(b, op.getInput()), b.scalar(g, 2.0));
    grads[0] = b.make<MulOp>(g, twice);
  }
  static Value emit(ElementCode &code, Value x) {
    if (isFloatElement(x))
      return code.make<arith::MulFOp>(x, x);
    return code.make<arith::MulIOp>(x, x);
  }
};

// NaN gives NaN. `x < 0 ? 0 : x` is one instruction on x86 (maxps).
template <> struct Pointwise<ReluOp> : NumberFunction {
  static constexpr OpCost cost = {1, 0};
  template <typename T> static T evaluate(T x) { return x < 0 ? T(0) : x; }
  static void differentiate(ValueBuilder &b, ReluOp op, Value g, Grads &grads) {
    Value zero = b.scalar(g, 0.0);
    Value isPositive = b.compare(Predicate::Gt, op.getResult(), zero);
    grads[0] = b.make<SelectOp>(isPositive, g, zero);
  }
  static Value emit(ElementCode &code, Value x) {
    Value zero = code.constant(x, 0), isNegative;
    if (isFloatElement(x))
      isNegative = code.make<arith::CmpFOp>(arith::CmpFPredicate::OLT, x, zero);
    else
      isNegative = code.make<arith::CmpIOp>(arith::CmpIPredicate::slt, x, zero);
    return code.make<arith::SelectOp>(isNegative, zero, x);
  }
};

template <> struct Pointwise<NotOp> {
  static constexpr Domain domain = Domain::Boolean;
  static constexpr Linear linear = Linear::None;
  static constexpr OpCost cost = {1, 0};
  static double evaluate(double x) { return x == 0; }
  static void differentiate(ValueBuilder &, NotOp, Value, Grads &) {}
  static Value emit(ElementCode &code, Value x) {
    return code.make<arith::XOrIOp>(x, code.constant(x, 1));
  }
};

template <> struct Pointwise<StopGradientOp> {
  static constexpr Domain domain = Domain::Any;
  static constexpr Linear linear = Linear::First;
  static constexpr OpCost cost = {0, 0};
  static double evaluate(double x) { return x; }
  static void differentiate(ValueBuilder &, StopGradientOp, Value, Grads &) {}
  static Value emit(ElementCode &, Value x) { return x; }
};

MESHC_POINTWISE_OP(ExpOp, 1)
MESHC_POINTWISE_OP(LogOp, 1)
MESHC_POINTWISE_OP(SqrtOp, 1)
MESHC_POINTWISE_OP(RsqrtOp, 1)
MESHC_POINTWISE_OP(ReciprocalOp, 1)
MESHC_POINTWISE_OP(TanhOp, 1)
MESHC_POINTWISE_OP(ErfOp, 1)
MESHC_POINTWISE_OP(SigmoidOp, 1)
MESHC_POINTWISE_OP(GeluOp, 1)
MESHC_POINTWISE_OP(SiluOp, 1)
MESHC_POINTWISE_OP(SoftplusOp, 1)
MESHC_POINTWISE_OP(SinOp, 1)
MESHC_POINTWISE_OP(CosOp, 1)
MESHC_POINTWISE_OP(FloorOp, 1)
MESHC_POINTWISE_OP(NegOp, 1)
MESHC_POINTWISE_OP(AbsOp, 1)
MESHC_POINTWISE_OP(SignOp, 1)
MESHC_POINTWISE_OP(SquareOp, 1)
MESHC_POINTWISE_OP(ReluOp, 1)
MESHC_POINTWISE_OP(NotOp, 1)
MESHC_POINTWISE_OP(StopGradientOp, 1)

} // namespace meshc::nd
