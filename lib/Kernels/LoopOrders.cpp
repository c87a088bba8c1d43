//===- LoopOrders.cpp - memory orders along the ties of loops -------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The members of a tie have one memory order; a stacked tensor has the loop's
/// dim first, then the order of its entries. The body decides, because a copy
/// outside the loop runs once and a copy inside runs in each iteration: an
/// argument starts in the order of its operand, unpinned, and what the body
/// makes of it is then required of the operand.
///
//===----------------------------------------------------------------------===//

#include "lib/Kernels/OrderAssigner.h"

using namespace mlir;

namespace meshc::kernels {

using exec::Order;

static Order getStackedOrder(nd::ScanOp scan, ArrayRef<StringAttr> entry) {
  Order order = {scan.getDimAttr()};
  llvm::append_range(order, entry);
  return order;
}

static Order getEntryOrder(nd::ScanOp scan, ArrayRef<StringAttr> stacked) {
  Order order(stacked);
  llvm::erase(order, scan.getDimAttr());
  return order;
}

void OrderAssigner::assignScan(nd::ScanOp scan) {
  for (const nd::Tie &tie : scan.getTies())
    if (tie.operand)
      beginTie(scan, tie);
  assignBlock(scan.getBlock());
  for (const nd::Tie &tie : scan.getTies())
    endTie(scan, tie);
}

/// The order in which the body finds an argument, and the cost of another one.
void OrderAssigner::beginTie(nd::ScanOp scan, const nd::Tie &tie) {
  const Order order = orders.lookup(tie.operand);
  double iterations = scan.getSize();
  bool isStacked = tie.kind == nd::TieKind::StackedOperand;
  bool isDense = !isStacked || order.front() == scan.getDimAttr();
  orders[tie.argument] = isStacked ? getEntryOrder(scan, order) : order;
  // Entries that are not dense are copied anyway.
  argumentCosts[tie.argument] =
      isDense ? getChangeCost(tie.operand) / iterations : 1;
  bool isPinned = pinned.contains(tie.operand);
  // A copy of one entry takes less memory than a copy of all.
  if (isStacked && isDense && isPinned)
    pinned.insert(tie.argument);
  if (tie.kind != nd::TieKind::Carried || isPinned)
    return;
  if (std::optional<Order> wanted = getWantedOrder(tie.result)) {
    orders[tie.argument] = *wanted;
    argumentCosts[tie.argument] = 2 * getBytes(tie.result) / iterations;
  }
}

/// Outside, operand and result have the order that the body settled on.
void OrderAssigner::endTie(nd::ScanOp scan, const nd::Tie &tie) {
  if (tie.kind == nd::TieKind::StackedResult) {
    orders[tie.result] = getStackedOrder(scan, orders.lookup(tie.yielded));
    pinned.insert(tie.result);
    return;
  }
  const Order order = orders.lookup(tie.argument);
  require(scan->getOpOperand(tie.argument.getArgNumber()),
          tie.kind == nd::TieKind::StackedOperand ? getStackedOrder(scan, order)
                                                  : order);
  if (tie.result) {
    orders[tie.result] = order;
    pinned.insert(tie.result);
  }
}

/// The value for an entry of a stacked result: the yielded value, or its copy
/// if that is all that the body reads of it and only loops read the result. The
/// products of such a loop, a gradient for example, want the same order.
Value OrderAssigner::chooseEntry(Value yielded, OpResult result) const {
  auto made = copies.find(yielded);
  if (made == copies.end() || made->second.size() != 1 ||
      !llvm::all_of(result.getUsers(), llvm::IsaPred<nd::ScanOp>))
    return yielded;
  Value copy = made->second.front();
  bool isRead = llvm::any_of(yielded.getUsers(), [&](Operation *user) {
    return user != copy.getDefiningOp() && !isa<nd::YieldOp>(user);
  });
  return isRead ? yielded : copy;
}

/// A carried value keeps the order of its argument. If nothing in the body
/// relies on that, the argument follows what is yielded.
void OrderAssigner::assignYield(nd::YieldOp yield) {
  auto scan = cast<nd::ScanOp>(yield->getParentOp());
  for (OpOperand &operand : yield->getOpOperands()) {
    unsigned index = operand.getOperandNumber();
    if (index >= scan.getCarriedCount()) {
      operand.set(
          chooseEntry(operand.get(), cast<OpResult>(scan.getResult(index))));
      pinned.insert(operand.get());
      continue;
    }
    Value argument = scan.getBlock().getArgument(index);
    if (pinned.contains(operand.get()) && !pinned.contains(argument))
      orders[argument] = orders.lookup(operand.get());
    require(operand, Order(orders.lookup(argument)));
    pinned.insert(argument);
  }
}

/// Of an operand of the loop. What the body wants of a whole tensor or an entry
/// is not known yet.
std::optional<Order> OrderAssigner::getWantedOperand(nd::ScanOp scan,
                                                     OpOperand &use,
                                                     unsigned depth) {
  nd::Tie tie =
      scan.getTie(scan.getBlock().getArgument(use.getOperandNumber()));
  switch (tie.kind) {
  case nd::TieKind::Carried:
    return getWantedOrder(tie.result, depth + 1);
  case nd::TieKind::StackedOperand: {
    auto known = orders.find(use.get());
    return getStackedOrder(scan,
                           getEntryOrder(scan, known == orders.end()
                                                   ? dimOrder.sort(use.get())
                                                   : known->second));
  }
  case nd::TieKind::Whole:
  case nd::TieKind::StackedResult:
    return std::nullopt;
  }
  llvm_unreachable("all kinds are listed");
}

/// Of a yielded value.
std::optional<Order> OrderAssigner::getWantedYield(OpOperand &use,
                                                   unsigned depth) {
  auto scan = cast<nd::ScanOp>(use.getOwner()->getParentOp());
  unsigned index = use.getOperandNumber();
  if (index < scan.getCarriedCount())
    return orders.lookup(scan.getBlock().getArgument(index));
  std::optional<Order> wanted =
      getWantedOrder(scan.getResult(index), depth + 1);
  return wanted ? std::optional(getEntryOrder(scan, *wanted)) : std::nullopt;
}

} // namespace meshc::kernels
