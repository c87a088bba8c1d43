//===- ReductionTest.cpp - one value from all along named dims ------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientCheck.h"
#include "dialects/Nd/Interfaces/ReductionKinds.h"
#include "dialects/Nd/Ops/ReductionOps.h"

using namespace mlir;

namespace meshc::nd {
namespace {

class Reduction : public GradientCheck {
protected:
  template <typename Op>
  Values reduce(TensorType type, const Values &x, ArrayAttr dims) {
    return run({type}, {x}, [&](ValueBuilder &b, ValueRange x) {
      return b.make<Op>(x[0], dims);
    });
  }
  template <typename Op> void check(const Values &x = {}) {
    SCOPED_TRACE(Op::getOperationName().str());
    TensorType t = tensor(f32(), {{"a", 2}, {"b", 3}, {"c", 2}});
    for (ArrayAttr dims : {names({"b"}), names({"a", "c"})})
      checkGradient(
          {t},
          [&](ValueBuilder &b, ValueRange x) { return b.make<Op>(x[0], dims); },
          {x});
  }
};

TEST_F(Reduction, Values) {
  TensorType t = tensor(f32(), {{"a", 2}, {"b", 3}});
  Values x = {1, -2, 3, 4, 5, 6};
  expectNear(reduce<ReduceSumOp>(t, x, names({"b"})), {2, 15}, 0);
  expectNear(reduce<ReduceSumOp>(t, x, names({"a"})), {5, 3, 9}, 0);
  expectNear(reduce<ReduceSumOp>(t, x, names({"b", "a"})), {17}, 0);
  expectNear(reduce<ReduceMaxOp>(t, x, names({"b"})), {3, 6}, 0);
  expectNear(reduce<ReduceMinOp>(t, x, names({"a"})), {1, -2, 3}, 0);
  expectNear(reduce<ReduceProdOp>(t, x, names({"b"})), {-6, 120}, 0);
  expectNear(reduce<ReduceMeanOp>(t, x, names({"a"})), {2.5, 1.5, 4.5}, 0);
}

TEST_F(Reduction, Integers) {
  TensorType t = tensor(i32(), {{"a", 3}});
  expectNear(reduce<ReduceSumOp>(t, {2147483647, 1, 1}, names({"a"})),
             {-2147483647}, 0);
  expectNear(reduce<ReduceMaxOp>(t, {-5, -3, -4}, names({"a"})), {-3}, 0);
  expectNear(reduce<ReduceMinOp>(t, {5, 3, 4}, names({"a"})), {3}, 0);
  expectNear(reduce<ReduceProdOp>(t, {65536, 65536, 3}, names({"a"})), {0}, 0);
}

TEST_F(Reduction, NaNIsNeverLost) {
  TensorType t = tensor(f32(), {{"a", 3}});
  for (const Values &x : {Values{NAN, 1, 2}, Values{1, NAN, 2}, {1, 2, NAN}}) {
    expectNear(reduce<ReduceMaxOp>(t, x, names({"a"})), {NAN}, 0);
    expectNear(reduce<ReduceMinOp>(t, x, names({"a"})), {NAN}, 0);
  }
}

/// The names of NdTypes.td, and how kinds combine two elements of each type.
TEST_F(Reduction, Kinds) {
#define MESHC_REDUCTION(CONSTANT, Kind, name, number, identity, combined)      \
  EXPECT_EQ(stringifyReductionKind(ReductionKind::Kind), #name);
#include "meshc/Reductions.def"
  using Kind = ReductionKind;
  Type i1 = IntegerType::get(&context, 1), i32 = IntegerType::get(&context, 32);
  for (Kind kind : {Kind::Sum, Kind::Max, Kind::Min, Kind::Prod}) {
    SCOPED_TRACE(stringifyReductionKind(kind).str());
    Combination combine = getCombination(kind, f32());
    EXPECT_TRUE(std::isnan(combine(NAN, 1)) && std::isnan(combine(1, NAN)));
    for (Type type : {Type(f32()), i32, i1})
      for (double x : {0, 1})
        EXPECT_EQ(getCombination(kind, type)(getIdentity(kind, type), x), x);
    bool isOr = kind == Kind::Sum || kind == Kind::Max;
    Combination truth = getCombination(kind, i1);
    EXPECT_EQ(truth(1, 0), isOr);
    EXPECT_EQ(truth(1, 1), 1);
    EXPECT_EQ(truth(0, 0), 0);
  }
  EXPECT_EQ(getCombination(Kind::Sum, i32)(INT32_MAX, 1), INT32_MIN);
  EXPECT_EQ(getCombination(Kind::Prod, i32)(INT32_MAX, INT32_MAX), 1);
  EXPECT_EQ(getCombination(Kind::Max, i32)(INT32_MIN, -1), -1);
  EXPECT_EQ(getCombination(Kind::Min, i32)(INT32_MIN, -1), INT32_MIN);
}

TEST_F(Reduction, Gradients) {
  check<ReduceSumOp>();
  check<ReduceMeanOp>();
  check<ReduceMaxOp>();
  check<ReduceMinOp>();
  check<ReduceProdOp>();
  // No zero, one and two among the factors.
  check<ReduceProdOp>({1, 2, 0, 3, 0, 1, 2, 3, 4, 5, 6, 0});
  check<ReduceProdOp>({0, 2, 0, 3, 0, 1, 0, 3, 4, 5, 6, 0});
}

TEST_F(Reduction, TiesShareTheGradient) {
  TensorType t = tensor(f32(), {{"a", 4}});
  Values grad = run({t}, {{1, 5, 5, 0}}, [&](ValueBuilder &b, ValueRange x) {
    auto op =
        b.make<ReduceMaxOp>(x[0], names({"a"})).getDefiningOp<ReduceMaxOp>();
    Value g = b.scalar(x[0], 8.0);
    SmallVector<Value> grads(1);
    EXPECT_TRUE(succeeded(op.buildGradient(builder, {g}, grads)));
    return grads[0];
  });
  expectNear(grad, {0, 4, 4, 0}, 0);
}

TEST_F(Reduction, Argmax) {
  auto body = [](ValueBuilder &b, ValueRange x) {
    return SmallVector<Value>{b.make<ArgmaxOp>(x[0], "c")};
  };
  TensorType t = tensor(f32(), {{"c", 3}, {"n", 4}});
  // Rows along c: 1 5 2; 7 7 1; 3 NaN 9; -1 -2 -0.5.
  Values x = {1, 7, 3, -1, 5, 7, NAN, -2, 2, 1, 9, -0.5};
  auto y = evaluate(makeFunction({t}, body), {x}, getEvaluation(true));
  expectNear(y[0], {1, 0, 0, 2}, 0);
  checkDecomposition({t}, body, {x});
  checkDecomposition({tensor(i32(), {{"c", 3}})}, body, {{-7, -3, -3}});
}

TEST_F(Reduction, MeanDecomposes) {
  auto mean = [&](ValueBuilder &b, ValueRange x) {
    return SmallVector<Value>{b.make<ReduceMeanOp>(x[0], names({"a"}))};
  };
  checkDecomposition({tensor(f32(), {{"a", 5}, {"b", 2}})}, mean);
  // The sum alone is out of f16's range.
  checkDecomposition({tensor(f16(), {{"a", 2}})}, mean, {{60000, 60000}});
}

TEST_F(Reduction, RulesAreReductionsOfTheirKind) {
  makeFunction({tensor(f32(), {{"a", 2}, {"b", 3}})},
               [&](ValueBuilder &b, ValueRange x) {
                 Value y = b.make<ReduceMaxOp>(x[0], names({"b"}));
                 auto op = y.getDefiningOp<ReduceMaxOp>();
                 PartitionRule rule = op.getPartitionRule();
                 EXPECT_EQ(rule.factors[0].effect, FactorEffect::Parallel);
                 EXPECT_EQ(rule.factors[1].effect, FactorEffect::Reduce);
                 EXPECT_EQ(rule.factors[1].reduction, ReductionKind::Max);
                 EXPECT_TRUE(rule.linearOperands.empty());
                 EXPECT_EQ(op.getReductionKind(), ReductionKind::Max);
                 EXPECT_EQ(op.getReducedDims().front().getValue(), "b");
                 return SmallVector<Value>{y};
               });
}

TEST_F(Reduction, Errors) {
  auto dims = [&](ArrayRef<StringRef> list) {
    return NamedAttribute(builder.getStringAttr("dims"), names(list));
  };
  TensorType x = tensor(f32(), {{"a", 2}});
  EXPECT_EQ(getInferenceError<ReduceSumOp>({x}, {dims({"z"})}),
            "reduce_sum: the operand has no dim 'z'; its dims are 'a'");
  EXPECT_EQ(getInferenceError<ReduceMaxOp>({x}, {dims({"a", "a"})}),
            "reduce_max: dim 'a' is named twice; name it once");
  EXPECT_EQ(getInferenceError<ReduceMinOp>({x}, {dims({})}),
            "reduce_min: expected at least one dim to reduce over, got none");
  EXPECT_EQ(getInferenceError<ReduceProdOp>({tensor(i1(), {{"a", 2}})},
                                            {dims({"a"})}),
            "reduce_prod: expected floats or i32 ('cast' converts), got 'i1'");
  EXPECT_EQ(getInferenceError<ReduceMeanOp>({tensor(i32(), {{"a", 2}})},
                                            {dims({"a"})}),
            "reduce_mean: expected floats (f32, bf16 or f16; 'cast' converts), "
            "got 'i32'");
  NamedAttribute along(builder.getStringAttr("dim"),
                       builder.getStringAttr("z"));
  EXPECT_EQ(getInferenceError<ArgmaxOp>({x}, {along}),
            "argmax: the operand has no dim 'z'; its dims are 'a'");
}

} // namespace
} // namespace meshc::nd
