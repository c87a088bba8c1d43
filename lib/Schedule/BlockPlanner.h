//===- BlockPlanner.h - places for the values of a block ------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Places the values of one block, a step function or the body of a loop, in
/// the arena. Some have a place already (residents of the arena, and in a loop
/// what its ties link to values outside); the others are temporaries. The
/// temporaries of a loop's body are one temporary of the block around the loop.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_SCHEDULE_BLOCKPLANNER_H
#define MESHC_LIB_SCHEDULE_BLOCKPLANNER_H

#include "dialects/Nd/Ops/LoopOps.h"
#include "lib/Schedule/StretchRanges.h"

namespace meshc::schedule {

class BlockPlanner {
public:
  /// `depth`: loops around the block's ops.
  explicit BlockPlanner(mlir::Block &block, size_t depth = 0)
      : block(block), depth(depth),
        mesh(nd::MeshAttr::of(block.getParentOp())) {}

  /// Gives an argument of the block or an operand of its terminator an offset
  /// in the arena. Call it before plan().
  void place(mlir::Value value, int64_t offset) {
    place(value, {nullptr, {offset, {}}});
  }

  /// Places all other values; returns the bytes of the temporaries. Moves
  /// all_gathers to where they begin.
  int64_t plan();
  /// Sets the places on the block's ops (ArenaAttributes.h). The temporaries
  /// begin at `base`, a multiple of the arena's alignment.
  void annotate(int64_t base);

private:
  /// A place in the arena, or within a storage.
  struct Spot {
    const Storage *storage = nullptr;
    exec::ArenaPlace place;

    exec::ArenaPlace resolve() const;
    /// In a loop around it, moving by `stride` bytes per iteration.
    Spot inLoop(int64_t stride) const;
  };
  struct Loop {
    std::unique_ptr<BlockPlanner> body;
    Storage *temporaries; ///< null if the body needs none
  };

  void place(mlir::Value value, Spot spot);
  Storage &addStorage(int64_t bytes, mlir::Operation *op);
  void extend(Storage &storage, mlir::Value value);
  Storage *findDying(mlir::Operation *op, unsigned result,
                     llvm::ArrayRef<Storage *> taken);
  void placeTemporary(mlir::OpResult result, Storage &storage);
  void keep(Storage &storage);
  void placeAhead(mlir::OpResult result);
  bool placeWithReduced(mlir::OpResult result);
  void collect(mlir::Operation &op);
  void collectLoop(nd::ScanOp scan);
  void placeTies(nd::ScanOp scan, BlockPlanner &body);
  void collectRanges();
  CollectiveRange getRange(mlir::Operation *op);
  int64_t pack();
  int64_t packWithOverlap();
  void moveToBegins();

  mlir::Block &block;
  size_t depth;
  nd::MeshAttr mesh;
  llvm::DenseMap<mlir::Operation *, size_t> times;
  llvm::SmallVector<mlir::Operation *> opAt; ///< of each time
  llvm::DenseMap<mlir::Value, Spot> spots;
  std::deque<Storage> storages;
  llvm::DenseMap<mlir::Value, Storage *> storageOf; ///< of temporaries
  llvm::DenseMap<mlir::Operation *, Storage *> scratchOf;
  llvm::DenseMap<mlir::Operation *, Loop> loops;
  llvm::SmallVector<CollectiveRange, 0> collectives;
};

} // namespace meshc::schedule

#endif // MESHC_LIB_SCHEDULE_BLOCKPLANNER_H
