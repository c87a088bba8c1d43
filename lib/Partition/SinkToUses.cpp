//===- SinkToUses.cpp - ops that are no products --------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Partition/SinkToUses.h"
#include "dialects/Nd/Ops/ShapeOps.h"
#include "lib/Partition/FactorChoice.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace meshc::partition {

namespace {
/// Ops of a block between two loops, in the order that they had. An op that
/// moves is held back until one that stays needs it.
class Sinker {
public:
  explicit Sinker(Block &block);
  void run();

private:
  bool moves(Operation *op) const;
  void collect(Operation *op, llvm::SmallVectorImpl<Operation *> &needed);
  void release(llvm::SmallVectorImpl<Operation *> &ops, Operation *before);

  Block &block;
  llvm::SmallVector<Operation *> ops;
  /// The place of each op in the block, and the loops before it.
  llvm::DenseMap<Operation *, std::pair<size_t, size_t>> places;
  llvm::SmallPtrSet<Operation *, 32> held;
  llvm::DenseMap<Value, llvm::SmallVector<Operation *, 1>> renames; ///< held
};
} // namespace

Sinker::Sinker(Block &block) : block(block) {
  size_t loops = 0;
  for (Operation &op : block) {
    places[&op] = {ops.size(), loops};
    ops.push_back(&op);
    loops += op.getNumRegions() != 0;
  }
}

/// Whether another op than the terminator needs the result before the next loop
/// or for it.
bool Sinker::moves(Operation *op) const {
  if (!isa<nd::NamedOpInterface>(op) || op->getNumRegions() != 0 ||
      !isMemoryEffectFree(op) || hasMostPoints(op))
    return false;
  return llvm::any_of(op->getUsers(), [&](Operation *user) {
    Operation *inBlock = block.findAncestorOpInBlock(*user);
    return inBlock != block.getTerminator() &&
           places.lookup(inBlock).second == places.lookup(op).second;
  });
}

/// Takes what the op needs of those held back.
void Sinker::collect(Operation *op,
                     llvm::SmallVectorImpl<Operation *> &needed) {
  auto take = [&](Operation *maker) {
    if (maker && held.erase(maker)) {
      needed.push_back(maker);
      collect(maker, needed);
    }
  };
  for (Value operand : op->getOperands()) {
    take(operand.getDefiningOp());
    for (Operation *rename : renames.lookup(operand))
      take(rename);
    renames.erase(operand);
  }
}

void Sinker::release(llvm::SmallVectorImpl<Operation *> &ops,
                     Operation *before) {
  llvm::sort(ops, [&](Operation *a, Operation *b) {
    return places.lookup(a).first < places.lookup(b).first;
  });
  for (Operation *op : ops)
    op->moveBefore(before);
}

void Sinker::run() {
  for (Operation *op : ops) {
    if (moves(op)) {
      held.insert(op);
      if (auto rename = dyn_cast<nd::RenameOp>(op))
        renames[rename.getInput()].push_back(op);
      continue;
    }
    llvm::SmallVector<Operation *> needed;
    if (op->getNumRegions() != 0 || op == block.getTerminator()) {
      needed.assign(held.begin(), held.end());
      held.clear();
    } else {
      collect(op, needed);
    }
    release(needed, op);
  }
}

void sinkToUses(Block &block) { Sinker(block).run(); }

} // namespace meshc::partition
