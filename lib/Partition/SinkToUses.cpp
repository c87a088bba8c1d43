//===- SinkToUses.cpp - cheap ops close to their users --------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Partition/SinkToUses.h"
#include "lib/Partition/FactorChoice.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace meshc::partition {

/// The first op of the block that uses a result of `op`; null if there is none,
/// or if the terminator uses one.
static Operation *findFirstUser(Operation *op, Block &block) {
  Operation *first = nullptr;
  for (Operation *user : op->getUsers()) {
    Operation *inBlock = block.findAncestorOpInBlock(*user);
    if (inBlock == block.getTerminator())
      return nullptr;
    if (!first || inBlock->isBeforeInBlock(first))
      first = inBlock;
  }
  return first;
}

void sinkToUses(Block &block) {
  llvm::SmallVector<Operation *> ops;
  llvm::DenseMap<Operation *, unsigned> loopsBefore;
  unsigned loops = 0;
  for (Operation &op : block.without_terminator()) {
    ops.push_back(&op);
    loopsBefore[&op] = loops;
    loops += op.getNumRegions() != 0;
  }
  for (Operation *op : llvm::reverse(ops)) {
    if (!isa<nd::NamedOpInterface>(op) || op->getNumRegions() != 0 ||
        !isMemoryEffectFree(op) || hasMostPoints(op))
      continue;
    Operation *user = findFirstUser(op, block);
    if (user && user != op->getNextNode() &&
        loopsBefore[user] == loopsBefore[op])
      op->moveBefore(user);
  }
}

} // namespace meshc::partition
