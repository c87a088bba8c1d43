//===- FactorChoice.cpp - which axes cut which factor of an op ------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Partition/FactorChoice.h"

using namespace mlir;

namespace meshc::partition {

using nd::Factor;
using nd::PartitionRule;
using nd::TensorType;
using spmd::AxisList;

double WantedResult::getCost(TensorType made,
                             reshard::ReshardPlanner &planner) const {
  TensorType part = scattered ? scatterSum(made, scattered) : made;
  return planner.getCost(made, part) +
         planner.getCost(part, desired.settle(part)) * share;
}

double WantedResult::getLeastCost(TensorType made,
                                  reshard::ReshardPlanner &planner) const {
  TensorType part = scattered ? scatterSum(made, scattered) : made;
  return planner.getLeastCost(made, part) +
         planner.getLeastCost(part, desired.settle(part)) * share;
}

TensorType getTypeAlong(TensorType type, const PartitionRule &rule,
                        ArrayRef<AxisList> axesOfFactor,
                        llvm::function_ref<StringAttr(const Factor &)> dimOf) {
  llvm::SmallVector<AxisList, 4> ofDims(type.getRank());
  AxisList used;
  for (auto [factor, axes] : llvm::zip(rule.factors, axesOfFactor)) {
    StringAttr name = dimOf(factor);
    if (!name || axes.empty())
      continue;
    const auto *dim = llvm::find_if(type.getDims(), [&](nd::DimAttr each) {
      return each.getName() == name;
    });
    if (dim == type.getDims().end() || llvm::any_of(axes, [&](StringAttr axis) {
          return llvm::is_contained(used, axis);
        }))
      return {};
    used.append(axes);
    ofDims[dim - type.getDims().begin()].append(axes);
  }
  llvm::SmallVector<nd::DimAttr> dims;
  for (auto [dim, axes] : llvm::zip(type.getDims(), ofDims))
    dims.push_back(dim.getAxes() == ArrayRef(axes)
                       ? dim
                       : nd::DimAttr::get(type.getContext(), dim.getName(),
                                          dim.getSize(), axes));
  return TensorType::get(type.getElementType(), dims);
}

double countPoints(Operation *op) {
  double points = cast<nd::NamedOpInterface>(op).getCost().flops / 2;
  for (Value value : llvm::concat<Value>(llvm::to_vector(op->getOperands()),
                                         llvm::to_vector(op->getResults())))
    points =
        std::max(points, double(nd::getTensorType(value).getElementCount()));
  return points;
}

bool hasMostPoints(Operation *op) {
  double points = countPoints(op);
  auto isSmaller = [&](Value value) {
    return double(nd::getTensorType(value).getElementCount()) < points;
  };
  return llvm::all_of(op->getOperands(), isSmaller) &&
         llvm::all_of(op->getResults(), isSmaller);
}

} // namespace meshc::partition
