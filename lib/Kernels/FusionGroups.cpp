//===- FusionGroups.cpp - which ops become one kernel ---------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Kernels/FusionGroups.h"
#include "dialects/Spmd/SpmdOps.h"
#include "lib/Kernels/SettledOrders.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "meshc-form-fusions"

using namespace mlir;

namespace meshc::kernels {

/// Work of an element (additions) from which on it is stored rather than
/// computed twice.
static constexpr double expensiveWork = 10;

FusionGroups::FusionGroups(Block &block, const DimOrder &dimOrder)
    : values(block, dimOrder), graph(block), merger(block, values, graph) {
  for (Operation &op : llvm::reverse(block.without_terminator()))
    if (isKernelOp(&op))
      for (Value result : op.getResults())
        settle(&op, result);
  merger.mergeSiblings();
  merger.mergeSmall();
  dropInnerRoots();
  merger.printRegisters();
}

SmallVector<const Group *> FusionGroups::getGroups() const {
  SmallVector<const Group *> live;
  for (GroupId id = 0; id < graph.getEnd(); ++id)
    if (graph.isGroup(id) && !graph.get(id).roots.empty())
      live.push_back(&graph.get(id));
  return live;
}

const Group *FusionGroups::getGroupOf(Value root) const {
  std::optional<GroupId> id = graph.findGroupOf(root);
  return id ? &graph.get(*id) : nullptr;
}

/// Roots that only their own group needs are computed in place.
void FusionGroups::dropInnerRoots() {
  for (GroupId id = 0; id < graph.getEnd(); ++id)
    graph.dropRoots(id, [&](Value root) {
      SmallVector<GroupId> users = graph.getUsers(root);
      return !values.needsMemory(root) && users.size() == 1 &&
             users.front() == id;
    });
}

//===----------------------------------------------------------------------===//
// Computing in place
//===----------------------------------------------------------------------===//

void FusionGroups::settle(Operation *op, Value value) {
  SmallVector<GroupId> users = graph.getUsers(value);
  bool inMemory = values.needsMemory(value) || values.isCut(value);
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
  if (values.getWork(value) < expensiveWork)
    return true;
  // Groups that read one expensive value are better merged, wherever it is. A
  // single number is no reason: all updates of a step read the same ones.
  if (values.getElements(value) > 1) {
    merger.mergePairs(users);
    users = graph.getUsers(value);
  }
  return users.size() == 1 && canComputeInPlace(value, users.front());
}

/// Whether the group computes no element of an expensive value much more than
/// once: it asks for it at one index, and has as many points, or needs the
/// value once per row.
bool FusionGroups::canComputeInPlace(Value value, GroupId id) const {
  const Group &group = graph.get(id);
  if (values.getElements(value) >= group.points)
    return value.hasOneUse() || graph.isWhollyAligned(value, id);
  return !group.loops.reduce.empty() &&
         exec::getDims(value) == group.loops.parallel &&
         graph.isWhollyAligned(value, id);
}

/// A reduction stays inside if all users are, or become, one group with its
/// loops.
bool FusionGroups::canReduceInside(Operation *op, Value value,
                                   SmallVectorImpl<GroupId> &users) {
  for (GroupId id : users)
    if (!graph.isWhollyAligned(value, id) || !canHold(graph.get(id), op))
      return false;
  LoopDims loops = values.getLoops(op);
  if (users.size() > 1 && !merger.canMergeAll(users, &loops))
    return false;
  for (GroupId id : users) {
    graph.get(id).loops = loops;
    graph.get(id).isRowLike = values.isRowLike(op);
  }
  users.assign({merger.mergeAll(users)});
  Group &group = graph.get(users.front());
  group.points = std::max(group.points, values.getPoints(op));
  return true;
}

/// Whether the group can run over the loops of the reduction.
bool FusionGroups::canHold(const Group &group, Operation *reduction) const {
  LoopDims loops = values.getLoops(reduction);
  if (group.isAlone || !group.loops.agrees(loops))
    return false;
  if (!group.loops.reduce.empty())
    return group.loops == loops;
  if (group.loops.parallel == loops.parallel)
    return true;
  return group.loops.parallel == exec::unite(loops.parallel, loops.reduce) &&
         values.isRowLike(reduction);
}

//===----------------------------------------------------------------------===//
// Storing
//===----------------------------------------------------------------------===//

void FusionGroups::store(Operation *op, Value value, ArrayRef<GroupId> users) {
  const GroupId *holder = llvm::find_if(
      users, [&](GroupId user) { return canStoreIn(user, op, value); });
  bool isNew = holder == users.end();
  bool isReduction = isa<nd::ReduceOpInterface>(op);
  GroupId id = isNew ? graph.add(op) : *holder;
  Group &group = graph.get(id);
  if (isNew)
    group.isAlone = isAlone(op);
  if (isNew || isReduction)
    group.loops = values.getLoops(op);
  LDBG() << op->getName() << " at " << op->getLoc() << ": stored by group "
         << id << (values.needsMemory(value) ? " (needs memory)" : "");
  if (isReduction)
    group.isRowLike = values.isRowLike(op);
  group.points = std::max(group.points, values.getPoints(op));
  graph.addRoot(id, op, value);
  noteStrides(id, value, exec::getDims(value));
  ask(id, op, value);
}

/// Whether the value may be a root of a group that computes it anyway.
bool FusionGroups::canStoreIn(GroupId id, Operation *op, Value value) const {
  const Group &group = graph.get(id);
  if (group.isAlone || isAlone(op) || values.isCut(value) ||
      group.roots.size() >= mostResults || !graph.isWhollyAligned(value, id) ||
      !group.loops.agrees(values.getLoops(op)))
    return false;
  SmallVector<Value> roots(group.roots);
  roots.push_back(value);
  if (!merger.fitsInRegisters(roots, id))
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
  return !graph.isReachable(value, id);
}

/// The group computes the op's result: it asks for the op's operands.
void FusionGroups::ask(GroupId id, Operation *op, Value result) {
  exec::DimSet aligned = graph.getAligned(result, id);
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    exec::DimSet dims =
        exec::getAlignedDims(op, index, aligned, values.getMesh());
    graph.addUse(id, operand, dims);
    Operation *producer = operand.getDefiningOp();
    if (!producer || !isKernelOp(producer))
      noteStrides(id, operand, dims);
  }
}

/// The group reads the value from memory, or writes it there.
void FusionGroups::noteStrides(GroupId id, Value value,
                               const exec::DimSet &aligned) {
  exec::DimSet &strided = graph.get(id).strided;
  if (std::optional<exec::Order> order = getSettledOrder(value)) {
    strided =
        exec::unite(strided, getStridedDims(nd::getTensorType(value), *order,
                                            aligned, values.getMesh()));
    return;
  }
  // A collective keeps the order, which its users choose.
  for (OpOperand &use : value.getUses())
    if (isa<spmd::CollectiveOpInterface>(use.getOwner())) {
      Value result = use.getOwner()->getResult(use.getOperandNumber());
      for (GroupId user : graph.getUsers(result))
        strided = exec::unite(strided,
                              exec::intersect(graph.get(user).strided,
                                              graph.getAligned(result, user)));
    }
}

} // namespace meshc::kernels
