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

namespace {
/// The choices for a block, and what they cost.
struct FoundBlock {
  llvm::SmallVector<FactorChoice> choices;
  double cost = 0, bytes = 0;
};
} // namespace

/// What a search of the block finds. It may have been done before, for a block
/// like this one.
static std::shared_ptr<const FoundBlock>
searchOnce(BlockPlanner &block, reshard::ReshardPlanner &planner,
           nd::MeshAttr mesh, AxisMoves moves, ArrayRef<Operation *> ops) {
  SearchKey key = getSearchKey(block, planner, moves, ops);
  return planner.getFound<SearchMemo<FoundBlock>>().get(std::move(key), [&] {
    BlockSearch search(block, planner, mesh, moves);
    FoundBlock found;
    found.choices = search.run(ops);
    found.cost = search.getCost();
    found.bytes = search.getBytes();
    return found;
  });
}

/// Of so many runs of the block.
static MoveLimit::Amount getAmount(const FoundBlock &found, double runs) {
  return {found.bytes * runs, (found.cost - found.bytes) * runs};
}

llvm::SmallVector<FactorChoice> searchBlock(BlockPlanner &block,
                                            reshard::ReshardPlanner &planner,
                                            nd::MeshAttr mesh, MoveLimit &limit,
                                            ArrayRef<Operation *> ops) {
  if (ops.empty())
    return {};
  auto inPlace = searchOnce(block, planner, mesh, AxisMoves::None, ops);
  const double runs = double(nd::countRuns(ops.front()));
  MoveLimit::Amount used = getAmount(*inPlace, runs);
  if (inPlace->bytes <= 0) {
    limit.noteUsed(used);
    return inPlace->choices;
  }
  block.setMayCutFurther(ops, true);
  auto moving = searchOnce(block, planner, mesh, AxisMoves::One, ops);
  const double share = moving->bytes / inPlace->bytes;
  LDBG() << ops.size() << " ops from " << ops.front()->getLoc() << ": in place "
         << inPlace->bytes << " bytes, cost " << inPlace->cost << "; moving "
         << moving->bytes << " bytes, cost " << moving->cost;
  const bool costsLess = moving->cost < inPlace->cost;
  MoveLimit::Amount other = getAmount(*moving, runs);
  if (costsLess && share <= limit.options.moveShare) {
    limit.noteUsed(other);
    return moving->choices;
  }
  block.setMayCutFurther(ops, limit.options.mayCutFurther);
  limit.noteUsed(used);
  if (costsLess)
    limit.noteRefused(share,
                      {used.bytes - other.bytes, used.points - other.points});
  return inPlace->choices;
}

} // namespace meshc::partition
