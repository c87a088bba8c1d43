//===- ShapeTest.cpp - other names for the same elements ------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientCheck.h"
#include "dialects/Nd/Ops/ShapeOps.h"

using namespace mlir;

namespace meshc::nd {
namespace {

class Shape : public GradientCheck {
protected:
  /// x: 6, y: 2.
  TensorType getInput() { return tensor(f32(), {{"x", 6}, {"y", 2}}); }
  const Values input = {0, 1, 10, 11, 20, 21, 30, 31, 40, 41, 50, 51};

  Value split(ValueBuilder &b, Value x) {
    return b.make<SplitDimOp>(x, "x", names({"q", "r"}),
                              ArrayRef<int64_t>{2, 3});
  }
};

TEST_F(Shape, BroadcastRepeats) {
  TensorType x = tensor(f32(), {{"b", 2}});
  TensorType to = tensor(f32(), {{"a", 2}, {"b", 2}, {"c", 2}});
  Values y = run({x}, {{1, 2}}, [&](ValueBuilder &b, ValueRange x) {
    return b.make<BroadcastOp>(to, x[0]);
  });
  EXPECT_EQ(y, (Values{1, 1, 2, 2, 1, 1, 2, 2}));
  checkGradient({x}, [&](ValueBuilder &b, ValueRange x) {
    return b.make<BroadcastOp>(to, x[0]);
  });
}

TEST_F(Shape, RenameMovesElementsToTheSortedOrder) {
  auto rename = [&](ValueBuilder &b, ValueRange x) {
    return b.make<RenameOp>(x[0], names({"x"}), names({"z"}));
  };
  Values y = run({getInput()}, {input}, rename);
  EXPECT_EQ(y, (Values{0, 10, 20, 30, 40, 50, 1, 11, 21, 31, 41, 51}));
  checkGradient({getInput()}, rename);
}

TEST_F(Shape, RenameSwaps) {
  auto swap = [&](ValueBuilder &b, ValueRange x) {
    return b.make<RenameOp>(x[0], names({"x", "y"}), names({"y", "x"}));
  };
  Values y = run({getInput()}, {input}, swap);
  EXPECT_EQ(y, (Values{0, 10, 20, 30, 40, 50, 1, 11, 21, 31, 41, 51}));
  checkGradient({getInput()}, swap);
}

TEST_F(Shape, SplitIsMajorFirst) {
  Values y = run({getInput()}, {input},
                 [&](ValueBuilder &b, ValueRange x) { return split(b, x[0]); });
  EXPECT_EQ(y, input);
  // The minor dim sorts before the major one.
  auto splitBackwards = [&](ValueBuilder &b, ValueRange x) {
    return b.make<SplitDimOp>(x[0], "x", names({"r", "q"}),
                              ArrayRef<int64_t>{2, 3});
  };
  Values z = run({getInput()}, {input}, splitBackwards);
  EXPECT_EQ(z, (Values{0, 1, 30, 31, 10, 11, 40, 41, 20, 21, 50, 51}));
  checkGradient({getInput()}, splitBackwards);
}

TEST_F(Shape, SplitKeepsTheNameOfADim) {
  Values y = run({getInput()}, {input}, [&](ValueBuilder &b, ValueRange x) {
    return b.make<SplitDimOp>(x[0], "x", names({"x", "z"}),
                              ArrayRef<int64_t>{3, 2});
  });
  EXPECT_EQ(y, (Values{0, 10, 1, 11, 20, 30, 21, 31, 40, 50, 41, 51}));
}

TEST_F(Shape, MergeUndoesSplit) {
  Values y = run({getInput()}, {input}, [&](ValueBuilder &b, ValueRange x) {
    return b.make<MergeDimsOp>(split(b, x[0]), names({"q", "r"}), "x");
  });
  EXPECT_EQ(y, input);
}

TEST_F(Shape, MergeOfDimsThatAreNotNeighbours) {
  auto merge = [&](ValueBuilder &b, ValueRange x) {
    return b.make<MergeDimsOp>(split(b, x[0]), names({"y", "q"}), "m");
  };
  Values y = run({getInput()}, {input}, merge);
  // m = (y, q), then r.
  EXPECT_EQ(y, (Values{0, 10, 20, 30, 40, 50, 1, 11, 21, 31, 41, 51}));
  checkGradient({getInput()}, merge);
}

TEST_F(Shape, OnlyTheMajorPartOfASplitMayBeCut) {
  auto function = makeFunction({getInput()}, [&](auto &b, ValueRange x) {
    return SmallVector<Value>{split(b, x[0])};
  });
  PartitionRule rule =
      cast<NamedOpInterface>(function.getBody().front().front())
          .getPartitionRule();
  ASSERT_EQ(rule.factors.size(), 3u);
  for (const Factor &factor : rule.factors) {
    StringRef name = factor.resultDims[0].getValue();
    if (name == "q") {
      EXPECT_EQ(factor.operandDims[0].getValue(), "x");
      EXPECT_EQ(factor.size, 2);
      EXPECT_EQ(factor.effect, FactorEffect::Parallel);
    } else if (name == "r") {
      EXPECT_EQ(factor.operandDims[0], nullptr);
      EXPECT_EQ(factor.effect, FactorEffect::Whole);
    } else {
      EXPECT_EQ(factor.effect, FactorEffect::Parallel);
    }
  }
}

} // namespace
} // namespace meshc::nd
