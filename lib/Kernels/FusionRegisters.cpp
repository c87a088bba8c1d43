//===- FusionRegisters.cpp - how many registers a kernel takes ------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Kernels/FusionRegisters.h"

using namespace mlir;

namespace meshc::kernels {

/// Registers of a thread for indices and addresses.
static constexpr int64_t addressRegisters = 24;
/// Registers of a thread, by the estimate, from which on groups are not merged:
/// two blocks of 256 threads fit on a multiprocessor.
static constexpr int64_t mostRegisters = 128;

namespace {
/// The values of a group in the order in which its code computes them, and how
/// long each of them is needed.
class LiveValues {
public:
  /// `isInside` says which values the group computes.
  LiveValues(ArrayRef<Value> roots, llvm::function_ref<bool(Value)> isInside)
      : roots(roots), isInside(isInside) {}

  /// Elements that are live at once, at most. A thread has as many elements of
  /// a value as it has lanes, but one of a scalar.
  int64_t countMost(nd::MeshAttr mesh);

private:
  int64_t getLanes(nd::MeshAttr mesh) const;
  void visit(Value value);

  ArrayRef<Value> roots;
  llvm::function_ref<bool(Value)> isInside;
  llvm::SetVector<Value> order;
  llvm::DenseMap<Value, size_t> lastUses; ///< places in `order`
};
} // namespace

/// Operands come before the value. A reduction's operand is computed and
/// combined step by step, so that its sum takes a place, not its steps.
void LiveValues::visit(Value value) {
  if (order.contains(value))
    return;
  Operation *op = value.getDefiningOp();
  if (op && isInside(value))
    for (Value operand : op->getOperands())
      visit(operand);
  if (!order.insert(value))
    return;
  size_t place = order.size() - 1;
  lastUses[value] = place;
  if (op && isInside(value))
    for (Value operand : op->getOperands())
      lastUses[operand] = place;
}

int64_t LiveValues::countMost(nd::MeshAttr mesh) {
  llvm::for_each(roots, [&](Value root) { visit(root); });
  int64_t lanes = getLanes(mesh);
  // All results are computed before the first is stored.
  for (Value root : roots)
    lastUses[root] = order.size();
  auto getWeight = [&](Value value) {
    return nd::getTensorType(value).getRank() == 0 ? 1 : lanes;
  };
  // The sums of all reductions are live from the first step on, and so may be
  // what is loaded: the machine's compiler moves loads ahead.
  std::vector<int64_t> changes(order.size() + 2);
  for (auto [place, value] : llvm::enumerate(order)) {
    Operation *op = value.getDefiningOp();
    bool isAhead = !isInside(value) || isa<nd::ReduceOpInterface>(op);
    changes[isAhead ? 0 : place] += getWeight(value);
    changes[lastUses.lookup(value) + 1] -= getWeight(value);
  }
  int64_t live = 0, most = 0;
  for (int64_t change : changes) {
    live += change;
    most = std::max(most, live);
  }
  return most;
}

/// Elements in 16 bytes of the type with the most bytes in memory.
int64_t LiveValues::getLanes(nd::MeshAttr mesh) const {
  double ofShort = 0, ofOthers = 0;
  auto add = [&](Value value) {
    nd::TensorType type = nd::getTensorType(value);
    bool isShort = type.getElementType().getIntOrFloatBitWidth() == 16;
    (isShort ? ofShort : ofOthers) +=
        static_cast<double>(type.getLocalBytes(mesh));
  };
  for (Value value : order)
    if (!isInside(value))
      add(value);
  llvm::for_each(roots, add);
  return ofShort > ofOthers ? 8 : 4;
}

/// Whether the groups `members`, which are or may become one, compute the value
/// rather than read it. A value that is not settled yet is taken to be read
/// where no member has asked for its operands.
bool FusionRegisters::isInside(Value value, ArrayRef<GroupId> members) const {
  Operation *op = value.getDefiningOp();
  if (!op || !isKernelOp(op) || isAlone(op))
    return false;
  auto isMember = [&](GroupId id) { return llvm::is_contained(members, id); };
  if (std::optional<GroupId> root = graph.findGroupOf(value))
    return isMember(*root);
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    return llvm::any_of(graph.getUsers(operand), isMember);
  });
}

int64_t FusionRegisters::estimate(ArrayRef<Value> roots,
                                  ArrayRef<GroupId> members) const {
  auto isComputed = [&](Value value) { return isInside(value, members); };
  return addressRegisters + LiveValues(roots, isComputed).countMost(mesh);
}

bool FusionRegisters::fit(ArrayRef<Value> roots,
                          ArrayRef<GroupId> members) const {
  return estimate(roots, members) <= mostRegisters;
}

} // namespace meshc::kernels
