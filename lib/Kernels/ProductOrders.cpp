//===- ProductOrders.cpp - orders in which a product is one call ----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/ContractionOps.h"
#include "lib/Kernels/OrderAssigner.h"

using namespace mlir;

namespace meshc::kernels {

using exec::Order;

/// The sequence of dims that both operands of a product share: that of the one
/// which it costs less to follow.
Order OrderAssigner::chooseShared(Value a, Value b, Dims group,
                                  function_ref<double(Dims)> cost) {
  Order fromA = exec::restrictOrder(orders[a], group);
  Order fromB = exec::restrictOrder(orders[b], group);
  return cost(fromB) < cost(fromA) ? fromB : fromA;
}

/// Makes the operand a batch of matrices: as it is, in another order where it
/// has no reader yet that minds, or as a copy.
void OrderAssigner::fitOperand(nd::EinsumOp product, unsigned operand,
                               Dims batch, Dims own, Dims contracted) {
  OpOperand &use = product->getOpOperand(operand);
  nd::TensorType type = nd::getTensorType(use.get());
  Order order = orders[use.get()];
  if (!exec::isMatrix(type, order, batch, own, contracted, mesh)) {
    order.assign(batch.begin(), batch.end());
    bool ownFirst = own.empty() || contracted.empty() ||
                    dimOrder.isBefore(own.front(), contracted.front());
    llvm::append_range(order, ownFirst ? own : contracted);
    llvm::append_range(order, ownFirst ? contracted : own);
  }
  require(use, order);
}

Order OrderAssigner::chooseResultOrder(nd::EinsumOp product, Dims batch, Dims m,
                                       Dims n) {
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
  auto costWith = [&](Dims batch, Dims k) {
    double bytes = 0;
    for (auto [value, own] : {std::pair(a, &m), std::pair(b, &n)})
      if (!exec::isMatrix(nd::getTensorType(value), orders[value], batch, *own,
                          k, mesh))
        bytes += getChangeCost(value);
    return bytes;
  };
  Order k = chooseShared(a, b, dims.k, [&](Dims sequence) {
    return costWith(exec::restrictOrder(orders[a], dims.batch), sequence);
  });
  Order batch = chooseShared(
      a, b, dims.batch, [&](Dims sequence) { return costWith(sequence, k); });
  fitOperand(product, 0, batch, m, k);
  fitOperand(product, 1, batch, n, k);
  orders[product.getResult()] = chooseResultOrder(product, batch, m, n);
  pinned.insert(product.getResult());
}

} // namespace meshc::kernels
