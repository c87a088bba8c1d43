//===- LinkedCuts.cpp - how a block's placed values cut its dims ----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Partition/LinkedCuts.h"

using namespace mlir;

namespace meshc::partition {

LinkedCuts::LinkedCuts(Block &block, const DesiredShardings &desired) {
  for (Operation &op : block.without_terminator())
    link(op);
  // Values that are in no op's factors have classes of their own.
  for (Value argument : block.getArguments())
    collect(argument, desired);
  for (Operation &op : block.without_terminator())
    for (Value result : op.getResults())
      collect(result, desired);
}

unsigned LinkedCuts::getNumber(Value value, StringAttr dim) {
  auto [it, isNew] = numbers.try_emplace({value, dim}, numbers.size());
  if (isNew)
    classes.grow(it->second + 1);
  return it->second;
}

/// The dims of the op's values along the factor; all are linked.
static llvm::SmallVector<std::pair<Value, StringAttr>, 4>
getDimsAlong(Operation *op, const nd::Factor &factor) {
  llvm::SmallVector<std::pair<Value, StringAttr>, 4> dims;
  for (auto [operand, dim] : llvm::zip(op->getOperands(), factor.operandDims))
    if (dim)
      dims.emplace_back(operand, dim);
  for (auto [result, dim] : llvm::zip(op->getResults(), factor.resultDims))
    if (dim)
      dims.emplace_back(result, dim);
  return dims;
}

/// Links the dims along each factor of the op.
void LinkedCuts::link(Operation &op) {
  auto named = dyn_cast<nd::NamedOpInterface>(op);
  if (!named || op.getNumRegions() != 0)
    return;
  nd::PartitionRule rule = nd::joinAlternatives(named.getPartitionRule());
  for (const nd::Factor &factor : rule.factors) {
    if (factor.effect == nd::FactorEffect::Whole)
      continue;
    std::optional<unsigned> first;
    for (auto [value, dim] : getDimsAlong(&op, factor)) {
      unsigned number = getNumber(value, dim);
      classes.join(number, first.value_or(number));
      first = number;
    }
  }
}

/// Enters how the value's dims are cut before the search. Open dims of results
/// are whole then.
void LinkedCuts::collect(Value value, const DesiredShardings &desired) {
  auto known = desired.find(value);
  if (known == desired.end() || !known->second.type)
    return;
  for (nd::DimAttr dim : known->second.type.getDims()) {
    spmd::AxisList cut(dim.getAxes());
    if (cut.empty())
      continue;
    auto &ofClass = cuts[classes.findLeader(getNumber(value, dim.getName()))];
    if (!llvm::is_contained(ofClass, cut))
      ofClass.push_back(cut);
    for (StringAttr axis : cut)
      if (!llvm::is_contained(axes, axis))
        axes.push_back(axis);
  }
}

ArrayRef<spmd::AxisList> LinkedCuts::get(Operation *op,
                                         const nd::Factor &factor) const {
  auto dims = getDimsAlong(op, factor);
  auto number = dims.empty() ? numbers.end() : numbers.find(dims.front());
  if (number == numbers.end())
    return {};
  auto known = cuts.find(classes.findLeader(number->second));
  return known == cuts.end() ? ArrayRef<spmd::AxisList>()
                             : ArrayRef<spmd::AxisList>(known->second);
}

} // namespace meshc::partition
