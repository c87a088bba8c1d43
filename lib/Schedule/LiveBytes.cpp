//===- LiveBytes.cpp - the memory of a block in a given order -------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Schedule/LiveBytes.h"
#include "lib/Schedule/Residence.h"

using namespace mlir;

namespace meshc::schedule {

/// Whether the result lies where an operand was.
static bool takesPlace(OpResult result) {
  Operation *op = result.getOwner();
  auto reduce = dyn_cast<spmd::AllReduceOp>(op);
  unsigned number = result.getResultNumber();
  return reduce && reduce->getOperand(number).hasOneUse() &&
         !isa<BlockArgument>(reduce->getOperand(number)) &&
         canWriteOver(op, number, number);
}

llvm::SmallVector<int64_t>
countLiveBytes(ArrayRef<Operation *> order,
               const llvm::DenseMap<Operation *, int64_t> &inner) {
  if (order.empty())
    return {};
  Block &block = *order.front()->getBlock();
  nd::MeshAttr mesh = nd::MeshAttr::of(block.getParentOp());
  Operation *terminator = block.getTerminator();
  llvm::DenseMap<Operation *, size_t> times;
  for (auto [time, op] : llvm::enumerate(order))
    times[op] = time;
  llvm::SmallVector<int64_t> live(order.size()), dying(order.size(), 0);
  int64_t now = 0;
  for (auto [time, op] : llvm::enumerate(order)) {
    for (OpResult result : op->getResults()) {
      if (llvm::is_contained(result.getUsers(), terminator))
        continue;
      size_t last = time;
      for (Operation *user : result.getUsers())
        last = std::max(last, times.lookup(user));
      int64_t bytes = nd::getTensorType(result).getLocalBytes(mesh);
      dying[last] += bytes;
      if (!takesPlace(result))
        now += bytes;
      else
        dying[time] -= bytes;
    }
    live[time] = now + inner.lookup(op);
    now -= dying[time];
  }
  return live;
}

} // namespace meshc::schedule
