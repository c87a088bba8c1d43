//===- FusionGroups.cpp - which ops become one kernel ---------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Kernels/FusionGroups.h"
#include "dialects/Exec/ArenaAttributes.h"
#include "dialects/Nd/Ops/ContractionOps.h"
#include "dialects/Spmd/SpmdOps.h"
#include "lib/Kernels/SettledOrders.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "meshc-form-fusions"

using namespace mlir;

namespace meshc::kernels {

/// Work of an element (additions) from which on it is stored rather than
/// computed twice.
static constexpr double expensiveWork = 10;
/// Values that the search for a dependence between groups visits at most.
/// Groups so far apart are taken to depend on each other, so that the time to
/// form all groups is linear in the number of ops.
static constexpr size_t mostVisited = 512;

bool FusionGroups::isKernelOp(Operation *op) {
  return isa<nd::NamedOpInterface>(op) &&
         !isa<spmd::CollectiveOpInterface, exec::LibraryOpInterface,
              exec::FusionOp>(op);
}

bool FusionGroups::isAlone(Operation *op) {
  return !isa<nd::ElementOpInterface, nd::ReduceOpInterface>(op);
}

FusionGroups::FusionGroups(Block &block, const DimOrder &dimOrder)
    : block(block), mesh(nd::MeshAttr::of(block.getParentOp())),
      dimOrder(dimOrder),
      isForGpus(
          exec::isForGpus(block.getParentOp()->getParentOfType<ModuleOp>())) {
  for (Operation &op : block)
    places[&op] = places.size();
  spanning.resize(places.size());
  measureWork();
  chooseCuts();
  limitStages();
  for (Operation &op : llvm::reverse(block.without_terminator()))
    if (isKernelOp(&op))
      for (Value result : op.getResults())
        settle(&op, result);
  mergeSiblings();
  mergeSmall();
  dropInnerRoots();
  for (GroupId id = 0; id < groups.size(); ++id)
    if (isForGpus && find(id) == id && !groups[id].roots.empty())
      LDBG() << "kernel of " << groups[id].roots.front().getLoc() << ": "
             << estimateRegisters(groups[id].roots, id) << " registers";
}

SmallVector<const Group *> FusionGroups::getGroups() const {
  SmallVector<const Group *> live;
  for (GroupId id = 0; id < groups.size(); ++id)
    if (find(id) == id && !groups[id].roots.empty())
      live.push_back(&groups[id]);
  return live;
}

const Group *FusionGroups::getGroupOf(Value root) const {
  auto entry = rootGroups.find(root);
  return entry == rootGroups.end() ? nullptr : &groups[find(entry->second)];
}

//===----------------------------------------------------------------------===//
// Settling
//===----------------------------------------------------------------------===//

void FusionGroups::settle(Operation *op, Value value) {
  SmallVector<GroupId> users = getUsers(value);
  bool inMemory = needsMemory(value) || cuts.contains(value);
  if (users.empty() && !inMemory)
    return;
  if (!inMemory && canStayInside(op, value, users)) {
    LDBG() << op->getName() << " at " << op->getLoc() << ": inside the "
           << users.size() << " kernels that use it";
    for (GroupId group : users)
      ask(group, op, value);
    return;
  }
  store(op, value, users);
}

bool FusionGroups::canStayInside(Operation *op, Value value,
                                 SmallVectorImpl<GroupId> &users) {
  if (isa<nd::ReduceOpInterface>(op))
    return canReduceInside(op, value, users);
  if (isAlone(op))
    return false;
  if (work.lookup(value) < expensiveWork)
    return true;
  // Groups that read one expensive value are better merged, wherever it is. A
  // single number is no reason: all updates of a step read the same ones.
  if (getElements(value) > 1) {
    mergePairs(users);
    users = getUsers(value);
  }
  return users.size() == 1 && canComputeInPlace(value, users.front());
}

/// Whether the group computes no element of an expensive value much more than
/// once: it asks for it at one index, and has as many points, or needs the
/// value once per row.
bool FusionGroups::canComputeInPlace(Value value, GroupId id) const {
  const Group &group = groups[id];
  if (getElements(value) >= group.points)
    return value.hasOneUse() || isWhollyAligned(value, id);
  return !group.loops.reduce.empty() &&
         exec::getDims(value) == group.loops.parallel &&
         isWhollyAligned(value, id);
}

/// A reduction stays inside if all users are, or become, one group with its
/// loops.
bool FusionGroups::canReduceInside(Operation *op, Value value,
                                   SmallVectorImpl<GroupId> &users) {
  for (GroupId id : users)
    if (!isWhollyAligned(value, id) || !canHold(groups[id], op))
      return false;
  LoopDims loops = getLoops(op);
  if (users.size() > 1 && !canMergeAll(users, &loops))
    return false;
  for (GroupId id : users) {
    groups[id].loops = loops;
    groups[id].isRowLike = isRowLike(op);
  }
  users.assign({mergeAll(users)});
  Group &group = groups[users.front()];
  group.points = std::max(group.points, getPoints(op));
  return true;
}

void FusionGroups::store(Operation *op, Value value, ArrayRef<GroupId> users) {
  GroupId id = groups.size();
  for (GroupId user : users)
    if (canStoreIn(groups[user], user, op, value)) {
      id = user;
      break;
    }
  if (id == groups.size()) {
    groups.emplace_back();
    parents.push_back(id);
    groups[id].isAlone = isAlone(op);
    groups[id].loops = getLoops(op);
    groups[id].first = groups[id].last = places.lookup(op);
  } else if (isa<nd::ReduceOpInterface>(op)) {
    groups[id].loops = getLoops(op);
  }
  LDBG() << op->getName() << " at " << op->getLoc() << ": stored by group "
         << id << (needsMemory(value) ? " (needs memory)" : "");
  setSpan(groups[id], std::min(groups[id].first, places.lookup(op)),
          std::max(groups[id].last, places.lookup(op)));
  if (isa<nd::ReduceOpInterface>(op))
    groups[id].isRowLike = isRowLike(op);
  groups[id].points = std::max(groups[id].points, getPoints(op));
  groups[id].roots.push_back(value);
  rootGroups[value] = id;
  noteStrides(id, value, exec::getDims(value));
  ask(id, op, value);
}

/// Whether the value may be a root of a group that computes it anyway.
bool FusionGroups::canStoreIn(const Group &group, GroupId id, Operation *op,
                              Value value) const {
  if (group.isAlone || isAlone(op) || cuts.contains(value) ||
      group.roots.size() >= mostResults || !isWhollyAligned(value, id) ||
      !group.loops.agrees(getLoops(op)))
    return false;
  SmallVector<Value> roots(group.roots);
  roots.push_back(value);
  if (!fitsInRegisters(roots, id))
    return false;
  if (isa<nd::ReduceOpInterface>(op)) {
    if (!canHold(group, op))
      return false;
  } else {
    exec::DimSet dims = exec::getDims(value);
    bool isFull = !group.loops.reduce.empty() && group.isRowLike &&
                  dims == exec::unite(group.loops.parallel, group.loops.reduce);
    if (dims != group.loops.parallel && !isFull)
      return false;
  }
  return !isReachable(value, id);
}

/// The group computes the op's result: it asks for the op's operands.
void FusionGroups::ask(GroupId id, Operation *op, Value result) {
  exec::DimSet aligned = getAligned(result, id);
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    exec::DimSet dims = exec::getAlignedDims(op, index, aligned, mesh);
    auto &list = uses[operand];
    auto *known = llvm::find_if(
        list, [&](const Use &use) { return find(use.group) == id; });
    if (known == list.end())
      list.push_back({id, dims});
    else
      known->aligned = exec::intersect(known->aligned, dims);
    Operation *producer = operand.getDefiningOp();
    if (!producer || !isKernelOp(producer))
      noteStrides(id, operand, dims);
  }
}

/// The group reads the value from memory, or writes it there.
void FusionGroups::noteStrides(GroupId id, Value value,
                               const exec::DimSet &aligned) {
  exec::DimSet &strided = groups[id].strided;
  if (std::optional<exec::Order> order = getSettledOrder(value)) {
    strided = exec::unite(strided, getStridedDims(nd::getTensorType(value),
                                                  *order, aligned, mesh));
    return;
  }
  // A collective keeps the order, which its users choose.
  for (OpOperand &use : value.getUses())
    if (isa<spmd::CollectiveOpInterface>(use.getOwner())) {
      Value result = use.getOwner()->getResult(use.getOperandNumber());
      for (GroupId user : getUsers(result))
        strided =
            exec::unite(strided, exec::intersect(groups[user].strided,
                                                 getAligned(result, user)));
    }
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

FusionGroups::GroupId FusionGroups::find(GroupId group) const {
  while (parents[group] != group)
    group = parents[group];
  return group;
}

SmallVector<FusionGroups::GroupId> FusionGroups::getUsers(Value value) const {
  SmallVector<GroupId> users;
  auto entry = uses.find(value);
  if (entry == uses.end())
    return users;
  for (const Use &use : entry->second)
    if (GroupId id = find(use.group); !llvm::is_contained(users, id))
      users.push_back(id);
  return users;
}

exec::DimSet FusionGroups::getAligned(Value value, GroupId group) const {
  exec::DimSet dims = exec::getDims(value);
  if (auto entry = uses.find(value); entry != uses.end())
    for (const Use &use : entry->second)
      if (find(use.group) == group)
        dims = exec::intersect(dims, use.aligned);
  return dims;
}

bool FusionGroups::isWhollyAligned(Value value, GroupId group) const {
  return getAligned(value, group).size() == exec::getDims(value).size();
}

/// Whether the group can run over the loops of the reduction.
bool FusionGroups::canHold(const Group &group, Operation *reduction) const {
  LoopDims loops = getLoops(reduction);
  if (group.isAlone || !group.loops.agrees(loops))
    return false;
  if (!group.loops.reduce.empty())
    return group.loops == loops;
  if (group.loops.parallel == loops.parallel)
    return true;
  return group.loops.parallel == exec::unite(loops.parallel, loops.reduce) &&
         isRowLike(reduction);
}

/// The place in the block of the op that makes the value; 0 for arguments.
unsigned FusionGroups::getPlace(Value value) const {
  Operation *op = value.getDefiningOp();
  return op ? places.lookup(op) : 0;
}

void FusionGroups::setSpan(Group &group, unsigned first, unsigned last) {
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
unsigned FusionGroups::findBorder(ArrayRef<GroupId> members) const {
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

/// Whether one of `members` depends on the values `from`, which are their
/// roots, by way of anything but `members` themselves, or may do so.
bool FusionGroups::isReachable(ArrayRef<Value> from,
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
// Merging
//===----------------------------------------------------------------------===//

std::optional<LoopDims> FusionGroups::getMergedLoops(const Group &a,
                                                     const Group &b) const {
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

/// Whether the groups, two or more different ones, may become one: over `loops`
/// if these are given, which each of them can hold, and otherwise over their
/// own.
bool FusionGroups::canMergeAll(ArrayRef<GroupId> members,
                               const LoopDims *loops) const {
  SmallVector<Value> roots;
  Group merged = groups[members.front()];
  for (GroupId id : members) {
    const Group &group = groups[id];
    std::optional<LoopDims> joined =
        loops ? *loops : getMergedLoops(merged, group);
    if (group.isAlone || !joined)
      return false;
    merged.loops = *joined;
    merged.isRowLike |= group.isRowLike;
    merged.strided = exec::unite(merged.strided, group.strided);
    llvm::append_range(roots, group.roots);
  }
  auto isStrided = [&](GroupId id) { return groups[id].isStridedThroughout(); };
  if (roots.size() > mostResults ||
      (merged.isStridedThroughout() && llvm::none_of(members, isStrided)))
    return false;
  // Each value that one of them stores is at hand where another reads it.
  for (GroupId maker : members)
    for (Value root : groups[maker].roots)
      for (GroupId user : members)
        if (user != maker &&
            (!isWhollyAligned(root, user) ||
             (cuts.contains(root) && llvm::is_contained(getUsers(root), user))))
          return false;
  return fitsInRegisters(roots, members) && !isReachable(roots, members);
}

bool FusionGroups::canMerge(GroupId a, GroupId b) const {
  return a != b && canMergeAll({a, b});
}

void FusionGroups::merge(GroupId into, GroupId from) {
  Group &group = groups[into], &other = groups[from];
  group.isRowLike |= other.isRowLike;
  group.points = std::max(group.points, other.points);
  group.loops = *getMergedLoops(group, other);
  group.strided = exec::unite(group.strided, other.strided);
  llvm::append_range(group.roots, other.roots);
  unsigned first = std::min(group.first, other.first);
  unsigned last = std::max(group.last, other.last);
  setSpan(other, other.first, other.first);
  setSpan(group, first, last);
  other.roots.clear();
  parents[from] = into;
}

/// Merges groups for which canMergeAll holds; gives the group that remains.
FusionGroups::GroupId FusionGroups::mergeAll(ArrayRef<GroupId> members) {
  for (GroupId id : members.drop_front())
    merge(members.front(), id);
  return members.front();
}

} // namespace meshc::kernels
