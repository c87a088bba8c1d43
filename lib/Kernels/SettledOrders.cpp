//===- SettledOrders.cpp - memory orders that nothing can change ----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Kernels/SettledOrders.h"
#include "dialects/Nd/Ops/LoopOps.h"
#include "dialects/Nd/TensorAttributes.h"
#include "dialects/Spmd/SpmdOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace meshc::kernels {

using exec::Order;

static std::optional<Order> getDeclaredOrder(nd::TensorAttributes tensor) {
  ArrayAttr order = tensor.getOrder();
  return order ? std::optional(exec::getOrder(order)) : std::nullopt;
}

/// The order of an entry of a stacked tensor.
static std::optional<Order> withoutDim(std::optional<Order> order,
                                       StringAttr dim) {
  if (order)
    llvm::erase(*order, dim);
  return order;
}

/// Of what an argument of a block, or the collective of one, lies in already.
static std::optional<Order> getSourceOrder(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *parent = argument.getOwner()->getParentOp();
    if (auto function = dyn_cast<func::FuncOp>(parent))
      return getDeclaredOrder(
          nd::TensorAttributes::ofArgument(function, argument.getArgNumber()));
    auto scan = dyn_cast<nd::ScanOp>(parent);
    return scan ? withoutDim(getSourceOrder(scan.getTie(argument).operand),
                             scan.getDimAttr())
                : std::nullopt;
  }
  auto collective = value.getDefiningOp<spmd::CollectiveOpInterface>();
  if (!collective)
    return std::nullopt;
  unsigned number = cast<OpResult>(value).getResultNumber();
  return getSourceOrder(collective->getOperand(number));
}

/// Of the function's result that a value becomes.
static std::optional<Order> getResultOrder(Value value) {
  for (OpOperand &use : value.getUses()) {
    unsigned number = use.getOperandNumber();
    std::optional<Order> order;
    if (isa<func::ReturnOp>(use.getOwner())) {
      auto function = cast<func::FuncOp>(use.getOwner()->getParentOp());
      order =
          getDeclaredOrder(nd::TensorAttributes::ofResult(function, number));
    } else if (auto yield = dyn_cast<nd::YieldOp>(use.getOwner())) {
      auto scan = cast<nd::ScanOp>(yield->getParentOp());
      order =
          withoutDim(getResultOrder(scan.getResult(number)), scan.getDimAttr());
    }
    if (order)
      return order;
  }
  return std::nullopt;
}

std::optional<Order> getSettledOrder(Value value) {
  std::optional<Order> order = getSourceOrder(value);
  return order ? order : getResultOrder(value);
}

exec::DimSet getStridedDims(nd::TensorType type, ArrayRef<StringAttr> order,
                            ArrayRef<StringAttr> aligned, nd::MeshAttr mesh) {
  exec::DimSet dims;
  for (StringAttr dim : order)
    if (type.getLocalSize(type.getDimIndex(dim.getValue()), mesh) > 1)
      dims.push_back(dim);
  if (!dims.empty())
    dims.pop_back();
  return exec::unite({}, exec::intersect(dims, aligned));
}

} // namespace meshc::kernels
