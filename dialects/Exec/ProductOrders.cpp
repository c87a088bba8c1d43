//===- ProductOrders.cpp - orders in which a product is one call ----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Order.h"
#include "dialects/Nd/Ops/ContractionOps.h"

using namespace mlir;

namespace meshc::exec {

using Dims = ArrayRef<StringAttr>;

static bool isMatrix(ProductOp product, Value value, Dims order, Dims batch,
                     Dims rows, Dims columns) {
  return isMatrix(nd::getTensorType(value), order, batch, rows, columns,
                  nd::MeshAttr::of(product));
}

/// The dims, and those after them, by precedence: first the group whose first
/// dim comes first.
static Order joinByPrecedence(Dims batch, Dims one, Dims two, bool oneFirst) {
  Order order(batch);
  llvm::append_range(order, oneFirst ? one : two);
  llvm::append_range(order, oneFirst ? two : one);
  return order;
}

//===----------------------------------------------------------------------===//
// Before orders are chosen
//===----------------------------------------------------------------------===//

/// Batch dims first.
Order ProductOp::getExpectedOrder(unsigned, DimPrecedence isBefore) {
  ProductDims dims = ProductDims::of(getEinsum());
  auto sort = [&](Dims group) {
    Order sorted(group);
    llvm::sort(sorted, isBefore);
    return sorted;
  };
  bool rowsFirst = isBefore(dims.m.front(), dims.n.front());
  return joinByPrecedence(sort(dims.batch), sort(dims.m), sort(dims.n),
                          rowsFirst);
}

//===----------------------------------------------------------------------===//
// The choice
//===----------------------------------------------------------------------===//

/// The sequence of dims that both operands share: that of the one which it
/// costs less to follow.
static Order chooseShared(ProductOp product, OrderChooser &orders, Dims group,
                          function_ref<double(Dims)> cost) {
  Order fromA = restrictOrder(orders.getOrder(product.getInputs()[0]), group);
  Order fromB = restrictOrder(orders.getOrder(product.getInputs()[1]), group);
  return cost(fromB) < cost(fromA) ? fromB : fromA;
}

/// The dim with padding first, so that a shorter k leaves it out.
static Order moveUnevenFirst(ProductOp product, Dims k) {
  Order order(getUnevenDims(nd::getTensorType(product.getInputs()[0]), k,
                            nd::MeshAttr::of(product)));
  for (StringAttr dim : k)
    if (!llvm::is_contained(order, dim))
      order.push_back(dim);
  return order;
}

/// With at most so many rows in the other factor, to copy a factor would take
/// longer than the product: a copy into another order moves some 4 GB/s, a
/// product computes 100 GFLOP/s.
static constexpr int64_t fewRows = 128;
/// Elements of a matrix whose product is worth a call.
static constexpr int64_t leastElements = 1 << 14;

/// Whether the operand is a matrix as it lies for each entry of its outer dims,
/// and the product better repeated along them than the operand copied.
static bool isBetterRepeated(ProductOp product, OrderChooser &orders,
                             unsigned operand, Dims contracted) {
  ProductDims dims = ProductDims::of(product.getEinsum());
  Value value = product.getInputs()[operand];
  nd::TensorType other = nd::getTensorType(product.getInputs()[1 - operand]);
  nd::MeshAttr mesh = nd::MeshAttr::of(product);
  Order order = orders.getOrder(value);
  auto repeated = dims.repeatOutside(operand, order);
  if (!repeated || orders.getChangeCost(value) <= 1)
    return false;
  auto count = [&](nd::TensorType type, Dims group) {
    int64_t entries = 1;
    for (StringAttr dim : group)
      entries *= type.getLocalSize(type.getDimIndex(dim.getValue()), mesh);
    return entries;
  };
  Order own = restrictOrder(order, operand == 0 ? repeated->m : repeated->n);
  nd::TensorType type = nd::getTensorType(value);
  return count(other, operand == 0 ? dims.n : dims.m) <= fewRows &&
         count(type, own) * count(type, contracted) >= leastElements &&
         isMatrix(product, value, order,
                  operand == 0 ? repeated->repeatedA : repeated->repeatedB, own,
                  contracted);
}

/// Makes the operand a batch of matrices: as it is, as a copy that exists, in
/// another order where it has no reader yet that minds, or as a new copy. True
/// if it stays as it is, and the product is repeated along its outer dims.
static bool fitOperand(ProductOp product, OrderChooser &orders,
                       unsigned operand, Dims batch, Dims own, Dims contracted,
                       bool mayRepeat) {
  OpOperand &use = product->getOpOperand(operand);
  Order order = orders.getOrder(use.get());
  auto isFit = [&](Dims each) {
    return isMatrix(product, use.get(), each, batch, own, contracted);
  };
  SmallVector<Order> copies = orders.getCopies(use.get());
  auto *copy = isFit(order) ? copies.end() : llvm::find_if(copies, isFit);
  bool isRepeated = false;
  if (copy != copies.end()) {
    order = *copy;
  } else if (!isFit(order) && mayRepeat &&
             isBetterRepeated(product, orders, operand, contracted)) {
    isRepeated = true;
  } else if (!isFit(order)) {
    bool ownFirst = own.empty() || contracted.empty() ||
                    orders.isBefore(own.front(), contracted.front());
    order = joinByPrecedence(batch, own, contracted, ownFirst);
  }
  orders.require(use, order);
  return isRepeated;
}

/// As its users prefer it; if that is not one product, with the innermost dim
/// that they prefer, so that a kernel reads it in sequence beside their
/// tensors.
static Order chooseResultOrder(ProductOp product, OrderChooser &orders,
                               Dims batch, Dims m, Dims n) {
  Value result = product.getResult(0);
  if (std::optional<Order> wanted = orders.getPreferredOrder(result)) {
    if (isMatrix(product, result, *wanted, batch, m, n))
      return *wanted;
    for (bool rowsFirst : {true, false})
      if (Order order = joinByPrecedence(batch, m, n, rowsFirst);
          order.back() == wanted->back())
        return order;
  }
  return joinByPrecedence(batch, m, n, orders.isBefore(m.front(), n.front()));
}

void ProductOp::chooseOrders(OrderChooser &orders) {
  ProductDims dims = ProductDims::of(getEinsum());
  Value a = getInputs()[0], b = getInputs()[1];
  Order m = restrictOrder(orders.getOrder(a), dims.m);
  Order n = restrictOrder(orders.getOrder(b), dims.n);
  auto costWith = [&](Dims batch, Dims k) {
    double bytes = 0;
    for (auto [value, own] : {std::pair(a, &m), std::pair(b, &n)})
      if (!isMatrix(*this, value, orders.getOrder(value), batch, *own, k))
        bytes += orders.getChangeCost(value);
    return bytes;
  };
  Order k = chooseShared(*this, orders, dims.k, [&](Dims sequence) {
    return costWith(restrictOrder(orders.getOrder(a), dims.batch),
                    moveUnevenFirst(*this, sequence));
  });
  k = moveUnevenFirst(*this, k);
  Order batch = chooseShared(*this, orders, dims.batch, [&](Dims sequence) {
    return costWith(sequence, k);
  });
  bool isRepeated = fitOperand(*this, orders, 0, batch, m, k, true);
  fitOperand(*this, orders, 1, batch, n, k, !isRepeated);
  orders.setOrder(cast<OpResult>(getResult(0)),
                  chooseResultOrder(*this, orders, batch, m, n));
}

} // namespace meshc::exec
