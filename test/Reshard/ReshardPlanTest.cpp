//===- ReshardPlanTest.cpp - plans are the cheapest, and found in time ----===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// On meshes of up to three axes, plans are compared with an exhaustive search
/// that takes axes one by one and in all combinations, and lets blocks change
/// places in all ways. On meshes of a dozen axes, where that search does not
/// finish, bytes are compared with a lower bound.
///
//===----------------------------------------------------------------------===//

#include "lib/Reshard/ReshardPlan.h"
#include "dialects/Spmd/SpmdOps.h"
#include "lib/Reshard/ReshardBound.h"
#include <array>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <set>

using namespace mlir;
using namespace meshc;
using namespace meshc::reshard;
using namespace meshc::spmd;

namespace {

using nd::DimAttr;
using nd::MeshAttr;
using nd::TensorType;

/// Least bytes, then fewest collectives.
using Cost = std::pair<double, unsigned>;

constexpr double infinite = std::numeric_limits<double>::infinity();

/// The search over single axes and all their combinations.
class Exhaustive {
public:
  /// `detours`: an axis may cut any dim, not only those of `from` and `to`.
  Exhaustive(TensorType from, TensorType to, MeshAttr mesh, bool permutes,
             bool detours)
      : from(from), to(to), mesh(mesh), permutes(permutes), detours(detours) {}

  /// Of plans whose steps have at most `bound` bytes of input and output;
  /// infinite if there is none. `beyond` becomes the least sum of a step that
  /// was left out.
  Cost run(double bound) {
    best = {{from, {0, 0}}};
    memoryBound = bound;
    beyond = infinite;
    std::set<std::pair<Cost, unsigned>> queue = {{{0, 0}, number(from)}};
    while (!queue.empty()) {
      auto [cost, index] = *queue.begin();
      queue.erase(queue.begin());
      TensorType type = types[index];
      if (type == to)
        return cost;
      if (best.lookup(type) < cost)
        continue;
      here = {type, cost};
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
    return {infinite, 0};
  }
  double beyond = infinite;

private:
  using Blocks = std::vector<std::pair<int64_t, int64_t>>;

  unsigned number(TensorType type) {
    types.push_back(type);
    return types.size() - 1;
  }

  void reach(TensorType next, std::optional<CollectiveKind> kind,
             ArrayRef<StringAttr> axes, TensorType whole) {
    if (!next)
      return;
    double memory = here.first.getLocalBytes(mesh) + next.getLocalBytes(mesh);
    if (memory > memoryBound) {
      beyond = std::min(beyond, memory);
      return;
    }
    double bytes =
        kind ? getRingBytes(*kind, axes, whole.getLocalBytes(mesh), mesh) : 0;
    Cost cost = here.second;
    reached.push_back({next, {cost.first + bytes, cost.second + bool(kind)}});
  }

  bool mayHold(DimAttr dim, ArrayRef<StringAttr> axes) const {
    StringRef name = dim.getName().getValue();
    return detours || llvm::all_of(axes, [&](StringAttr axis) {
             return llvm::is_contained(getAxesOf(from, name), axis) ||
                    llvm::is_contained(getAxesOf(to, name), axis);
           });
  }

  /// All that are not empty, each in the order of `axes`.
  static std::vector<AxisList> getSubsets(ArrayRef<StringAttr> axes) {
    std::vector<AxisList> subsets;
    for (unsigned mask = 1; mask < (1u << axes.size()); ++mask) {
      AxisList &subset = subsets.emplace_back();
      for (unsigned i = 0; i < axes.size(); ++i)
        if (mask >> i & 1)
          subset.push_back(axes[i]);
    }
    return subsets;
  }

  void expand(TensorType type) {
    AxisList pending;
    for (nd::AxisAttr axis : mesh.getAxes())
      if (llvm::is_contained(type.getPartialAxes(), axis.getName()) &&
          !llvm::is_contained(to.getPartialAxes(), axis.getName()))
        pending.push_back(axis.getName());
    for (const AxisList &axes : getSubsets(pending)) {
      TensorType reduced = endSums(type, axes, to);
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
    for (DimAttr dim : to.getDims()) {
      AxisList free;
      for (StringAttr axis : dim.getAxes())
        if (!llvm::is_contained(used, axis))
          free.push_back(axis);
      for (const AxisList &axes : getSubsets(free))
        reach(addAxes(type, dim.getName().getValue(), axes), {}, {}, {});
    }
    if (permutes)
      permute(type);
  }

  /// Every sharding, one axis after the other.
  void listShardings(TensorType type) {
    if (blocksOf.contains(type))
      return;
    std::vector<Blocks> blocks;
    for (DimAttr dim : type.getDims())
      blocks.push_back(getBlocks(dim));
    blocksOf[type] = blocks;
    for (DimAttr dim : type.getDims())
      for (nd::AxisAttr axis : mesh.getAxes())
        if (mayHold(dim, {axis.getName()}))
          if (TensorType cut =
                  addAxes(type, dim.getName().getValue(), {axis.getName()}))
            listShardings(cut);
  }

  /// To those whose blocks are those of `type`.
  void permute(TensorType type) {
    Type elements = from.getElementType();
    if (blocksOf.empty())
      listShardings(type.getGlobal().withElementType(elements));
    TensorType cuts =
        type.withPartial(type.getPartialKind(), {}).withElementType(elements);
    for (const auto &[next, blocks] : blocksOf)
      if (next != cuts && blocks == blocksOf[cuts] &&
          llvm::none_of(type.getPartialAxes(), [&](StringAttr axis) {
            return llvm::is_contained(getUsedAxes(next), axis);
          }))
        reach(next.withPartial(type.getPartialKind(), type.getPartialAxes())
                  .withElementType(type.getElementType()),
              CollectiveKind::Permute, {mesh.getAxes()[0].getName()}, type);
  }

  /// The first entry and the end of each block of a dim, in their order.
  Blocks getBlocks(DimAttr dim) const {
    Blocks blocks = {{0, dim.getSize()}};
    int64_t step = dim.getSize();
    for (StringAttr axis : dim.getAxes()) {
      int64_t size = mesh.getAxisSize(axis);
      step = (step + size - 1) / size;
      Blocks cut;
      for (auto [first, end] : blocks)
        for (int64_t i = 0; i < size; ++i)
          cut.push_back({std::min(end, first + i * step),
                         std::min(end, first + (i + 1) * step)});
      blocks = cut;
    }
    return blocks;
  }
  TensorType from, to;
  MeshAttr mesh;
  bool permutes, detours;
  double memoryBound = infinite;
  llvm::DenseMap<TensorType, Cost> best;
  /// Of each sharding the blocks of its dims.
  llvm::DenseMap<TensorType, std::vector<Blocks>> blocksOf;
  std::vector<TensorType> types;
  std::pair<TensorType, Cost> here;
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
  TensorType drawType(MeshAttr mesh, ArrayRef<int64_t> sizes,
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

  static AxisList getAxes(MeshAttr mesh) {
    return llvm::map_to_vector(
        mesh.getAxes(), [](nd::AxisAttr axis) { return axis.getName(); });
  }

  struct Drawn;
  Drawn drawPair(int64_t axes);
  static void expectCheapest(const Drawn &drawn, std::optional<double> bound);

  static Cost getCost(const ReshardPlan &plan) {
    auto collectives = llvm::count_if(
        plan.steps, [](const ReshardStep &step) { return !!step.kind; });
    return {plan.bytes, static_cast<unsigned>(collectives)};
  }

  MLIRContext context;
  OpBuilder builder;
  std::mt19937_64 random{20241122};
};

/// Meshes, tensors and two shardings.
struct ReshardPlanTest::Drawn {
  MeshAttr mesh;
  TensorType from, to;
  std::string text() const {
    std::string text;
    llvm::raw_string_ostream(text) << mesh << ": " << from << " to " << to;
    return text;
  }
};

ReshardPlanTest::Drawn ReshardPlanTest::drawPair(int64_t axes) {
  llvm::SmallVector<int64_t> axisSizes, dimSizes;
  for (int64_t axis = 0; axis < axes; ++axis)
    axisSizes.push_back(draw(4) == 0 ? 2 + draw(4) : 2);
  int64_t dims = 1 + draw(3);
  // Some dims are not divisible by all axes that may cut them.
  constexpr int64_t choices[] = {12, 25, 48, 64, 864, 31104};
  for (int64_t dim = 0; dim < dims; ++dim)
    dimSizes.push_back(choices[draw(6)]);
  Drawn drawn;
  drawn.mesh = makeMesh(axisSizes);
  AxisList all = getAxes(drawn.mesh);
  drawn.from = drawType(drawn.mesh, dimSizes, all);
  drawn.to = drawType(drawn.mesh, dimSizes, drawn.from.getPartialAxes());
  AxisList kept; // in their order
  for (StringAttr axis : drawn.from.getPartialAxes())
    if (llvm::is_contained(drawn.to.getPartialAxes(), axis))
      kept.push_back(axis);
  drawn.to = drawn.to.withPartial(nd::ReductionKind::Sum, kept);
  // Of f32, and rounded to 16 bits where it ends.
  if (mayRound(drawn.from, drawn.to.withElementType(builder.getBF16Type())) &&
      draw(2))
    drawn.to = drawn.to.withElementType(builder.getBF16Type());
  return drawn;
}

void ReshardPlanTest::expectCheapest(const Drawn &drawn,
                                     std::optional<double> bound) {
  ReshardPlanner planner(drawn.mesh, bound);
  const ReshardPlan &plan = planner.plan(drawn.from, drawn.to);
  Exhaustive exhaustive(drawn.from, drawn.to, drawn.mesh, true, true);
  double limit =
      bound.value_or(2 * std::max(drawn.from.getLocalBytes(drawn.mesh),
                                  drawn.to.getLocalBytes(drawn.mesh)));
  Cost wanted = exhaustive.run(limit);
  // The least memory that suffices.
  while (wanted.first == infinite) {
    limit = exhaustive.beyond;
    ASSERT_LT(limit, infinite) << drawn.text();
    wanted = exhaustive.run(limit);
  }
  Cost found = getCost(plan);
  EXPECT_NEAR(found.first, wanted.first, 1e-9 * (1 + wanted.first))
      << drawn.text();
  // A detour must send less; fewer collectives do not count. Equal bytes,
  // rounded differently, may hide a plan of fewer collectives from the
  // exhaustive search.
  Cost straight =
      Exhaustive(drawn.from, drawn.to, drawn.mesh, true, false).run(limit);
  if (straight.first <= wanted.first + 1e-9 * (1 + wanted.first))
    EXPECT_LE(found.second, straight.second) << drawn.text();
  EXPECT_LE(plan.peak, limit) << drawn.text();
}

/// On up to three axes, whatever the memory bound.
TEST_F(ReshardPlanTest, AsCheapAsAnExhaustiveSearch) {
  for (int trial = 0; trial < 5000 && !HasFailure(); ++trial) {
    Drawn drawn = drawPair(1 + draw(3));
    expectCheapest(drawn, std::nullopt);
    expectCheapest(drawn, infinite);
    double larger = std::max(drawn.from.getLocalBytes(drawn.mesh),
                             drawn.to.getLocalBytes(drawn.mesh));
    expectCheapest(drawn, larger * static_cast<double>(draw(8)) / 2);
  }
}

/// Every sharding of a tensor of three dims to every other one.
TEST_F(ReshardPlanTest, AllReshardsOnThreeAxes) {
  Drawn drawn;
  drawn.mesh = makeMesh({2, 4, 2});
  AxisList all = getAxes(drawn.mesh);
  std::vector<TensorType> types;
  std::set<const void *> known;
  auto add = [&](auto &&self, TensorType type) -> void {
    if (!known.insert(type.getAsOpaquePointer()).second)
      return;
    types.push_back(type);
    for (DimAttr dim : type.getDims())
      for (StringAttr axis : all)
        if (TensorType cut = addAxes(type, dim.getName().getValue(), {axis}))
          self(self, cut);
  };
  add(add, TensorType::get(builder.getF32Type(),
                           {makeDim("i", 16, {}), makeDim("j", 48, {}),
                            makeDim("k", 80, {})},
                           nd::ReductionKind::Sum, {}));
  ASSERT_EQ(types.size(), 106u);
  for (TensorType from : types)
    for (TensorType to : types) {
      drawn.from = from;
      drawn.to = to;
      if (!HasFailure())
        expectCheapest(drawn, std::nullopt);
    }
}

/// On more axes, plans are no worse than those of all single axes without
/// permutes.
TEST_F(ReshardPlanTest, NoDearerThanWithoutPermutes) {
  unsigned withRuns = 0, withPermutes = 0;
  for (int trial = 0; trial < 800; ++trial) {
    Drawn drawn = drawPair(4 + draw(2));
    ReshardPlanner planner(drawn.mesh, infinite);
    const ReshardPlan &plan = planner.plan(drawn.from, drawn.to);
    withRuns += llvm::any_of(plan.steps, [](const ReshardStep &step) {
      return step.axes.size() > 1;
    });
    withPermutes += llvm::any_of(plan.steps, [](const ReshardStep &step) {
      return step.kind == CollectiveKind::Permute;
    });
    Cost found = getCost(plan);
    Cost wanted = Exhaustive(drawn.from, drawn.to, drawn.mesh, false, false)
                      .run(infinite);
    ASSERT_LE(found.first, wanted.first + 1e-9 * (1 + wanted.first))
        << drawn.text();
    if (found.first > wanted.first - 1)
      ASSERT_LE(found.second, wanted.second) << drawn.text();
  }
  EXPECT_GT(withRuns, 150u);
  EXPECT_GT(withPermutes, 100u);
}

/// No path moves fewer bytes than the bound that guides the search.
TEST_F(ReshardPlanTest, NoPathIsBelowTheLeastBytes) {
  unsigned tight = 0;
  for (int trial = 0; trial < 3000 && !HasFailure(); ++trial) {
    Drawn drawn = drawPair(1 + draw(3));
    double least = getLeastBytes(drawn.from, drawn.to, drawn.mesh);
    double found = Exhaustive(drawn.from, drawn.to, drawn.mesh, true, true)
                       .run(infinite)
                       .first;
    EXPECT_GE(least, 0) << drawn.text();
    EXPECT_LE(least, found * (1 + 1e-9)) << drawn.text();
    tight += least > 0 && least >= found * (1 - 1e-9);
  }
  EXPECT_GT(tight, 1000u);
}

/// No plan costs less than the bound that decides which are made, with detours
/// over axes that neither side uses, and where bytes cost more on some axes.
TEST_F(ReshardPlanTest, NoPlanCostsLessThanTheLeastCost) {
  unsigned tight = 0;
  for (int trial = 0; trial < 3000 && !HasFailure(); ++trial) {
    Drawn drawn = drawPair(1 + draw(4));
    reshard::ByteCosts costs;
    if (draw(2))
      for (nd::AxisAttr axis : drawn.mesh.getAxes())
        costs[axis.getName()] = 1 + double(draw(8)) / 4;
    ReshardPlanner planner(drawn.mesh, infinite, costs);
    double least = planner.getLeastCost(drawn.from, drawn.to);
    double found = planner.plan(drawn.from, drawn.to).cost;
    EXPECT_GE(least, 0) << drawn.text();
    EXPECT_LE(least, found * (1 + 1e-9)) << drawn.text();
    tight += least > 0 && least >= found * 0.9;
  }
  EXPECT_GT(tight, 500u);
}

/// On twelve axes in any order, plans send little more than the bytes that no
/// plan avoids.
TEST_F(ReshardPlanTest, NearTheLeastBytesOnTwelveAxes) {
  MeshAttr mesh = makeMesh(llvm::SmallVector<int64_t>(12, 2));
  AxisList all = getAxes(mesh);
  double sum = 0, count = 0;
  for (int trial = 0; trial < 400; ++trial) {
    Drawn drawn;
    drawn.mesh = mesh;
    drawn.from = drawType(mesh, {4096, 4096}, all);
    drawn.to = drawType(mesh, {4096, 4096}, {});
    ReshardPlanner planner(mesh, infinite);
    const ReshardPlan &plan = planner.plan(drawn.from, drawn.to);
    double least = getLeastBytes(drawn.from, drawn.to, mesh);
    if (least == 0)
      continue;
    double ratio = plan.bytes / least;
    EXPECT_LE(ratio, 4) << drawn.text();
    sum += ratio;
    ++count;
  }
  EXPECT_GT(count, 300);
  EXPECT_LE(sum / count, 1.25);
}

/// Uneven dims: a slice taken too early makes the one permute impossible that
/// the cheapest plan needs.
TEST_F(ReshardPlanTest, WaitsWithSlicesOfUnevenDims) {
  Drawn drawn;
  drawn.mesh = makeMesh({2, 2, 4});
  AxisList all = getAxes(drawn.mesh);
  auto make = [&](ArrayRef<StringAttr> axes, ArrayRef<StringAttr> partial) {
    return TensorType::get(builder.getF32Type(), {makeDim("i", 12, axes)},
                           nd::ReductionKind::Sum, partial);
  };
  drawn.from = make({}, {all[1]});
  drawn.to = make(all, {});
  expectCheapest(drawn, std::nullopt);
  expectCheapest(drawn, infinite);
}

/// In haste, uneven dims are cut in the target's order. Otherwise a plan is a
/// hundred times as dear.
TEST_F(ReshardPlanTest, CutsUnevenDimsInHaste) {
  using Places = std::array<llvm::StringRef, 3>; // of i, of j, partial
  auto plan = [&](ArrayRef<int64_t> axes, int64_t i, int64_t j,
                  const Places &from, const Places &to,
                  std::optional<double> bound) {
    MeshAttr mesh = makeMesh(axes);
    auto get = [&](llvm::StringRef letters) {
      AxisList list;
      for (char letter : letters)
        list.push_back(mesh.getAxes()[letter - 'a'].getName());
      return list;
    };
    auto make = [&](const Places &places) {
      return TensorType::get(
          builder.getF32Type(),
          {makeDim("i", i, get(places[0])), makeDim("j", j, get(places[1]))},
          nd::ReductionKind::Sum, get(places[2]));
    };
    return ReshardPlan(ReshardPlanner(mesh, bound).plan(make(from), make(to)));
  };
  EXPECT_LE(plan({2, 4, 2, 3, 4, 2, 2, 4}, 30, 500, {"", "efg", ""},
                 {"dh", "c", ""}, infinite)
                .bytes,
            6000);
  EXPECT_LE(plan({3, 4, 3, 2, 4, 2, 4, 2}, 500, 1000, {"", "aeg", "dh"},
                 {"", "cgebadh", ""}, infinite)
                .bytes,
            20000);
  ReshardPlan bounded = plan({2, 2, 3, 4, 2, 2}, 500, 1000, {"", "e", "a"},
                             {"db", "cf", ""}, std::nullopt);
  EXPECT_LE(bounded.peak, 2000000);
  EXPECT_LE(bounded.bytes, 300000);
}

TEST_F(ReshardPlanTest, TwelveAxes) {
  llvm::SmallVector<int64_t> sizes(12, 2);
  MeshAttr mesh = makeMesh(sizes);
  AxisList all = getAxes(mesh);
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

/// Two blocks of i and four of k become eight of j: no rank has more than a
/// block.
TEST_F(ReshardPlanTest, NeverHoldsAFullCopy) {
  MeshAttr mesh = makeMesh({2, 4});
  StringAttr a = mesh.getAxes()[0].getName(), b = mesh.getAxes()[1].getName();
  auto make = [&](ArrayRef<StringAttr> ofI, ArrayRef<StringAttr> ofJ,
                  ArrayRef<StringAttr> ofK) {
    return TensorType::get(
        builder.getF32Type(),
        {makeDim("i", 16, ofI), makeDim("j", 32, ofJ), makeDim("k", 64, ofK)},
        nd::ReductionKind::Sum, {});
  };
  double block = 4.0 * 16 * 32 * 64 / 8;
  for (const AxisList &ofJ : {AxisList{a, b}, AxisList{b, a}}) {
    ReshardPlanner planner(mesh);
    const ReshardPlan &plan =
        planner.plan(make({a}, {}, {b}), make({}, ofJ, {}));
    EXPECT_EQ(plan.peak, 2 * block);
    EXPECT_EQ(getCost(plan), Cost(block / 2 + block * 3 / 4, 2));
  }
}

/// Without a plan within the bound, the one with the least memory is taken:
/// blocks of a dim that neither axis divides are gathered.
TEST_F(ReshardPlanTest, TakesTheLeastMemoryBeyondTheBound) {
  MeshAttr mesh = makeMesh({2, 3});
  StringAttr a = mesh.getAxes()[0].getName(), b = mesh.getAxes()[1].getName();
  auto make = [&](ArrayRef<StringAttr> ofI) {
    return TensorType::get(builder.getF32Type(), {makeDim("i", 7, ofI)},
                           nd::ReductionKind::Sum, {});
  };
  ReshardPlanner planner(mesh);
  const ReshardPlan &plan = planner.plan(make({a}), make({b}));
  // Cut over both, gathered, cut again; twice the larger block has 32 bytes.
  EXPECT_EQ(plan.peak, 4 * (7 + 3));
  EXPECT_EQ(getCost(plan).second, 1u);
  ReshardPlanner none(mesh, 0);
  EXPECT_EQ(none.plan(make({a}), make({})).peak, 4 * (4 + 7));
}

} // namespace
