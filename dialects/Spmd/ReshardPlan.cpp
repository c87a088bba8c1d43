//===- ReshardPlan.cpp - the cheapest way between two shardings ---===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Spmd/ReshardPlan.h"
#include <queue>

using namespace mlir;

namespace meshc::spmd {

using nd::DimAttr;
using nd::MeshAttr;
using nd::TensorType;

/// What a step costs beside its bytes: enough to prefer fewer steps, and slices
/// to collectives, too little to be worth a byte.
static constexpr double collectiveStep = 1e-3, sliceStep = 1e-5;

namespace {

/// The search from one sharding to another.
class Search {
public:
  Search(TensorType from, TensorType to, MeshAttr mesh)
      : from(from), to(to), mesh(mesh) {}
  ReshardPlan run();

private:
  struct Reached {
    double cost = 0;
    ReshardStep step;    ///< that led here
    TensorType previous; ///< null at the start
    bool settled = false;
  };

  void expand(TensorType type);
  void reduce(TensorType type);
  void gatherOrMove(TensorType type);
  void slice(TensorType type);
  void reach(TensorType previous, ReshardStep step, TensorType whole);
  bool mayHold(DimAttr dim, ArrayRef<StringAttr> axes) const;

  TensorType from, to;
  MeshAttr mesh;
  llvm::DenseMap<TensorType, Reached> reached;
  using Entry = std::pair<double, int64_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  llvm::SmallVector<TensorType> order; ///< queue entries name types by number
};

} // namespace

/// Subsets of `axes` (in the mesh's order) that a step may take at once: all of
/// them; where there are few, each other one too.
static llvm::SmallVector<AxisList> getSubsets(AxisList axes, MeshAttr mesh) {
  llvm::sort(axes, [&](StringAttr a, StringAttr b) {
    return mesh.getAxisIndex(a.getValue()) < mesh.getAxisIndex(b.getValue());
  });
  llvm::SmallVector<AxisList> subsets;
  if (axes.size() > 6) {
    subsets.push_back(axes);
    for (StringAttr axis : axes)
      subsets.push_back({axis});
    return subsets;
  }
  for (unsigned mask = 1; mask < (1u << axes.size()); ++mask) {
    AxisList &subset = subsets.emplace_back();
    for (unsigned i = 0; i < axes.size(); ++i)
      if (mask & (1u << i))
        subset.push_back(axes[i]);
  }
  return subsets;
}

/// Whether the axes may cut the dim on the way: the source or the target has
/// them there.
bool Search::mayHold(DimAttr dim, ArrayRef<StringAttr> axes) const {
  StringRef name = dim.getName().getValue();
  return llvm::all_of(axes, [&](StringAttr axis) {
    return llvm::is_contained(getAxesOf(from, name), axis) ||
           llvm::is_contained(getAxesOf(to, name), axis);
  });
}

/// Enters `step.result` as a neighbour of `previous`. `whole` is the tensor
/// whose block Traffic.h counts; null for a slice.
void Search::reach(TensorType previous, ReshardStep step, TensorType whole) {
  if (!step.result)
    return;
  double cost = reached.find(previous)->second.cost;
  if (step.kind)
    cost += collectiveStep + getRingBytes(*step.kind, step.axes,
                                          whole.getLocalBytes(mesh), mesh);
  else
    cost += sliceStep;
  auto [it, isNew] = reached.try_emplace(step.result);
  if (!isNew && (it->second.settled || it->second.cost <= cost))
    return;
  TensorType result = step.result;
  it->second = {cost, std::move(step), previous, false};
  queue.emplace(cost, order.size());
  order.push_back(result);
}

/// Steps that end being partial over some axes.
void Search::reduce(TensorType type) {
  AxisList pending;
  for (StringAttr axis : type.getPartialAxes())
    if (!llvm::is_contained(to.getPartialAxes(), axis))
      pending.push_back(axis);
  for (AxisList &axes : getSubsets(pending, mesh)) {
    TensorType reduced = dropPartial(type, axes);
    for (DimAttr dim : type.getDims())
      if (mayHold(dim, axes))
        reach(type,
              {CollectiveKind::ReduceScatter,
               axes,
               {},
               dim.getName(),
               addAxes(reduced, dim.getName().getValue(), axes, mesh)},
              type);
    reach(type, {CollectiveKind::AllReduce, axes, {}, {}, reduced}, type);
  }
}

/// Steps that take the last axes from a dim, and may give them to another.
void Search::gatherOrMove(TensorType type) {
  for (DimAttr dim : type.getDims())
    for (size_t count = 1; count <= dim.getAxes().size(); ++count) {
      AxisList axes(dim.getAxes().take_back(count));
      if (!areInMeshOrder(axes, mesh))
        break;
      TensorType gathered = dropAxes(type, dim.getName().getValue(), axes);
      reach(type,
            {CollectiveKind::AllGather, axes, dim.getName(), {}, gathered},
            gathered);
      for (DimAttr other : type.getDims())
        if (other != dim && mayHold(other, axes))
          reach(type,
                {CollectiveKind::AllToAll, axes, dim.getName(), other.getName(),
                 addAxes(gathered, other.getName().getValue(), axes, mesh)},
                type);
    }
}

/// Local steps: a rank keeps its block only.
void Search::slice(TensorType type) {
  AxisList used = getUsedAxes(type);
  for (DimAttr dim : to.getDims())
    for (StringAttr axis : dim.getAxes())
      if (!llvm::is_contained(used, axis))
        reach(type,
              {std::nullopt,
               {axis},
               {},
               dim.getName(),
               addAxes(type, dim.getName().getValue(), {axis}, mesh)},
              {});
}

ReshardPlan Search::run() {
  reached[from] = {};
  queue.emplace(0, 0);
  order.push_back(from);
  while (!queue.empty()) {
    TensorType type = order[queue.top().second];
    queue.pop();
    Reached &here = reached[type];
    if (here.settled)
      continue;
    here.settled = true;
    if (type == to)
      break;
    reduce(type);
    gatherOrMove(type);
    slice(type);
  }
  ReshardPlan plan;
  for (TensorType type = to; type && type != from;) {
    const Reached &here = reached[type];
    if (here.step.kind) {
      TensorType whole = here.step.kind == CollectiveKind::AllGather
                             ? here.step.result
                             : here.previous;
      plan.bytes += getRingBytes(*here.step.kind, here.step.axes,
                                 whole.getLocalBytes(mesh), mesh);
    }
    plan.steps.push_back(here.step);
    type = here.previous;
  }
  std::reverse(plan.steps.begin(), plan.steps.end());
  return plan;
}

/// Makes one slice of neighbouring slices of one dim.
static void mergeSlices(llvm::SmallVectorImpl<ReshardStep> &steps) {
  llvm::SmallVector<ReshardStep> merged;
  for (ReshardStep &step : steps) {
    if (!merged.empty() && !step.kind && !merged.back().kind &&
        merged.back().to == step.to) {
      merged.back().axes.append(step.axes);
      merged.back().result = step.result;
      continue;
    }
    merged.push_back(step);
  }
  steps = merged;
}

const ReshardPlan &ReshardPlanner::plan(TensorType from, TensorType to) {
  auto [it, isNew] = plans.try_emplace({from, to});
  if (isNew && from != to) {
    it->second = Search(from, to, mesh).run();
    mergeSlices(it->second.steps);
  }
  return it->second;
}

} // namespace meshc::spmd
