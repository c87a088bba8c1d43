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

static constexpr llvm::StringLiteral refusedShareName = "spmd.refused_share",
                                     priceName = "spmd.price";

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

/// Chooses the plan of a function and adds it to `chosen`; with a cost model,
/// its price, too. Fails, with an error, if the function cannot be partitioned.
static LogicalResult choosePlan(func::FuncOp function,
                                reshard::ReshardPlanner &planner,
                                MoveLimit &limit, const cost::CostModel *model,
                                ChosenPlans &chosen, NamedAttrList &plans) {
  if (!function.getBody().hasOneBlock())
    return function.emitError("a function must have one block");
  llvm::SmallVector<TensorType> arguments, results;
  if (failed(collectShardings(function, /*ofResults=*/false, arguments)) ||
      failed(collectShardings(function, /*ofResults=*/true, results)))
    return failure();
  Block &block = function.getBody().front();
  const OpNumbers numbers = numberOps(block);
  BlockPlanner blockPlanner(block, planner, nd::MeshAttr::of(function), limit);
  for (auto [argument, type] : llvm::zip(block.getArguments(), arguments))
    blockPlanner.addArgument(argument, type);
  blockPlanner.setEnds(results);
  if (failed(blockPlanner.run()))
    return failure();
  const std::shared_ptr<BlockPlan> plan = blockPlanner.takePlan();
  if (model)
    chosen.price = getPrice(*plan, block, planner, *model);
  plans.set(function.getName(),
            getAttribute(*plan, block, numbers, limit.options.gathersOnce));
  chosen.functions.push_back({function, plan});
  sortOps(block, numbers);
  return success();
}

FailureOr<ChosenPlans> choosePlans(ModuleOp layout, const PlanOptions &options,
                                   const cost::CostModel *model,
                                   Planned planned) {
  auto planner = reshard::ReshardPlanner::of(layout, options.pointCost);
  // Only its blocks ask for another plan.
  func::FuncOp compared = findCompared(layout);
  ChosenPlans chosen;
  NamedAttrList plans;
  for (auto function : layout.getOps<func::FuncOp>()) {
    const bool isCompared = function == compared;
    if (planned == Planned::Compared && compared && !isCompared)
      continue;
    MoveLimit limit(options);
    if (failed(choosePlan(function, planner, limit,
                          isCompared ? model : nullptr, chosen, plans)))
      return failure();
    if (isCompared)
      chosen.refusedShare = limit.getRefusedShare();
  }
  chosen.plans = plans.getDictionary(layout.getContext());
  return chosen;
}

/// Notes the price in the function's attribute `spmd.price`.
static void setPrice(func::FuncOp function, const PlanPrice &price) {
  Builder builder(function.getContext());
  NamedAttrList numbers;
  numbers.set("seconds", builder.getF64FloatAttr(price.time.seconds));
  numbers.set("arena", builder.getF64FloatAttr(price.arenaBytes));
  for (const AxisPrice &sent : price.axes)
    numbers.set(("bytes." + sent.axis.getValue()).str(),
                builder.getF64FloatAttr(sent.bytes));
  function->setAttr(priceName, numbers.getDictionary(function.getContext()));
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
    std::optional<cost::CostModel> model;
    if (!machine.empty()) {
      llvm::Expected<cost::Machine> found = cost::findMachine(machine);
      if (!found) {
        module.emitError(llvm::toString(found.takeError()));
        return signalPassFailure();
      }
      model.emplace(*found, nd::MeshAttr::of(module));
    }
    FailureOr<ChosenPlans> chosen =
        choosePlans(module, options, model ? &*model : nullptr);
    if (failed(chosen) || failed(spmd::setPlans(module, chosen->plans)))
      return signalPassFailure();
    if (chosen->price)
      setPrice(findCompared(module), *chosen->price);
    module->removeAttr(refusedShareName);
    if (chosen->refusedShare)
      module->setAttr(refusedShareName,
                      Builder(module).getF64FloatAttr(*chosen->refusedShare));
  }
};
} // namespace

} // namespace meshc::partition
