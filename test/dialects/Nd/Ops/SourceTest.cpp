//===- SourceTest.cpp - constants, indices, random numbers ----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientCheck.h"
#include "dialects/Nd/Ops/Philox.h"
#include "dialects/Nd/Ops/SourceOps.h"

using namespace mlir;

namespace meshc::nd {
namespace {

using Words = std::array<uint32_t, 4>;

/// The known answers that come with Random123 (kat_vectors).
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(runPhilox(NumberWords(), {0, 0, 0, 0}, {0, 0}),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  uint32_t ones = 0xffffffff;
  EXPECT_EQ(runPhilox(NumberWords(), {ones, ones, ones, ones}, {ones, ones}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(runPhilox(NumberWords(),
                      {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                      {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, StreamsAreHashedByFnv1a) {
  EXPECT_EQ(hashStream(""), 0x811c9dc5u);
  EXPECT_EQ(hashStream("a"), 0xe40c292cu);
  EXPECT_EQ(hashStream("foobar"), 0xbf9cf968u);
}

class Source : public GradientCheck {
protected:
  Values drawNumbers(TensorType type, Distribution distribution,
                     StringRef stream, const EvaluationContext &evaluation) {
    auto function = makeFunction({}, [&](ValueBuilder &b, ValueRange) {
      return SmallVector<Value>{b.make<RandomOp>(type, distribution, stream)};
    });
    return evaluate(function, {}, evaluation).front();
  }
};

TEST_F(Source, ConstantOfEachType) {
  auto make = [&](Type type, double value) {
    return run({}, {}, [&](ValueBuilder &b, ValueRange) {
      return b.make<ConstantOp>(tensor(type, {{"x", 2}}), value);
    });
  };
  EXPECT_EQ(make(f32(), 0.5), (Values{0.5, 0.5}));
  EXPECT_EQ(make(bf16(), 1.001), (Values{1, 1}));
  EXPECT_EQ(make(i32(), -3), (Values{-3, -3}));
  EXPECT_EQ(make(i1(), 1), (Values{1, 1}));
}

TEST_F(Source, IotaAndStep) {
  Values y = run({}, {}, [&](ValueBuilder &b, ValueRange) {
    return b.make<IotaOp>(tensor(f32(), {{"x", 4}}));
  });
  EXPECT_EQ(y, (Values{0, 1, 2, 3}));
  auto step = makeFunction({}, [&](ValueBuilder &b, ValueRange) {
    return SmallVector<Value>{b.make<StepOp>(tensor(i32()))};
  });
  EvaluationContext evaluation = getEvaluation(true);
  evaluation.step = 17;
  EXPECT_EQ(evaluate(step, {}, evaluation).front(), Values{17});
}

TEST_F(Source, RandomNumbersAreTheDocumentedFunction) {
  EvaluationContext evaluation = getEvaluation(true);
  evaluation.seed = 0x123456789abcdef0;
  evaluation.step = 5;
  TensorType type = tensor(f32(), {{"a", 3}, {"b", 4}});
  Values uniform = drawNumbers(type, Distribution::Uniform, "w", evaluation);
  Values normal = drawNumbers(type, Distribution::Normal, "w", evaluation);
  for (uint32_t i = 0; i < 12; ++i) {
    Words words = runPhilox(NumberWords(), {i, 0, 5, hashStream("w")},
                            {0x9abcdef0, 0x12345678});
    double u = (words[0] >> 8) / 16777216.0, v = (words[1] >> 8) / 16777216.0;
    EXPECT_EQ(uniform[i], u);
    EXPECT_EQ(normal[i],
              static_cast<float>(std::sqrt(-2 * std::log(u + 1 / 16777216.0)) *
                                 std::cos(2 * M_PI * v)));
  }
}

TEST_F(Source, IterationsContinueTheHash) {
  // FNV-1a of the name and the number's bytes is that of a longer name.
  EvaluationContext evaluation = getEvaluation(true);
  TensorType type = tensor(f32(), {{"x", 8}});
  auto function = makeFunction({}, [&](ValueBuilder &b, ValueRange) {
    SmallVector<Value> numbers = {
        b.make<ConstantOp>(tensor(i32()), double(0x64636261)),
        b.make<ConstantOp>(tensor(i32()), double(0x68676665))};
    return SmallVector<Value>{b.make<RandomOp>(Type(type), Distribution::Normal,
                                               "w", ValueRange(numbers))};
  });
  EXPECT_EQ(evaluate(function, {}, evaluation).front(),
            drawNumbers(type, Distribution::Normal, "wabcdefgh", evaluation));
}

TEST_F(Source, RandomNumbersHaveTheirMoments) {
  TensorType type = tensor(f32(), {{"x", 40000}});
  EvaluationContext evaluation = getEvaluation(true);
  for (auto distribution : {Distribution::Uniform, Distribution::Normal}) {
    Values y = drawNumbers(type, distribution, "w", evaluation);
    double sum = 0, squares = 0, neighbours = 0;
    bool uniform = distribution == Distribution::Uniform;
    double mean = uniform ? 0.5 : 0, variance = uniform ? 1.0 / 12 : 1;
    for (size_t i = 0; i < y.size(); ++i) {
      sum += y[i];
      squares += (y[i] - mean) * (y[i] - mean);
      if (i > 0)
        neighbours += (y[i] - mean) * (y[i - 1] - mean);
      if (uniform) {
        EXPECT_GE(y[i], 0);
        EXPECT_LT(y[i], 1);
      }
    }
    // Five standard deviations of each estimate.
    double n = y.size();
    EXPECT_NEAR(sum / n, mean, 5 * std::sqrt(variance / n));
    EXPECT_NEAR(squares / n, variance, 5 * variance * std::sqrt(2 / n));
    EXPECT_NEAR(neighbours / n, 0, 5 * variance / std::sqrt(n));
  }
}

TEST_F(Source, SeedStepAndStreamMatter) {
  TensorType type = tensor(f32(), {{"x", 8}});
  EvaluationContext evaluation = getEvaluation(true);
  Values first = drawNumbers(type, Distribution::Uniform, "w", evaluation);
  EXPECT_EQ(drawNumbers(type, Distribution::Uniform, "w", evaluation), first);
  EXPECT_NE(drawNumbers(type, Distribution::Uniform, "v", evaluation), first);
  evaluation.step = 1;
  EXPECT_NE(drawNumbers(type, Distribution::Uniform, "w", evaluation), first);
  evaluation.step = 0;
  evaluation.seed = uint64_t(1) << 32;
  EXPECT_NE(drawNumbers(type, Distribution::Uniform, "w", evaluation), first);
}

TEST_F(Source, RanksHaveTheirBlocksOfTheSameNumbers) {
  TensorType whole = tensor(f32(), {{"a", 4}, {"b", 6}});
  EvaluationContext evaluation = getEvaluation(true);
  Values all = drawNumbers(whole, Distribution::Normal, "w", evaluation);
  auto p = builder.getStringAttr("p"), q = builder.getStringAttr("q");
  TensorType cut = TensorType::get(
      f32(), {DimAttr::get(&context, builder.getStringAttr("a"), 4, {p}),
              DimAttr::get(&context, builder.getStringAttr("b"), 6, {q})});
  evaluation.mesh = MeshAttr::get(
      &context, {AxisAttr::get(&context, p, 2), AxisAttr::get(&context, q, 3)});
  for (int64_t rank = 0; rank < 6; ++rank) {
    evaluation.coordinates = evaluation.mesh.getCoordinates(rank);
    Values block = drawNumbers(cut, Distribution::Normal, "w", evaluation);
    ASSERT_EQ(block.size(), 4u);
    int64_t start = rank / 3 * 12 + rank % 3 * 2;
    EXPECT_EQ(block, (Values{all[start], all[start + 1], all[start + 6],
                             all[start + 7]}));
  }
}

} // namespace
} // namespace meshc::nd
