//===- ReshardSearch.cpp - a search between two shardings ----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Spmd/ReshardSearch.h"
#include "dialects/Spmd/AxisRuns.h"
#include <limits>
#include <queue>

using namespace mlir;

namespace meshc::spmd {

using nd::DimAttr;
using nd::MeshAttr;
using nd::TensorType;

/// What a step costs beside its bytes: enough to prefer fewer steps, and slices
/// to collectives, too little to be worth a byte. A slice costs this for each
/// axis.
static constexpr double collectiveStep = 1e-3, sliceStep = 1e-5;

/// A search that has settled so many shardings ends with the straight plan. If
/// more than `fewRuns` runs of axes may change places, there are too many
/// shardings in between for more than a glance.
static constexpr size_t mostSettled = 20000, mostSettledOfMany = 200,
                        fewRuns = 6;

namespace {

/// The search from one sharding to another by steps within a memory bound.
class Search {
public:
  Search(TensorType from, TensorType to, MeshAttr mesh,
         const ByteCosts &byteCosts, double memoryBound, Objective objective)
      : from(from), to(to), mesh(mesh), byteCosts(byteCosts),
        memoryBound(memoryBound), objective(objective), runs(from, to, mesh) {}
  /// Nothing if no plan was found within the bound.
  std::optional<ReshardPlan> run();

private:
  struct Reached {
    double cost = 0;
    ReshardStep step;    ///< that led here
    TensorType previous; ///< null at the start
    bool settled = false;
  };

  void reduce(TensorType type);
  void gatherOrMove(TensorType type);
  void slice(TensorType type);
  void permute(TensorType type);
  void permuteTo(TensorType type, TensorType result);
  void permuteFreely(TensorType type);
  void permuteInOrder(TensorType type);
  void reach(TensorType previous, ReshardStep step);
  std::optional<double> addCost(double cost, TensorType previous,
                                const ReshardStep &step) const;
  bool mayHold(DimAttr dim, ArrayRef<StringAttr> axes) const;
  llvm::SmallVector<ReshardStep> goStraight() const;
  void considerStraight();
  ReshardPlan makePlan(ArrayRef<ReshardStep> steps) const;
  llvm::SmallVector<ReshardStep> trace();

  TensorType from, to;
  MeshAttr mesh;
  const ByteCosts &byteCosts;
  double memoryBound;
  Objective objective;
  AxisRuns runs;
  llvm::DenseMap<TensorType, Reached> reached;
  using Entry = std::pair<double, int64_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  llvm::SmallVector<TensorType> order; ///< queue entries name types by number
  /// The straight plan, if it is within the bound, and its cost.
  std::optional<llvm::SmallVector<ReshardStep>> straight;
  double straightCost = std::numeric_limits<double>::infinity();
};

} // namespace

/// Whether the axes may cut the dim on the way: the source or the target has
/// them there.
bool Search::mayHold(DimAttr dim, ArrayRef<StringAttr> axes) const {
  StringRef name = dim.getName().getValue();
  return llvm::all_of(axes, [&](StringAttr axis) {
    return llvm::is_contained(getAxesOf(from, name), axis) ||
           llvm::is_contained(getAxesOf(to, name), axis);
  });
}

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

/// Enters `step.result` as a neighbour of `previous`, if it is a sharding.
void Search::reach(TensorType previous, ReshardStep step) {
  if (!step.result)
    return;
  std::optional<double> cost =
      addCost(reached.find(previous)->second.cost, previous, step);
  if (!cost || *cost > straightCost)
    return;
  auto [it, isNew] = reached.try_emplace(step.result);
  if (!isNew && (it->second.settled || it->second.cost <= *cost))
    return;
  TensorType result = step.result;
  it->second = {*cost, std::move(step), previous, false};
  queue.emplace(*cost, order.size());
  order.push_back(result);
}

/// Steps that end being partial over some axes.
void Search::reduce(TensorType type) {
  AxisList pending;
  for (StringAttr axis : type.getPartialAxes())
    if (!llvm::is_contained(to.getPartialAxes(), axis))
      pending.push_back(axis);
  for (AxisList &axes : getSubsets(runs.group(pending), mesh)) {
    TensorType reduced = dropPartial(type, axes);
    for (DimAttr dim : type.getDims())
      if (mayHold(dim, axes))
        reach(type, {CollectiveKind::ReduceScatter,
                     axes,
                     {},
                     dim.getName(),
                     addAxes(reduced, dim.getName().getValue(), axes)});
    reach(type, {CollectiveKind::AllReduce, axes, {}, {}, reduced});
  }
}

/// Steps that take the last axes from a dim, and may give them to another.
void Search::gatherOrMove(TensorType type) {
  for (DimAttr dim : type.getDims())
    for (size_t count = 1; count <= dim.getAxes().size(); ++count) {
      AxisList axes(dim.getAxes().take_back(count));
      if (!areInMeshOrder(axes, mesh))
        break;
      if (!runs.begins(axes, 0))
        continue;
      TensorType gathered = dropAxes(type, dim.getName().getValue(), axes);
      reach(type,
            {CollectiveKind::AllGather, axes, dim.getName(), {}, gathered});
      for (DimAttr other : type.getDims())
        if (other != dim && mayHold(other, axes))
          reach(type,
                {CollectiveKind::AllToAll, axes, dim.getName(), other.getName(),
                 addAxes(gathered, other.getName().getValue(), axes)});
    }
}

/// Local steps: a rank keeps its block only.
void Search::slice(TensorType type) {
  AxisList used = getUsedAxes(type);
  for (DimAttr dim : to.getDims()) {
    AxisList free;
    for (StringAttr axis : dim.getAxes())
      if (!llvm::is_contained(used, axis))
        free.push_back(axis);
    for (const AxisList &run : runs.group(free))
      reach(type, {std::nullopt,
                   run,
                   {},
                   dim.getName(),
                   addAxes(type, dim.getName().getValue(), run)});
  }
}

void Search::permuteTo(TensorType type, TensorType result) {
  auto known = reached.find(result);
  if (known != reached.end() && known->second.settled)
    return;
  if (std::optional<AxisOrders> orders = findPermute(type, result, mesh))
    reach(type, {CollectiveKind::Permute,
                 orders->senders,
                 {},
                 {},
                 result,
                 orders->receivers});
}

/// The type with other axes on its dims.
static TensorType withAxes(TensorType type, ArrayRef<AxisList> axes) {
  llvm::SmallVector<DimAttr> dims;
  for (auto [dim, ofDim] : llvm::zip(type.getDims(), axes))
    dims.push_back(
        DimAttr::get(type.getContext(), dim.getName(), dim.getSize(), ofDim));
  return TensorType::get(type.getElementType(), dims, type.getPartialKind(),
                         type.getPartialAxes());
}

namespace {
/// All ways to cut each dim of a type into as many blocks as now, over any of
/// these axes.
struct Arrangements {
  TensorType type;
  MeshAttr mesh;
  AxisList axes;
  llvm::function_ref<bool(DimAttr, StringAttr)> mayHold;
  llvm::function_ref<void(ArrayRef<AxisList>)> visit;
  llvm::SmallVector<AxisList> ofDim = {};

  /// Goes on with the next dim.
  void place() {
    if (ofDim.size() == type.getDims().size())
      return visit(ofDim);
    int64_t blocks = mesh.getProduct(type.getDims()[ofDim.size()].getAxes());
    ofDim.emplace_back();
    place(blocks);
    ofDim.pop_back();
  }
  /// Cuts the last one of `ofDim` into so many more blocks.
  void place(int64_t blocks) {
    if (blocks == 1)
      return place();
    for (StringAttr axis : axes) {
      int64_t size = mesh.getAxisSize(axis.getValue());
      if (size == 1 || blocks % size != 0 ||
          !mayHold(type.getDims()[ofDim.size() - 1], axis) ||
          llvm::any_of(ofDim, [&](const AxisList &taken) {
            return llvm::is_contained(taken, axis);
          }))
        continue;
      ofDim.back().push_back(axis);
      place(blocks / size);
      ofDim.back().pop_back();
    }
  }
};
} // namespace

/// To all shardings that have the same blocks.
void Search::permuteFreely(TensorType type) {
  AxisList axes;
  for (nd::AxisAttr axis : mesh.getAxes())
    if (!llvm::is_contained(type.getPartialAxes(), axis.getName()))
      axes.push_back(axis.getName());
  auto mayHoldOne = [&](DimAttr dim, StringAttr axis) {
    return mayHold(dim, axis);
  };
  auto visit = [&](ArrayRef<AxisList> ofDim) {
    permuteTo(type, withAxes(type, ofDim));
  };
  Arrangements{type, mesh, axes, mayHoldOne, visit}.place();
}

/// Brings the axes of dims into the target's order, those that the target has
/// elsewhere behind the others: of one dim, and of all.
void Search::permuteInOrder(TensorType type) {
  llvm::SmallVector<AxisList> now, inOrder;
  for (DimAttr dim : type.getDims()) {
    AxisList axes, others;
    for (StringAttr axis : getAxesOf(to, dim.getName().getValue()))
      if (llvm::is_contained(dim.getAxes(), axis))
        axes.push_back(axis);
    for (StringAttr axis : dim.getAxes())
      if (!llvm::is_contained(axes, axis))
        others.push_back(axis);
    for (const AxisList &run : runs.group(others))
      axes.append(run);
    inOrder.push_back(axes);
    now.emplace_back(dim.getAxes());
  }
  permuteTo(type, withAxes(type, inOrder));
  for (size_t dim = 0; dim < now.size(); ++dim) {
    AxisList before = std::exchange(now[dim], inOrder[dim]);
    permuteTo(type, withAxes(type, now));
    now[dim] = before;
  }
}

/// Steps that leave all blocks as they are, on other ranks.
void Search::permute(TensorType type) {
  if (runs.areFew())
    return permuteFreely(type);
  permuteTo(type, to);
  permuteInOrder(type);
}

/// Reaches the target without a choice: reduces what is partial, gathers what
/// is in the way of an axis of the target, and slices.
llvm::SmallVector<ReshardStep> Search::goStraight() const {
  llvm::SmallVector<ReshardStep> steps;
  TensorType type = from;
  auto go = [&](ReshardStep step) {
    type = step.result;
    steps.push_back(std::move(step));
  };
  AxisList pending;
  for (StringAttr axis : type.getPartialAxes())
    if (!llvm::is_contained(to.getPartialAxes(), axis))
      pending.push_back(axis);
  sortByMesh(pending, mesh);
  if (!pending.empty())
    go({CollectiveKind::AllReduce,
        pending,
        {},
        {},
        dropPartial(type, pending)});
  for (DimAttr dim : from.getDims()) {
    ArrayRef<StringAttr> wanted = getAxesOf(to, dim.getName().getValue());
    AxisList axes(dim.getAxes());
    while (axes.size() > wanted.size() ||
           ArrayRef(axes) != wanted.take_front(axes.size())) {
      AxisList last = {axes.pop_back_val()};
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

/// Nothing dearer than the straight plan needs to be reached.
void Search::considerStraight() {
  llvm::SmallVector<ReshardStep> steps = goStraight();
  double cost = 0;
  TensorType type = from;
  for (const ReshardStep &step : steps) {
    std::optional<double> next = addCost(cost, type, step);
    if (!next)
      return;
    cost = *next;
    type = step.result;
  }
  straight = std::move(steps);
  straightCost = cost;
}

std::optional<ReshardPlan> Search::run() {
  considerStraight();
  reached[from] = {};
  queue.emplace(0, 0);
  order.push_back(from);
  AxisList used = getUsedAxes(from);
  for (StringAttr axis : getUsedAxes(to))
    if (!llvm::is_contained(used, axis))
      used.push_back(axis);
  size_t most =
      runs.group(used).size() > fewRuns ? mostSettledOfMany : mostSettled;
  size_t settled = 0;
  while (!queue.empty() && ++settled <= most) {
    TensorType type = order[queue.top().second];
    queue.pop();
    Reached &here = reached[type];
    if (here.settled)
      continue;
    here.settled = true;
    if (type == to)
      return makePlan(trace());
    reduce(type);
    gatherOrMove(type);
    slice(type);
    permute(type);
  }
  // The best so far, if the search ends early.
  if (auto found = reached.find(to); found != reached.end())
    return makePlan(trace());
  if (!straight)
    return std::nullopt;
  return makePlan(*straight);
}

/// The steps that led to the target.
llvm::SmallVector<ReshardStep> Search::trace() {
  llvm::SmallVector<ReshardStep> steps;
  for (TensorType type = to; type != from;) {
    const Reached &here = reached[type];
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
  return Search(from, to, mesh, byteCosts, memoryBound, objective).run();
}

} // namespace meshc::spmd
