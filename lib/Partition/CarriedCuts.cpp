//===- CarriedCuts.cpp - dims of what loops carry, cut --------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Partition/CarriedCuts.h"
#include "dialects/Nd/Ops/LoopOps.h"
#include "dialects/Nd/TensorAttributes.h"
#include "lib/Partition/DesiredSharding.h"
#include "lib/Partition/FactorChoice.h"
#include "lib/Partition/LoopPartitioner.h"
#include "lib/Partition/MoveLimit.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace meshc::partition {

using nd::DimAttr;
using nd::TensorType;
using spmd::AxisList;

/// Of the points that a rank computes in products. Less is not worth trials.
static constexpr double leastRepeated = 0.1;

/// All axes that cut a value of the op or over which one is partial.
static llvm::SmallSetVector<StringAttr, 4> findAxes(Operation *op) {
  llvm::SmallSetVector<StringAttr, 4> axes;
  for (Value value : llvm::concat<Value>(llvm::to_vector(op->getOperands()),
                                         llvm::to_vector(op->getResults())))
    if (TensorType type = nd::getTensorType(value))
      axes.insert_range(spmd::getUsedAxes(type));
  return axes;
}

AxisList findRepeatedAxes(ModuleOp partitioned) {
  nd::MeshAttr mesh = nd::MeshAttr::of(partitioned);
  func::FuncOp function = findCompared(partitioned);
  if (!mesh || !function)
    return {};
  double all = 0;
  // By axis: the points of products that it cuts; in the order of the program.
  llvm::MapVector<StringAttr, double> divided;
  function->walk([&](Operation *op) {
    const auto axes = findAxes(op);
    for (StringAttr axis : axes)
      divided.insert({axis, 0});
    if (!isa<nd::NamedOpInterface>(op) || op->getNumRegions() != 0 ||
        !hasMostPoints(op))
      return;
    double points = countPoints(op) * double(nd::countRuns(op)) /
                    double(mesh.getProduct(axes.getArrayRef()));
    all += points;
    for (StringAttr axis : axes)
      divided[axis] += points;
  });
  AxisList repeated;
  for (auto [axis, points] : divided)
    if (all - points > leastRepeated * all && mesh.getProduct({axis}) > 1)
      repeated.push_back(axis);
  spmd::sortByMesh(repeated, mesh);
  return repeated;
}

/// The sharding of the carried result with the dim cut over the axis, too; null
/// where cutCarried leaves it alone.
static TensorType cutFurther(const nd::Tie &tie, StringAttr dim,
                             StringAttr axis, nd::MeshAttr mesh) {
  std::optional<DesiredSharding> wanted = readDesired(tie.result);
  if (!wanted || !wanted->type.hasDim(dim.getValue()))
    return {};
  ArrayRef<StringAttr> axes = spmd::getAxesOf(wanted->type, dim.getValue());
  if ((axes.empty() && !wanted->isOpen(dim)) ||
      wanted->type.getSize(dim.getValue()) <
          mesh.getProduct(axes) * mesh.getProduct({axis}))
    return {};
  auto initial = tie.operand.getDefiningOp<nd::NamedOpInterface>();
  if (initial && initial.getPartitionRule().isZero &&
      findAddition(cast<nd::ScanOp>(tie.result.getOwner()),
                   tie.result.getResultNumber()))
    return {};
  return spmd::addAxes(wanted->type, dim.getValue(), {axis});
}

/// Calls `use` with what the loops of an op carry.
static void forEachCarried(Operation *op,
                           llvm::function_ref<void(const nd::Tie &)> use) {
  op->walk<WalkOrder::PreOrder>([&](nd::ScanOp loop) {
    for (const nd::Tie &tie : loop.getTies())
      if (tie.kind == nd::TieKind::Carried)
        use(tie);
  });
}

AxisList findCarriedDims(ModuleOp layout, StringAttr axis) {
  nd::MeshAttr mesh = nd::MeshAttr::of(layout);
  AxisList dims;
  func::FuncOp function = findCompared(layout);
  if (!mesh || !function)
    return dims;
  forEachCarried(function, [&](const nd::Tie &tie) {
    for (DimAttr dim : nd::getTensorType(tie.result).getDims())
      if (!llvm::is_contained(dims, dim.getName()) &&
          cutFurther(tie, dim.getName(), axis, mesh))
        dims.push_back(dim.getName());
  });
  return dims;
}

/// Gives the result the sharding, and takes the dim from its open ones, if any.
static void place(OpResult result, TensorType sharding, StringAttr dim) {
  Operation *op = result.getOwner();
  unsigned index = result.getResultNumber();
  auto shardings = llvm::to_vector(nd::getShardings(op).getValue());
  shardings[index] = TypeAttr::get(sharding);
  nd::setShardings(op, shardings);
  ArrayAttr known = nd::getOpenDims(op);
  if (!known)
    return;
  auto open = llvm::to_vector(known.getValue());
  auto names = llvm::to_vector(cast<ArrayAttr>(open[index]).getValue());
  llvm::erase(names, dim);
  open[index] = ArrayAttr::get(op->getContext(), names);
  nd::setOpenDims(op, open);
}

void cutCarried(ModuleOp layout, StringAttr dim, StringAttr axis) {
  nd::MeshAttr mesh = nd::MeshAttr::of(layout);
  llvm::SmallPtrSet<Type, 4> types;
  if (func::FuncOp function = findCompared(layout))
    forEachCarried(function, [&](const nd::Tie &tie) {
      types.insert(tie.result.getType());
    });
  forEachCarried(layout, [&](const nd::Tie &tie) {
    if (!types.contains(tie.result.getType()))
      return;
    if (TensorType cut = cutFurther(tie, dim, axis, mesh))
      place(tie.result, cut, dim);
  });
  setMayCutFurther(layout);
}

} // namespace meshc::partition
