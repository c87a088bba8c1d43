//===- BlockPlanner.cpp - how one block is partitioned --------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Partition/BlockPlanner.h"
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "lib/Partition/LoopPlanner.h"
#include "lib/Partition/SearchBlock.h"
#include "lib/Partition/SinkToUses.h"
#include "lib/Partition/WideSums.h"
#include "llvm/Support/DebugLog.h"
#include "llvm/Support/InterleavedRange.h"

#define DEBUG_TYPE "meshc-choose-plan"

using namespace mlir;

namespace meshc::partition {

using nd::PartitionRule;
using nd::TensorType;
using spmd::StepKind;

void BlockPlanner::addArgument(BlockArgument argument, TensorType sharding) {
  forms[argument] = {sharding};
  desired[argument] = DesiredSharding(sharding);
  plan->arguments.push_back(sharding);
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// Enters the shardings that the layout wants for the op's results. Fails, with
/// an error on the op, if it cannot be partitioned.
LogicalResult BlockPlanner::collectDesired(Operation &op) {
  if (!isa<nd::ScanOp>(op) &&
      (!isa<nd::NamedOpInterface>(op) || op.getNumRegions() != 0))
    return op.emitError() << "'" << op.getName()
                          << "' has no partition rule and cannot be cut over "
                             "the mesh";
  for (OpResult result : op.getResults()) {
    std::optional<DesiredSharding> known =
        limit.options.ties.getDesired(result);
    if (!known)
      return op.emitError("lacks a required sharding for each result; run the "
                          "layout phase first");
    known->mayCutFurther = limit.options.mayCutFurther;
    desired[result] = std::move(*known);
  }
  return success();
}

/// Enters the form in which the result is computed. A partial value waits for
/// its first use, a stack of partial entries too, and a part of a carried sum
/// for the end of the loop; any other value is resharded as wanted.
void BlockPlanner::addResult(OpResult result, TensorType made) {
  addForm(result, made);
  if (!made.isPartial() && getWanted(result).share == 1 &&
      !getFacts(result).isRecomputable)
    needForm(result, getDesired(result).settle(made));
}

/// The types in which the op makes its results as the choice says: of a cast of
/// parts that are f32 already, that of these parts.
static llvm::SmallVector<TensorType> getMadeTypes(Operation &op,
                                                  const FactorChoice &choice) {
  if (!isa<nd::CastOp>(op))
    return llvm::to_vector(choice.resultTypes);
  auto computed =
      getComputedTypes(op, choice.resultTypes, /*addsOverlaps=*/false);
  return getWidened(op, computed, choice.operandTypes) == computed
             ? computed
             : llvm::to_vector(choice.resultTypes);
}

void BlockPlanner::planOp(Operation &op, const FactorChoice &choice) {
  LDBG() << op.getName() << " at " << op.getLoc() << ": operands "
         << llvm::interleaved(choice.operandTypes) << ", results "
         << llvm::interleaved(choice.resultTypes) << ", reshards send "
         << choice.bytes << " bytes";
  for (auto [operand, type] : llvm::zip(op.getOperands(), choice.operandTypes))
    needForm(operand, type);
  llvm::SmallVector<TensorType> made = getMadeTypes(op, choice);
  PlanStep step{StepKind::Make, &op};
  if (isa<nd::CastOp>(op) && choice.operandTypes[0] == made[0]) {
    step.kind = StepKind::Same;
  } else {
    step.axes = choice.axesOfFactor;
    llvm::append_range(step.operands, choice.operandTypes);
  }
  llvm::append_range(step.results, made);
  plan->add(std::move(step));
  for (auto [result, type] : llvm::zip(op.getResults(), made))
    addResult(result, type);
}

LogicalResult BlockPlanner::planLoop(nd::ScanOp loop) {
  LoopPlanner inside(loop, *this, planner, mesh, limit);
  if (failed(inside.run()))
    return failure();
  inside.needOperands();
  PlanStep step{StepKind::Loop, loop};
  if (spmd::AxisList shared = limit.options.ties.getSharedAxes(loop);
      !shared.empty())
    step.axes.push_back(std::move(shared));
  if (limit.options.keptByteCost && isFollowed(loop))
    inside.offerCopies(copies);
  step.body = inside.takePlan();
  llvm::SmallVector<Form, 2> made = step.getMade();
  plan->add(std::move(step));
  for (const Form &each : made)
    addResult(cast<OpResult>(each.value), each.type);
  return success();
}

void BlockPlanner::planEnd() {
  for (auto [operand, type] :
       llvm::zip(getTerminator()->getOperands(), plan->ends))
    needForm(operand, type);
}

LogicalResult BlockPlanner::prepare() {
  sinkToUses(block);
  for (Operation &op : block.without_terminator())
    if (failed(collectDesired(op)))
      return failure();
  for (auto [operand, type] :
       llvm::zip(getTerminator()->getOperands(), plan->ends))
    if (auto known = desired.find(operand); known != desired.end())
      known->second.prefer(type);
  propagatePreferences(block, desired);
  cuts = LinkedCuts(block, desired);
  return success();
}

LogicalResult BlockPlanner::run() {
  if (failed(prepare()))
    return failure();
  // Loops end a search: what they need and make is known when they are planned.
  llvm::SmallVector<Operation *> ops, last;
  auto planAll = [&] {
    auto choices = searchBlock(*this, planner, mesh, limit, ops);
    for (auto [op, choice] : llvm::zip(ops, choices))
      planOp(*op, choice);
    ops.clear();
  };
  for (Operation &op : block.without_terminator()) {
    auto loop = dyn_cast<nd::ScanOp>(op);
    if (!loop) {
      (isPlannedLast(op) ? last : ops).push_back(&op);
      continue;
    }
    planAll();
    if (failed(planLoop(loop)))
      return failure();
  }
  planAll();
  for (Operation *op : last)
    planLast(*op);
  chooseEnds();
  planEnd();
  for (const LoopCopies &each : llvm::reverse(copies))
    keepTaken(each, *plan);
  return success();
}

} // namespace meshc::partition
