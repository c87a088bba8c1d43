//===- FusionMerger.cpp - which groups become one -------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Kernels/FusionMerger.h"
#include "dialects/Exec/ArenaAttributes.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "meshc-form-fusions"

using namespace mlir;

namespace meshc::kernels {

/// Reading a tensor of fewer bytes twice does not matter.
static constexpr double sharedBytes = 4096;
/// Kernels of at most so many points are merged, up to so many results.
static constexpr double smallPoints = 16384;
static constexpr size_t smallRoots = 8;

FusionMerger::FusionMerger(Block &block, const FusionValues &values,
                           FusionGraph &graph)
    : block(block), values(values), graph(graph),
      registers(graph, values.getMesh()),
      isForGpus(
          exec::isForGpus(block.getParentOp()->getParentOfType<ModuleOp>())) {}

bool FusionMerger::fitsInRegisters(ArrayRef<Value> roots,
                                   ArrayRef<GroupId> members) const {
  return !isForGpus || registers.fit(roots, members);
}

void FusionMerger::printRegisters() const {
  for (GroupId id = 0; id < graph.getEnd(); ++id)
    if (isForGpus && graph.isGroup(id) && !graph.get(id).roots.empty())
      LDBG() << "kernel of " << graph.get(id).roots.front().getLoc() << ": "
             << registers.estimate(graph.get(id).roots, id) << " registers";
}

//===----------------------------------------------------------------------===//
// Whether groups may become one
//===----------------------------------------------------------------------===//

/// The loops of both groups as one; nothing if they do not fit.
static std::optional<LoopDims> getMergedLoops(const Group &a, const Group &b) {
  if (!a.loops.agrees(b.loops))
    return std::nullopt;
  if (a.loops == b.loops)
    return a.loops;
  auto joins = [](const Group &plain, const Group &other) {
    return plain.loops.reduce.empty() &&
           (plain.loops.parallel == other.loops.parallel ||
            (other.isRowLike &&
             plain.loops.parallel ==
                 exec::unite(other.loops.parallel, other.loops.reduce)));
  };
  if (joins(a, b))
    return b.loops;
  if (joins(b, a))
    return a.loops;
  return std::nullopt;
}

bool FusionMerger::canMergeAll(ArrayRef<GroupId> members,
                               const LoopDims *loops) const {
  SmallVector<Value> roots;
  Group merged = graph.get(members.front());
  for (GroupId id : members) {
    const Group &group = graph.get(id);
    std::optional<LoopDims> joined =
        loops ? *loops : getMergedLoops(merged, group);
    if (group.isAlone || !joined)
      return false;
    merged.loops = *joined;
    merged.isRowLike |= group.isRowLike;
    merged.strided = exec::unite(merged.strided, group.strided);
    llvm::append_range(roots, group.roots);
  }
  auto isStrided = [&](GroupId id) {
    return graph.get(id).isStridedThroughout();
  };
  if (roots.size() > mostResults ||
      (merged.isStridedThroughout() && llvm::none_of(members, isStrided)))
    return false;
  // Each value that one of them stores is at hand where another reads it.
  for (GroupId maker : members)
    for (Value root : graph.get(maker).roots)
      for (GroupId user : members)
        if (user != maker && (!graph.isWhollyAligned(root, user) ||
                              (values.isCut(root) &&
                               llvm::is_contained(graph.getUsers(root), user))))
          return false;
  return fitsInRegisters(roots, members) && !graph.isReachable(roots, members);
}

bool FusionMerger::canMerge(GroupId a, GroupId b) const {
  return a != b && canMergeAll({a, b});
}

//===----------------------------------------------------------------------===//
// Merging
//===----------------------------------------------------------------------===//

/// Keeps the loops and properties of both.
void FusionMerger::merge(GroupId into, GroupId from) {
  Group &group = graph.get(into);
  const Group &other = graph.get(from);
  group.isRowLike |= other.isRowLike;
  group.points = std::max(group.points, other.points);
  group.loops = *getMergedLoops(group, other);
  group.strided = exec::unite(group.strided, other.strided);
  graph.join(into, from);
}

GroupId FusionMerger::mergeAll(ArrayRef<GroupId> members) {
  for (GroupId id : members.drop_front())
    merge(members.front(), id);
  return members.front();
}

void FusionMerger::mergePairs(ArrayRef<GroupId> members) {
  SmallVector<GroupId> left;
  for (GroupId id : members) {
    auto *other =
        llvm::find_if(left, [&](GroupId known) { return canMerge(known, id); });
    if (other == left.end())
      left.push_back(id);
    else
      merge(*other, id);
  }
}

void FusionMerger::mergeSiblings() {
  auto mergeReaders = [&](Value value) {
    if (nd::getTensorType(value).getLocalBytes(values.getMesh()) <
            sharedBytes ||
        (value.getDefiningOp() && isKernelOp(value.getDefiningOp()) &&
         !graph.findGroupOf(value)))
      return;
    SmallVector<GroupId> users = graph.getUsers(value);
    if (std::optional<GroupId> id = graph.findGroupOf(value);
        id && !llvm::is_contained(users, *id))
      users.push_back(*id);
    mergePairs(users);
  };
  llvm::for_each(block.getArguments(), mergeReaders);
  for (Operation &op : block)
    llvm::for_each(op.getResults(), mergeReaders);
  SmallVector<GroupId> scalars;
  for (GroupId id = 0; id < graph.getEnd(); ++id)
    if (graph.isGroup(id) && graph.get(id).loops == LoopDims())
      scalars.push_back(id);
  mergePairs(scalars);
}

void FusionMerger::mergeSmall() {
  llvm::SmallDenseSet<GroupId> epilogues;
  if (isForGpus)
    for (auto product : block.getOps<exec::ProductOp>())
      for (GroupId id : graph.getUsers(product.getResult(0)))
        epilogues.insert(id);
  SmallVector<GroupId> open;
  for (GroupId id = 0; id < graph.getEnd(); ++id) {
    const Group &group = graph.get(id);
    if (!graph.isGroup(id) || group.roots.empty() ||
        group.points > smallPoints || epilogues.contains(id))
      continue;
    auto *other = llvm::find_if(open, [&](GroupId known) {
      return graph.get(known).loops == group.loops &&
             graph.get(known).roots.size() + group.roots.size() <= smallRoots &&
             canMerge(known, id);
    });
    if (other != open.end()) {
      merge(*other, id);
      continue;
    }
    open.push_back(id);
    if (open.size() > smallRoots)
      open.erase(open.begin());
  }
}

} // namespace meshc::kernels
