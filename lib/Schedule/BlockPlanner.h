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

#include "dialects/Exec/Exec.h"
#include "dialects/Nd/Ops/LoopOps.h"
#include <deque>

namespace meshc::schedule {

/// The next multiple of the arena's alignment.
inline int64_t alignInArena(int64_t bytes) {
  return llvm::alignTo(bytes, exec::arenaAlignment);
}

/// Memory that values share in turn, and their live range: the numbers of the
/// first op that writes and the last that reads, both included.
struct Storage {
  int64_t bytes = 0;
  size_t begin = 0, end = 0;
  size_t number = 0;  ///< in the order of the ops
  int64_t offset = 0; ///< in the block's memory, then in the arena

  bool meets(const Storage &other) const {
    return begin <= other.end && other.begin <= end;
  }
};

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

  /// Places all other values; returns the bytes of the temporaries.
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
  int64_t pack();

  mlir::Block &block;
  size_t depth;
  nd::MeshAttr mesh;
  llvm::DenseMap<mlir::Operation *, size_t> times;
  llvm::DenseMap<mlir::Value, Spot> spots;
  std::deque<Storage> storages;
  llvm::DenseMap<mlir::Value, Storage *> storageOf; ///< of temporaries
  llvm::DenseMap<mlir::Operation *, Storage *> scratchOf;
  llvm::DenseMap<mlir::Operation *, Loop> loops;
};

} // namespace meshc::schedule

#endif // MESHC_LIB_SCHEDULE_BLOCKPLANNER_H
