//===- NormalizationTest.cpp - softmax and cross-entropy ------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientCheck.h"
#include "dialects/Nd/Ops/NormalizationOps.h"

using namespace mlir;

namespace meshc::nd {
namespace {

class Normalization : public GradientCheck {};

/// cross_entropy(logits, targets, c, ignore = ignored)
Value makeLoss(ValueBuilder &build, Value logits, Value targets,
               std::optional<int64_t> ignored = {}) {
  Builder builder(logits.getContext());
  return build.make<CrossEntropyOp>(
      logits, targets, builder.getStringAttr("c"),
      ignored ? builder.getI64IntegerAttr(*ignored) : IntegerAttr());
}

TEST_F(Normalization, SoftmaxOfOneTwoThree) {
  TensorType x = tensor(f32(), {{"c", 3}});
  Values y = run({x}, {{1, 2, 3}}, [](ValueBuilder &b, ValueRange x) {
    return b.make<SoftmaxOp>(x[0], "c");
  });
  expectNear(y, {0.09003057, 0.24472847, 0.66524096}, 1e-7);
}

TEST_F(Normalization, SoftmaxRunsAlongTheDimNamed) {
  TensorType x = tensor(f32(), {{"a", 2}, {"b", 2}});
  Values y =
      run({x}, {{0, 0, std::log(3), 0}}, [](ValueBuilder &b, ValueRange x) {
        return b.make<SoftmaxOp>(x[0], "a");
      });
  expectNear(y, {0.25, 0.5, 0.75, 0.5}, 1e-7);
}

TEST_F(Normalization, LargeEntriesDoNotOverflow) {
  TensorType x = tensor(f32(), {{"c", 2}});
  Values y = run({x}, {{1e30, 1e30}}, [](ValueBuilder &b, ValueRange x) {
    return b.make<SoftmaxOp>(x[0], "c");
  });
  expectNear(y, {0.5, 0.5}, 0);
  Values log = run({x}, {{1000, 0}}, [](ValueBuilder &b, ValueRange x) {
    return b.make<LogSoftmaxOp>(x[0], "c");
  });
  expectNear(log, {0, -1000}, 0);
}

TEST_F(Normalization, CrossEntropyPicksTheTarget) {
  TensorType x = tensor(f32(), {{"c", 3}, {"n", 2}});
  TensorType t = tensor(i32(), {{"n", 2}});
  Values y = run(
      {x, t}, {{1, 0, 2, 0, 3, 0}, {2, 1}},
      [](ValueBuilder &b, ValueRange x) { return makeLoss(b, x[0], x[1]); });
  expectNear(y, {0.40760596, std::log(3)}, 1e-7);
}

TEST_F(Normalization, IgnoredTargetsGiveZeroAndNoGradient) {
  TensorType x = tensor(f32(), {{"c", 2}, {"n", 4}}),
             t = tensor(i32(), {{"n", 4}});
  auto body = [](ValueBuilder &b, ValueRange x) {
    return SmallVector<Value>{makeLoss(b, x[0], x[1], -100)};
  };
  std::vector<double> logits = {0, 1, 0, 0, 0, 3, 0, 0};
  Values y = evaluate(makeFunction({x, t}, body), {logits, {-100, 0, -1, 1}},
                      getEvaluation(true))
                 .front();
  expectNear(y, {0, std::log(1 + std::exp(2)), NAN, std::log(2)}, 1e-6);
  checkDecomposition({x, t}, body, {logits, {-100, 0, -1, 1}});
  checkGradient({x, t},
                [](ValueBuilder &b, ValueRange x) {
                  return makeLoss(b, x[0], x[1], -100);
                },
                {{}, {-100, 0, 1, -100}});
}

TEST_F(Normalization, TargetsOutOfRangeGiveNaN) {
  TensorType x = tensor(f32(), {{"c", 2}}), t = tensor(i32(), {{"n", 3}});
  auto body = [](ValueBuilder &b, ValueRange x) {
    return SmallVector<Value>{makeLoss(b, x[0], x[1])};
  };
  Values y = evaluate(makeFunction({x, t}, body), {{0, 0}, {-1, 0, 2}},
                      getEvaluation(true))
                 .front();
  expectNear(y, {NAN, std::log(2), NAN}, 1e-7);
  checkDecomposition({x, t}, body, {{0, 0}, {-1, 0, 2}});
}

TEST_F(Normalization, Gradients) {
  TensorType x = tensor(f32(), {{"c", 4}, {"n", 3}});
  checkGradient({x}, [](ValueBuilder &b, ValueRange x) {
    return b.make<SoftmaxOp>(x[0], "c");
  });
  checkGradient({x}, [](ValueBuilder &b, ValueRange x) {
    return b.make<LogSoftmaxOp>(x[0], "c");
  });
  checkGradient(
      {x, tensor(i32(), {{"n", 3}})},
      [](ValueBuilder &b, ValueRange x) { return makeLoss(b, x[0], x[1]); },
      {{}, {0, 3, 1}});
  // The logits broadcast over a dim that the targets alone have.
  checkGradient(
      {x, tensor(i32(), {{"n", 3}, {"s", 2}})},
      [](ValueBuilder &b, ValueRange x) { return makeLoss(b, x[0], x[1]); },
      {{}, {0, 3, 1, 1, 2, 0}});
}

TEST_F(Normalization, Decompositions) {
  for (Type type : {f32(), bf16()}) {
    double tolerance = type == f32() ? 1e-6 : 1e-2;
    TensorType x = tensor(type, {{"c", 5}, {"n", 2}});
    checkDecomposition(
        {x, x, tensor(i32(), {{"n", 2}})},
        [](ValueBuilder &b, ValueRange x) {
          return SmallVector<Value>{b.make<SoftmaxOp>(x[0], "c"),
                                    b.make<LogSoftmaxOp>(x[1], "c"),
                                    makeLoss(b, x[0], x[2])};
        },
        {{}, {}, {4, 0}}, tolerance);
  }
}

TEST_F(Normalization, RulesKeepTheDimWhole) {
  TensorType x = tensor(f32(), {{"c", 4}, {"n", 3}});
  makeFunction({x}, [](ValueBuilder &b, ValueRange x) {
    Value y = b.make<SoftmaxOp>(x[0], "c");
    PartitionRule rule = y.getDefiningOp<SoftmaxOp>().getPartitionRule();
    EXPECT_EQ(rule.factors.size(), 2u);
    EXPECT_EQ(rule.factors[0].effect, FactorEffect::Whole);
    EXPECT_EQ(rule.factors[1].effect, FactorEffect::Parallel);
    return SmallVector<Value>{y};
  });
}

TEST_F(Normalization, Errors) {
  NamedAttribute alongC(builder.getStringAttr("dim"),
                        builder.getStringAttr("c"));
  TensorType x = tensor(f32(), {{"c", 4}, {"n", 3}});
  EXPECT_EQ(getInferenceError<SoftmaxOp>({tensor(f32(), {{"n", 3}})}, {alongC}),
            "softmax: the operand has no dim 'c'; its dims are 'n'");
  EXPECT_EQ(
      getInferenceError<LogSoftmaxOp>({tensor(i32(), {{"c", 3}})}, {alongC}),
      "log_softmax: expected floats (f32, bf16 or f16; 'cast' converts), "
      "got 'i32'");
  EXPECT_EQ(getInferenceError<CrossEntropyOp>({x, tensor(f32(), {{"n", 3}})},
                                              {alongC}),
            "cross_entropy: targets must be i32 class numbers, got "
            "'!nd.tensor<f32, [n = 3]>'");
  EXPECT_EQ(getInferenceError<CrossEntropyOp>({x, tensor(i32(), {{"c", 4}})},
                                              {alongC}),
            "cross_entropy: targets are entries of dim 'c' and must not have "
            "it, got '!nd.tensor<i32, [c = 4]>'");
  EXPECT_EQ(getInferenceError<CrossEntropyOp>({x, tensor(i32(), {{"n", 4}})},
                                              {alongC}),
            "cross_entropy: dim 'n' has size 3 in one operand and 4 in "
            "another; sizes must be equal (rename one of the dims if they are "
            "not the same)");
}

} // namespace
} // namespace meshc::nd
