//===- AffineIndexTest.cpp - which indices are affine ---------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NdTest.h"
#include "dialects/Nd/Ops/IndexOverlap.h"
#include "dialects/Nd/Ops/IndexingOps.h"
#include "dialects/Nd/Ops/LoopOps.h"
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/Ops/ShapeOps.h"
#include "dialects/Nd/Ops/SourceOps.h"

using namespace mlir;
using namespace meshc::nd;

namespace {

class AffineIndexTest : public NdTest {
protected:
  /// The value that `body` builds, in a function that stays.
  Value build(llvm::function_ref<Value(ValueBuilder &, Value)> body) {
    Value built;
    makeFunction({tensor(i32(), {{"line", 8}})},
                 [&](ValueBuilder &b, ValueRange x) {
                   built = body(b, x[0]);
                   return SmallVector<Value>{built};
                 });
    return built;
  }

  Value iota(ValueBuilder &b, StringRef dim, int64_t size) {
    return b.make<IotaOp>(tensor(i32(), {{dim, size}}));
  }
  Value number(ValueBuilder &b, int64_t value) {
    return b.make<ConstantOp>(tensor(i32()), double(value));
  }

  /// "constant + step dim + …", dims in the order of the alphabet; "none".
  std::string describe(Value value) {
    auto index = findAffineIndex(value);
    if (!index)
      return "none";
    llvm::sort(index->steps, [](auto &a, auto &b) {
      return a.first.getValue() < b.first.getValue();
    });
    std::string text = std::to_string(index->constant);
    for (auto [dim, step] : index->steps)
      text += " + " + std::to_string(step) + " " + dim.str();
    return text;
  }
};

TEST_F(AffineIndexTest, SumsAndProductsOfIotasAreAffine) {
  // 3 · line + 2 · tap - 1 - line
  EXPECT_EQ(describe(build([&](ValueBuilder &b, Value) {
              Value line = iota(b, "line", 8);
              Value sum =
                  b.make<AddOp>(b.make<MulOp>(number(b, 3), line),
                                b.make<MulOp>(iota(b, "tap", 5), number(b, 2)));
              return b.make<SubOp>(b.make<SubOp>(sum, number(b, 1)), line);
            })),
            "-1 + 2 line + 2 tap");
  // What cancels out is no step.
  EXPECT_EQ(describe(build([&](ValueBuilder &b, Value) {
              return b.make<SubOp>(iota(b, "line", 8), iota(b, "line", 8));
            })),
            "0");
  EXPECT_EQ(describe(build([&](ValueBuilder &b, Value) {
              Value line = iota(b, "line", 8);
              Value both = b.make<BroadcastOp>(
                  tensor(i32(), {{"line", 8}, {"tap", 5}}), line);
              return b.make<RenameOp>(both, names({"line", "tap"}),
                                      names({"tap", "line"}));
            })),
            "0 + 1 tap");
}

TEST_F(AffineIndexTest, OthersAreNot) {
  EXPECT_EQ(describe(build([&](ValueBuilder &, Value x) { return x; })),
            "none");
  EXPECT_EQ(describe(build([&](ValueBuilder &b, Value) {
              return b.make<MulOp>(iota(b, "line", 8), iota(b, "tap", 5));
            })),
            "none");
  EXPECT_EQ(describe(build([&](ValueBuilder &b, Value) {
              return b.make<DivOp>(iota(b, "line", 8), number(b, 2));
            })),
            "none");
  EXPECT_EQ(describe(build([&](ValueBuilder &b, Value) {
              return b.make<IotaOp>(tensor(f32(), {{"line", 8}}));
            })),
            "none");
}

/// What 32 bits do not hold wraps around, and so is not affine.
TEST_F(AffineIndexTest, OverflowIsNot) {
  auto multiply = [&](int64_t factor, int times) {
    return describe(build([&](ValueBuilder &b, Value) {
      Value product = iota(b, "line", 8);
      for (int i = 0; i < times; ++i)
        product = b.make<MulOp>(product, number(b, factor));
      return product;
    }));
  };
  EXPECT_EQ(multiply(306783378, 1), "0 + 306783378 line");
  EXPECT_EQ(multiply(306783379, 1), "none");
  EXPECT_EQ(multiply(-306783378, 1), "0 + -306783378 line");
  EXPECT_EQ(multiply(1 << 30, 40), "none");
}

/// A value with 2^40 paths to its iota takes no time.
TEST_F(AffineIndexTest, LargeExpressionsAreNotFollowed) {
  EXPECT_EQ(describe(build([&](ValueBuilder &b, Value) {
              Value sum = iota(b, "line", 8);
              for (int i = 0; i < 40; ++i)
                sum = b.make<SubOp>(sum, sum);
              return sum;
            })),
            "none");
}

/// Loops pass on what they take whole, and nothing that changes.
TEST_F(AffineIndexTest, LoopsPassOnWhole) {
  SmallVector<Value> inside;
  build([&](ValueBuilder &b, Value x) {
    Value line = iota(b, "line", 8);
    auto loop = ScanOp::create(builder, builder.getUnknownLoc(), "n", 3, false,
                               x, ValueRange{}, line);
    Block &body = loop.getBlock();
    inside = {body.getArgument(0), body.getArgument(1)};
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(&body);
    YieldOp::create(builder, builder.getUnknownLoc(), body.getArgument(1));
    return loop.getResult(0);
  });
  EXPECT_EQ(describe(inside[0]), "none");
  EXPECT_EQ(describe(inside[1]), "0 + 1 line");
}

/// The overlap is along the dim of the largest growth that the table lacks.
TEST_F(AffineIndexTest, OverlapsOfWindows) {
  Value indices = build([&](ValueBuilder &b, Value) {
    Value sum = b.make<AddOp>(b.make<MulOp>(iota(b, "line", 8), number(b, 2)),
                              iota(b, "tap", 5));
    return b.make<SubOp>(sum, number(b, 2));
  });
  auto describeOverlap = [&](Dims dims) -> std::string {
    auto found = findOverlap(indices, tensor(f32(), dims), "row");
    if (!found)
      return "none";
    const Access &windows = found->windows;
    return found->line.str() + " " + std::to_string(windows.stride) + " " +
           std::to_string(windows.low) + " " + std::to_string(windows.high);
  };
  EXPECT_EQ(describeOverlap({{"row", 16}}), "line 2 -2 2");
  EXPECT_EQ(describeOverlap({{"row", 16}, {"line", 8}}), "tap 1 -2 12");
  EXPECT_EQ(describeOverlap({{"row", 16}, {"line", 8}, {"tap", 5}}), "none");
  // All indices are beyond the table.
  Value beyond = build([&](ValueBuilder &b, Value) {
    return b.make<AddOp>(iota(b, "line", 8), number(b, 16));
  });
  EXPECT_FALSE(findOverlap(beyond, tensor(f32(), {{"row", 16}}), "row"));
  EXPECT_TRUE(findOverlap(beyond, tensor(f32(), {{"row", 17}}), "row"));
}

} // namespace
