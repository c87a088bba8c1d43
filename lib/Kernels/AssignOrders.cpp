//===- AssignOrders.cpp - the memory order of every tensor ----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Alignment.h"
#include "dialects/Exec/Library.h"
#include "dialects/Exec/Order.h"
#include "dialects/Nd/Ops/IndexingOps.h"
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
    if (auto fusion = dyn_cast<exec::FusionOp>(op))
      assignFusion(fusion);
    else if (auto library = dyn_cast<exec::LibraryOpInterface>(op))
      assignLibraryOp(library);
    else if (auto scan = dyn_cast<nd::ScanOp>(op))
      assignScan(scan);
    else if (auto yield = dyn_cast<nd::YieldOp>(op))
      assignYield(yield);
    else if (auto returned = dyn_cast<func::ReturnOp>(op))
      assignReturn(returned);
    else
      assignCollective(&op);
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

/// The number of the input that is a table which the fusion changes, if it
/// changes one.
static std::optional<unsigned> getChangedInput(exec::FusionOp fusion) {
  if (fusion.getNumResults() != 1)
    return std::nullopt;
  Value result = fusion.getBody().front().getTerminator()->getOperand(0);
  Value changed = nd::getChangedTable(result.getDefiningOp());
  auto table = dyn_cast_or_null<BlockArgument>(changed);
  return table ? std::optional(table.getArgNumber()) : std::nullopt;
}

/// Of the result of a fusion that changes the value's entries, perhaps where
/// they lie.
std::optional<Order> OrderAssigner::getOrderOfChanged(OpOperand &use,
                                                      unsigned depth) {
  auto fusion = dyn_cast<exec::FusionOp>(use.getOwner());
  if (!fusion || getChangedInput(fusion) != use.getOperandNumber())
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

/// The order of the largest input with the result's dims, or else of the
/// largest one with more dims.
std::optional<Order> OrderAssigner::getInputOrder(exec::FusionOp fusion,
                                                  Value result) {
  exec::DimSet dims = exec::getDims(result);
  auto rank = [&](Value input) {
    return std::pair(exec::getDims(input) == dims, getBytes(input));
  };
  Value best;
  for (Value input : fusion.getInputs())
    if (exec::intersect(dims, exec::getDims(input)).size() == dims.size() &&
        (!best || rank(input) > rank(best)))
      best = input;
  if (!best)
    return std::nullopt;
  return exec::restrictOrder(orders.lookup(best), dims);
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// A table that is changed keeps its order, as it may keep its place.
void OrderAssigner::assignFusion(exec::FusionOp fusion) {
  if (std::optional<unsigned> table = getChangedInput(fusion)) {
    Value input = fusion.getInputs()[*table];
    orders[fusion.getResult(0)] = orders.lookup(input);
    pinned.insert(input);
    pinned.insert(fusion.getResult(0));
    return;
  }
  for (Value result : fusion.getResults()) {
    orders[result] =
        getInputOrder(fusion, result).value_or(dimOrder.sort(result));
    if (std::optional<Order> wanted = getWantedOrder(result))
      orders[result] = *wanted;
  }
}

void OrderAssigner::assignCollective(Operation *op) {
  for (auto [operand, result] :
       llvm::zip(op->getOperands(), op->getResults())) {
    Order order = orders.lookup(operand);
    orders[result] = order;
    pinned.insert(operand);
    pinned.insert(result);
  }
}

void OrderAssigner::assignLibraryOp(exec::LibraryOpInterface op) {
  op.chooseOrders(*this);
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
