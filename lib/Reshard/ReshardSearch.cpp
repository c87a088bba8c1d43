//===- ReshardSearch.cpp - a search between two shardings ----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Reshard/ReshardSearch.h"
#include "lib/Reshard/ReshardBound.h"
#include "lib/Reshard/ReshardSteps.h"
#include <limits>
#include <queue>

using namespace mlir;

namespace meshc::reshard {

using nd::DimAttr;
using nd::MeshAttr;
using nd::TensorType;
using spmd::addAxes;
using spmd::areInMeshOrder;
using spmd::AxisList;
using spmd::AxisTraffic;
using spmd::CollectiveKind;
using spmd::dropAxes;
using spmd::endSums;
using spmd::getAxesOf;
using spmd::getFurtherPartial;
using spmd::getRingBytes;
using spmd::getRingTraffic;
using spmd::sortByMesh;

/// What a step costs beside its bytes: enough to prefer fewer steps, and slices
/// to collectives, too little to be worth a byte. A slice costs this for each
/// axis.
static constexpr double collectiveStep = 1e-3, sliceStep = 1e-5;

/// A search that has taken so many entries from its queue gives up: of up to
/// three axes, of more, and in haste. Over more than `fewRuns` runs of axes,
/// there are too many shardings in between for anything but haste.
static constexpr size_t mostOfFew = 20000, mostTaken = 1000, mostInHaste = 200,
                        fewRuns = 5;

/// In haste the shardings near the target come first: the bytes that still have
/// to be sent count so much (Pohl, Artificial Intelligence 1, 1970).
static constexpr double haste = 1.5;

/// Relative, of sums of bytes.
static constexpr double roundingError = 1e-9;

double getLeastByteCost(const ByteCosts &costs) {
  double cheapest = 1;
  for (auto [axis, cost] : costs)
    cheapest = std::min(cheapest, cost);
  return cheapest;
}

namespace {

/// The search from one sharding to another by steps within a memory bound: A*
/// (Hart, Nilsson and Raphael, IEEE Trans. SSC 4, 1968) with getLeastBytes.
class Search {
public:
  Search(TensorType from, TensorType to, MeshAttr mesh,
         const ByteCosts &byteCosts, double memoryBound, Objective objective,
         bool inHaste, bool detours)
      : from(from), to(to), mesh(mesh), byteCosts(byteCosts),
        memoryBound(memoryBound), objective(objective), inHaste(inHaste),
        steps(from, to, mesh, inHaste, detours),
        leastByteCost(getLeastByteCost(byteCosts)),
        costOfRest(getCostOfRest()) {}
  /// The best plan found within the bound, if there is one.
  std::optional<ReshardPlan> run();
  /// No plan has a better score.
  double getLeastScore() const;
  /// Whether `run` has given up before it knew that no plan is better.
  bool hasGivenUp() const { return gaveUp; }

private:
  struct Reached {
    double cost = 0;
    double rest = 0;  ///< of the way to the target; at most that, but in haste
    ReshardStep step; ///< that led here
    TensorType previous; ///< null at the start
    bool settled = false;
  };

  double getCostOfRest() const;
  double getRest(TensorType type) const;
  bool sliceAtOnce(TensorType type);
  void reach(TensorType previous, ReshardStep step);
  bool mayPermute(TensorType type, double cost, TensorType result) const;
  std::optional<double> addCost(double cost, TensorType previous,
                                const ReshardStep &step) const;
  llvm::SmallVector<ReshardStep> goStraight(TensorType type) const;
  void considerStraight(TensorType type);
  ReshardPlan makePlan(ArrayRef<ReshardStep> steps) const;
  llvm::SmallVector<ReshardStep> trace(TensorType type) const;

  TensorType from, to;
  MeshAttr mesh;
  const ByteCosts &byteCosts;
  double memoryBound;
  Objective objective;
  bool inHaste;
  ReshardSteps steps;
  double leastByteCost; ///< over any axis
  double costOfRest;    ///< of a byte that still has to be sent
  bool gaveUp = false;
  llvm::DenseMap<TensorType, Reached> reached;
  using Entry = std::pair<double, int64_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  llvm::SmallVector<TensorType> order; ///< queue entries name types by number
  /// The best plan that goes straight from some sharding on, and its cost.
  std::optional<llvm::SmallVector<ReshardStep>> straight;
  double straightCost = std::numeric_limits<double>::infinity();
};

} // namespace

/// The tensor whose block Traffic.h counts.
static TensorType getWhole(TensorType previous, const ReshardStep &step) {
  return step.kind == CollectiveKind::AllGather ? step.result : previous;
}

double getMemory(TensorType previous, const ReshardStep &step, MeshAttr mesh) {
  return previous.getLocalBytes(mesh) + step.result.getLocalBytes(mesh);
}

static double getStepBytes(TensorType previous, const ReshardStep &step,
                           MeshAttr mesh) {
  if (!step.kind)
    return 0;
  return getRingBytes(*step.kind, step.axes,
                      getWhole(previous, step).getLocalBytes(mesh), mesh);
}

double getByteCost(const ByteCosts &costs, ArrayRef<StringAttr> axes) {
  double dearest = 0;
  for (StringAttr axis : axes) {
    auto known = costs.find(axis);
    dearest = std::max(dearest, known == costs.end() ? 1 : known->second);
  }
  return dearest;
}

/// Those bytes at the costs of their axes. A permute's may cross any of them.
static double getStepCost(TensorType previous, const ReshardStep &step,
                          MeshAttr mesh, const ByteCosts &costs) {
  double bytes = getStepBytes(previous, step, mesh);
  if (costs.empty() || bytes == 0)
    return bytes;
  if (step.kind == CollectiveKind::Permute)
    return bytes * getByteCost(costs, step.axes);
  double cost = 0;
  for (const AxisTraffic &level :
       getRingTraffic(*step.kind, step.axes,
                      getWhole(previous, step).getLocalBytes(mesh), mesh))
    cost += level.bytes * getByteCost(costs, level.axis);
  return cost;
}

/// The cost of a path of `cost` with one more step; nothing if the step is
/// beyond the bound.
std::optional<double> Search::addCost(double cost, TensorType previous,
                                      const ReshardStep &step) const {
  double memory = getMemory(previous, step, mesh);
  if (memory > memoryBound)
    return std::nullopt;
  if (objective == Objective::Memory)
    return std::max(cost, memory);
  double ofStep = step.kind ? collectiveStep
                            : sliceStep * static_cast<double>(step.axes.size());
  return cost + ofStep + getStepCost(previous, step, mesh, byteCosts);
}

/// Each byte costs at least as much as one over the cheapest axis. In haste it
/// counts as if the dearest axis carried it, and more.
double Search::getCostOfRest() const {
  double dearest = 1;
  for (auto [axis, cost] : byteCosts)
    dearest = std::max(dearest, cost);
  return inHaste ? haste * dearest : leastByteCost;
}

double Search::getRest(TensorType type) const {
  return objective == Objective::Memory
             ? 0
             : costOfRest * getLeastBytes(type, to, mesh);
}

/// Enters `step.result` as a neighbour of `previous`, if it is a sharding.
void Search::reach(TensorType previous, ReshardStep step) {
  if (!step.result)
    return;
  std::optional<double> cost =
      addCost(reached.find(previous)->second.cost, previous, step);
  if (!cost || *cost > straightCost * (1 + roundingError))
    return;
  auto [it, isNew] = reached.try_emplace(step.result);
  if (!isNew && (it->second.cost <= *cost || (inHaste && it->second.settled)))
    return;
  TensorType result = step.result;
  double rest = isNew ? getRest(result) : it->second.rest;
  it->second = {*cost, rest, std::move(step), previous, false};
  queue.emplace(*cost + rest, order.size());
  order.push_back(result);
}

/// Whether `reach` may enter `result`, or with null any sharding, after a
/// permute of `type`. What a permute costs is known before its axes: to find
/// them takes longer.
bool Search::mayPermute(TensorType type, double cost, TensorType result) const {
  if (objective == Objective::Memory)
    return true;
  double leastCost =
      cost + collectiveStep + leastByteCost * type.getLocalBytes(mesh);
  if (!result)
    return leastCost <= straightCost * (1 + roundingError);
  auto known = reached.find(result);
  return known == reached.end() || known->second.cost > leastCost;
}

/// Reaches the target without a choice: reduces what is partial, gathers what
/// is in the way of an axis of the target, and slices.
llvm::SmallVector<ReshardStep> Search::goStraight(TensorType type) const {
  llvm::SmallVector<ReshardStep> steps;
  auto go = [&](ReshardStep step) {
    type = step.result;
    steps.push_back(std::move(step));
  };
  AxisList pending = getFurtherPartial(type, to);
  sortByMesh(pending, mesh);
  if (!pending.empty())
    go({CollectiveKind::AllReduce,
        pending,
        {},
        {},
        endSums(type, pending, to)});
  for (DimAttr dim : type.getDims()) {
    ArrayRef<StringAttr> wanted = getAxesOf(to, dim.getName().getValue());
    ArrayRef<StringAttr> axes = dim.getAxes();
    size_t common = 0;
    while (common < std::min(axes.size(), wanted.size()) &&
           axes[common] == wanted[common])
      ++common;
    while (axes.size() > common) {
      size_t count = 1; // of axes that one step can gather
      while (count < axes.size() - common &&
             areInMeshOrder(axes.take_back(count + 1), mesh))
        ++count;
      AxisList last(axes.take_back(count));
      axes = axes.drop_back(count);
      go({CollectiveKind::AllGather,
          last,
          dim.getName(),
          {},
          dropAxes(type, dim.getName().getValue(), last)});
    }
  }
  for (DimAttr dim : to.getDims())
    for (StringAttr axis : dim.getAxes().drop_front(
             getAxesOf(type, dim.getName().getValue()).size()))
      go({std::nullopt,
          {axis},
          {},
          dim.getName(),
          addAxes(type, dim.getName().getValue(), {axis})});
  return steps;
}

/// The path to `type` and straight on from there is a plan, if it is within the
/// bound. Nothing dearer needs to be reached.
void Search::considerStraight(TensorType type) {
  llvm::SmallVector<ReshardStep> plan = trace(type);
  double cost = reached.find(type)->second.cost;
  for (ReshardStep &step : goStraight(type)) {
    std::optional<double> next = addCost(cost, type, step);
    if (!next)
      return;
    cost = *next;
    type = step.result;
    plan.push_back(std::move(step));
  }
  if (cost >= straightCost)
    return;
  straight = std::move(plan);
  straightCost = cost;
}

/// Takes the slice that no plan needs to wait with, if it is within the bound.
/// A thorough search waits if a dim is uneven, and where the least memory is
/// wanted: a slice over more axes may then be better.
bool Search::sliceAtOnce(TensorType type) {
  if (!inHaste && (objective == Objective::Memory || !steps.isDivisible()))
    return false;
  std::optional<ReshardStep> slice = steps.getSlice(type);
  if (!slice || getMemory(type, *slice, mesh) > memoryBound)
    return false;
  reach(type, std::move(*slice));
  return true;
}

double Search::getLeastScore() const {
  if (objective == Objective::Memory)
    return std::max(from.getLocalBytes(mesh), to.getLocalBytes(mesh));
  // The cost of a few steps does not count.
  constexpr double fewSteps = 10 * collectiveStep;
  return getRest(from) * (1 + roundingError) + fewSteps;
}

std::optional<ReshardPlan> Search::run() {
  reached[from] = {};
  considerStraight(from);
  queue.emplace(0, 0);
  order.push_back(from);
  size_t most = inHaste ? mostInHaste : steps.areFew() ? mostOfFew : mostTaken;
  for (size_t taken = 0; !queue.empty(); ++taken) {
    if (taken == most) {
      gaveUp = true;
      break;
    }
    TensorType type = order[queue.top().second];
    queue.pop();
    Reached &here = reached[type];
    if (here.settled)
      continue;
    here.settled = true;
    if (type == to)
      return makePlan(trace(to));
    if (sliceAtOnce(type))
      continue;
    const double cost = here.cost;
    steps.visit(
        type, [&](ReshardStep step) { reach(type, std::move(step)); },
        [&](TensorType result) { return mayPermute(type, cost, result); });
  }
  // The best so far: the search ended early, or left out steps.
  if (gaveUp || inHaste)
    for (TensorType type : order)
      if (reached.find(type)->second.settled)
        considerStraight(type);
  if (auto found = reached.find(to);
      found != reached.end() && found->second.cost < straightCost)
    return makePlan(trace(to));
  if (!straight)
    return std::nullopt;
  return makePlan(*straight);
}

/// The steps that led there.
llvm::SmallVector<ReshardStep> Search::trace(TensorType type) const {
  llvm::SmallVector<ReshardStep> steps;
  while (type != from) {
    const Reached &here = reached.find(type)->second;
    steps.push_back(here.step);
    type = here.previous;
  }
  std::reverse(steps.begin(), steps.end());
  return steps;
}

ReshardPlan Search::makePlan(ArrayRef<ReshardStep> steps) const {
  ReshardPlan plan;
  plan.steps.append(steps.begin(), steps.end());
  TensorType type = from;
  for (const ReshardStep &step : steps) {
    plan.bytes += getStepBytes(type, step, mesh);
    plan.cost += getStepCost(type, step, mesh, byteCosts);
    plan.peak = std::max(plan.peak, getMemory(type, step, mesh));
    type = step.result;
  }
  return plan;
}

std::optional<ReshardPlan> searchReshard(TensorType from, TensorType to,
                                         MeshAttr mesh,
                                         const ByteCosts &byteCosts,
                                         double memoryBound,
                                         Objective objective) {
  auto search = [&](bool inHaste, bool detours) {
    return Search(from, to, mesh, byteCosts, memoryBound, objective, inHaste,
                  detours);
  };
  auto getScore = [&](const std::optional<ReshardPlan> &plan) {
    if (!plan)
      return std::numeric_limits<double>::infinity();
    return objective == Objective::Cost ? plan->cost : plan->peak;
  };
  auto better = [&](std::optional<ReshardPlan> one,
                    std::optional<ReshardPlan> other) {
    return getScore(other) < getScore(one) ? other : one;
  };
  std::optional<ReshardPlan> best;
  AxisRuns runs(from, to, mesh);
  if (runs.count() <= fewRuns) {
    Search thorough = search(/*inHaste=*/false, /*detours=*/false);
    best = thorough.run();
    // A detour does not help if no plan sends less or takes less memory.
    if (runs.areFew() && getScore(best) > thorough.getLeastScore())
      best = better(best, search(/*inHaste=*/false, /*detours=*/true).run());
    if (!thorough.hasGivenUp())
      return best;
  }
  return better(best, search(/*inHaste=*/true, /*detours=*/false).run());
}

} // namespace meshc::reshard
