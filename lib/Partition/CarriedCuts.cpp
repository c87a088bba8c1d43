//===- CarriedCuts.cpp - dims of what loops carry, cut --------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/LoopEdit.h"
#include "lib/Partition/FactorChoice.h"
#include "lib/Partition/PlanMoves.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace meshc::partition {

using nd::DimAttr;
using nd::TensorType;
using spmd::AxisList;

/// Of the points that a rank computes in products. Less is not worth trials.
static constexpr double leastRepeated = 0.1;

namespace {
/// How the axes of the mesh divide the points of products.
class DividedPoints {
public:
  explicit DividedPoints(nd::MeshAttr mesh) : mesh(mesh) {}

  void add(const BlockPlan &plan, double runs);
  AxisList getRepeated() const;

private:
  void add(const PlanStep &step, double runs);

  nd::MeshAttr mesh;
  double all = 0;
  /// By axis: the points that it cuts; in the order of the program.
  llvm::MapVector<StringAttr, double> divided;
};
} // namespace

void DividedPoints::add(const PlanStep &step, double runs) {
  // All axes that cut a value of the step, or over which one is partial.
  llvm::SmallSetVector<StringAttr, 4> axes;
  for (TensorType type :
       llvm::concat<const TensorType>(step.operands, step.results))
    axes.insert_range(spmd::getUsedAxes(type));
  for (StringAttr axis : axes)
    divided.insert({axis, 0});
  if (step.kind != spmd::StepKind::Make || !hasMostPoints(step.op))
    return;
  const double points =
      countPoints(step.op) * runs / double(mesh.getProduct(axes.getArrayRef()));
  all += points;
  for (StringAttr axis : axes)
    divided[axis] += points;
}

void DividedPoints::add(const BlockPlan &plan, double runs) {
  for (const PlanStep &step : plan.steps) {
    add(step, runs);
    if (step.body)
      add(*step.body,
          runs * static_cast<double>(cast<nd::ScanOp>(step.op).getSize()));
  }
}

AxisList DividedPoints::getRepeated() const {
  AxisList repeated;
  for (auto [axis, points] : divided)
    if (all - points > leastRepeated * all && mesh.getProduct({axis}) > 1)
      repeated.push_back(axis);
  spmd::sortByMesh(repeated, mesh);
  return repeated;
}

AxisList findRepeatedAxes(const BlockPlan &plan, nd::MeshAttr mesh) {
  if (!mesh)
    return {};
  DividedPoints points(mesh);
  points.add(plan, /*runs=*/1);
  return points.getRepeated();
}

/// Whether the loop's result is a sum that starts at zero.
static bool isSum(const nd::Tie &tie) {
  auto initial = tie.operand.getDefiningOp<nd::NamedOpInterface>();
  return initial && initial.getPartitionRule().isZero &&
         nd::findAddition(cast<nd::ScanOp>(tie.result.getOwner()),
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

AxisList findCarriedDims(func::FuncOp function, StringAttr axis,
                         const TieForms &ties) {
  nd::MeshAttr mesh = nd::MeshAttr::of(function);
  AxisList dims;
  if (!mesh)
    return dims;
  forEachCarried(function, [&](const nd::Tie &tie) {
    std::optional<DesiredSharding> wanted = ties.getDesired(tie.result);
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
                     StringAttr axis, nd::MeshAttr mesh, TieForms &ties) {
  std::optional<DesiredSharding> wanted = ties.getDesired(tie.result);
  if (!wanted || isSum(tie))
    return;
  for (StringAttr dim : dims)
    if (TensorType cut = cutFurther(*wanted, dim, axis, mesh)) {
      llvm::erase(wanted->open, dim);
      ties.setDesired(tie.result, cut, wanted->open);
      ties.addSharedAxis(tie.result.getOwner(), axis);
      return;
    }
}

void cutCarried(func::FuncOp function, ArrayRef<StringAttr> dims,
                StringAttr axis, TieForms &ties) {
  nd::MeshAttr mesh = nd::MeshAttr::of(function);
  llvm::SmallPtrSet<Type, 4> types;
  forEachCarried(function, [&](const nd::Tie &tie) {
    types.insert(tie.result.getType());
  });
  forEachCarried(function->getParentOfType<ModuleOp>(),
                 [&](const nd::Tie &tie) {
                   if (types.contains(tie.result.getType()))
                     cutFirst(tie, dims, axis, mesh, ties);
                 });
}

/// Calls `use` with each value that a loop carries and that has open dims, what
/// is wanted of it, and its form in the plans. Sums are left out.
static void forEachOpen(
    FunctionPlans plans, const TieForms &ties,
    llvm::function_ref<void(OpResult, const DesiredSharding &, TensorType)>
        use) {
  auto look = [&](nd::ScanOp loop, const BlockPlan &body, const BlockPlan &) {
    for (const nd::Tie &tie : loop.getTies()) {
      if (tie.kind != nd::TieKind::Carried)
        continue;
      std::optional<DesiredSharding> wanted = ties.getDesired(tie.result);
      if (wanted && !wanted->open.empty() && !isSum(tie))
        use(tie.result, *wanted, body.ends[tie.result.getResultNumber()]);
    }
  };
  for (const FunctionPlan &each : plans)
    forEachLoop(*each.plan, look);
}

bool keepCarried(FunctionPlans plans, TieForms &ties) {
  bool places = false;
  forEachOpen(plans, ties,
              [&](OpResult result, const DesiredSharding &, TensorType form) {
                ties.setDesired(result, form, {});
                places = true;
              });
  return places;
}

bool uncutCarried(FunctionPlans plans, TieForms &ties) {
  bool uncuts = false;
  forEachOpen(
      plans, ties,
      [&](OpResult result, const DesiredSharding &wanted, TensorType form) {
        uncuts |= form != wanted.type;
        ties.setDesired(result, wanted.type, {});
      });
  return uncuts;
}

} // namespace meshc::partition
