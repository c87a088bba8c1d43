//===- FusionGroups.h - which ops become one kernel -----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The choice of kernels for a block. A *group* is a future kernel: it
/// stores its *roots* and computes everything else that it needs in place, down
/// to values in memory. Values are settled from last to first, so that all uses
/// of a value are known when it is settled.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_KERNELS_FUSIONGROUPS_H
#define MESHC_LIB_KERNELS_FUSIONGROUPS_H

#include "dialects/Exec/Alignment.h"
#include "lib/Kernels/DimOrder.h"

namespace meshc::kernels {

/// Results of a kernel at most: the time to compile one grows faster than they
/// do, and a GPU bounds the number of its buffers.
inline constexpr size_t mostResults = 64;

/// The loops of a group, or of a reduction. `reduce` is empty until a reduction
/// is inside; roots have all parallel dims, and all reduce dims or none.
struct LoopDims {
  exec::DimSet parallel, reduce; ///< sorted by name
  /// Local size of each. The same dim may have another size in a tensor that
  /// comes from a slice or is cut over other mesh axes.
  llvm::SmallDenseMap<mlir::StringAttr, int64_t> sizes;

  bool operator==(const LoopDims &other) const {
    return parallel == other.parallel && reduce == other.reduce &&
           agrees(other);
  }
  /// Whether common loops have equal sizes.
  bool agrees(const LoopDims &other) const {
    return llvm::all_of(sizes, [&](const auto &loop) {
      auto known = other.sizes.find(loop.first);
      return known == other.sizes.end() || known->second == loop.second;
    });
  }
};

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

class FusionGroups {
public:
  /// `block` is that of a function or of a loop; `dimOrder` is its function's.
  FusionGroups(mlir::Block &block, const DimOrder &dimOrder);

  /// The groups that remain after merging.
  llvm::SmallVector<const Group *> getGroups() const;
  /// The group that stores the value; null for any other value.
  const Group *getGroupOf(mlir::Value root) const;
  /// Whether the op belongs into a kernel (it is no product, collective or
  /// loop).
  static bool isKernelOp(mlir::Operation *op);

private:
  /// Whether the op has a kernel of its own.
  static bool isAlone(mlir::Operation *op);
  using GroupId = unsigned;
  /// A group that uses a value, and the dims that are aligned there.
  struct Use {
    GroupId group;
    exec::DimSet aligned;
  };

  // Settling, from the last op to the first.
  void settle(mlir::Operation *op, mlir::Value value);
  bool canStayInside(mlir::Operation *op, mlir::Value value,
                     llvm::SmallVectorImpl<GroupId> &users);
  bool canComputeInPlace(mlir::Value value, GroupId group) const;
  bool canReduceInside(mlir::Operation *op, mlir::Value value,
                       llvm::SmallVectorImpl<GroupId> &users);
  void store(mlir::Operation *op, mlir::Value value,
             llvm::ArrayRef<GroupId> users);
  bool canStoreIn(const Group &group, GroupId id, mlir::Operation *op,
                  mlir::Value value) const;
  void ask(GroupId group, mlir::Operation *op, mlir::Value result);
  void noteStrides(GroupId group, mlir::Value value,
                   const exec::DimSet &aligned);

  // Properties of values (FusionValues.cpp).
  void measureWork();
  void chooseCuts();
  bool
  isSmallerThanInner(mlir::Operation *reduction,
                     llvm::function_ref<bool(mlir::Value)> leadsThere) const;
  void limitStages();
  bool needsMemory(mlir::Value value) const;
  LoopDims getLoops(mlir::Operation *op) const;
  bool isRowLike(mlir::Operation *reduction) const;
  exec::Order getExpectedOrder(mlir::Value value) const;
  double getPoints(mlir::Operation *op) const;
  double getElements(mlir::Value value) const;
  void addSizes(LoopDims &loops, mlir::Value value) const;

  // Properties of groups.
  GroupId find(GroupId group) const;
  llvm::SmallVector<GroupId> getUsers(mlir::Value value) const;
  exec::DimSet getAligned(mlir::Value value, GroupId group) const;
  bool isWhollyAligned(mlir::Value value, GroupId group) const;
  bool canHold(const Group &group, mlir::Operation *reduction) const;
  bool isReachable(llvm::ArrayRef<mlir::Value> from,
                   llvm::ArrayRef<GroupId> members) const;
  unsigned getPlace(mlir::Value value) const;
  unsigned findBorder(llvm::ArrayRef<GroupId> members) const;
  void setSpan(Group &group, unsigned first, unsigned last);

  // Registers (FusionRegisters.cpp).
  int64_t estimateRegisters(llvm::ArrayRef<mlir::Value> roots,
                            llvm::ArrayRef<GroupId> members) const;
  bool fitsInRegisters(llvm::ArrayRef<mlir::Value> roots,
                       llvm::ArrayRef<GroupId> members) const;
  bool isInside(mlir::Value value, llvm::ArrayRef<GroupId> members) const;

  // Merging groups: canMergeAll proposes and changes nothing, mergeAll commits.
  std::optional<LoopDims> getMergedLoops(const Group &a, const Group &b) const;
  bool canMergeAll(llvm::ArrayRef<GroupId> members,
                   const LoopDims *loops = nullptr) const;
  bool canMerge(GroupId a, GroupId b) const;
  void merge(GroupId into, GroupId from);
  GroupId mergeAll(llvm::ArrayRef<GroupId> members);
  void mergePairs(llvm::ArrayRef<GroupId> members);
  void mergeSiblings();
  void mergeSmall();
  void dropInnerRoots();

  mlir::Block &block;
  nd::MeshAttr mesh;
  const DimOrder &dimOrder;
  bool isForGpus;
  std::vector<Group> groups;
  std::vector<GroupId> parents;
  llvm::DenseMap<mlir::Operation *, unsigned> places; ///< in the block
  /// For each position, the number of groups with roots before and after it.
  std::vector<unsigned> spanning;
  llvm::DenseMap<mlir::Value, GroupId> rootGroups;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<Use, 1>> uses;
  /// Floating-point work of one element, including all operands that are
  /// computed in place.
  llvm::DenseMap<mlir::Value, double> work;
  /// Length of the chain of ops from memory to an element.
  llvm::DenseMap<mlir::Value, unsigned> depths;
  /// Operands of reductions that are better stored than computed in place, and
  /// ends of long chains of ops or of reductions.
  llvm::DenseSet<mlir::Value> cuts;
};

} // namespace meshc::kernels

#endif // MESHC_LIB_KERNELS_FUSIONGROUPS_H
