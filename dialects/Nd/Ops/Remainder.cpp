//===- Remainder.cpp - the exact remainder of a division ------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/Remainder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <cmath>
#include <limits>

using namespace mlir;

namespace meshc::nd {

double computeRemainder(double a, double b) {
  double remainder = std::fmod(a, b);
  if (remainder == 0)
    return std::copysign(0.0, b);
  return (remainder < 0) == (b < 0) ? remainder : remainder + b;
}

namespace {

/// Long division of f32 in f64. A step divides by the divisor times 2^(28 n)
/// and takes 28 bits of the quotient off the dividend: the product of 28 bits
/// and a divisor of 24 bits is exact in f64, and so is the difference, which is
/// a multiple of the divisor's last place and smaller than the divisor.
class LongDivision {
public:
  LongDivision(ElementCode &code, Value like)
      : code(code), type(withElements(like.getType(),
                                      Float64Type::get(like.getContext()))) {}

  Value widen(Value x) { return code.make<arith::ExtFOp>(type, x); }
  Value constant(double value) {
    TypedAttr attr = code.emitter.builder.getF64FloatAttr(value);
    if (auto vector = dyn_cast<VectorType>(type))
      attr = SplatElementsAttr::get(vector, Attribute(attr));
    return code.make<arith::ConstantOp>(attr);
  }
  Value compare(arith::CmpFPredicate predicate, Value a, Value b) {
    return code.make<arith::CmpFOp>(predicate, a, b);
  }
  Value select(Value condition, Value a, Value b) {
    return code.make<arith::SelectOp>(condition, a, b);
  }
  /// What is left of r, from 0, after the division by d, above 0.
  Value divide(Value r, Value d) {
    Value limit = code.make<arith::MulFOp>(d, constant(std::ldexp(1, bits)));
    Value isLong = isAny(compare(arith::CmpFPredicate::OGE, r, limit));
    auto rare = scf::IfOp::create(code.emitter.builder, code.emitter.loc, type,
                                  isLong, /*withElseRegion=*/true);
    {
      OpBuilder::InsertionGuard guard(code.emitter.builder);
      code.emitter.builder.setInsertionPointToStart(rare.thenBlock());
      Value rest = r;
      for (int n = mostSteps - 1; n > 0; --n)
        rest = takeBits(rest, code.make<arith::MulFOp>(
                                  d, constant(std::ldexp(1, bits * n))));
      scf::YieldOp::create(code.emitter.builder, code.emitter.loc, rest);
      code.emitter.builder.setInsertionPointToStart(rare.elseBlock());
      scf::YieldOp::create(code.emitter.builder, code.emitter.loc, r);
    }
    return takeBits(rare.getResult(0), d);
  }

private:
  static constexpr int bits = 28;
  /// A quotient of two f32 is below 2^277.
  static constexpr int mostSteps = 10;

  static Type withElements(Type like, Type element) {
    auto vector = dyn_cast<VectorType>(like);
    return vector ? Type(VectorType::get(vector.getShape(), element)) : element;
  }
  /// r, below 2^28 s, minus the greatest multiple of s up to it.
  Value takeBits(Value r, Value s) {
    // Adding 1.5 · 2^52 rounds the quotient to the nearest whole number.
    Value magic = constant(0x1.8p52);
    Value quotient = code.make<arith::SubFOp>(
        code.make<arith::AddFOp>(code.make<arith::DivFOp>(r, s), magic), magic);
    Value rest =
        code.make<arith::SubFOp>(r, code.make<arith::MulFOp>(quotient, s));
    return select(compare(arith::CmpFPredicate::OLT, rest, constant(0)),
                  code.make<arith::AddFOp>(rest, s), rest);
  }
  /// A condition on all elements of a vector.
  Value isAny(Value condition) {
    if (!isa<VectorType>(condition.getType()))
      return condition;
    return code.make<vector::ReductionOp>(vector::CombiningKind::OR, condition);
  }

  ElementCode &code;
  Type type; ///< f64, of the elements' shape
};

} // namespace

Value emitRemainder(ElementCode &code, Value a, Value b) {
  using P = arith::CmpFPredicate;
  LongDivision division(code, a);
  Value zero = division.constant(0);
  Value infinity = division.constant(std::numeric_limits<double>::infinity());
  Value wideA = division.widen(a), wideB = division.widen(b);
  Value isNegative = division.compare(P::OLT, wideA, zero);
  Value isBelow = division.compare(P::OLT, wideB, zero);
  Value dividend =
      division.select(isNegative, code.make<arith::NegFOp>(wideA), wideA);
  Value divisor =
      division.select(isBelow, code.make<arith::NegFOp>(wideB), wideB);
  Value rest = division.divide(dividend, divisor);
  // An infinite divisor is not reached by a finite dividend.
  Value isWhole =
      code.make<arith::AndIOp>(division.compare(P::OEQ, divisor, infinity),
                               division.compare(P::OLT, dividend, infinity));
  rest = division.select(isWhole, dividend, rest);
  Value signedRest =
      division.select(isNegative, code.make<arith::NegFOp>(rest), rest);
  Value differs = code.make<arith::XOrIOp>(isNegative, isBelow);
  Value result = division.select(
      differs, code.make<arith::AddFOp>(signedRest, wideB), signedRest);
  Value signedZero = division.select(isBelow, division.constant(-0.0), zero);
  result =
      division.select(division.compare(P::OEQ, rest, zero), signedZero, result);
  return code.make<arith::TruncFOp>(a.getType(), result);
}

} // namespace meshc::nd
