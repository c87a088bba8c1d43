//===- LastUses.cpp - how long the values of a block are used -------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Partition/LastUses.h"
#include "dialects/Nd/Ops/ShapeOps.h"
#include "lib/Partition/CheapOps.h"

using namespace mlir;

namespace meshc::partition {

llvm::DenseMap<Operation *, llvm::SmallVector<Value>>
findLastUses(ArrayRef<Operation *> ops) {
  llvm::DenseMap<Value, Operation *> lastUse;
  auto use = [&](Value value, Operation *user) {
    auto [it, isNew] = lastUse.try_emplace(value, user);
    if (!isNew && it->second->isBeforeInBlock(user))
      it->second = user;
    return it->second;
  };
  for (Operation &op : llvm::reverse(*ops.front()->getBlock())) {
    Operation *last = &op;
    if (isCopy(&op)) {
      last = use(op.getResult(0), &op);
      if (isa<nd::RenameOp>(op)) {
        last = use(op.getOperand(0), last);
        use(op.getResult(0), last);
      }
    }
    for (Value operand : op.getOperands())
      use(operand, last);
    if (&op == ops.front())
      break;
  }
  llvm::DenseMap<Operation *, llvm::SmallVector<Value>> dying;
  for (auto [value, op] : lastUse)
    dying[op].push_back(value);
  for (Operation *op : ops)
    for (Value result : op->getResults())
      if (result.use_empty() && !lastUse.contains(result))
        dying[op].push_back(result);
  return dying;
}

} // namespace meshc::partition
