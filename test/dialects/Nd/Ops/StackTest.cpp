//===- StackTest.cpp - entries of a tensor, apart and together ------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientCheck.h"
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/Ops/StackOps.h"

using namespace mlir;

namespace meshc::nd {
namespace {

class Stack : public GradientCheck {
protected:
  /// n: 3, y: 2; the scanned dim is stored first or last by its name.
  TensorType getInput(StringRef dim) {
    return tensor(f32(), {{dim, 3}, {"y", 2}});
  }
};

TEST_F(Stack, EntryTakesOneAndDropsTheDim) {
  auto take = [&](StringRef dim, int64_t index = 1) {
    return [dim, index](ValueBuilder &b, ValueRange x) {
      return b.make<EntryOp>(x[0], dim, index);
    };
  };
  // Dims are stored by name: "n" before "y", "z" after it.
  EXPECT_EQ(run({getInput("n")}, {{0, 1, 10, 11, 20, 21}}, take("n")),
            (Values{10, 11}));
  EXPECT_EQ(run({getInput("z")}, {{0, 10, 20, 1, 11, 21}}, take("z")),
            (Values{10, 11}));
  for (int64_t index : {0, 1, 2}) {
    checkGradient({getInput("n")}, take("n", index));
    checkGradient({getInput("z")}, take("z", index));
  }
  checkGradient({tensor(f32(), {{"n", 3}})}, take("n"));
  checkGradient({tensor(f32(), {{"n", 1}, {"y", 2}})}, take("n", 0));
}

TEST_F(Stack, StackPutsEntriesAlongANewDim) {
  TensorType entry = tensor(f32(), {{"y", 2}});
  auto stack = [&](StringRef dim) {
    return [dim](ValueBuilder &b, ValueRange x) {
      return b.make<StackOp>(x, dim);
    };
  };
  std::vector<Values> inputs = {{0, 1}, {10, 11}, {20, 21}};
  EXPECT_EQ(run({entry, entry, entry}, inputs, stack("n")),
            (Values{0, 1, 10, 11, 20, 21}));
  EXPECT_EQ(run({entry, entry, entry}, inputs, stack("z")),
            (Values{0, 10, 20, 1, 11, 21}));
  checkGradient({entry, entry, entry}, stack("z"));
}

TEST_F(Stack, UnstackIsTheInverse) {
  Values input = {0, 10, 20, 1, 11, 21};
  auto both = [&](ValueBuilder &b, ValueRange x) {
    auto entries =
        UnstackOp::create(builder, builder.getUnknownLoc(), x[0], "z");
    return b.make<StackOp>(entries.getResults(), "z");
  };
  EXPECT_EQ(run({getInput("z")}, {input}, both), input);
  checkGradient({getInput("z")}, both);
}

TEST_F(Stack, UnusedEntriesHaveZeroGradients) {
  checkGradient({getInput("n")}, [&](ValueBuilder &b, ValueRange x) {
    auto entries =
        UnstackOp::create(builder, builder.getUnknownLoc(), x[0], "n");
    return b.make<MulOp>(entries.getResult(0), entries.getResult(2));
  });
}

} // namespace
} // namespace meshc::nd
