//===- ContractionTest.cpp - products summed over named dims --------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientCheck.h"
#include "dialects/Nd/Ops/ContractionOps.h"

using namespace mlir;

namespace meshc::nd {
namespace {

class Contraction : public GradientCheck {
protected:
  Expression einsum(ArrayAttr reduced) {
    this->reduced = reduced;
    return body;
  }

private:
  ArrayAttr reduced;
  std::function<Value(ValueBuilder &, ValueRange)> body =
      [this](ValueBuilder &b, ValueRange x) {
        return b.make<EinsumOp>(x, reduced);
      };
};

TEST_F(Contraction, MatrixProduct) {
  // [[1, 2], [3, 4]] · [[5, 6], [7, 8]] with rows a, middle k, columns c.
  Values y = run({tensor(f32(), {{"a", 2}, {"k", 2}}),
                  tensor(f32(), {{"c", 2}, {"k", 2}})},
                 {{1, 2, 3, 4}, {5, 7, 6, 8}}, einsum(names({"k"})));
  expectNear(y, {19, 22, 43, 50}, 0);
}

TEST_F(Contraction, BatchesAndSeveralReducedDims) {
  // y[b] = sum over i, j of x[b, i, j]·w[b, j].
  Values y = run({tensor(f32(), {{"b", 2}, {"i", 2}, {"j", 2}}),
                  tensor(f32(), {{"b", 2}, {"j", 2}})},
                 {{1, 2, 3, 4, 5, 6, 7, 8}, {10, 1, 1, 10}},
                 einsum(names({"j", "i"})));
  expectNear(y, {10 * 4 + 6, 12 + 140}, 0);
}

TEST_F(Contraction, AnyNumberOfOperands) {
  TensorType t = tensor(f32(), {{"k", 2}});
  expectNear(run({t}, {{3, 4}}, einsum(names({"k"}))), {7}, 0);
  expectNear(run({t}, {{3, 4}}, einsum(names({}))), {3, 4}, 0);
  expectNear(run({t, t, t}, {{1, 2}, {3, 4}, {5, 6}}, einsum(names({"k"}))),
             {15 + 48}, 0);
}

TEST_F(Contraction, IntegersWrap) {
  TensorType t = tensor(i32(), {{"k", 2}});
  expectNear(
      run({t, t}, {{2147483647, 1}, {2147483647, -3}}, einsum(names({"k"}))),
      {-2}, 0);
}

TEST_F(Contraction, Gradients) {
  TensorType x = tensor(f32(), {{"a", 2}, {"k", 3}});
  TensorType w = tensor(f32(), {{"c", 2}, {"k", 3}});
  TensorType v = tensor(f32(), {{"c", 2}, {"q", 2}});
  checkGradient({x, w}, einsum(names({"k"})));
  checkGradient({x, w, v}, einsum(names({"k", "c"})));
  // Dims that one operand alone has are summed.
  checkGradient({x, v}, einsum(names({"a", "q"})));
  checkGradient({x}, einsum(names({"a"})));
  checkGradient({x}, einsum(names({})));
  checkGradient({x}, [&](ValueBuilder &b, ValueRange x) {
    return b.make<EinsumOp>(ValueRange{x[0], x[0]}, names({"k"}));
  });
}

TEST_F(Contraction, RuleAndCost) {
  TensorType x = tensor(f32(), {{"a", 2}, {"k", 3}});
  TensorType w = tensor(f32(), {{"c", 4}, {"k", 3}});
  makeFunction({x, w}, [&](ValueBuilder &b, ValueRange x) {
    Value y = b.make<EinsumOp>(x, names({"k"}));
    auto op = y.getDefiningOp<EinsumOp>();
    PartitionRule rule = op.getPartitionRule();
    EXPECT_EQ(rule.factors.size(), 3u);
    const Factor &k = rule.factors[2];
    EXPECT_EQ(k.effect, FactorEffect::Reduce);
    EXPECT_EQ(k.reduction, ReductionKind::Sum);
    EXPECT_EQ(k.size, 3);
    EXPECT_TRUE(k.operandDims[0] && k.operandDims[1] && !k.resultDims[0]);
    EXPECT_EQ(rule.linearOperands.size(), 2u);
    EXPECT_EQ(op.getCost().flops, 2 * 2 * 3 * 4);
    EXPECT_EQ(op.getCost().bytes, 4 * (6 + 12 + 8));
    return SmallVector<Value>{y};
  });
}

TEST_F(Contraction, Errors) {
  auto reduced = [&](ArrayRef<StringRef> dims) {
    return NamedAttribute(builder.getStringAttr("reduced"), names(dims));
  };
  TensorType x = tensor(f32(), {{"a", 2}, {"k", 3}});
  EXPECT_EQ(getInferenceError<EinsumOp>({}, {reduced({})}),
            "einsum: expected at least one operand, got none");
  EXPECT_EQ(getInferenceError<EinsumOp>({x, tensor(f32(), {{"k", 4}})},
                                        {reduced({"k"})}),
            "einsum: dim 'k' has size 3 in one operand and 4 in another; "
            "sizes must be equal (rename one of the dims if they are not the "
            "same)");
  EXPECT_EQ(getInferenceError<EinsumOp>({tensor(i1())}, {reduced({})}),
            "einsum: expected floats or i32 ('cast' converts), got 'i1'");
  EXPECT_EQ(getVerifierError<EinsumOp>({x}, {x}, {reduced({"z"})}),
            "'nd.einsum' op reduces over dim 'z', which no operand has");
  EXPECT_EQ(getVerifierError<EinsumOp>({x}, {tensor(f32(), {{"a", 2}})},
                                       {reduced({"k", "k"})}),
            "'nd.einsum' op names reduced dim 'k' twice");
}

} // namespace
} // namespace meshc::nd
