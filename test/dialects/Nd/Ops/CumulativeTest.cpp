//===- CumulativeTest.cpp - sums of all entries before each entry ---------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientCheck.h"
#include "dialects/Nd/Ops/CumulativeOps.h"
#include "dialects/Nd/TensorAttributes.h"

using namespace mlir;

namespace meshc::nd {
namespace {

class Cumulative : public GradientCheck {
protected:
  template <typename Op>
  static auto sums(StringRef dim, bool exclusive, bool backwards) {
    return [=](ValueBuilder &b, ValueRange x) {
      return b.make<Op>(x[0], dim, exclusive, backwards);
    };
  }
  template <typename Op> void checkDirections() {
    TensorType row = tensor(f32(), {{"n", 4}});
    auto get = [&](bool exclusive, bool backwards) {
      return run({row}, {{1, 2, 4, 8}}, sums<Op>("n", exclusive, backwards));
    };
    EXPECT_EQ(get(false, false), (Values{1, 3, 7, 15}));
    EXPECT_EQ(get(true, false), (Values{0, 1, 3, 7}));
    EXPECT_EQ(get(false, true), (Values{15, 14, 12, 8}));
    EXPECT_EQ(get(true, true), (Values{14, 12, 8, 0}));
  }
};

TEST_F(Cumulative, SumsInBothDirections) {
  checkDirections<CumsumOp>();
  checkDirections<PrefixSumOp>();
}

TEST_F(Cumulative, OtherDimsTellRowsApart) {
  // Dims are stored by name: "b", "n", "z".
  TensorType type = tensor(f32(), {{"n", 2}, {"b", 2}, {"z", 2}});
  EXPECT_EQ(run({type}, {{1, 2, 3, 4, 5, 6, 7, 8}},
                sums<CumsumOp>("n", false, false)),
            (Values{1, 2, 4, 6, 5, 6, 12, 14}));
}

TEST_F(Cumulative, IntegersWrapAround) {
  TensorType type = tensor(builder.getI32Type(), {{"n", 3}});
  EXPECT_EQ(
      run({type}, {{2147483647, 1, 1}}, sums<CumsumOp>("n", false, false)),
      (Values{2147483647, -2147483648.0, -2147483647}));
}

/// One more is not seen after 256 of them in bf16.
TEST_F(Cumulative, ShortFloatsAreSummedInF32) {
  TensorType type = tensor(builder.getBF16Type(), {{"n", 512}});
  Values sums =
      run({type}, {Values(512, 1.0)}, this->sums<CumsumOp>("n", false, false));
  EXPECT_EQ(sums[511], 512);
  checkDecomposition({type}, [&](ValueBuilder &b, ValueRange x) {
    return SmallVector<Value>{b.make<CumsumOp>(x[0], "n", false, false)};
  });
}

TEST_F(Cumulative, Gradients) {
  TensorType type = tensor(f32(), {{"b", 2}, {"n", 5}, {"z", 3}});
  for (StringRef dim : {"b", "n", "z"})
    for (bool exclusive : {false, true})
      for (bool backwards : {false, true}) {
        checkGradient({type}, sums<CumsumOp>(dim, exclusive, backwards));
        checkGradient({type}, sums<PrefixSumOp>(dim, exclusive, backwards));
      }
}

/// Long rows, and rows that ranks may share, are summed in blocks.
TEST_F(Cumulative, BlocksHaveTheSameSums) {
  auto check = [&](int64_t size, ArrayRef<int64_t> axes) {
    SmallVector<AxisAttr> mesh;
    for (auto [i, size] : llvm::enumerate(axes))
      mesh.push_back(AxisAttr::get(
          &context, builder.getStringAttr("a" + std::to_string(i)), size));
    setMesh(*module, MeshAttr::get(&context, mesh));
    for (Type type : {Type(f32()), Type(builder.getI32Type())})
      for (bool exclusive : {false, true})
        for (bool backwards : {false, true}) {
          SCOPED_TRACE(size);
          Values input = randomValues(2 * size);
          if (type.isInteger(32))
            for (double &value : input)
              value = std::floor(value);
          checkDecomposition(
              {tensor(type, {{"n", size}, {"z", 2}})},
              [&](ValueBuilder &b, ValueRange x) {
                return SmallVector<Value>{
                    b.make<CumsumOp>(x[0], "n", exclusive, backwards)};
              },
              {input}, 1e-4);
        }
  };
  check(12, {2, 2});
  check(12, {4, 6});
  check(7, {7});
  check(2310, {});
  check(2048, {2, 4});
}

} // namespace
} // namespace meshc::nd
