//===- KeptForms.cpp - loops keep values as others use them ---------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/TensorAttributes.h"
#include "lib/Partition/PlanMoves.h"

using namespace mlir;

namespace meshc::partition {

using nd::TensorType;
using spmd::StepKind;

void forEachLoop(
    const BlockPlan &plan,
    llvm::function_ref<void(nd::ScanOp, const BlockPlan &, const BlockPlan &)>
        use) {
  for (const PlanStep &step : plan.steps)
    if (step.kind == StepKind::Loop) {
      use(cast<nd::ScanOp>(step.op), *step.body, plan);
      forEachLoop(*step.body, use);
    }
}

namespace {
/// The costliest form to which a value is moved.
class CostliestMove {
public:
  CostliestMove(const DesiredSharding &wanted, reshard::ReshardPlanner &planner)
      : wanted(wanted), planner(planner) {}

  void consider(TensorType from, TensorType to) {
    const double cost = planner.getCost(from, to);
    if (cost > highest && !to.isPartial() && wanted.settle(to) == to) {
      type = to;
      highest = cost;
    }
  }
  /// Considers the moves of one form of the value.
  void considerMoves(const BlockPlan &body, Value value, TensorType from) {
    for (const PlanStep &step : body.steps)
      if (step.kind == StepKind::Move && step.value == value &&
          step.operands[0] == from)
        consider(from, step.results[0]);
  }
  TensorType getType() const { return type; }

private:
  const DesiredSharding &wanted;
  reshard::ReshardPlanner &planner;
  TensorType type; ///< null if there is none
  double highest = 0;
};

/// A value that a loop keeps, and a form in which it may be kept as well.
struct KeptValue {
  OpResult made, stack;
  TensorType use;
  bool isPlaced; ///< so already, if not cut further
};
} // namespace

/// Considers what loops of `around` do with entries of the stack, which lie as
/// `type` does.
static void considerUses(OpResult stack, TensorType type,
                         const BlockPlan &around, CostliestMove &costliest) {
  for (const PlanStep &step : around.steps) {
    if (step.kind != StepKind::Loop)
      continue;
    size_t next = 0;
    for (const nd::Tie &tie : cast<nd::ScanOp>(step.op).getTies()) {
      if (tie.kind != nd::TieKind::Carried &&
          tie.kind != nd::TieKind::StackedOperand)
        continue;
      TensorType entry = step.body->arguments[next++];
      if (tie.kind == nd::TieKind::StackedOperand && tie.operand == stack &&
          entry == type)
        costliest.considerMoves(*step.body, tie.argument, entry);
    }
  }
}

static void findKeptValues(nd::ScanOp loop, const BlockPlan &body,
                           const BlockPlan &around, const TieForms &ties,
                           reshard::ReshardPlanner &planner,
                           llvm::SmallVectorImpl<KeptValue> &values) {
  for (const nd::Tie &tie : loop.getTies()) {
    auto made = dyn_cast_or_null<OpResult>(tie.yielded);
    if (tie.kind != nd::TieKind::StackedResult || !made)
      continue;
    std::optional<DesiredSharding> wanted = ties.getDesired(made);
    if (!wanted || !ties.getDesired(tie.result))
      continue;
    wanted->mayCutFurther = true;
    const TensorType entry = body.ends[tie.result.getResultNumber()];
    CostliestMove costliest(*wanted, planner);
    considerUses(tie.result, entry, around, costliest);
    for (const PlanStep &step : body.steps)
      if (step.kind == StepKind::Keep && step.value == made &&
          llvm::any_of(body.steps, [&](const PlanStep &move) {
            return move.kind == StepKind::Move && move.value == made &&
                   move.operands[0] == entry &&
                   move.results[0] == step.results[0];
          }))
        costliest.consider(entry, step.results[0]);
    if (TensorType use = costliest.getType())
      values.push_back(
          {made, tie.result, use, wanted->type == use && wanted->open.empty()});
  }
}

bool keepAsUsed(FunctionPlans plans, KeptForm form,
                reshard::ReshardPlanner &planner, TieForms &ties) {
  llvm::SmallVector<KeptValue> values;
  for (const FunctionPlan &each : plans)
    forEachLoop(*each.plan, [&](nd::ScanOp loop, const BlockPlan &body,
                                const BlockPlan &around) {
      findKeptValues(loop, body, around, ties, planner, values);
    });
  if (form == KeptForm::Placed)
    llvm::erase_if(values,
                   [](const KeptValue &value) { return value.isPlaced; });
  for (const KeptValue &value : values) {
    auto loop = cast<nd::ScanOp>(value.stack.getOwner());
    ties.setDesired(value.made, value.use, {});
    ties.setDesired(value.stack,
                    nd::getStackedType(value.use, loop.getDim(),
                                       static_cast<int64_t>(loop.getSize())),
                    {});
    if (form == KeptForm::Exact)
      ties.setExact(value.stack);
  }
  return !values.empty();
}

} // namespace meshc::partition
