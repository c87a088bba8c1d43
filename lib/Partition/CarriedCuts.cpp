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
#include "lib/Partition/LoopPairs.h"
#include "lib/Partition/LoopPlanner.h"
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

/// Whether the loop's result is a sum that starts at zero.
static bool isSum(const nd::Tie &tie) {
  auto initial = tie.operand.getDefiningOp<nd::NamedOpInterface>();
  return initial && initial.getPartitionRule().isZero &&
         findAddition(cast<nd::ScanOp>(tie.result.getOwner()),
                      tie.result.getResultNumber());
}

/// The sharding `wanted` with the dim cut over the axis, too; null where
/// cutCarried leaves it alone.
static TensorType cutFurther(const DesiredSharding &wanted, StringAttr dim,
                             StringAttr axis, nd::MeshAttr mesh) {
  StringRef name = dim.getValue();
  if (!wanted.type.hasDim(name))
    return {};
  ArrayRef<StringAttr> axes = spmd::getAxesOf(wanted.type, name);
  if ((axes.empty() && !wanted.isOpen(dim)) ||
      wanted.type.getSize(name) <
          mesh.getProduct(axes) * mesh.getProduct({axis}))
    return {};
  return spmd::addAxes(wanted.type, name, {axis});
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
    std::optional<DesiredSharding> wanted = readDesired(tie.result);
    if (!wanted || isSum(tie))
      return;
    for (DimAttr dim : wanted->type.getDims())
      if (!llvm::is_contained(dims, dim.getName()) &&
          cutFurther(*wanted, dim.getName(), axis, mesh))
        dims.push_back(dim.getName());
  });
  return dims;
}

/// Cuts the first of the dims that can be, if any.
static void cutFirst(const nd::Tie &tie, ArrayRef<StringAttr> dims,
                     StringAttr axis, nd::MeshAttr mesh) {
  std::optional<DesiredSharding> wanted = readDesired(tie.result);
  if (!wanted || isSum(tie))
    return;
  for (StringAttr dim : dims)
    if (TensorType cut = cutFurther(*wanted, dim, axis, mesh)) {
      llvm::erase(wanted->open, dim);
      writeDesired(tie.result, cut, wanted->open);
      spmd::addSharedAxis(tie.result.getOwner(), axis);
      return;
    }
}

void cutCarried(ModuleOp layout, ArrayRef<StringAttr> dims, StringAttr axis) {
  nd::MeshAttr mesh = nd::MeshAttr::of(layout);
  llvm::SmallPtrSet<Type, 4> types;
  if (func::FuncOp function = findCompared(layout))
    forEachCarried(function, [&](const nd::Tie &tie) {
      types.insert(tie.result.getType());
    });
  forEachCarried(layout, [&](const nd::Tie &tie) {
    if (types.contains(tie.result.getType()))
      cutFirst(tie, dims, axis, mesh);
  });
}

bool keepCarried(ModuleOp layout, ModuleOp partitioned) {
  bool places = false;
  for (auto [loop, local] : findLoopPairs(layout, partitioned))
    for (const nd::Tie &tie : loop.getTies()) {
      if (tie.kind != nd::TieKind::Carried)
        continue;
      std::optional<DesiredSharding> wanted = readDesired(tie.result);
      if (!wanted || wanted->open.empty() || isSum(tie))
        continue;
      Value carried = local->getResult(tie.result.getResultNumber());
      writeDesired(tie.result, nd::getTensorType(carried), {});
      places = true;
    }
  return places;
}

} // namespace meshc::partition
