//===- AssignOrders.cpp - the memory order of every tensor ----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Alignment.h"
#include "dialects/Exec/Order.h"
#include "dialects/Nd/Ops/ContractionOps.h"
#include "dialects/Nd/TensorAttributes.h"
#include "dialects/Spmd/SpmdOps.h"
#include "lib/Kernels/DimOrder.h"
#include "lib/Kernels/Passes.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace meshc::kernels {

#define GEN_PASS_DEF_ASSIGNORDERS
#include "lib/Kernels/Passes.h.inc"

using exec::Order;

namespace {
/// Gives orders to the values of one function, producers first.
class OrderAssigner {
public:
  explicit OrderAssigner(func::FuncOp function)
      : function(function), mesh(nd::MeshAttr::of(function)),
        dimOrder(function), builder(function.getContext()) {}

  void run();

private:
  void assignFusion(exec::FusionOp fusion);
  void assignProduct(nd::EinsumOp product);
  void assignCollective(Operation *op);
  void assignReturn(func::ReturnOp op);
  std::optional<Order> getWantedOrder(Value value, unsigned depth = 0);
  std::optional<Order> getInputOrder(exec::FusionOp fusion, Value result);

  Order chooseShared(Value a, Value b, ArrayRef<StringAttr> group,
                     function_ref<double(ArrayRef<StringAttr>)> cost);
  void fitOperand(nd::EinsumOp product, unsigned operand,
                  ArrayRef<StringAttr> batch, ArrayRef<StringAttr> own,
                  ArrayRef<StringAttr> contracted);
  Order chooseResultOrder(nd::EinsumOp product, ArrayRef<StringAttr> batch,
                          ArrayRef<StringAttr> m, ArrayRef<StringAttr> n);
  Value copy(Value value, ArrayRef<StringAttr> order, Operation *before);
  double getBytes(Value value) const {
    return nd::getTensorType(value).getLocalBytes(mesh);
  }

  func::FuncOp function;
  nd::MeshAttr mesh;
  DimOrder dimOrder;
  OpBuilder builder;
  DenseMap<Value, Order> orders;
  /// Values whose order something relies on.
  DenseSet<Value> pinned;
};
} // namespace

void OrderAssigner::run() {
  Block &block = function.getBody().front();
  for (BlockArgument argument : block.getArguments()) {
    orders[argument] =
        exec::getOrder(argument).value_or(dimOrder.sort(argument));
    pinned.insert(argument);
  }
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (auto fusion = dyn_cast<exec::FusionOp>(op))
      assignFusion(fusion);
    else if (auto product = dyn_cast<nd::EinsumOp>(op))
      assignProduct(product);
    else if (auto returned = dyn_cast<func::ReturnOp>(op))
      assignReturn(returned);
    else
      assignCollective(&op);
  }
  for (Operation &op : block.without_terminator()) {
    SmallVector<Attribute> attributes;
    for (Value result : op.getResults())
      attributes.push_back(
          exec::getOrderAttr(builder.getContext(), orders[result]));
    op.setAttr(exec::ordersAttrName, builder.getArrayAttr(attributes));
  }
}

/// The order that a result of the function, or a kernel that reads the value
/// beside a tensor of the same dims, has already; collectives pass it on.
std::optional<Order> OrderAssigner::getWantedOrder(Value value,
                                                   unsigned depth) {
  constexpr unsigned maxDepth = 8;
  std::optional<Order> wanted;
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (isa<func::ReturnOp>(user))
      if (ArrayAttr order =
              nd::TensorAttributes::ofResult(function, use.getOperandNumber())
                  .getOrder())
        return exec::getOrder(order);
    if (isa<spmd::CollectiveOpInterface>(user) && depth < maxDepth)
      if (auto order = getWantedOrder(user->getResult(use.getOperandNumber()),
                                      depth + 1))
        wanted = order;
    if (wanted || !isa<exec::FusionOp>(user))
      continue;
    for (Value other : user->getOperands())
      if (other != value && pinned.contains(other) &&
          exec::getDims(other) == exec::getDims(value))
        wanted = orders.lookup(other);
  }
  return wanted;
}

/// The order of the largest input with the result's dims.
std::optional<Order> OrderAssigner::getInputOrder(exec::FusionOp fusion,
                                                  Value result) {
  exec::DimSet dims = exec::getDims(result);
  Value best;
  for (Value input : fusion.getInputs())
    if (exec::getDims(input) == dims &&
        (!best || getBytes(input) > getBytes(best)))
      best = input;
  if (!best)
    return std::nullopt;
  return orders.lookup(best);
}

void OrderAssigner::assignFusion(exec::FusionOp fusion) {
  for (Value result : fusion.getResults()) {
    std::optional<Order> order = getInputOrder(fusion, result);
    if (std::optional<Order> wanted = getWantedOrder(result))
      order = wanted;
    orders[result] = order.value_or(dimOrder.sort(result));
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

Value OrderAssigner::copy(Value value, ArrayRef<StringAttr> order,
                          Operation *before) {
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
  return result;
}

/// Results of the function have their declared order.
void OrderAssigner::assignReturn(func::ReturnOp op) {
  for (OpOperand &operand : op->getOpOperands()) {
    ArrayAttr declared =
        nd::TensorAttributes::ofResult(function, operand.getOperandNumber())
            .getOrder();
    if (!declared)
      continue;
    Order order = exec::getOrder(declared);
    if (orders.lookup(operand.get()) != order) {
      if (!pinned.contains(operand.get()))
        orders[operand.get()] = order;
      else
        operand.set(copy(operand.get(), order, op));
    }
    pinned.insert(operand.get());
  }
}

/// The sequence of dims that both operands of a product share: that of the one
/// which it costs less to follow.
Order OrderAssigner::chooseShared(
    Value a, Value b, ArrayRef<StringAttr> group,
    function_ref<double(ArrayRef<StringAttr>)> cost) {
  Order fromA = exec::restrictOrder(orders[a], group);
  Order fromB = exec::restrictOrder(orders[b], group);
  return cost(fromB) < cost(fromA) ? fromB : fromA;
}

/// Makes the operand a batch of matrices: as it is, in another order where it
/// has no reader yet that minds, or as a copy.
void OrderAssigner::fitOperand(nd::EinsumOp product, unsigned operand,
                               ArrayRef<StringAttr> batch,
                               ArrayRef<StringAttr> own,
                               ArrayRef<StringAttr> contracted) {
  Value value = product.getInputs()[operand];
  nd::TensorType type = nd::getTensorType(value);
  bool fits = exec::isMatrix(type, orders[value], batch, own, contracted, mesh);
  if (!fits) {
    Order order(batch);
    bool ownFirst = own.empty() || contracted.empty() ||
                    dimOrder.isBefore(own.front(), contracted.front());
    llvm::append_range(order, ownFirst ? own : contracted);
    llvm::append_range(order, ownFirst ? contracted : own);
    if (!pinned.contains(value))
      orders[value] = order;
    else
      product->setOperand(operand, copy(value, order, product));
  }
  pinned.insert(product->getOperand(operand));
}

Order OrderAssigner::chooseResultOrder(nd::EinsumOp product,
                                       ArrayRef<StringAttr> batch,
                                       ArrayRef<StringAttr> m,
                                       ArrayRef<StringAttr> n) {
  Value result = product.getResult();
  nd::TensorType type = nd::getTensorType(result);
  if (std::optional<Order> wanted = getWantedOrder(result))
    if (exec::isMatrix(type, *wanted, batch, m, n, mesh))
      return *wanted;
  Order order(batch);
  bool rowsFirst = dimOrder.isBefore(m.front(), n.front());
  llvm::append_range(order, rowsFirst ? m : n);
  llvm::append_range(order, rowsFirst ? n : m);
  return order;
}

void OrderAssigner::assignProduct(nd::EinsumOp product) {
  exec::ProductDims dims = exec::ProductDims::of(product);
  Value a = product.getInputs()[0], b = product.getInputs()[1];
  Order m = exec::restrictOrder(orders[a], dims.m);
  Order n = exec::restrictOrder(orders[b], dims.n);
  auto costWith = [&](ArrayRef<StringAttr> batch, ArrayRef<StringAttr> k) {
    double bytes = 0;
    for (auto [value, own] : {std::pair(a, &m), std::pair(b, &n)})
      if (!exec::isMatrix(nd::getTensorType(value), orders[value], batch, *own,
                          k, mesh))
        bytes += pinned.contains(value) ? 2 * getBytes(value) : 1;
    return bytes;
  };
  Order k = chooseShared(a, b, dims.k, [&](ArrayRef<StringAttr> sequence) {
    return costWith(exec::restrictOrder(orders[a], dims.batch), sequence);
  });
  Order batch =
      chooseShared(a, b, dims.batch, [&](ArrayRef<StringAttr> sequence) {
        return costWith(sequence, k);
      });
  fitOperand(product, 0, batch, m, k);
  fitOperand(product, 1, batch, n, k);
  orders[product.getResult()] = chooseResultOrder(product, batch, m, n);
  pinned.insert(product.getResult());
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
