//===- BlockPartitioner.cpp - the ops of one block on shards --------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Partition/BlockPartitioner.h"
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/TensorAttributes.h"
#include "lib/Partition/ExchangeBuilder.h"
#include "lib/Partition/LoopPartitioner.h"
#include "lib/Partition/SearchBlock.h"
#include "lib/Partition/SinkToUses.h"
#include "lib/Partition/WideSums.h"
#include "llvm/Support/DebugLog.h"
#include "llvm/Support/InterleavedRange.h"

#define DEBUG_TYPE "meshc-partition-program"

using namespace mlir;

namespace meshc::partition {

using nd::Factor;
using nd::PartitionRule;
using nd::TensorType;

void BlockPartitioner::addArgument(BlockArgument argument,
                                   TensorType sharding) {
  forms[argument] = {made.addArgument(sharding, argument.getLoc())};
  desired[argument] = DesiredSharding(sharding);
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// Enters the shardings that the layout wants for the op's results. Fails, with
/// an error on the op, if it cannot be partitioned.
LogicalResult BlockPartitioner::collectDesired(Operation &op) {
  if (!isa<nd::ScanOp>(op) &&
      (!isa<nd::NamedOpInterface>(op) || op.getNumRegions() != 0))
    return op.emitError() << "'" << op.getName()
                          << "' has no partition rule and cannot be cut over "
                             "the mesh";
  for (OpResult result : op.getResults()) {
    std::optional<DesiredSharding> known = readDesired(result);
    if (!known)
      return op.emitError("lacks a required sharding for each result; run the "
                          "layout phase first");
    known->mayCutFurther = limit.mayCutFurther;
    desired[result] = std::move(*known);
  }
  return success();
}

/// Enters the form in which the result was computed. A partial value waits for
/// its first use, a stack of partial entries too, and a part of a carried sum
/// for the end of the loop; any other value is resharded as wanted.
void BlockPartitioner::addResult(OpResult result, Value computed) {
  forms[result].push_back(computed);
  TensorType type = nd::getTensorType(computed);
  if (!type.isPartial() && getWanted(result).share == 1 &&
      !getFacts(result).isRecomputable)
    getForm(result, getDesired(result).settle(type));
}

void BlockPartitioner::build(Operation &op, const FactorChoice &choice) {
  LDBG() << op.getName() << " at " << op.getLoc() << ": operands "
         << llvm::interleaved(choice.operandTypes) << ", results "
         << llvm::interleaved(choice.resultTypes) << ", reshards send "
         << choice.bytes << " bytes";
  llvm::SmallVector<Value> blocks;
  for (auto [operand, type] : llvm::zip(op.getOperands(), choice.operandTypes))
    blocks.push_back(getForm(operand, type));
  PartitionRule rule =
      nd::joinAlternatives(cast<nd::NamedOpInterface>(op).getPartitionRule());
  FactorChoice computed = choice;
  const bool addsBlocks =
      llvm::any_of(llvm::zip(rule.factors, choice.axesOfFactor), [](auto pair) {
        return addsOverlaps(std::get<0>(pair), std::get<1>(pair));
      });
  computed.resultTypes = getComputedTypes(op, choice.resultTypes, addsBlocks);
  blocks = widenBlocks(op, computed.resultTypes, blocks, builder);
  computed.operandTypes = llvm::map_to_vector(
      blocks, [](Value block) { return nd::getTensorType(block); });
  // The search chooses only what can be built.
  Operation *local = buildExchange(op, rule, computed, blocks, builder, mesh);
  // A cast of parts that are f32 already.
  if (isa<nd::CastOp>(local) &&
      local->getOperandTypes() == local->getResultTypes()) {
    addResult(op.getResult(0), local->getOperand(0));
    local->erase();
    return;
  }
  for (auto [result, made, type] :
       llvm::zip(op.getResults(), local->getResults(), choice.resultTypes))
    addResult(result, round(made, type));
}

/// The value, which was computed in f32, in its own type.
Value BlockPartitioner::round(Value computed, TensorType type) {
  if (computed.getType() == type)
    return computed;
  auto rounded = nd::CastOp::create(builder, computed.getLoc(), type, computed);
  nd::copyName(computed.getDefiningOp(), rounded);
  nd::copyClass(computed.getDefiningOp(), rounded);
  nd::copyParameter(computed.getDefiningOp(), rounded);
  return rounded;
}

LogicalResult BlockPartitioner::partitionLoop(nd::ScanOp loop) {
  auto body = std::make_unique<Block>();
  LoopPartitioner partitioner(loop, *body, *this, planner, mesh, limit);
  if (failed(partitioner.run()))
    return failure();
  nd::ScanOp local = partitioner.build(builder, std::move(body));
  if (limit.keptByteCost && isFollowed(loop))
    local = partitioner.offerCopies(local, copies);
  partitioner.dropUnusedCopies();
  for (auto [result, computed] :
       llvm::zip(loop->getResults(), local->getResults()))
    addResult(result, computed);
  return success();
}

void BlockPartitioner::partitionEnd(Operation &terminator) {
  llvm::SmallVector<Value> values;
  for (auto [operand, type] : llvm::zip(terminator.getOperands(), ends))
    values.push_back(getForm(operand, type));
  builder.clone(terminator)->setOperands(values);
}

LogicalResult BlockPartitioner::prepare() {
  sinkToUses(old);
  for (Operation &op : old.without_terminator())
    if (failed(collectDesired(op)))
      return failure();
  for (auto [operand, type] :
       llvm::zip(old.getTerminator()->getOperands(), ends))
    if (auto known = desired.find(operand); known != desired.end())
      known->second.prefer(type);
  propagatePreferences(old, desired);
  cuts = LinkedCuts(old, desired);
  return success();
}

void BlockPartitioner::dropUnusedCopies() {
  llvm::for_each(llvm::reverse(copies), dropUnused);
  copies.clear();
}

LogicalResult BlockPartitioner::run() {
  if (failed(prepare()))
    return failure();
  // Loops end a search: what they need and make is known when they are built.
  llvm::SmallVector<Operation *> ops, last;
  auto buildAll = [&] {
    auto choices = searchBlock(*this, planner, mesh, limit, ops);
    for (auto [op, choice] : llvm::zip(ops, choices))
      build(*op, choice);
    ops.clear();
  };
  for (Operation &op : old.without_terminator()) {
    auto loop = dyn_cast<nd::ScanOp>(op);
    if (!loop) {
      (isBuiltLast(op) ? last : ops).push_back(&op);
      continue;
    }
    buildAll();
    if (failed(partitionLoop(loop)))
      return failure();
  }
  buildAll();
  for (Operation *op : last)
    buildLast(*op);
  chooseEnds();
  partitionEnd(*old.getTerminator());
  return success();
}

} // namespace meshc::partition
