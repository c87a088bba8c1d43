//===- ReshardPlanTest.cpp - plans are the cheapest, and found in time ----===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// On small meshes, plans are compared with an exhaustive search that takes
/// axes one by one and in all combinations. On meshes of a dozen axes, where
/// that search does not finish, a plan must exist.
///
//===----------------------------------------------------------------------===//

#include "dialects/Spmd/ReshardPlan.h"
#include "dialects/Spmd/SpmdOps.h"
#include <gtest/gtest.h>
#include <random>
#include <set>

using namespace mlir;
using namespace meshc;
using namespace meshc::spmd;

namespace {

using nd::DimAttr;
using nd::MeshAttr;
using nd::TensorType;

/// Least bytes, then fewest collectives.
using Cost = std::pair<double, unsigned>;

/// The search over single axes and all their combinations.
class Exhaustive {
public:
  Exhaustive(TensorType from, TensorType to, MeshAttr mesh)
      : from(from), to(to), mesh(mesh) {}

  Cost run() {
    best[from] = {0, 0};
    std::set<std::pair<Cost, unsigned>> queue = {{{0, 0}, number(from)}};
    while (!queue.empty()) {
      auto [cost, index] = *queue.begin();
      queue.erase(queue.begin());
      TensorType type = types[index];
      if (type == to)
        return cost;
      if (best.lookup(type) < cost)
        continue;
      here = cost;
      reached.clear();
      expand(type);
      for (auto [next, nextCost] : reached) {
        auto [known, isNew] = best.try_emplace(next, nextCost);
        if (!isNew && known->second <= nextCost)
          continue;
        known->second = nextCost;
        queue.insert({nextCost, number(next)});
      }
    }
    return {INFINITY, 0};
  }

private:
  unsigned number(TensorType type) {
    types.push_back(type);
    return types.size() - 1;
  }

  void reach(TensorType next, std::optional<CollectiveKind> kind,
             ArrayRef<StringAttr> axes, TensorType whole) {
    if (!next)
      return;
    double bytes =
        kind ? getRingBytes(*kind, axes, whole.getLocalBytes(mesh), mesh) : 0;
    reached.push_back({next, {here.first + bytes, here.second + bool(kind)}});
  }

  bool mayHold(DimAttr dim, ArrayRef<StringAttr> axes) const {
    StringRef name = dim.getName().getValue();
    return llvm::all_of(axes, [&](StringAttr axis) {
      return llvm::is_contained(getAxesOf(from, name), axis) ||
             llvm::is_contained(getAxesOf(to, name), axis);
    });
  }

  void expand(TensorType type) {
    AxisList pending;
    for (nd::AxisAttr axis : mesh.getAxes())
      if (llvm::is_contained(type.getPartialAxes(), axis.getName()) &&
          !llvm::is_contained(to.getPartialAxes(), axis.getName()))
        pending.push_back(axis.getName());
    for (unsigned mask = 1; mask < (1u << pending.size()); ++mask) {
      AxisList axes;
      for (unsigned i = 0; i < pending.size(); ++i)
        if (mask >> i & 1)
          axes.push_back(pending[i]);
      TensorType reduced = dropPartial(type, axes);
      reach(reduced, CollectiveKind::AllReduce, axes, type);
      for (DimAttr dim : type.getDims())
        if (mayHold(dim, axes))
          reach(addAxes(reduced, dim.getName().getValue(), axes),
                CollectiveKind::ReduceScatter, axes, type);
    }
    for (DimAttr dim : type.getDims())
      for (size_t count = 1; count <= dim.getAxes().size(); ++count) {
        AxisList axes(dim.getAxes().take_back(count));
        if (!areInMeshOrder(axes, mesh))
          break;
        TensorType gathered = dropAxes(type, dim.getName().getValue(), axes);
        reach(gathered, CollectiveKind::AllGather, axes, gathered);
        for (DimAttr other : type.getDims())
          if (other != dim && mayHold(other, axes))
            reach(addAxes(gathered, other.getName().getValue(), axes),
                  CollectiveKind::AllToAll, axes, type);
      }
    AxisList used = getUsedAxes(type);
    for (DimAttr dim : to.getDims())
      for (StringAttr axis : dim.getAxes())
        if (!llvm::is_contained(used, axis))
          reach(addAxes(type, dim.getName().getValue(), {axis}), {}, {}, {});
  }

  TensorType from, to;
  MeshAttr mesh;
  llvm::DenseMap<TensorType, Cost> best;
  std::vector<TensorType> types;
  Cost here;
  std::vector<std::pair<TensorType, Cost>> reached;
};

class ReshardPlanTest : public testing::Test {
protected:
  ReshardPlanTest() : builder(&context) {
    context.loadDialect<nd::NdDialect, SpmdDialect>();
  }

  int64_t draw(int64_t limit) { return static_cast<int64_t>(random() % limit); }

  MeshAttr makeMesh(ArrayRef<int64_t> sizes) {
    llvm::SmallVector<nd::AxisAttr> axes;
    for (auto [index, size] : llvm::enumerate(sizes))
      axes.push_back(nd::AxisAttr::get(
          &context, builder.getStringAttr("x" + Twine(index)), size));
    return MeshAttr::get(&context, axes);
  }

  DimAttr makeDim(StringRef name, int64_t size, ArrayRef<StringAttr> axes) {
    return DimAttr::get(&context, builder.getStringAttr(name), size, axes);
  }

  /// Each axis on one of the dims, or on none; in the mesh's order or not.
  std::optional<TensorType> drawType(MeshAttr mesh, ArrayRef<int64_t> sizes,
                                     ArrayRef<StringAttr> mayBePartial) {
    AxisList axes, partial;
    for (nd::AxisAttr axis : mesh.getAxes())
      axes.push_back(axis.getName());
    if (draw(3) == 0)
      std::shuffle(axes.begin(), axes.end(), random);
    std::vector<AxisList> ofDim(sizes.size());
    // Neighbours often go to the same place.
    auto place = static_cast<size_t>(draw(sizes.size() + 2));
    for (StringAttr axis : axes) {
      if (draw(2))
        place = static_cast<size_t>(draw(sizes.size() + 2));
      if (place < sizes.size())
        ofDim[place].push_back(axis);
      else if (place == sizes.size() && llvm::is_contained(mayBePartial, axis))
        partial.push_back(axis);
    }
    llvm::SmallVector<DimAttr> dims;
    const char *names[] = {"i", "j", "k"};
    for (auto [index, size] : llvm::enumerate(sizes))
      dims.push_back(makeDim(names[index], size, ofDim[index]));
    return TensorType::get(builder.getF32Type(), dims, nd::ReductionKind::Sum,
                           partial);
  }

  static Cost getCost(const ReshardPlan &plan) {
    auto collectives = llvm::count_if(
        plan.steps, [](const ReshardStep &step) { return !!step.kind; });
    return {plan.bytes, static_cast<unsigned>(collectives)};
  }

  MLIRContext context;
  OpBuilder builder;
  std::mt19937_64 random{20241122};
};

TEST_F(ReshardPlanTest, AsCheapAsAnExhaustiveSearch) {
  unsigned compared = 0, withRuns = 0;
  while (compared < 1500) {
    llvm::SmallVector<int64_t> axisSizes, dimSizes;
    int64_t axes = 1 + draw(5);
    for (int64_t axis = 0; axis < axes; ++axis)
      axisSizes.push_back(draw(4) == 0 ? 3 : 2);
    int64_t dims = 1 + draw(3);
    // Some dims are not divisible by all axes that may cut them.
    constexpr int64_t choices[] = {12, 48, 64, 864, 31104};
    for (int64_t dim = 0; dim < dims; ++dim)
      dimSizes.push_back(choices[draw(5)]);
    MeshAttr mesh = makeMesh(axisSizes);
    AxisList all;
    for (nd::AxisAttr axis : mesh.getAxes())
      all.push_back(axis.getName());
    std::optional<TensorType> from = drawType(mesh, dimSizes, all), to;
    if (from)
      to = drawType(mesh, dimSizes, from->getPartialAxes());
    if (!to)
      continue;
    ++compared;
    ReshardPlanner planner(mesh);
    const ReshardPlan &plan = planner.plan(*from, *to);
    withRuns += llvm::any_of(plan.steps, [](const ReshardStep &step) {
      return step.axes.size() > 1;
    });
    Cost found = getCost(plan), wanted = Exhaustive(*from, *to, mesh).run();
    std::string pair;
    llvm::raw_string_ostream(pair) << mesh << ": " << *from << " to " << *to;
    ASSERT_NEAR(found.first, wanted.first, 1e-9 * (1 + wanted.first)) << pair;
    // Equal bytes, rounded differently, may hide a plan of fewer collectives
    // from the exhaustive search.
    ASSERT_LE(found.second, wanted.second) << pair;
  }
  EXPECT_GT(withRuns, 200u);
}

TEST_F(ReshardPlanTest, TwelveAxes) {
  llvm::SmallVector<int64_t> sizes(12, 2);
  MeshAttr mesh = makeMesh(sizes);
  AxisList all;
  for (nd::AxisAttr axis : mesh.getAxes())
    all.push_back(axis.getName());
  ArrayRef<StringAttr> first = ArrayRef(all).take_front(6);
  ArrayRef<StringAttr> second = ArrayRef(all).drop_front(6);
  auto make = [&](ArrayRef<StringAttr> ofI, ArrayRef<StringAttr> ofJ,
                  ArrayRef<StringAttr> partial = {}) {
    return TensorType::get(builder.getF32Type(),
                           {makeDim("i", 4096, ofI), makeDim("j", 4096, ofJ)},
                           nd::ReductionKind::Sum, partial);
  };
  ReshardPlanner planner(mesh);
  double block = 4 * 4096 * 64; // bytes of a tensor that six axes cut
  const ReshardPlan &gather =
      planner.plan(make(first, second), make(first, {}));
  EXPECT_EQ(getCost(gather), Cost(block * 63 / 64, 1));
  const ReshardPlan &reduce =
      planner.plan(make(first, {}, second), make(first, second));
  EXPECT_EQ(getCost(reduce), Cost(block * 63 / 64, 1));
  const ReshardPlan &swap =
      planner.plan(make(first, second), make(second, first));
  EXPECT_TRUE(!swap.steps.empty() &&
              swap.steps.back().result == make(second, first));
  // Every axis for itself: the search gives up, and there is a plan.
  AxisList firstBack(llvm::reverse(first)), secondBack(llvm::reverse(second));
  const ReshardPlan &back =
      planner.plan(make(first, second), make(secondBack, firstBack));
  EXPECT_TRUE(!back.steps.empty() &&
              back.steps.back().result == make(secondBack, firstBack));
}

} // namespace
