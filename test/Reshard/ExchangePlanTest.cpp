//===- ExchangePlanTest.cpp - what the blocks of an op lack ---------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Plans for the rules that a convolution and its gradients have: windows along
/// two dims at once, of an operand, of a result, and of an operand of a sum.
///
//===----------------------------------------------------------------------===//

#include "lib/Reshard/ExchangePlan.h"
#include "dialects/Spmd/SpmdOps.h"
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace meshc;
using namespace meshc::reshard;
using namespace meshc::spmd;
using nd::Access;
using nd::Factor;
using nd::FactorEffect;

namespace {

class ExchangePlanTest : public testing::Test {
protected:
  ExchangePlanTest() : builder(&context) {
    context.loadDialect<nd::NdDialect, SpmdDialect>();
    setMesh(4, 2);
  }

  void setMesh(int64_t rows, int64_t cols) {
    mesh = nd::MeshAttr::get(&context,
                             {nd::AxisAttr::get(&context, name("rows"), rows),
                              nd::AxisAttr::get(&context, name("cols"), cols)});
  }

  StringAttr name(StringRef text) { return builder.getStringAttr(text); }

  using Dims = std::vector<std::tuple<const char *, int64_t, const char *>>;
  nd::TensorType type(Dims dims) {
    llvm::SmallVector<nd::DimAttr> list;
    for (auto [dim, size, axis] : dims)
      list.push_back(nd::DimAttr::get(
          &context, name(dim), size, axis ? AxisList{name(axis)} : AxisList()));
    return nd::TensorType::get(builder.getF32Type(), list);
  }

  /// A factor along these dims of the operands and the result; "" for none.
  Factor factor(int64_t size, std::vector<const char *> operands,
                const char *result) {
    Factor made;
    made.size = size;
    auto get = [&](const char *dim) { return *dim ? name(dim) : StringAttr(); };
    for (const char *dim : operands)
      made.operandDims.push_back(get(dim));
    made.resultDims.push_back(get(result));
    if (!*result)
      made.effect = FactorEffect::Reduce;
    return made;
  }

  /// The rule of y[line, place] = conv(x[row, col], w[tall, wide]).
  nd::PartitionRule getForward(Access rows, Access cols) {
    nd::PartitionRule rule;
    rule.factors = {factor(lines, {"row", ""}, "line"),
                    factor(places, {"col", ""}, "place")};
    rule.factors[0].operandAccesses = {rows};
    rule.factors[1].operandAccesses = {cols};
    return rule;
  }

  MLIRContext context;
  OpBuilder builder;
  nd::MeshAttr mesh;
  int64_t lines = 16, places = 16;
  const std::vector<AxisList> both = {{name("rows")}, {name("cols")}};
};

TEST_F(ExchangePlanTest, CornersComeWithTheSecondExchange) {
  auto rule = getForward(Access::windows(1, -1, 1), Access::windows(1, -2, 2));
  nd::TensorType x =
      type({{"row", 16, "rows"}, {"col", 16, "cols"}, {"b", 3, {}}});
  nd::TensorType w = type({{"tall", 3, {}}, {"wide", 5, {}}});
  nd::TensorType y =
      type({{"line", 16, "rows"}, {"place", 16, "cols"}, {"b", 3, {}}});
  auto plan = planExchange(rule, both, {x, w}, {y}, mesh);
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->operands.size(), 2u);
  EXPECT_TRUE(plan->results.empty());
  EXPECT_EQ(plan->operands[0].dim, name("row"));
  EXPECT_EQ(plan->operands[1].dim, name("col"));
  EXPECT_EQ(
      plan->operandTypes[0],
      type({{"row", 4 * 6, "rows"}, {"col", 2 * 12, "cols"}, {"b", 3, {}}}));
  EXPECT_EQ(plan->operandTypes[1], w);
  EXPECT_EQ(plan->resultTypes[0], y);
  // Two rows of 8 columns, then four columns of 6 rows.
  EXPECT_EQ(plan->traffic[0].bytes, 4.0 * 3 * 2 * 8);
  EXPECT_EQ(plan->traffic[1].bytes, 4.0 * 3 * 4 * 6);
  // One dim alone.
  plan = planExchange(rule, {{name("rows")}, {}},
                      {dropAxes(x, "col", {name("cols")}), w},
                      {dropAxes(y, "place", {name("cols")})}, mesh);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->operands.size(), 1u);
  EXPECT_EQ(plan->traffic[0].bytes, 4.0 * 3 * 2 * 16);
  EXPECT_EQ(plan->traffic[1].bytes, 0);
}

/// The gradient of the image: each rank adds into widened blocks, and sends
/// what belongs to others in the reverse order.
TEST_F(ExchangePlanTest, ResultsAreNarrowedInReverse) {
  nd::PartitionRule rule;
  rule.factors = {factor(16, {"line", ""}, "row"),
                  factor(16, {"place", ""}, "col")};
  rule.factors[0].resultAccesses = {Access::windows(1, -1, 1)};
  rule.factors[1].resultAccesses = {Access::windows(1, -2, 2)};
  EXPECT_TRUE(rule.factors[0].addsOverlaps());
  nd::TensorType x = type({{"row", 16, "rows"}, {"col", 16, "cols"}});
  nd::TensorType w = type({{"tall", 3, {}}, {"wide", 5, {}}});
  nd::TensorType y = type({{"line", 16, "rows"}, {"place", 16, "cols"}});
  auto plan = planExchange(rule, both, {y, w}, {x}, mesh);
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->results.size(), 2u);
  EXPECT_TRUE(plan->operands.empty());
  nd::TensorType wide = type({{"row", 24, "rows"}, {"col", 24, "cols"}});
  EXPECT_EQ(plan->resultTypes[0], wide);
  EXPECT_EQ(plan->results[0].dim, name("col"));
  EXPECT_EQ(plan->results[0].from, wide);
  EXPECT_EQ(plan->results[0].to, plan->results[1].from);
  EXPECT_EQ(plan->results[1].to, x);
  EXPECT_EQ(plan->results[1].windows.size(), 3u);
  EXPECT_EQ(plan->traffic[0].bytes, 4.0 * 2 * 8);
  EXPECT_EQ(plan->traffic[1].bytes, 4.0 * 4 * 6);
}

/// The gradient of the weights sums over lines and places, and reads the image
/// in windows: with any stride, dilation and padding, the parts of the ranks
/// add up to the whole.
TEST_F(ExchangePlanTest, WindowsOfASum) {
  std::mt19937_64 random(20261129);
  auto draw = [&](int64_t below) { return int64_t(random() % below); };
  struct Dim {
    int64_t size, windows, taps, stride, dilation, pad, ranks;
    /// Of the widened blocks.
    int64_t block = 0;
    Access getAccess() const {
      return Access::windows(stride, -pad, dilation * (taps - 1) - pad);
    }
    int64_t getLine() const { return llvm::divideCeil(windows, ranks); }
  };
  int planned = 0;
  for (int trial = 0; trial < 300; ++trial) {
    auto drawDim = [&] {
      Dim dim = {8 + draw(40), 0,       1 + draw(4), 1 + draw(3),
                 1 + draw(2),  draw(3), 1 + draw(4)};
      dim.windows = std::max<int64_t>(
          1, (dim.size + 2 * dim.pad - dim.dilation * (dim.taps - 1) - 1) /
                     dim.stride +
                 1);
      return dim;
    };
    Dim rows = drawDim(), cols = drawDim();
    setMesh(rows.ranks, cols.ranks);
    nd::PartitionRule rule;
    rule.factors = {factor(rows.windows, {"row", "line"}, ""),
                    factor(cols.windows, {"col", "place"}, "")};
    rule.factors[0].operandAccesses = {rows.getAccess()};
    rule.factors[1].operandAccesses = {cols.getAccess()};
    EXPECT_FALSE(rule.factors[0].isLocal());
    auto plan = planExchange(
        rule, both,
        {type({{"row", rows.size, "rows"}, {"col", cols.size, "cols"}}),
         type({{"line", rows.windows, "rows"},
               {"place", cols.windows, "cols"}})},
        {type({{"tall", rows.taps, {}}, {"wide", cols.taps, {}}})
             .withPartial(nd::ReductionKind::Sum,
                          {name("rows"), name("cols")})},
        mesh);
    if (!plan)
      continue;
    ++planned;
    ASSERT_EQ(plan->operands.size(), 2u);
    rows.block = plan->operands[0].getBlock(/*isOperand=*/true, mesh);
    cols.block = plan->operands[1].getBlock(/*isOperand=*/true, mesh);
    // Entry (i, j) of the image is 100 i + j, that of the other operand
    // 1 + i + 7 j.
    auto image = [&](int64_t i, int64_t j) {
      bool isThere = i >= 0 && i < rows.size && j >= 0 && j < cols.size;
      return isThere ? 100 * i + j : 0;
    };
    auto add = [&](int64_t tall, int64_t wide, int64_t rank, int64_t other,
                   bool ofRank) {
      int64_t sum = 0;
      auto visit = [&](const Dim &dim, int64_t number, auto body) {
        int64_t begin = ofRank ? number * dim.getLine() : 0;
        int64_t end = ofRank ? begin + dim.getLine() : dim.windows;
        for (int64_t i = begin; i < std::min(end, dim.windows); ++i)
          body(i);
      };
      // Where a rank finds an entry: in its widened block.
      auto locate = [&](const Dim &dim, int64_t number, int64_t i,
                        int64_t tap) {
        int64_t at = dim.stride * i + dim.dilation * tap - dim.pad;
        int64_t first = number * dim.getLine() * dim.stride - dim.pad;
        if (ofRank)
          EXPECT_TRUE(at >= first && at < first + dim.block);
        return at;
      };
      visit(rows, rank, [&](int64_t i) {
        visit(cols, other, [&](int64_t j) {
          sum +=
              image(locate(rows, rank, i, tall), locate(cols, other, j, wide)) *
              (1 + i + 7 * j);
        });
      });
      return sum;
    };
    for (int64_t tall = 0; tall < rows.taps; ++tall)
      for (int64_t wide = 0; wide < cols.taps; ++wide) {
        int64_t parts = 0;
        for (int64_t rank = 0; rank < rows.ranks; ++rank)
          for (int64_t other = 0; other < cols.ranks; ++other)
            parts += add(tall, wide, rank, other, /*ofRank=*/true);
        ASSERT_EQ(parts, add(tall, wide, 0, 0, /*ofRank=*/false));
      }
  }
  EXPECT_GT(planned, 50);
}

/// A split of one dim and windows along another one, of one op.
TEST_F(ExchangePlanTest, GroupsBesideWindows) {
  nd::PartitionRule rule;
  rule.factors = {factor(6, {"features"}, "heads"),
                  factor(16, {"col"}, "place")};
  rule.factors[0].operandAccesses = {Access::groups(3)};
  rule.factors[1].operandAccesses = {Access::windows(1, 0, 2)};
  EXPECT_TRUE(rule.factors[0].isGrouped() && rule.factors[0].isLocal());
  nd::TensorType x = type({{"features", 18, "rows"}, {"col", 16, "cols"}});
  nd::TensorType y =
      type({{"heads", 6, "rows"}, {"key", 3, {}}, {"place", 16, "cols"}});
  auto plan = planExchange(rule, both, {x}, {y}, mesh);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->operandTypes[0],
            type({{"features", 24, "rows"}, {"col", 20, "cols"}}));
  EXPECT_EQ(
      plan->resultTypes[0],
      type({{"heads", 8, "rows"}, {"key", 3, {}}, {"place", 16, "cols"}}));
  ASSERT_EQ(plan->results.size(), 1u);
  EXPECT_FALSE(plan->results[0].windows[0].repeat);
  // Axes that divide the heads have the same blocks of both.
  setMesh(2, 2);
  plan = planExchange(rule, both, {x}, {y}, mesh);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->operands.size(), 1u);
  EXPECT_TRUE(plan->results.empty());
}

TEST_F(ExchangePlanTest, NothingForOtherTypes) {
  auto rule = getForward(Access::windows(1, -1, 1), Access::windows(1, -2, 2));
  nd::TensorType w = type({{"tall", 3, {}}});
  nd::TensorType x = type({{"row", 16, "rows"}, {"col", 16, "cols"}});
  nd::TensorType y = type({{"line", 16, "rows"}, {"place", 16, "cols"}});
  auto isPlanned = [&](ArrayRef<AxisList> axes,
                       ArrayRef<nd::TensorType> operands,
                       ArrayRef<nd::TensorType> results) {
    return planExchange(rule, axes, operands, results, mesh).has_value();
  };
  EXPECT_TRUE(isPlanned(both, {x, w}, {y}));
  EXPECT_FALSE(isPlanned({{name("rows")}}, {x, w}, {y}));
  EXPECT_FALSE(isPlanned(both, {x}, {y}));
  EXPECT_FALSE(isPlanned(both, {x, w}, {}));
  EXPECT_FALSE(isPlanned(both, {nd::TensorType(), w}, {y}));
  EXPECT_FALSE(isPlanned(both, {w, w}, {y}));
  EXPECT_FALSE(isPlanned(both, {x, w}, {x}));
  EXPECT_FALSE(isPlanned({{name("cols")}, {name("rows")}}, {x, w}, {y}));
  EXPECT_FALSE(isPlanned(both, {x, w},
                         {type({{"line", 16, "rows"}, {"place", 16, {}}})}));
  // Of another size than the factor.
  EXPECT_FALSE(isPlanned(both, {x, w},
                         {type({{"line", 8, "rows"}, {"place", 16, "cols"}})}));
  // Nothing is cut.
  auto plan = planExchange(rule, {{}, {}}, {x, w}, {y}, mesh);
  ASSERT_TRUE(plan);
  EXPECT_TRUE(plan->isEmpty());
}

/// An op that only moves entries is one window; it has no other exchange.
TEST_F(ExchangePlanTest, SegmentsAreAlone) {
  nd::PartitionRule rule;
  rule.factors = {factor(15, {"row"}, "row"), factor(16, {"col"}, "place")};
  rule.factors[0].segments = {{0, 0, 1, 15}};
  rule.factors[1].operandAccesses = {Access::windows(1, 0, 2)};
  nd::TensorType x = type({{"row", 16, "rows"}, {"col", 16, "cols"}});
  nd::TensorType y = type({{"row", 15, "rows"}, {"place", 16, "cols"}});
  EXPECT_FALSE(planExchange(rule, both, {x}, {y}, mesh));
  rule.factors[1].operandAccesses.clear();
  auto plan = planExchange(rule, both, {x}, {y}, mesh);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->inSegments, 0u);
  EXPECT_EQ(plan->traffic[0].permutes, 1);
}

} // namespace
