//===- ChoosePlan.cpp - a plan for each function --------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/TensorAttributes.h"
#include "dialects/Spmd/FunctionPlans.h"
#include "lib/Partition/BlockPlanner.h"
#include "lib/Partition/ChoosePlans.h"
#include "lib/Partition/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace meshc::partition {

#define GEN_PASS_DEF_CHOOSEPLAN
#include "lib/Partition/Passes.h.inc"

using nd::TensorType;

static constexpr llvm::StringLiteral refusedShareName = "spmd.refused_share";

/// The wanted shardings of the arguments (or results) of a function. Fails,
/// with an error on the function, if one is missing.
static LogicalResult
collectShardings(func::FuncOp function, bool ofResults,
                 llvm::SmallVectorImpl<TensorType> &shardings) {
  unsigned count =
      ofResults ? function.getNumResults() : function.getNumArguments();
  for (unsigned index = 0; index < count; ++index) {
    auto tensor = ofResults ? nd::TensorAttributes::ofResult(function, index)
                            : nd::TensorAttributes::ofArgument(function, index);
    shardings.push_back(getSharding(tensor.getSharding()));
    if (!shardings.back())
      return function.emitError()
             << (ofResults ? "result " : "argument ") << index
             << " lacks a required sharding; run the layout phase first";
  }
  return success();
}

/// The plan of a function; null, with an error, if it cannot be partitioned.
static spmd::PlanAttr choosePlan(func::FuncOp function,
                                 spmd::ReshardPlanner &planner,
                                 MoveLimit &limit) {
  if (!function.getBody().hasOneBlock()) {
    function.emitError("a function must have one block");
    return {};
  }
  llvm::SmallVector<TensorType> arguments, results;
  if (failed(collectShardings(function, /*ofResults=*/false, arguments)) ||
      failed(collectShardings(function, /*ofResults=*/true, results)))
    return {};
  Block &block = function.getBody().front();
  const OpNumbers numbers = numberOps(block);
  BlockPlanner blockPlanner(block, planner, nd::MeshAttr::of(function), limit);
  for (auto [argument, type] : llvm::zip(block.getArguments(), arguments))
    blockPlanner.addArgument(argument, type);
  blockPlanner.setEnds(results);
  if (failed(blockPlanner.run()))
    return {};
  auto plan = getAttribute(*blockPlanner.takePlan(), block, numbers,
                           limit.options.gathersOnce);
  sortOps(block, numbers);
  return plan;
}

FailureOr<ChosenPlans> choosePlans(ModuleOp layout,
                                   const PlanOptions &options) {
  auto planner = spmd::ReshardPlanner::of(layout, options.pointCost);
  // Only its blocks ask for another plan.
  func::FuncOp compared = findCompared(layout);
  ChosenPlans chosen;
  NamedAttrList plans;
  for (auto function : layout.getOps<func::FuncOp>()) {
    MoveLimit limit(options);
    spmd::PlanAttr plan = choosePlan(function, planner, limit);
    if (!plan)
      return failure();
    plans.set(function.getName(), plan);
    if (function == compared)
      chosen.refusedShare = limit.getRefusedShare();
  }
  chosen.plans = plans.getDictionary(layout.getContext());
  return chosen;
}

namespace {
struct ChoosePlan : impl::ChoosePlanBase<ChoosePlan> {
  using ChoosePlanBase::ChoosePlanBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    PlanOptions options;
    options.moveShare = moveShare;
    options.mayCutFurther = mayCutFurther;
    if (keptByteCost >= 0)
      options.keptByteCost = keptByteCost;
    options.pointCost = pointCost;
    options.gathersOnce = gathersOnce;
    if (!(moveShare >= 0) || !(pointCost > 0)) {
      module.emitError("move-share must be at least 0, and point-cost above 0");
      return signalPassFailure();
    }
    FailureOr<ChosenPlans> chosen = choosePlans(module, options);
    if (failed(chosen) || failed(spmd::setPlans(module, chosen->plans)))
      return signalPassFailure();
    module->removeAttr(refusedShareName);
    if (chosen->refusedShare)
      module->setAttr(refusedShareName,
                      Builder(module).getF64FloatAttr(*chosen->refusedShare));
  }
};
} // namespace

} // namespace meshc::partition
