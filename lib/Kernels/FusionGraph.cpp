//===- FusionGraph.cpp - the groups of a block and their uses -------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Kernels/FusionGraph.h"

using namespace mlir;

namespace meshc::kernels {

/// Values that the search for a dependence between groups visits at most.
/// Groups so far apart are taken to depend on each other, so that the time to
/// form all groups is linear in the number of ops.
static constexpr size_t mostVisited = 512;

FusionGraph::FusionGraph(Block &block) {
  for (Operation &op : block)
    places[&op] = places.size();
  spanning.resize(places.size());
}

//===----------------------------------------------------------------------===//
// Groups and their uses
//===----------------------------------------------------------------------===//

GroupId FusionGraph::find(GroupId group) const {
  while (parents[group] != group)
    group = parents[group];
  return group;
}

std::optional<GroupId> FusionGraph::findGroupOf(Value root) const {
  auto entry = rootGroups.find(root);
  if (entry == rootGroups.end())
    return std::nullopt;
  return find(entry->second);
}

SmallVector<GroupId> FusionGraph::getUsers(Value value) const {
  SmallVector<GroupId> users;
  auto entry = uses.find(value);
  if (entry == uses.end())
    return users;
  for (const Use &use : entry->second)
    if (GroupId id = find(use.group); !llvm::is_contained(users, id))
      users.push_back(id);
  return users;
}

exec::DimSet FusionGraph::getAligned(Value value, GroupId group) const {
  exec::DimSet dims = exec::getDims(value);
  if (auto entry = uses.find(value); entry != uses.end())
    for (const Use &use : entry->second)
      if (find(use.group) == group)
        dims = exec::intersect(dims, use.aligned);
  return dims;
}

bool FusionGraph::isWhollyAligned(Value value, GroupId group) const {
  return getAligned(value, group).size() == exec::getDims(value).size();
}

//===----------------------------------------------------------------------===//
// Paths between groups
//===----------------------------------------------------------------------===//

/// The place in the block of the op that makes the value; 0 for arguments.
unsigned FusionGraph::getPlace(Value value) const {
  Operation *op = value.getDefiningOp();
  return op ? places.lookup(op) : 0;
}

void FusionGraph::setSpan(Group &group, unsigned first, unsigned last) {
  for (unsigned place = group.first; place < group.last; ++place)
    --spanning[place];
  group.first = first;
  group.last = last;
  for (unsigned place = first; place < last; ++place)
    ++spanning[place];
}

/// The first place at which all of `members` is computed and which no other
/// group spans. What is made behind it does not reach them: ops use what comes
/// before them, and only groups that span a place lead back over it.
unsigned FusionGraph::findBorder(ArrayRef<GroupId> members) const {
  unsigned place = 0;
  for (GroupId id : members)
    place = std::max(place, groups[id].last);
  auto isSpanned = [&] {
    unsigned byMembers = llvm::count_if(members, [&](GroupId id) {
      return groups[id].first <= place && place < groups[id].last;
    });
    return spanning[place] > byMembers;
  };
  while (place < spanning.size() && isSpanned())
    ++place;
  return place;
}

bool FusionGraph::isReachable(ArrayRef<Value> from,
                              ArrayRef<GroupId> members) const {
  unsigned border = findBorder(members);
  SmallVector<Value> stack(from);
  llvm::DenseSet<Value> seen;
  while (!stack.empty()) {
    Value value = stack.pop_back_val();
    if (getPlace(value) > border || !seen.insert(value).second)
      continue;
    if (seen.size() > mostVisited)
      return true;
    bool isFrom = llvm::is_contained(from, value);
    for (GroupId id : getUsers(value)) {
      bool isMember = llvm::is_contained(members, id);
      if (isMember && !isFrom)
        return true;
      if (!isMember)
        llvm::append_range(stack, groups[id].roots);
    }
    for (Operation *user : value.getUsers())
      if (!isKernelOp(user))
        llvm::append_range(stack, user->getResults());
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Changes
//===----------------------------------------------------------------------===//

GroupId FusionGraph::add(Operation *op) {
  GroupId id = groups.size();
  groups.emplace_back();
  parents.push_back(id);
  groups[id].first = groups[id].last = places.lookup(op);
  return id;
}

void FusionGraph::addRoot(GroupId id, Operation *op, Value value) {
  Group &group = groups[id];
  setSpan(group, std::min(group.first, places.lookup(op)),
          std::max(group.last, places.lookup(op)));
  group.roots.push_back(value);
  rootGroups[value] = id;
}

void FusionGraph::addUse(GroupId id, Value value, const exec::DimSet &aligned) {
  auto &list = uses[value];
  auto *known = llvm::find_if(
      list, [&](const Use &use) { return find(use.group) == id; });
  if (known == list.end())
    list.push_back({id, aligned});
  else
    known->aligned = exec::intersect(known->aligned, aligned);
}

void FusionGraph::join(GroupId into, GroupId from) {
  Group &group = groups[into], &other = groups[from];
  llvm::append_range(group.roots, other.roots);
  unsigned first = std::min(group.first, other.first);
  unsigned last = std::max(group.last, other.last);
  setSpan(other, other.first, other.first);
  setSpan(group, first, last);
  other.roots.clear();
  parents[from] = into;
}

void FusionGraph::dropRoots(GroupId id,
                            llvm::function_ref<bool(Value)> isDropped) {
  llvm::erase_if(groups[id].roots, [&](Value root) {
    bool drops = isDropped(root);
    if (drops)
      rootGroups.erase(root);
    return drops;
  });
}

} // namespace meshc::kernels
