//===- FusionMerging.cpp - which groups become one ------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Kernels/FusionGroups.h"

using namespace mlir;

namespace meshc::kernels {

/// Reading a tensor of fewer bytes twice does not matter.
static constexpr double sharedBytes = 4096;
/// Kernels of at most so many points are merged, up to so many results.
static constexpr double smallPoints = 16384;
static constexpr size_t smallRoots = 8;

/// Merges each group with the first one before it that it may be merged with.
void FusionGroups::mergePairs(ArrayRef<GroupId> members) {
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

/// Groups over the same loops that read one large tensor, and all that compute
/// scalars.
void FusionGroups::mergeSiblings() {
  auto mergeReaders = [&](Value value) {
    if (nd::getTensorType(value).getLocalBytes(mesh) < sharedBytes ||
        (value.getDefiningOp() && isKernelOp(value.getDefiningOp()) &&
         !rootGroups.contains(value)))
      return;
    SmallVector<GroupId> users = getUsers(value);
    if (auto entry = rootGroups.find(value); entry != rootGroups.end())
      if (GroupId id = find(entry->second); !llvm::is_contained(users, id))
        users.push_back(id);
    mergePairs(users);
  };
  llvm::for_each(block.getArguments(), mergeReaders);
  for (Operation &op : block)
    llvm::for_each(op.getResults(), mergeReaders);
  SmallVector<GroupId> scalars;
  for (GroupId id = 0; id < groups.size(); ++id)
    if (find(id) == id && groups[id].loops == LoopDims())
      scalars.push_back(id);
  mergePairs(scalars);
}

/// Merges groups over the same few points if each takes less time than its
/// launch. Only nearby groups are tried. A group that may become an epilogue of
/// a product needs no launch at all.
void FusionGroups::mergeSmall() {
  llvm::SmallDenseSet<GroupId> epilogues;
  if (isForGpus)
    for (auto product : block.getOps<exec::ProductOp>())
      for (GroupId id : getUsers(product.getResult(0)))
        epilogues.insert(id);
  SmallVector<GroupId> open;
  for (GroupId id = 0; id < groups.size(); ++id) {
    const Group &group = groups[id];
    if (find(id) != id || group.roots.empty() || group.points > smallPoints ||
        epilogues.contains(id))
      continue;
    auto *other = llvm::find_if(open, [&](GroupId known) {
      return groups[known].loops == group.loops &&
             groups[known].roots.size() + group.roots.size() <= smallRoots &&
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

/// Roots that only their own group needs are computed in place.
void FusionGroups::dropInnerRoots() {
  for (GroupId id = 0; id < groups.size(); ++id)
    llvm::erase_if(groups[id].roots, [&](Value root) {
      bool isInner = !needsMemory(root) && getUsers(root).size() == 1 &&
                     getUsers(root).front() == id;
      if (isInner)
        rootGroups.erase(root);
      return isInner;
    });
}

} // namespace meshc::kernels
