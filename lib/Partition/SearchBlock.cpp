//===- SearchBlock.cpp - the shardings of a block, with or without moves --===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Partition/SearchBlock.h"
#include "lib/Partition/BlockSearch.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "meshc-search-block"

using namespace mlir;

namespace meshc::partition {

/// Of so many runs of the block.
static MoveLimit::Amount getAmount(const BlockSearch &search, double runs) {
  return {search.getBytes() * runs,
          (search.getCost() - search.getBytes()) * runs};
}

llvm::SmallVector<FactorChoice> searchBlock(BlockPartitioner &partitioner,
                                            spmd::ReshardPlanner &planner,
                                            nd::MeshAttr mesh, MoveLimit &limit,
                                            ArrayRef<Operation *> ops) {
  BlockSearch inPlace(partitioner, planner, mesh, AxisMoves::None);
  auto choices = inPlace.run(ops);
  if (inPlace.getBytes() <= 0) {
    if (!ops.empty())
      limit.noteUsed(getAmount(inPlace, double(nd::countRuns(ops.front()))));
    return choices;
  }
  partitioner.setMayCutFurther(ops, true);
  BlockSearch moving(partitioner, planner, mesh, AxisMoves::One);
  auto moved = moving.run(ops);
  const double share = moving.getBytes() / inPlace.getBytes();
  LDBG() << ops.size() << " ops from " << ops.front()->getLoc() << ": in place "
         << inPlace.getBytes() << " bytes, cost " << inPlace.getCost()
         << "; moving " << moving.getBytes() << " bytes, cost "
         << moving.getCost();
  const double runs = double(nd::countRuns(ops.front()));
  const bool costsLess = moving.getCost() < inPlace.getCost();
  if (costsLess && share <= limit.share) {
    limit.noteUsed(getAmount(moving, runs));
    return moved;
  }
  partitioner.setMayCutFurther(ops, limit.isRaised());
  MoveLimit::Amount used = getAmount(inPlace, runs),
                    other = getAmount(moving, runs);
  limit.noteUsed(used);
  if (costsLess)
    limit.noteRefused(share,
                      {used.bytes - other.bytes, used.points - other.points});
  return choices;
}

} // namespace meshc::partition
