//===- LastUses.cpp - how long the values of a block are used -------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Partition/LastUses.h"

using namespace mlir;

namespace meshc::partition {

llvm::DenseMap<Operation *, llvm::SmallVector<Value>>
findLastUses(ArrayRef<Operation *> ops) {
  llvm::DenseMap<Value, Operation *> lastUse;
  llvm::SmallVector<Value> values; // those that are used last first
  auto visit = [&](Value value, Operation *last) {
    if (lastUse.try_emplace(value, last).second)
      values.push_back(value);
  };
  for (Operation &op : llvm::reverse(*ops.front()->getBlock())) {
    for (Value operand : op.getOperands()) {
      size_t next = values.size();
      visit(operand, &op);
      // And what it may be copied from, and that from what.
      for (; next < values.size(); ++next)
        for (const CopySource &source : findCopySources(values[next]))
          visit(source.value, &op);
    }
    if (&op == ops.front())
      break;
  }
  llvm::DenseMap<Operation *, llvm::SmallVector<Value>> dying;
  for (Value value : values)
    dying[lastUse.lookup(value)].push_back(value);
  for (Operation *op : ops)
    for (Value result : op->getResults())
      if (!lastUse.contains(result))
        dying[op].push_back(result);
  return dying;
}

llvm::SmallVector<Value> findOutgoing(BlockPlanner &block,
                                      ArrayRef<Operation *> ops) {
  llvm::SmallVector<Value> outgoing;
  Operation *terminator = block.getTerminator();
  llvm::SmallPtrSet<Operation *, 32> inside(ops.begin(), ops.end());
  auto isRead = [&](OpOperand &use) {
    return use.getOwner() == terminator
               ? block.isStackForOps(use.getOperandNumber())
               : !inside.contains(use.getOwner());
  };
  for (Operation *op : ops)
    for (Value result : op->getResults())
      if (!block.isRecomputed(result) && llvm::any_of(result.getUses(), isRead))
        outgoing.push_back(result);
  return outgoing;
}

Value followLinearUse(Value value) {
  if (!hasOneUser(value))
    return {};
  auto user = dyn_cast<nd::NamedOpInterface>(*value.user_begin());
  if (!user || user->getNumResults() != 1 || user->getNumRegions() != 0)
    return {};
  nd::PartitionRule rule = user.getPartitionRule();
  bool isLinear = rule.jointlyLinear ||
                  llvm::any_of(rule.linearOperands, [&](unsigned operand) {
                    return operand < user->getNumOperands() &&
                           user->getOperand(operand) == value;
                  });
  return isLinear ? user->getResult(0) : Value();
}

} // namespace meshc::partition
