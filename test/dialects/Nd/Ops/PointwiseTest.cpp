//===- PointwiseTest.cpp - one element from one element of each operand ---===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientCheck.h"
#include "dialects/Nd/Ops/PointwiseOps.h"

using namespace mlir;

namespace meshc::nd {
namespace {

constexpr double inf = INFINITY;
constexpr double leastI32 = -2147483648.0;

class PointwiseTest : public GradientCheck {
protected:
  /// The unary op on these numbers.
  template <typename Op> Values apply(Type type, const Values &x) {
    return run({tensor(type, {{"n", int64_t(x.size())}})}, {x},
               [](ValueBuilder &b, ValueRange x) { return b.make<Op>(x[0]); });
  }
  /// The binary op on these pairs.
  template <typename Op>
  Values apply(Type type, const Values &a, const Values &b) {
    TensorType t = tensor(type, {{"n", int64_t(a.size())}});
    return run({t, t}, {a, b}, [](ValueBuilder &b, ValueRange x) {
      return b.make<Op>(x[0], x[1]);
    });
  }
  Values cast(Type from, Type to, const Values &x) {
    std::pair<StringRef, int64_t> n = {"n", x.size()};
    return run({tensor(from, n)}, {x}, [&](ValueBuilder &b, ValueRange x) {
      return b.make<CastOp>(tensor(to, n), x[0]);
    });
  }
  template <typename Op> void checkUnary(double low = -2, double high = 2) {
    SCOPED_TRACE(Op::getOperationName().str());
    checkGradient(
        {tensor(f32(), {{"n", 5}})},
        [](ValueBuilder &b, ValueRange x) { return b.make<Op>(x[0]); },
        {randomValues(5, low, high)});
  }
  /// With each operand broadcast along a dim of the other.
  template <typename Op> void checkBinary(double low = -2, double high = 2) {
    SCOPED_TRACE(Op::getOperationName().str());
    checkGradient(
        {tensor(f32(), {{"a", 2}, {"n", 3}}),
         tensor(f32(), {{"n", 3}, {"z", 2}})},
        [](ValueBuilder &b, ValueRange x) { return b.make<Op>(x[0], x[1]); },
        {randomValues(6, low, high), randomValues(6, low, high)});
  }
  /// The gradient of the only operand of `Op` at x from that of its result,
  /// both rounded to the type.
  template <typename Op> double gradientAt(Type type, double x, double g) {
    TensorType t = tensor(type);
    return run({t, t}, {{x}, {g}}, [](ValueBuilder &b, ValueRange x) {
      SmallVector<Value> gradients(1);
      auto op = cast<NamedOpInterface>(b.make<Op>(x[0]).getDefiningOp());
      OpBuilder at(op->getContext());
      at.setInsertionPointAfter(op);
      EXPECT_TRUE(succeeded(op.buildGradient(at, x[1], gradients)));
      EXPECT_EQ(gradients[0].getType(), x[0].getType());
      return gradients[0];
    })[0];
  }
  /// Rounded to a type.
  double round(Type type, double x) {
    return type.isF32() ? float(x) : cast(f32(), type, {x})[0];
  }
  /// Compares the gradients in 16 bits, where they are finite, with `wanted` of
  /// x and of the rounded result.
  template <typename Op>
  void checkShortGradient(const Values &places, double g,
                          function_ref<double(double, double)> wanted) {
    SCOPED_TRACE(Op::getOperationName().str());
    for (Type type : {f16(), bf16()})
      for (double place : places) {
        double x = round(type, place), y = apply<Op>(type, {x})[0];
        double exact = round(type, g) * wanted(x, y);
        // Half a unit of the last place; of subnormal numbers, it is fixed.
        double unit = type.isF16() ? 0x1p-11 : 0x1p-8;
        double least = type.isF16() ? 0x1p-25 : 0x1p-134;
        double tolerance = std::max(1.001 * unit * std::fabs(exact), least);
        if (std::isfinite(round(type, exact)))
          EXPECT_NEAR(gradientAt<Op>(type, x, round(type, g)), exact, tolerance)
              << "at " << x;
      }
  }
};

TEST_F(PointwiseTest, UnaryValues) {
  expectNear(apply<ExpOp>(f32(), {0, 1, -inf}), {1, 2.71828183, 0}, 1e-7);
  // Nothing below 2^-126. [L5.5]
  EXPECT_EQ(apply<ExpOp>(f32(), {-87, -87.4, -100, -104}),
            (Values{float(std::exp(-87.0)), 0, 0, 0}));
  expectNear(apply<LogOp>(f32(), {1, 10, 0}), {0, 2.30258509, -inf}, 1e-7);
  expectNear(apply<SqrtOp>(f32(), {2, -1}), {1.41421356, NAN}, 1e-7);
  expectNear(apply<RsqrtOp>(f32(), {4}), {0.5}, 0);
  expectNear(apply<ReciprocalOp>(f32(), {4, 0}), {0.25, inf}, 0);
  expectNear(apply<TanhOp>(f32(), {1, 100}), {0.76159416, 1}, 1e-7);
  // Abramowitz and Stegun, table 7.1.
  expectNear(apply<ErfOp>(f32(), {0, 0.5, -1, 9}),
             {0, 0.5204998778, -0.8427007929, 1}, 1e-7);
  expectNear(apply<SigmoidOp>(f32(), {0, 2, -1000}), {0.5, 0.88079708, 0},
             1e-7);
  // Of the tanh form: PyTorch's gelu(approximate="tanh").
  expectNear(apply<GeluOp>(f32(), {1, -1, 3, -20}),
             {0.84119199, -0.15880801, 2.99636261, 0}, 1e-7);
  expectNear(apply<SiluOp>(f32(), {1, -2}), {0.73105858, -0.23840584}, 1e-7);
  expectNear(apply<SoftplusOp>(f32(), {0, 100, -100}),
             {0.69314718, 100, 3.72e-44}, 1e-7);
  expectNear(apply<SinOp>(f32(), {1}), {0.84147098}, 1e-7);
  expectNear(apply<CosOp>(f32(), {1}), {0.54030231}, 1e-7);
  expectNear(apply<FloorOp>(f32(), {1.5, -1.5}), {1, -2}, 0);
}

TEST_F(PointwiseTest, UnaryValuesOfBothKinds) {
  for (Type type : {f32(), i32()}) {
    expectNear(apply<NegOp>(type, {3, -3}), {-3, 3}, 0);
    expectNear(apply<AbsOp>(type, {3, -3}), {3, 3}, 0);
    expectNear(apply<SignOp>(type, {3, 0, -3}), {1, 0, -1}, 0);
    expectNear(apply<SquareOp>(type, {3, -3}), {9, 9}, 0);
    expectNear(apply<ReluOp>(type, {3, 0, -3}), {3, 0, 0}, 0);
  }
  expectNear(apply<SignOp>(f32(), {NAN}), {NAN}, 0);
  expectNear(apply<ReluOp>(f32(), {NAN}), {NAN}, 0);
  expectNear(apply<NotOp>(i1(), {0, 1}), {1, 0}, 0);
}

TEST_F(PointwiseTest, IntegersWrap) {
  expectNear(apply<NegOp>(i32(), {leastI32}), {leastI32}, 0);
  expectNear(apply<AbsOp>(i32(), {leastI32}), {leastI32}, 0);
  expectNear(apply<SquareOp>(i32(), {65537}), {131073}, 0);
  expectNear(apply<AddOp>(i32(), {2147483647}, {1}), {leastI32}, 0);
  // The exact product needs 62 bits.
  expectNear(apply<MulOp>(i32(), {2147483647}, {2147483647}), {1}, 0);
}

TEST_F(PointwiseTest, IntegerDivisionRoundsDown) {
  Values a = {7, -7, 7, -7, 6, 5, leastI32, leastI32, 0};
  Values b = {2, 2, -2, -2, -3, 0, -1, 0, -1};
  expectNear(apply<DivOp>(i32(), a, b), {3, -4, -4, 3, -2, 0, leastI32, 0, 0},
             0);
  expectNear(apply<ModOp>(i32(), a, b), {1, 1, -1, -1, 0, 0, 0, 0, 0}, 0);
  expectNear(apply<ModOp>(f32(), {7, -7, 7, -7}, {2, 2, -2, -2}),
             {1, 1, -1, -1}, 0);
}

/// Of floats, as NumPy's `mod`.
TEST_F(PointwiseTest, RemaindersAreExact) {
  Values a = {106420408, -106420408, 1e30f, 5.5,      -5, 5,
              0x1p127,   0x1p-140,   -1,    0x1.8p40, 7};
  Values b = {3,          3, 7,        -2,         INFINITY, -INFINITY,
              0x1.8p-148, 3, 0x1p-149, 0x1.2p-100, 0.1f};
  Values exact = {1,
                  2,
                  std::fmod(double(1e30f), 7.0),
                  -0.5,
                  INFINITY,
                  -INFINITY,
                  std::fmod(0x1p127, 0x1.8p-148),
                  0x1p-140,
                  0,
                  std::fmod(0x1.8p40, 0x1.2p-100),
                  std::fmod(7.0, double(0.1f))};
  expectNear(apply<ModOp>(f32(), a, b), exact, 0);
  EXPECT_TRUE(std::isnan(apply<ModOp>(f32(), {1}, {0})[0]));
  EXPECT_TRUE(std::isnan(apply<ModOp>(f32(), {INFINITY}, {3})[0]));
  EXPECT_TRUE(std::signbit(apply<ModOp>(f32(), {6}, {-3})[0]));
  EXPECT_FALSE(std::signbit(apply<ModOp>(f32(), {-6}, {3})[0]));
}

TEST_F(PointwiseTest, BinaryValues) {
  expectNear(apply<PowOp>(f32(), {2, 9, -2, 0}, {10, 0.5, 3, 0}),
             {1024, 3, -8, 1}, 0);
  expectNear(apply<MaximumOp>(f32(), {1, NAN, 1}, {2, 1, NAN}), {2, NAN, NAN},
             0);
  expectNear(apply<MinimumOp>(f32(), {1, NAN, 1}, {2, 1, NAN}), {1, NAN, NAN},
             0);
  expectNear(apply<MinimumOp>(i32(), {1, -5}, {2, -6}), {1, -6}, 0);
  expectNear(apply<AndOp>(i1(), {0, 0, 1, 1}, {0, 1, 0, 1}), {0, 0, 0, 1}, 0);
  expectNear(apply<OrOp>(i1(), {0, 0, 1, 1}, {0, 1, 0, 1}), {0, 1, 1, 1}, 0);
}

TEST_F(PointwiseTest, OperandsBroadcastByName) {
  Values y = run({tensor(f32(), {{"a", 2}}), tensor(f32(), {{"b", 3}})},
                 {{10, 20}, {1, 2, 3}}, [](ValueBuilder &b, ValueRange x) {
                   return b.make<AddOp>(x[1], x[0]);
                 });
  expectNear(y, {11, 12, 13, 21, 22, 23}, 0);
}

TEST_F(PointwiseTest, Compare) {
  Values a = {1, 2, 3, NAN}, b = {2, 2, 2, 2};
  std::vector<std::pair<Predicate, Values>> cases = {
      {Predicate::Eq, {0, 1, 0, 0}}, {Predicate::Ne, {1, 0, 1, 1}},
      {Predicate::Lt, {1, 0, 0, 0}}, {Predicate::Le, {1, 1, 0, 0}},
      {Predicate::Gt, {0, 0, 1, 0}}, {Predicate::Ge, {0, 1, 1, 0}}};
  TensorType t = tensor(f32(), {{"n", 4}});
  for (auto &[predicate, wanted] : cases)
    expectNear(run({t, t}, {a, b},
                   [&, p = predicate](ValueBuilder &b, ValueRange x) {
                     return b.compare(p, x[0], x[1]);
                   }),
               wanted, 0);
}

TEST_F(PointwiseTest, SelectBroadcastsAllThree) {
  Values y =
      run({tensor(i1(), {{"a", 2}}), tensor(f32()), tensor(f32(), {{"b", 2}})},
          {{1, 0}, {7}, {1, 2}}, [](ValueBuilder &b, ValueRange x) {
            return b.make<SelectOp>(x[0], x[1], x[2]);
          });
  expectNear(y, {7, 7, 1, 2}, 0);
}

TEST_F(PointwiseTest, Cast) {
  expectNear(cast(f32(), i32(), {1.9, -1.9, 3e9, -inf, NAN}),
             {1, -1, 2147483647, leastI32, 0}, 0);
  expectNear(cast(f32(), i1(), {0, -0.0, 0.1, NAN}), {0, 0, 1, 1}, 0);
  expectNear(cast(i32(), i1(), {0, 2}), {0, 1}, 0);
  expectNear(cast(i32(), f32(), {16777217}), {16777216}, 0);
  // 1 + 2^-8 is halfway between two bf16: to the even one.
  expectNear(cast(f32(), bf16(), {1.00390625, 1.01171875}), {1, 1.015625}, 0);
  expectNear(cast(f32(), f16(), {65520}), {inf}, 0);
  expectNear(cast(i1(), i32(), {0, 1}), {0, 1}, 0);
}

TEST_F(PointwiseTest, ResultsAreRounded) {
  expectNear(apply<AddOp>(f32(), {16777216}, {1}), {16777216}, 0);
  expectNear(apply<AddOp>(bf16(), {256}, {1}), {256}, 0);
}

TEST_F(PointwiseTest, UnaryGradients) {
  checkUnary<ExpOp>();
  checkUnary<LogOp>(0.5, 2);
  checkUnary<SqrtOp>(0.5, 2);
  checkUnary<RsqrtOp>(0.5, 2);
  checkUnary<ReciprocalOp>(0.5, 2);
  checkUnary<TanhOp>();
  checkUnary<ErfOp>();
  checkUnary<SigmoidOp>();
  checkUnary<GeluOp>(-4, 4);
  checkUnary<SiluOp>(-4, 4);
  checkUnary<SoftplusOp>(-4, 4);
  checkUnary<SinOp>();
  checkUnary<CosOp>();
  checkUnary<FloorOp>(0.1, 0.9);
  checkUnary<NegOp>();
  checkUnary<AbsOp>();
  checkUnary<SignOp>();
  checkUnary<SquareOp>();
  checkUnary<ReluOp>();
}

/// The derivatives of gelu and silu.
double getGeluSlope(double x) {
  double u = 1.5957691216057308 * (x + 0.044715 * x * x * x);
  double s = 1 / (1 + std::exp(-u)), rest = 1 / (1 + std::exp(u));
  double bend = s * rest * x;
  return bend == 0 ? s
                   : s + bend * 1.5957691216057308 * (1 + 3 * 0.044715 * x * x);
}
double getSiluSlope(double x) {
  double s = 1 / (1 + std::exp(-x)), rest = 1 / (1 + std::exp(x));
  return s + s * rest * x;
}

// Gradients in 16 bits are computed in f32 and rounded once: nothing on the way
// overflows, and no error adds up.
TEST_F(PointwiseTest, GradientsIn16BitsAreRoundedOnce) {
  Values places = {0, 1e-3, 0.7, 1, 3, 8, 20, 60, 67, 68, 80, 100, 300, 6e4};
  Values positive(places.begin() + 1, places.end());
  for (size_t i = places.size(); i-- > 1;)
    places.push_back(-places[i]);
  auto ofX = [](double (*slope)(double)) {
    return [slope](double x, double) { return slope(x); };
  };
  checkShortGradient<GeluOp>(places, 1, ofX(getGeluSlope));
  checkShortGradient<SiluOp>(places, 1, ofX(getSiluSlope));
  checkShortGradient<SoftplusOp>(
      places, 2048, [](double x, double) { return 1 / (1 + std::exp(-x)); });
  checkShortGradient<ErfOp>(places, 2048, [](double x, double) {
    return M_2_SQRTPI * std::exp(-x * x);
  });
  checkShortGradient<SinOp>(places, 3, ofX(std::cos));
  checkShortGradient<CosOp>(places, 3,
                            [](double x, double) { return -std::sin(x); });
  checkShortGradient<SquareOp>(places, 0.01,
                               [](double x, double) { return 2 * x; });
  checkShortGradient<TanhOp>(places, 3,
                             [](double, double y) { return 1 - y * y; });
  checkShortGradient<SigmoidOp>(places, 3,
                                [](double, double y) { return y * (1 - y); });
  checkShortGradient<SqrtOp>(positive, 3,
                             [](double, double y) { return 0.5 / y; });
  checkShortGradient<RsqrtOp>(positive, 2e-4,
                              [](double, double y) { return -y * y * y / 2; });
  checkShortGradient<RsqrtOp>(positive, 6e4,
                              [](double, double y) { return -y * y * y / 2; });
  checkShortGradient<ReciprocalOp>(positive, 1e-3,
                                   [](double, double y) { return -y * y; });
  checkShortGradient<ReciprocalOp>(positive, 6e4,
                                   [](double, double y) { return -y * y; });
}

// The gradients of a / b and of a ** b by b and a, in f16.
TEST_F(PointwiseTest, GradientsOfTwoOperandsAreRoundedOnce) {
  auto gradient = [&](auto *kind, double a, double b, double g,
                      unsigned operand) {
    using Op = std::remove_pointer_t<decltype(kind)>;
    TensorType t = tensor(f16());
    return run({t, t, t}, {{a}, {b}, {g}}, [&](ValueBuilder &b, ValueRange x) {
      SmallVector<Value> gradients(2);
      auto op = cast<NamedOpInterface>(b.make<Op>(x[0], x[1]).getDefiningOp());
      OpBuilder at(op->getContext());
      at.setInsertionPointAfter(op);
      EXPECT_TRUE(succeeded(op.buildGradient(at, x[2], gradients)));
      EXPECT_EQ(gradients[operand].getType(), x[0].getType());
      return gradients[operand];
    })[0];
  };
  // g / b is 2^20, and -g / b · (a / b) is -2^10.
  EXPECT_EQ(gradient((DivOp *)nullptr, 0x1p-20, 0x1p-10, 0x1p10, 1), -0x1p10);
  EXPECT_EQ(gradient((DivOp *)nullptr, 1, 3, 1, 0), round(f16(), 1.0 / 3));
  // 2 · a is 2^17.
  EXPECT_EQ(gradient((PowOp *)nullptr, 0x1p10, 3, 0x1p-16, 0), 48);
  // -g · floor(a / b), where the quotient is 2^17.
  EXPECT_EQ(gradient((ModOp *)nullptr, 0x1p10, 0x1p-7, 0x1p-10, 1), -0x1p7);
}

// Far from 0 the gradient of gelu is 0 or 1 for all finite numbers.
TEST_F(PointwiseTest, GeluGradientIsFiniteFarFromZero) {
  for (Type type : {f32(), bf16(), f16()})
    for (double x :
         {12., 16., 30., 67.5, 6e4, 1e10, 3e13, 1e19, 2e19, 1e30, 1e37, 3e38}) {
      if (type.isF16() && x > 65504)
        continue;
      EXPECT_EQ(gradientAt<GeluOp>(type, round(type, x), 1), 1) << x;
      EXPECT_EQ(gradientAt<GeluOp>(type, round(type, -x), 1), 0) << -x;
    }
}

TEST_F(PointwiseTest, BinaryGradients) {
  checkBinary<AddOp>();
  checkBinary<SubOp>();
  checkBinary<MulOp>();
  checkBinary<DivOp>(0.5, 2);
  checkBinary<ModOp>(0.7, 2);
  checkBinary<MaximumOp>();
  checkBinary<MinimumOp>();
  checkBinary<PowOp>(0.5, 2);
}

TEST_F(PointwiseTest, GradientsAtSpecialPlaces) {
  TensorType t = tensor(f32(), {{"n", 2}});
  auto addUp = [](ValueBuilder &b, ValueRange x) {
    return b.make<MaximumOp>(x[0], b.make<StopGradientOp>(x[1]));
  };
  // No gradient through stop_gradient, all of it to the first elsewhere.
  checkGradient({t}, [&](ValueBuilder &b, ValueRange x) {
    Value low = b.scalar(x[0], -100);
    return addUp(b, ValueRange{x[0], low});
  });
  // in_generation is its second operand.
  checkGradient({tensor(f32(), {{"m", 3}}), t},
                [](ValueBuilder &b, ValueRange x) {
                  return b.make<SquareOp>(b.make<InGenerationOp>(x[0], x[1]));
                });
  // x^2 at 0 and x^0: no NaN from log(0) or 0^-1.
  checkGradient({t},
                [](ValueBuilder &b, ValueRange x) {
                  return b.make<AddOp>(
                      b.make<PowOp>(x[0], b.scalar(x[0], 2.0)),
                      b.make<PowOp>(x[0], b.scalar(x[0], 0.0)));
                },
                {{0, 1}});
}

TEST_F(PointwiseTest, SelectAndCastGradients) {
  checkGradient(
      {tensor(i1(), {{"a", 2}}), tensor(f32(), {{"b", 3}}), tensor(f32())},
      [](ValueBuilder &b, ValueRange x) {
        return b.make<SelectOp>(x[0], x[1], x[2]);
      },
      {{1, 0}, {}, {}});
  TensorType t = tensor(f32(), {{"n", 3}});
  checkGradient({t}, [&](ValueBuilder &b, ValueRange x) {
    Value y = b.make<CastOp>(t.withElementType(bf16()), x[0]);
    return b.make<SquareOp>(y);
  });
}

TEST_F(PointwiseTest, RulesAlignByName) {
  TensorType a = tensor(f32(), {{"a", 2}, {"n", 3}});
  TensorType c = tensor(f32(), {{"n", 3}});
  makeFunction({a, c}, [](ValueBuilder &b, ValueRange x) {
    Value sum = b.make<AddOp>(x[0], x[1]), product = b.make<MulOp>(x[0], x[1]);
    PartitionRule rule = sum.getDefiningOp<AddOp>().getPartitionRule();
    EXPECT_EQ(rule.factors.size(), 2u);
    EXPECT_EQ(rule.factors[0].effect, FactorEffect::Parallel);
    EXPECT_FALSE(rule.factors[0].operandDims[1]);
    EXPECT_TRUE(rule.jointlyLinear);
    EXPECT_TRUE(rule.linearOperands.empty());
    rule = product.getDefiningOp<MulOp>().getPartitionRule();
    EXPECT_FALSE(rule.jointlyLinear);
    EXPECT_EQ(rule.linearOperands.size(), 2u);
    Value zero = b.scalar(x[0], 0.0);
    Value isLess = b.compare(Predicate::Lt, x[0], x[1]);
    Value chosen = b.make<SelectOp>(isLess, x[0], zero);
    rule = chosen.getDefiningOp<SelectOp>().getPartitionRule();
    EXPECT_EQ(rule.linearOperands, (SmallVector<unsigned, 2>{1}));
    return SmallVector<Value>{product, chosen};
  });
}

TEST_F(PointwiseTest, InferenceErrors) {
  TensorType x = tensor(f32(), {{"n", 3}});
  EXPECT_EQ(getInferenceError<AddOp>({x, tensor(f32(), {{"n", 4}})}),
            "add: dim 'n' has size 3 in one operand and 4 in another; sizes "
            "must be equal (rename one of the dims if they are not the same)");
  EXPECT_EQ(getInferenceError<MulOp>({x, tensor(i32())}),
            "mul: operands must have one element type, got 'f32' and 'i32'; "
            "'cast' converts");
  EXPECT_EQ(
      getInferenceError<ExpOp>({tensor(i32())}),
      "exp: expected floats (f32, bf16 or f16; 'cast' converts), got 'i32'");
  EXPECT_EQ(getInferenceError<NegOp>({tensor(i1())}),
            "neg: expected floats or i32 ('cast' converts), got 'i1'");
  EXPECT_EQ(getInferenceError<AndOp>({x, x}),
            "and: expected i1 (a comparison gives it), got 'f32'");
  EXPECT_EQ(getInferenceError<CompareOp>({x, tensor(i1())}),
            "compare: operands must have one element type, got 'f32' and "
            "'i1'; 'cast' converts");
  EXPECT_EQ(getInferenceError<SelectOp>({x, x, x}),
            "select: the condition must be i1 (a comparison gives it), got "
            "'f32'");
  EXPECT_EQ(getInferenceError<AddOp>({x, f32()}),
            "add: operands must be nd tensors, got 'f32'");
}

TEST_F(PointwiseTest, VerifierErrors) {
  TensorType x = tensor(f32(), {{"n", 3}});
  EXPECT_EQ(getVerifierError<CastOp>({x}, {tensor(i32(), {{"m", 3}})}),
            "'nd.cast' op changes the element type only, got dims of "
            "'!nd.tensor<f32, [n = 3]>' and of '!nd.tensor<i32, [m = 3]>'");
  EXPECT_NE(getVerifierError<ExpOp>({x}, {tensor(f32())}), "");
  EXPECT_EQ(getVerifierError<ExpOp>({x}, {x}), "");
}

} // namespace
} // namespace meshc::nd
