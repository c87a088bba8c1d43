//===- FusionGraph.h - the groups of a block and their uses -----*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A *group* is a future kernel: it stores its *roots* and computes everything
/// else that it needs in place, down to values in memory. The graph has the
/// groups of a block, the values that each of them uses, and the paths between
/// them.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_KERNELS_FUSIONGRAPH_H
#define MESHC_LIB_KERNELS_FUSIONGRAPH_H

#include "lib/Kernels/FusionValues.h"

namespace meshc::kernels {

/// A future kernel.
struct Group {
  llvm::SmallVector<mlir::Value> roots;
  LoopDims loops;
  /// The reduced dims are the innermost in memory, so that results with reduce
  /// dims may be stored, too, row by row.
  bool isRowLike = false;
  /// Points of the loops.
  double points = 1;
  /// Positions of the first and the last root in the block.
  unsigned first = 0, last = 0;
  /// Loops along which a tensor in memory, whose order is settled, is read or
  /// written with a stride (SettledOrders.h).
  exec::DimSet strided;
  /// Contains one op that is neither an element op nor a reduction; no other op
  /// joins the group.
  bool isAlone = false;

  /// Whether each loop of more than one entry is strided: no choice of the
  /// innermost loop lets all tensors be read and written in sequence.
  bool isStridedThroughout() const {
    return !strided.empty() && llvm::all_of(loops.sizes, [&](const auto &loop) {
      return loop.second == 1 || llvm::is_contained(strided, loop.first);
    });
  }
};

/// The number of a group. Numbers of groups that became part of another one
/// are not used any more.
using GroupId = unsigned;

class FusionGraph {
public:
  explicit FusionGraph(mlir::Block &block);

  /// All numbers are below this one.
  GroupId getEnd() const { return groups.size(); }
  /// Whether the number is that of a group, which has not become part of
  /// another one.
  bool isGroup(GroupId id) const { return find(id) == id; }
  Group &get(GroupId id) { return groups[id]; }
  const Group &get(GroupId id) const { return groups[id]; }
  /// The group that stores the value, if one does.
  std::optional<GroupId> findGroupOf(mlir::Value root) const;
  /// The groups that use the value.
  llvm::SmallVector<GroupId> getUsers(mlir::Value value) const;
  /// The value's dims that are aligned in all uses by the group.
  exec::DimSet getAligned(mlir::Value value, GroupId group) const;
  /// Whether these are all dims of the value.
  bool isWhollyAligned(mlir::Value value, GroupId group) const;
  /// Whether one of `members` depends on the values `from`, which are their
  /// roots, by way of anything but `members` themselves, or may do so.
  bool isReachable(llvm::ArrayRef<mlir::Value> from,
                   llvm::ArrayRef<GroupId> members) const;

  /// A new group, which will store a result of the op.
  GroupId add(mlir::Operation *op);
  /// The group stores the value, a result of the op.
  void addRoot(GroupId id, mlir::Operation *op, mlir::Value value);
  /// The group uses the value, whose dims `aligned` are aligned there.
  void addUse(GroupId id, mlir::Value value, const exec::DimSet &aligned);
  /// The group `from` becomes part of `into`: its roots, uses and place in the
  /// block.
  void join(GroupId into, GroupId from);
  /// Stores those of the group's roots no more for which `isDropped` holds.
  void dropRoots(GroupId id, llvm::function_ref<bool(mlir::Value)> isDropped);

private:
  /// A group that uses a value, and the dims that are aligned there.
  struct Use {
    GroupId group;
    exec::DimSet aligned;
  };

  GroupId find(GroupId group) const;
  unsigned getPlace(mlir::Value value) const;
  unsigned findBorder(llvm::ArrayRef<GroupId> members) const;
  void setSpan(Group &group, unsigned first, unsigned last);

  std::vector<Group> groups;
  std::vector<GroupId> parents;
  llvm::DenseMap<mlir::Operation *, unsigned> places; ///< in the block
  /// For each position, the number of groups with roots before and after it.
  std::vector<unsigned> spanning;
  llvm::DenseMap<mlir::Value, GroupId> rootGroups;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<Use, 1>> uses;
};

} // namespace meshc::kernels

#endif // MESHC_LIB_KERNELS_FUSIONGRAPH_H
