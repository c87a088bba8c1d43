//===- ReshardSteps.cpp - steps from one sharding to the next -------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Reshard/ReshardSteps.h"

using namespace mlir;

namespace meshc::reshard {

using nd::DimAttr;
using nd::MeshAttr;
using nd::TensorType;
using spmd::addAxes;
using spmd::areInMeshOrder;
using spmd::AxisList;
using spmd::CollectiveKind;
using spmd::dropAxes;
using spmd::endSums;
using spmd::findPermute;
using spmd::getAxesOf;
using spmd::getFurtherPartial;
using spmd::getUsedAxes;
using spmd::sortByMesh;
using spmd::withAxes;

/// Whether the axes may cut the dim on the way: the source or the target has
/// them there. With detours it has them anywhere, or the mesh is small.
bool ReshardSteps::mayHold(DimAttr dim, ArrayRef<StringAttr> axes) const {
  if (detours)
    return isSmallMesh || llvm::all_of(axes, [&](StringAttr axis) {
             return llvm::is_contained(getUsedAxes(from), axis) ||
                    llvm::is_contained(getUsedAxes(to), axis);
           });
  StringRef name = dim.getName().getValue();
  return llvm::all_of(axes, [&](StringAttr axis) {
    return llvm::is_contained(getAxesOf(from, name), axis) ||
           llvm::is_contained(getAxesOf(to, name), axis);
  });
}

/// Partial axes over which a step may sum: each subset; or in haste all of
/// them, and those that the target puts on one dim.
llvm::SmallVector<AxisList>
ReshardSteps::getReductions(ArrayRef<StringAttr> pending) const {
  if (!inHaste)
    return getSubsets(runs.group(pending), mesh);
  llvm::SmallVector<AxisList> lists = {AxisList(pending)};
  for (DimAttr dim : to.getDims()) {
    AxisList &ofDim = lists.emplace_back();
    for (StringAttr axis : pending)
      if (llvm::is_contained(dim.getAxes(), axis))
        ofDim.push_back(axis);
  }
  for (AxisList &axes : lists)
    sortByMesh(axes, mesh);
  llvm::erase_if(lists, [](const AxisList &axes) { return axes.empty(); });
  return lists;
}

/// Steps that end being partial over some axes.
void ReshardSteps::reduce(TensorType type, Visit visit) const {
  for (const AxisList &axes : getReductions(getFurtherPartial(type, to))) {
    TensorType reduced = endSums(type, axes, to);
    for (DimAttr dim : type.getDims())
      if (mayHold(dim, axes))
        visit({CollectiveKind::ReduceScatter,
               axes,
               {},
               dim.getName(),
               addAxes(reduced, dim.getName().getValue(), axes)});
    visit({CollectiveKind::AllReduce, axes, {}, {}, reduced});
  }
}

/// Steps that take the last axes from a dim, and may give them to another.
void ReshardSteps::gatherOrMove(TensorType type, Visit visit) const {
  for (DimAttr dim : type.getDims())
    for (size_t count = 1; count <= dim.getAxes().size(); ++count) {
      AxisList axes(dim.getAxes().take_back(count));
      if (!areInMeshOrder(axes, mesh))
        break;
      if (!runs.begins(axes, 0))
        continue;
      TensorType gathered = dropAxes(type, dim.getName().getValue(), axes);
      visit({CollectiveKind::AllGather, axes, dim.getName(), {}, gathered});
      for (DimAttr other : type.getDims())
        if (other != dim && mayHold(other, axes))
          visit({CollectiveKind::AllToAll, axes, dim.getName(), other.getName(),
                 addAxes(gathered, other.getName().getValue(), axes)});
    }
}

/// The axes of the target's dim that nothing uses.
static AxisList getFree(DimAttr target, ArrayRef<StringAttr> used) {
  AxisList free;
  for (StringAttr axis : target.getAxes())
    if (!llvm::is_contained(used, axis))
      free.push_back(axis);
  return free;
}

/// Of the axes that may be added behind those that cut a dim now, those that
/// keep it in the target's order.
static AxisList getNext(DimAttr target, ArrayRef<StringAttr> now,
                        AxisList free) {
  size_t count = 0;
  if (now == target.getAxes().take_front(now.size()))
    while (count < free.size() &&
           free[count] == target.getAxes()[now.size() + count])
      ++count;
  free.truncate(count);
  return free;
}

std::optional<ReshardStep> ReshardSteps::getSlice(TensorType type) const {
  AxisList used = getUsedAxes(type);
  std::optional<ReshardStep> largest;
  int64_t most = 1;
  for (DimAttr dim : to.getDims()) {
    StringRef name = dim.getName().getValue();
    AxisList axes = getFree(dim, used);
    if (!inHaste || !divisible)
      axes = getNext(dim, getAxesOf(type, name), std::move(axes));
    if (mesh.getProduct(axes) <= most)
      continue;
    most = mesh.getProduct(axes);
    largest = {
        std::nullopt, axes, {}, dim.getName(), addAxes(type, name, axes)};
  }
  return largest;
}

/// Local steps: a rank keeps its block only.
void ReshardSteps::slice(TensorType type, Visit visit) const {
  AxisList used = getUsedAxes(type);
  for (DimAttr dim : to.getDims()) {
    AxisList free = getFree(dim, used);
    for (const AxisList &subset : getSubsets(runs.group(free), mesh)) {
      AxisList axes; // in the target's order
      for (StringAttr axis : free)
        if (llvm::is_contained(subset, axis))
          axes.push_back(axis);
      visit({std::nullopt,
             axes,
             {},
             dim.getName(),
             addAxes(type, dim.getName().getValue(), axes)});
    }
  }
}

void ReshardSteps::permuteTo(TensorType result,
                             const Permutes &permutes) const {
  if (result == permutes.type || !permutes.mayPermute(result))
    return;
  if (auto orders = findPermute(permutes.type, result, mesh))
    permutes.visit({CollectiveKind::Permute,
                    orders->senders,
                    {},
                    {},
                    result,
                    orders->receivers});
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
      int64_t size = mesh.getAxisSize(axis);
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
void ReshardSteps::permuteFreely(const Permutes &permutes) const {
  TensorType type = permutes.type;
  AxisList axes;
  for (nd::AxisAttr axis : mesh.getAxes())
    if (!llvm::is_contained(type.getPartialAxes(), axis.getName()))
      axes.push_back(axis.getName());
  auto mayHoldOne = [&](DimAttr dim, StringAttr axis) {
    return mayHold(dim, axis);
  };
  auto permuteToOne = [&](ArrayRef<AxisList> ofDim) {
    permuteTo(withAxes(type, ofDim), permutes);
  };
  Arrangements{type, mesh, axes, mayHoldOne, permuteToOne}.place();
}

/// Brings the axes of dims into the target's order, those that the target has
/// elsewhere behind the others: of one dim, and of all.
void ReshardSteps::permuteInOrder(const Permutes &permutes) const {
  TensorType type = permutes.type;
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
  size_t changed = 0;
  for (auto [before, after] : llvm::zip(now, inOrder))
    changed += before != after;
  if (changed > 1)
    permuteTo(withAxes(type, inOrder), permutes);
  for (size_t dim = 0; dim < now.size(); ++dim) {
    if (now[dim] == inOrder[dim])
      continue;
    AxisList before = std::exchange(now[dim], inOrder[dim]);
    permuteTo(withAxes(type, now), permutes);
    now[dim] = before;
  }
}

/// Cuts the dims over the first axes of the target's, and where these are too
/// few, over any others in the mesh's order, which one step can gather.
void ReshardSteps::permuteTowards(const Permutes &permutes) const {
  TensorType type = permutes.type;
  AxisList taken(type.getPartialAxes());
  llvm::SmallVector<AxisList> ofDim;
  llvm::SmallVector<int64_t> missing;
  auto take = [&](size_t dim, StringAttr axis) {
    int64_t size = mesh.getAxisSize(axis);
    if (missing[dim] % size != 0 || llvm::is_contained(taken, axis))
      return false;
    taken.push_back(axis);
    ofDim[dim].push_back(axis);
    missing[dim] /= size;
    return true;
  };
  for (auto [index, dim] : llvm::enumerate(type.getDims())) {
    ofDim.emplace_back();
    missing.push_back(mesh.getProduct(dim.getAxes()));
    for (StringAttr axis : getAxesOf(to, dim.getName().getValue()))
      if (!take(index, axis))
        break;
  }
  AxisList used = getUsedAxes(type);
  for (size_t index = 0; index < missing.size(); ++index)
    for (nd::AxisAttr axis : mesh.getAxes())
      if (axis.getSize() > 1 && llvm::is_contained(used, axis.getName()))
        take(index, axis.getName());
  if (llvm::all_of(missing, [](int64_t blocks) { return blocks == 1; }))
    permuteTo(withAxes(type, ofDim), permutes);
}

void ReshardSteps::visit(TensorType type, Visit visit,
                         MayPermute mayPermute) const {
  reduce(type, visit);
  gatherOrMove(type, visit);
  slice(type, visit);
  if (!mayPermute({}))
    return;
  Permutes permutes{type, visit, mayPermute};
  if (runs.areFew())
    return permuteFreely(permutes);
  permuteTo(to, permutes);
  permuteTowards(permutes);
  permuteInOrder(permutes);
}

} // namespace meshc::reshard
