//===- SortingTest.cpp - the order of entries along a dim -----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientCheck.h"
#include "dialects/Nd/Ops/IndexingOps.h"
#include "dialects/Nd/Ops/ModelOps.h"
#include "dialects/Nd/Ops/SortingOps.h"
#include "dialects/Nd/TensorAttributes.h"
#include <numeric>

using namespace mlir;

namespace meshc::nd {
namespace {

class Sorting : public GradientCheck {
protected:
  static auto argsort(StringRef dim, int64_t count, bool descending = false) {
    return [=](ValueBuilder &b, ValueRange x) {
      return b.make<ArgsortOp>(x[0], dim, "k", count, descending);
    };
  }
  static auto topK(StringRef dim, int64_t count) {
    return [=](ValueBuilder &b, ValueRange x) {
      return b.make<TopKOp>(x[0], dim, "k", count);
    };
  }
  /// Dim n is cut over these axes.
  void setAxes(ArrayRef<int64_t> axes) {
    SmallVector<AxisAttr> mesh;
    SmallVector<Attribute> names;
    for (auto [i, size] : llvm::enumerate(axes)) {
      names.push_back(builder.getStringAttr("a" + std::to_string(i)));
      mesh.push_back(
          AxisAttr::get(&context, cast<StringAttr>(names.back()), size));
    }
    setMesh(*module, MeshAttr::get(&context, mesh));
    for (auto rule : llvm::make_early_inc_range(module->getOps<RuleOp>()))
      rule.erase();
    auto at = OpBuilder::atBlockBegin(module->getBody());
    RuleOp::create(at, at.getUnknownLoc(), nullptr, builder.getStringAttr("n"),
                   builder.getArrayAttr(names), nullptr, nullptr);
  }
};

/// A sort costs more than to read and write its rows, so that no loop computes
/// it again, and to choose few entries costs less than to sort all.
TEST_F(Sorting, Cost) {
  auto getCost = [&](int64_t count) {
    OpCost cost;
    makeFunction({tensor(f32(), {{"r", 3}, {"n", 1024}})},
                 [&](ValueBuilder &b, ValueRange x) {
                   Value y = argsort("n", count)(b, x);
                   cost = y.getDefiningOp<ArgsortOp>().getCost();
                   return SmallVector<Value>{y};
                 });
    return cost;
  };
  EXPECT_EQ(getCost(1024).flops, 128 * 3 * (512 + 1024 * 10));
  EXPECT_EQ(getCost(1024).bytes, 2 * 4 * 3 * 1024);
  EXPECT_EQ(getCost(1).flops, 128 * 3 * 512);
  EXPECT_FALSE(isCheaperThanMemory(getCost(1024), getCost(1024).bytes));
}

// torch.sort(x, stable=True) of PyTorch 2.15 has the same indices.
TEST_F(Sorting, OrdersBothWays) {
  TensorType row = tensor(f32(), {{"n", 7}});
  double nan = std::nan(""), inf = INFINITY;
  Values x = {3, nan, -0.0, 0, -inf, 3, inf};
  EXPECT_EQ(run({row}, {x}, argsort("n", 7)), (Values{4, 2, 3, 0, 5, 6, 1}));
  EXPECT_EQ(run({row}, {x}, argsort("n", 7, true)),
            (Values{1, 6, 0, 5, 2, 3, 4}));
  EXPECT_EQ(run({row}, {x}, argsort("n", 3)), (Values{4, 2, 3}));
  EXPECT_EQ(run({row}, {x}, topK("n", 4)), (Values{1, 6, 0, 5}));
}

TEST_F(Sorting, OtherDimsTellRowsApart) {
  // Dims are stored by name: "b", "k", "n", "z".
  TensorType type =
      tensor(builder.getI32Type(), {{"n", 3}, {"b", 2}, {"z", 2}});
  Values x = {1, 6, 2, 5, 3, 4, 9, 7, 8, 8, 7, 9};
  EXPECT_EQ(run({type}, {x}, topK("n", 2)), (Values{2, 0, 1, 1, 0, 2, 1, 1}));
}

/// Values and gradients as PyTorch 2.15 computes them: those of
/// (values * g).sum(), for torch.topk(x, 3), g = [[1, 2, 3], [4, 5, 6]], and
/// for torch.sort(x), g = [[1, …, 5], [6, …, 10]].
TEST_F(Sorting, AgreesWithPyTorch) {
  TensorType type = tensor(f32(), {{"b", 2}, {"n", 5}});
  Values x = {0.5, -1.25, 2, 0.75, -0.5, 1.5, 3, -2, 0.25, 2.5};
  auto runBoth = [&](int64_t count, auto order, Values g) {
    TensorType chosen = tensor(f32(), {{"b", 2}, {"k", count}});
    auto values = [&](ValueBuilder &b, ValueRange x) {
      return b.make<GatherOp>(x[0], order(b, x), "n");
    };
    auto gradient = [&](ValueBuilder &b, ValueRange x) {
      return b.make<ScatterAddOp>(type, x[1], order(b, x), "n");
    };
    return std::pair(run({type}, {x}, values),
                     run({type, chosen}, {x, g}, gradient));
  };
  auto [largest, toLargest] = runBoth(3, topK("n", 3), {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(largest, (Values{2, 0.75, 0.5, 3, 2.5, 1.5}));
  EXPECT_EQ(toLargest, (Values{3, 0, 1, 2, 0, 6, 4, 0, 0, 5}));
  auto [sorted, toSorted] =
      runBoth(5, argsort("n", 5), {1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  EXPECT_EQ(sorted, (Values{-1.25, -0.5, 0.5, 0.75, 2, -2, 0.25, 1.5, 2.5, 3}));
  EXPECT_EQ(toSorted, (Values{3, 1, 5, 4, 2, 8, 10, 6, 7, 9}));
}

/// Values are entries at the indices: their gradient goes to their places.
TEST_F(Sorting, Gradients) {
  TensorType type = tensor(f32(), {{"b", 2}, {"n", 5}, {"z", 3}});
  for (StringRef dim : {"b", "n", "z"}) {
    int64_t size = type.getSize(dim);
    checkGradient({type}, [&](ValueBuilder &b, ValueRange x) {
      return b.make<GatherOp>(x[0], argsort(dim, size)(b, x), dim);
    });
    checkGradient({type}, [&](ValueBuilder &b, ValueRange x) {
      return b.make<GatherOp>(x[0], topK(dim, size - 1)(b, x), dim);
    });
  }
}

/// What ranks choose of blocks and choose again; many entries are equal, and
/// some NaN.
TEST_F(Sorting, BlocksChooseTheSame) {
  auto check = [&](int64_t size, int64_t count, ArrayRef<int64_t> axes) {
    SCOPED_TRACE(std::to_string(count) + " of " + std::to_string(size));
    setAxes(axes);
    Values input = randomValues(2 * size);
    for (double &value : input)
      value = value > 1.8 ? std::nan("") : std::floor(2 * value);
    checkDecomposition({tensor(f32(), {{"n", size}, {"z", 2}})},
                       [&](ValueBuilder &b, ValueRange x) {
                         return SmallVector<Value>{topK("n", count)(b, x)};
                       },
                       {input});
  };
  for (int64_t count : {1, 2, 3, 5, 11, 12})
    check(12, count, {2, 2});
  check(12, 2, {4, 6});
  check(7, 3, {7});
  check(7, 3, {2});
  check(60, 7, {2, 4, 3});
}

} // namespace
} // namespace meshc::nd
