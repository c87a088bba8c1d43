//===- FusionOrders.cpp - memory orders of a fusion -----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Alignment.h"
#include "dialects/Exec/Order.h"
#include "dialects/Nd/Ops/IndexingOps.h"

using namespace mlir;

namespace meshc::exec {

std::optional<unsigned> FusionOp::getChangedInput() {
  if (getNumResults() != 1)
    return std::nullopt;
  Value result = getBody().front().getTerminator()->getOperand(0);
  Value changed = nd::getChangedTable(result.getDefiningOp());
  auto table = dyn_cast_or_null<BlockArgument>(changed);
  return table ? std::optional(table.getArgNumber()) : std::nullopt;
}

/// The order of the largest table in which a gather of the fusion looks up its
/// entries, with the dims of the indices in place of the one that they name.
/// Nothing if there is none, or if it lacks dims of the result.
static std::optional<Order>
getGatheredOrder(FusionOp fusion, const DimSet &dims, OrderChooser &orders) {
  nd::MeshAttr mesh = nd::MeshAttr::of(fusion);
  std::optional<Order> best;
  int64_t most = 0;
  for (auto gather : fusion.getBody().front().getOps<nd::GatherOp>()) {
    auto table = dyn_cast<BlockArgument>(gather.getTable());
    if (!table)
      continue;
    Value input = fusion.getInputs()[table.getArgNumber()];
    const int64_t bytes = nd::getTensorType(input).getLocalBytes(mesh);
    Order order;
    for (StringAttr dim : orders.getOrder(input))
      if (dim != gather.getDimAttr())
        order.push_back(dim);
      else
        for (nd::DimAttr named :
             nd::getTensorType(gather.getIndices()).getDims())
          if (!nd::getTensorType(input).hasDim(named.getName().getValue()))
            order.push_back(named.getName());
    order = restrictOrder(order, dims);
    if (order.size() == dims.size() && bytes > most) {
      best = std::move(order);
      most = bytes;
    }
  }
  return best;
}

/// The order of the largest input with the result's dims, or else of the
/// largest one with more dims, or else of what a gather reads.
static std::optional<Order> getInputOrder(FusionOp fusion, Value result,
                                          OrderChooser &orders) {
  nd::MeshAttr mesh = nd::MeshAttr::of(fusion);
  DimSet dims = getDims(result);
  auto rank = [&](Value input) {
    double bytes = nd::getTensorType(input).getLocalBytes(mesh);
    return std::pair(getDims(input) == dims, bytes);
  };
  Value best;
  for (Value input : fusion.getInputs())
    if (intersect(dims, getDims(input)).size() == dims.size() &&
        (!best || rank(input) > rank(best)))
      best = input;
  if (!best)
    return getGatheredOrder(fusion, dims, orders);
  return restrictOrder(orders.getOrder(best), dims);
}

/// A table that is changed keeps its order, as it may keep its place.
void FusionOp::chooseOrders(OrderChooser &orders) {
  if (std::optional<unsigned> table = getChangedInput()) {
    Order order = orders.getOrder(getInputs()[*table]);
    orders.require((*this)->getOpOperand(*table), order);
    orders.setOrder((*this)->getResult(0), order);
    return;
  }
  for (OpResult result : (*this)->getResults()) {
    std::optional<Order> order = getInputOrder(*this, result, orders);
    orders.suggestOrder(result,
                        order ? *order : orders.getDefaultOrder(result));
    if (std::optional<Order> preferred = orders.getPreferredOrder(result))
      orders.suggestOrder(result, *preferred);
  }
}

} // namespace meshc::exec
