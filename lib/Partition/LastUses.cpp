//===- LastUses.cpp - how long the values of a block are used -------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Partition/LastUses.h"
#include "lib/Partition/CheapOps.h"

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

} // namespace meshc::partition
