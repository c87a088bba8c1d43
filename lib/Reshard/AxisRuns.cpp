//===- AxisRuns.cpp - axes that a reshard keeps together ------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Reshard/AxisRuns.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace meshc::reshard {

using nd::DimAttr;
using nd::MeshAttr;
using nd::TensorType;
using spmd::AxisList;
using spmd::getAxesOf;
using spmd::getUsedAxes;
using spmd::sortByMesh;

AxisRuns::AxisRuns(TensorType from, TensorType to, MeshAttr mesh)
    : from(from), to(to), mesh(mesh) {
  used = getUsedAxes(from);
  for (StringAttr axis : getUsedAxes(to))
    if (!llvm::is_contained(used, axis))
      used.push_back(axis);
  few = used.size() <= fewAxes;
  bool mayJoin = !few && isDivisible();
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

/// Otherwise some steps are possible for single axes only.
bool AxisRuns::isDivisible() const {
  return llvm::all_of(from.getDims(), [&](DimAttr dim) {
    int64_t blocks = mesh.getProduct(dim.getAxes());
    for (StringAttr axis : getAxesOf(to, dim.getName().getValue()))
      if (!llvm::is_contained(dim.getAxes(), axis))
        blocks *= mesh.getAxisSize(axis);
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

llvm::SmallVector<AxisList> getSubsets(ArrayRef<AxisList> runs, MeshAttr mesh) {
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

} // namespace meshc::reshard
