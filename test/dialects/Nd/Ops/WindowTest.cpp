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
      EXPECT_EQ(factor.kind == FactorKind::Halo,
                factor.resultDims[0].getValue() == "x");
  }
}

} // namespace
} // namespace meshc::nd
