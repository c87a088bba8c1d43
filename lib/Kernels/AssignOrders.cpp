//===- AssignOrders.cpp - the memory order of every tensor ----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Alignment.h"
#include "dialects/Exec/Library.h"
#include "dialects/Exec/Order.h"
#include "dialects/Nd/TensorAttributes.h"
#include "dialects/Spmd/SpmdOps.h"
#include "lib/Kernels/OrderAssigner.h"
#include "lib/Kernels/Passes.h"

using namespace mlir;

namespace meshc::kernels {

#define GEN_PASS_DEF_ASSIGNORDERS
#include "lib/Kernels/Passes.h.inc"

using exec::Order;

void OrderAssigner::run() {
  Block &block = function.getBody().front();
  for (BlockArgument argument : block.getArguments()) {
    orders[argument] =
        exec::getOrder(argument).value_or(dimOrder.sort(argument));
    pinned.insert(argument);
  }
  assignBlock(block);
}

void OrderAssigner::assignBlock(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (auto scan = dyn_cast<nd::ScanOp>(op))
      assignScan(scan);
    else if (auto yield = dyn_cast<nd::YieldOp>(op))
      assignYield(yield);
    else if (auto returned = dyn_cast<func::ReturnOp>(op))
      assignReturn(returned);
    else if (auto scheduled = dyn_cast<exec::ScheduledOpInterface>(op))
      scheduled.chooseOrders(*this);
  }
  for (Operation &op : block.without_terminator()) {
    exec::setOrders(
        &op, llvm::map_to_vector(op.getResults(),
                                 [&](Value result) { return orders[result]; }));
    // What the op holds has its results, nothing is fused with it yet.
    if (auto library = dyn_cast<exec::LibraryOpInterface>(op))
      exec::getHeldOp(library)->setAttr(exec::ordersAttrName,
                                        op.getAttr(exec::ordersAttrName));
  }
}

//===----------------------------------------------------------------------===//
// What users want
//===----------------------------------------------------------------------===//

std::optional<Order> OrderAssigner::getWantedOrder(Value value,
                                                   unsigned depth) {
  constexpr unsigned maxDepth = 8;
  std::optional<Order> wanted;
  if (depth > maxDepth)
    return wanted;
  for (OpOperand &use : value.getUses()) {
    if (wanted && isa<exec::FusionOp>(use.getOwner()))
      continue;
    std::optional<Order> order = getWantedOrder(use, depth);
    if (!order)
      continue;
    wanted = order;
    // These cannot change.
    if (isa<func::ReturnOp, nd::YieldOp>(use.getOwner()))
      break;
  }
  return wanted;
}

/// The order that a result of the function, or a kernel that reads the value
/// beside a tensor of the same dims, has already; collectives, loops and
/// kernels pass it on.
std::optional<Order> OrderAssigner::getWantedOrder(OpOperand &use,
                                                   unsigned depth) {
  Operation *user = use.getOwner();
  if (isa<func::ReturnOp>(user)) {
    ArrayAttr order =
        nd::TensorAttributes::ofResult(function, use.getOperandNumber())
            .getOrder();
    return order ? std::optional(exec::getOrder(order)) : std::nullopt;
  }
  if (isa<nd::YieldOp>(user))
    return getWantedYield(use, depth);
  if (auto scan = dyn_cast<nd::ScanOp>(user))
    return getWantedOperand(scan, use, depth);
  if (isa<spmd::CollectiveOpInterface>(user))
    return getWantedOrder(user->getResult(use.getOperandNumber()), depth + 1);
  if (std::optional<Order> changed = getOrderOfChanged(use, depth))
    return changed;
  std::optional<Order> beside = getOrderBeside(use);
  return beside ? beside : getOrderBehind(use, depth);
}

/// Of the result of a fusion that changes the value's entries, perhaps where
/// they lie.
std::optional<Order> OrderAssigner::getOrderOfChanged(OpOperand &use,
                                                      unsigned depth) {
  auto fusion = dyn_cast<exec::FusionOp>(use.getOwner());
  if (!fusion || fusion.getChangedInput() != use.getOperandNumber())
    return std::nullopt;
  return getWantedOrder(fusion.getResult(0), depth + 1);
}

/// Of another input of the fusion that has the use: one with the same dims, or
/// else one with more. The order of a block's argument is known, though a
/// product may yet change it.
std::optional<Order> OrderAssigner::getOrderBeside(OpOperand &use) const {
  std::optional<Order> order;
  if (!isa<exec::FusionOp>(use.getOwner()))
    return order;
  exec::DimSet dims = exec::getDims(use.get());
  bool isSame = false;
  for (Value other : use.getOwner()->getOperands()) {
    exec::DimSet otherDims = exec::getDims(other);
    if (other == use.get() ||
        !(pinned.contains(other) || isa<BlockArgument>(other)) ||
        (isSame && otherDims != dims) ||
        exec::intersect(dims, otherDims).size() != dims.size())
      continue;
    order = exec::restrictOrder(orders.lookup(other), dims);
    isSame = otherDims == dims;
  }
  return order;
}

/// Of what a fusion that computes a larger tensor from the value is to have, as
/// the stack of several gradients.
std::optional<Order> OrderAssigner::getOrderBehind(OpOperand &use,
                                                   unsigned depth) {
  // At most two fusions deep: their users are many.
  constexpr unsigned step = 4;
  exec::DimSet dims = exec::getDims(use.get());
  if (auto fusion = dyn_cast<exec::FusionOp>(use.getOwner()))
    for (Value result : fusion.getResults())
      if (exec::DimSet all = exec::getDims(result);
          all.size() > dims.size() &&
          exec::intersect(dims, all).size() == dims.size())
        if (std::optional<Order> order = getWantedOrder(result, depth + step))
          return exec::restrictOrder(*order, dims);
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

void OrderAssigner::suggestOrder(OpResult result, Dims order) {
  orders[result] = Order(order);
}

void OrderAssigner::setOrder(OpResult result, Dims order) {
  orders[result] = Order(order);
  pinned.insert(result);
}

/// Results of the function have their declared order.
void OrderAssigner::assignReturn(func::ReturnOp op) {
  for (OpOperand &operand : op->getOpOperands())
    if (ArrayAttr declared =
            nd::TensorAttributes::ofResult(function, operand.getOperandNumber())
                .getOrder())
      require(operand, exec::getOrder(declared));
}

//===----------------------------------------------------------------------===//
// Changes
//===----------------------------------------------------------------------===//

double OrderAssigner::getChangeCost(Value value) const {
  if (pinned.contains(value))
    return 2 * getBytes(value);
  auto cost = argumentCosts.find(value);
  return cost == argumentCosts.end() ? 1 : cost->second;
}

void OrderAssigner::require(OpOperand &operand, Dims order) {
  Value value = operand.get();
  if (ArrayRef(orders[value]) != order) {
    if (!pinned.contains(value))
      orders[value] = Order(order);
    else
      operand.set(copy(value, order, operand.getOwner()));
  }
  pinned.insert(operand.get());
}

SmallVector<Order> OrderAssigner::getCopies(Value value) const {
  return llvm::map_to_vector(copies.lookup(value),
                             [&](Value copy) { return orders.lookup(copy); });
}

/// One copy serves all users: that they read the value at different times costs
/// memory, a second copy costs a pass over the tensor.
Value OrderAssigner::copy(Value value, Dims order, Operation *before) {
  for (Value known : copies[value])
    if (ArrayRef(orders[known]) == order)
      return known;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(before);
  exec::DimSet dims = exec::getDims(value);
  nd::TensorType type = nd::getTensorType(value);
  SmallVector<int64_t> sizes;
  for (int64_t i = 0; i < type.getRank(); ++i)
    sizes.push_back(type.getLocalSize(i, mesh));
  auto plan =
      exec::PlanAttr::get(builder.getContext(), dims, ArrayRef<StringAttr>(),
                          builder.getStringAttr(""), sizes);
  auto fusion = exec::FusionOp::create(builder, value.getLoc(),
                                       TypeRange(value.getType()), value, plan);
  Block &body = fusion.getBody().emplaceBlock();
  Value argument = body.addArgument(value.getType(), value.getLoc());
  builder.setInsertionPointToEnd(&body);
  exec::YieldOp::create(builder, value.getLoc(), argument);
  Value result = fusion.getResult(0);
  orders[result] = Order(order);
  copies[value].push_back(result);
  return result;
}

namespace {
struct AssignOrders : impl::AssignOrdersBase<AssignOrders> {
  void runOnOperation() override {
    if (!getOperation().isDeclaration())
      OrderAssigner(getOperation()).run();
  }
};
} // namespace

} // namespace meshc::kernels
