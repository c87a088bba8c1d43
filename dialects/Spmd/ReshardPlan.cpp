//===- ReshardPlan.cpp - the cheapest way between two shardings -----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Spmd/ReshardPlan.h"
#include "llvm/ADT/MapVector.h"
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

/// A search that has settled so many shardings ends: the plan is the direct one
/// then. Reached only where a dozen axes change places one by one.
static constexpr size_t mostSettled = 20000;

namespace {

/// Axes that never need to part on the way from one sharding to another,
/// because both have them side by side and in the mesh's order. Steps that take
/// several axes of one kind at once move no more bytes than steps that take
/// them one by one, so that a plan over runs is as good as one over axes as
/// long as every dim is divisible by all axes that may cut it.
class AxisRuns {
public:
  AxisRuns(TensorType from, TensorType to, MeshAttr mesh);

  /// The runs of `axes`, in the mesh's order. `axes` contains every run whole
  /// or not at all.
  llvm::SmallVector<AxisList> group(ArrayRef<StringAttr> axes) const;
  /// Whether a run begins at `axes[index]`.
  bool begins(ArrayRef<StringAttr> axes, size_t index) const {
    return first.lookup(axes[index]) == axes[index];
  }

private:
  bool mayFollow(StringAttr axis, StringAttr next) const;
  static bool areTogether(TensorType type, StringAttr axis, StringAttr next);
  bool isDivisible() const;

  TensorType from, to;
  MeshAttr mesh;
  llvm::DenseMap<StringAttr, StringAttr> first; ///< of each axis's run
};

/// The search from one sharding to another.
class Search {
public:
  Search(TensorType from, TensorType to, MeshAttr mesh)
      : from(from), to(to), mesh(mesh), runs(from, to, mesh) {}
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
  void goStraight();
  ReshardPlan trace();

  TensorType from, to;
  MeshAttr mesh;
  AxisRuns runs;
  llvm::DenseMap<TensorType, Reached> reached;
  using Entry = std::pair<double, int64_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  llvm::SmallVector<TensorType> order; ///< queue entries name types by number
};

} // namespace

AxisRuns::AxisRuns(TensorType from, TensorType to, MeshAttr mesh)
    : from(from), to(to), mesh(mesh) {
  bool mayJoin = isDivisible();
  llvm::SmallVector<StringAttr> axes;
  for (nd::AxisAttr axis : mesh.getAxes())
    axes.push_back(axis.getName());
  for (auto [index, start] : llvm::enumerate(axes)) {
    if (!first.try_emplace(start, start).second || !mayJoin)
      continue;
    StringAttr last = start;
    for (StringAttr next : ArrayRef(axes).drop_front(index + 1))
      if (!first.contains(next) && mayFollow(last, next)) {
        first[next] = start;
        last = next;
      }
  }
}

/// Whether each dim is divisible by all axes that may cut it on the way.
/// Otherwise some steps are possible for single axes only.
bool AxisRuns::isDivisible() const {
  return llvm::all_of(from.getDims(), [&](DimAttr dim) {
    int64_t blocks = mesh.getProduct(dim.getAxes());
    for (StringAttr axis : getAxesOf(to, dim.getName().getValue()))
      if (!llvm::is_contained(dim.getAxes(), axis))
        blocks *= mesh.getAxisSize(axis.getValue());
    return dim.getSize() % blocks == 0;
  });
}

/// Whether both axes cut one dim, one right after the other; or the type is
/// partial over both; or it uses neither.
bool AxisRuns::areTogether(TensorType type, StringAttr axis, StringAttr next) {
  for (DimAttr dim : type.getDims()) {
    ArrayRef<StringAttr> axes = dim.getAxes();
    const auto *place = llvm::find(axes, axis);
    if (place != axes.end())
      return place + 1 != axes.end() && place[1] == next;
    if (llvm::is_contained(axes, next))
      return false;
  }
  return llvm::is_contained(type.getPartialAxes(), axis) ==
         llvm::is_contained(type.getPartialAxes(), next);
}

bool AxisRuns::mayFollow(StringAttr axis, StringAttr next) const {
  return areTogether(from, axis, next) && areTogether(to, axis, next);
}

llvm::SmallVector<AxisList> AxisRuns::group(ArrayRef<StringAttr> axes) const {
  AxisList sorted(axes);
  sortByMesh(sorted, mesh);
  llvm::MapVector<StringAttr, AxisList> runs;
  for (StringAttr axis : sorted)
    runs[first.lookup(axis)].push_back(axis);
  llvm::SmallVector<AxisList> list;
  for (auto &[start, run] : runs)
    list.push_back(std::move(run));
  return list;
}

/// Subsets of runs that a step may take at once: all of them; where there are
/// few, each other one too. Axes are in the mesh's order.
static llvm::SmallVector<AxisList> getSubsets(ArrayRef<AxisList> runs,
                                              MeshAttr mesh) {
  llvm::SmallVector<AxisList> subsets;
  auto add = [&](llvm::function_ref<bool(size_t)> has) {
    AxisList &subset = subsets.emplace_back();
    for (auto [index, run] : llvm::enumerate(runs))
      if (has(index))
        subset.append(run);
    sortByMesh(subset, mesh);
  };
  if (runs.size() > 6) {
    add([](size_t) { return true; });
    for (size_t only = 0; only < runs.size(); ++only)
      add([&](size_t index) { return index == only; });
    return subsets;
  }
  for (unsigned mask = 1; mask < (1u << runs.size()); ++mask)
    add([&](size_t index) { return (mask >> index) & 1; });
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
    cost += sliceStep * double(step.axes.size());
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
  for (AxisList &axes : getSubsets(runs.group(pending), mesh)) {
    TensorType reduced = dropPartial(type, axes);
    for (DimAttr dim : type.getDims())
      if (mayHold(dim, axes))
        reach(type,
              {CollectiveKind::ReduceScatter,
               axes,
               {},
               dim.getName(),
               addAxes(reduced, dim.getName().getValue(), axes)},
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
      if (!runs.begins(axes, 0))
        continue;
      TensorType gathered = dropAxes(type, dim.getName().getValue(), axes);
      reach(type,
            {CollectiveKind::AllGather, axes, dim.getName(), {}, gathered},
            gathered);
      for (DimAttr other : type.getDims())
        if (other != dim && mayHold(other, axes))
          reach(type,
                {CollectiveKind::AllToAll, axes, dim.getName(), other.getName(),
                 addAxes(gathered, other.getName().getValue(), axes)},
                type);
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
      reach(type,
            {std::nullopt,
             run,
             {},
             dim.getName(),
             addAxes(type, dim.getName().getValue(), run)},
            {});
  }
}

/// Reaches the target without a choice: reduces what is partial, gathers what
/// is in the way of an axis of the target, and slices.
void Search::goStraight() {
  reached.clear();
  reached[from] = {};
  TensorType type = from;
  auto go = [&](ReshardStep step, TensorType whole) {
    TensorType next = step.result;
    reach(type, std::move(step), whole ? whole : next);
    type = next;
  };
  AxisList pending;
  for (StringAttr axis : type.getPartialAxes())
    if (!llvm::is_contained(to.getPartialAxes(), axis))
      pending.push_back(axis);
  sortByMesh(pending, mesh);
  if (!pending.empty())
    go({CollectiveKind::AllReduce, pending, {}, {}, dropPartial(type, pending)},
       type);
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
          dropAxes(type, dim.getName().getValue(), last)},
         {});
    }
  }
  for (DimAttr dim : to.getDims())
    for (StringAttr axis : dim.getAxes().drop_front(
             getAxesOf(type, dim.getName().getValue()).size()))
      go({std::nullopt,
          {axis},
          {},
          dim.getName(),
          addAxes(type, dim.getName().getValue(), {axis})},
         {});
}

ReshardPlan Search::run() {
  reached[from] = {};
  queue.emplace(0, 0);
  order.push_back(from);
  size_t settled = 0;
  while (!queue.empty()) {
    TensorType type = order[queue.top().second];
    queue.pop();
    Reached &here = reached[type];
    if (here.settled)
      continue;
    here.settled = true;
    if (type == to)
      break;
    if (++settled > mostSettled) {
      goStraight();
      break;
    }
    reduce(type);
    gatherOrMove(type);
    slice(type);
  }
  return trace();
}

/// The steps that led to the target.
ReshardPlan Search::trace() {
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
