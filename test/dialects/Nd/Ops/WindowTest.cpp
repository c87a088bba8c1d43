//===- WindowTest.cpp - parts and enlargements along a dim ----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientCheck.h"
#include "dialects/Nd/Ops/WindowOps.h"

using namespace mlir;

namespace meshc::nd {
namespace {

class Window : public GradientCheck {
protected:
  TensorType getInput(int64_t x = 3) {
    return tensor(f32(), {{"w", 2}, {"x", x}});
  }
  IntegerAttr number(int64_t value) { return builder.getI64IntegerAttr(value); }
};

TEST_F(Window, SliceTakesEntries) {
  auto slice = [&](ValueBuilder &b, ValueRange x) {
    return b.make<SliceOp>(x[0], builder.getStringAttr("x"), number(1),
                           number(2));
  };
  Values y = run({getInput()}, {{0, 1, 2, 3, 4, 5}}, slice);
  EXPECT_EQ(y, (Values{1, 2, 4, 5}));
  checkGradient({getInput()}, slice);
}

TEST_F(Window, ConcatPutsOneAfterAnother) {
  auto concat = [&](ValueBuilder &b, ValueRange x) {
    return b.make<ConcatOp>(x, builder.getStringAttr("x"));
  };
  Values y = run({getInput(1), getInput(2), getInput(1)},
                 {{0, 10}, {1, 2, 11, 12}, {3, 13}}, concat);
  EXPECT_EQ(y, (Values{0, 1, 2, 3, 10, 11, 12, 13}));
  checkGradient({getInput(1), getInput(2), getInput(1)}, concat);
}

TEST_F(Window, PadSurrounds) {
  auto pad = [&](ValueBuilder &b, ValueRange x) {
    return b.make<PadOp>(x[0], builder.getStringAttr("x"), number(1), number(2),
                         builder.getF64FloatAttr(7));
  };
  Values y = run({getInput(1)}, {{1, 2}}, pad);
  EXPECT_EQ(y, (Values{7, 1, 7, 7, 7, 2, 7, 7}));
  checkGradient({getInput(1)}, pad);
}

TEST_F(Window, PaddingIsOfTheElementType) {
  Values y = run(
      {tensor(bf16(), {{"x", 1}})}, {{1}}, [&](ValueBuilder &b, ValueRange x) {
        return b.make<PadOp>(x[0], builder.getStringAttr("x"), number(1),
                             number(0), builder.getF64FloatAttr(1.001));
      });
  EXPECT_EQ(y, (Values{1, 1}));
}

TEST_F(Window, OnlyZeroPaddingIsLinear) {
  for (double value : {0.0, 1.0}) {
    auto function =
        makeFunction({getInput()}, [&](ValueBuilder &b, ValueRange x) {
          return SmallVector<Value>{
              b.make<PadOp>(x[0], builder.getStringAttr("x"), number(1),
                            number(0), builder.getF64FloatAttr(value))};
        });
    PartitionRule rule =
        cast<NamedOpInterface>(function.getBody().front().front())
            .getPartitionRule();
    EXPECT_EQ(rule.linearOperands.empty(), value != 0);
    for (const Factor &factor : rule.factors)
      EXPECT_EQ(!factor.segments.empty(),
                factor.resultDims[0].getValue() == "x");
  }
}

/// A slice may also be a partial sum. Where the result of a concatenation or of
/// a padding is cut, small operands may stay whole.
TEST_F(Window, MayBeCutInOtherWays) {
  StringAttr x = builder.getStringAttr("x"), none;
  auto getAlternatives = [&](ArrayRef<Type> types, auto build) {
    auto function = makeFunction(types, [&](ValueBuilder &b, ValueRange of) {
      return SmallVector<Value>{build(b, of)};
    });
    Operation &op = function.getBody().front().front();
    return cast<NamedOpInterface>(op).getPartitionRule().alternatives;
  };
  auto ofSlice =
      getAlternatives({getInput(8)}, [&](ValueBuilder &b, ValueRange of) {
        return b.make<SliceOp>(of[0], x, number(1), number(2));
      });
  ASSERT_EQ(ofSlice.size(), 1u);
  EXPECT_EQ(ofSlice[0].effect, FactorEffect::Reduce);
  EXPECT_EQ(ofSlice[0].size, 8);
  EXPECT_EQ(ofSlice[0].operandDims[0], x);
  EXPECT_EQ(ofSlice[0].resultDims[0], none);
  auto concat = [&](ValueBuilder &b, ValueRange of) {
    return b.make<ConcatOp>(of, x);
  };
  auto ofConcat = getAlternatives(
      {getInput(1), getInput(20), getInput(7), getInput(2)}, concat);
  ASSERT_EQ(ofConcat.size(), 1u);
  EXPECT_EQ(ofConcat[0].effect, FactorEffect::Parallel);
  EXPECT_EQ(ofConcat[0].segments.size(), 4u);
  EXPECT_TRUE(llvm::equal(ofConcat[0].operandDims,
                          SmallVector<StringAttr>{none, x, x, none}));
  EXPECT_EQ(ofConcat[0].resultDims[0], x);
  EXPECT_TRUE(getAlternatives({getInput(4), getInput(4)}, concat).empty());
  auto ofPad =
      getAlternatives({getInput(4)}, [&](ValueBuilder &b, ValueRange of) {
        return b.make<PadOp>(of[0], x, number(1), number(0),
                             builder.getF64FloatAttr(0));
      });
  ASSERT_EQ(ofPad.size(), 1u);
  EXPECT_EQ(ofPad[0].operandDims[0], none);
}

} // namespace
} // namespace meshc::nd
