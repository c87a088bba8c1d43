//===- SearchBlock.h - the shardings of a block, with or without moves ----===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Decides whether mesh axes may move to other dims in a block.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_PARTITION_SEARCHBLOCK_H
#define MESHC_LIB_PARTITION_SEARCHBLOCK_H

#include "lib/Partition/BlockPlanner.h"

namespace meshc::partition {

/// The choice for each of `ops`; see BlockSearch::run. Searches twice: without
/// moves of axes, and with them. With them, placed dims may be cut further;
/// without them, only where the limit says so. Takes the moves only if they
/// cost less and send at most the limit's share of the bytes: layouts of the
/// literature keep weights where rules place them, and gathering weights takes
/// memory. Notes the share in the limit if it exceeds it, and what the block
/// sends and computes.
llvm::SmallVector<FactorChoice>
searchBlock(BlockPlanner &block, reshard::ReshardPlanner &planner,
            nd::MeshAttr mesh, MoveLimit &limit,
            llvm::ArrayRef<mlir::Operation *> ops);

} // namespace meshc::partition

#endif // MESHC_LIB_PARTITION_SEARCHBLOCK_H
