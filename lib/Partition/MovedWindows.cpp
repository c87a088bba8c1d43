//===- MovedWindows.cpp - windows at values with fewer elements -----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Partition/MovedWindows.h"
#include "lib/Partition/FactorChoice.h"

using namespace mlir;

namespace meshc::partition {

using nd::Factor;
using nd::TensorType;
using reshard::BlockExchange;
using spmd::AxisList;

/// More ops of a chain are not looked at.
static constexpr size_t mostPassed = 4;

static int64_t countLocal(Value value, nd::MeshAttr mesh) {
  return nd::getTensorType(value).getLocalElementCount(mesh);
}

bool keepsEntries(Operation *op, StringAttr dim) {
  auto named = dyn_cast_or_null<nd::NamedOpInterface>(op);
  if (!named || op->getNumResults() != 1 || op->getNumOperands() == 0 ||
      op->getNumRegions() != 0 || op->hasTrait<nd::ReadsPosition>())
    return false;
  nd::OpCost cost = named.getCost();
  if (cost.transcendentals > 0 ||
      cost.flops > double(countLocal(op->getOperand(0), nd::MeshAttr::of(op))))
    return false;
  return llvm::any_of(named.getPartitionRule().factors, [&](const Factor &f) {
    return f.isLocal() && !f.isGrouped() && f.operandDims[0] == dim &&
           f.resultDims[0] == dim &&
           llvm::none_of(llvm::drop_begin(f.operandDims),
                         [](StringAttr other) { return bool(other); });
  });
}

Operation *findExpansion(Value value, StringAttr dim, nd::MeshAttr mesh) {
  Operation *op = value.getDefiningOp();
  return keepsEntries(op, dim) &&
                 countLocal(op->getOperand(0), mesh) < countLocal(value, mesh)
             ? op
             : nullptr;
}

Operation *findReduction(Value value, StringAttr dim, nd::MeshAttr mesh) {
  if (!value.hasOneUse())
    return nullptr;
  OpOperand &use = *value.use_begin();
  Operation *op = use.getOwner();
  if (use.getOperandNumber() != 0 || op->getBlock() != value.getParentBlock() ||
      !keepsEntries(op, dim) ||
      countLocal(op->getResult(0), mesh) >= countLocal(value, mesh) ||
      // A sum of 16 bits is rounded before the op, and in f32 behind it.
      nd::getTensorType(value).isShortFloat())
    return nullptr;
  auto rule = cast<nd::NamedOpInterface>(op).getPartitionRule();
  return llvm::is_contained(rule.linearOperands, 0u) ? op : nullptr;
}

MovedWindows::MovedWindows(Operation *op, const nd::PartitionRule &rule,
                           nd::MeshAttr mesh)
    : mesh(mesh) {
  auto add = [&](unsigned factor, unsigned number, bool isOperand,
                 StringAttr dim) {
    Way way = {factor, number, isOperand, {}};
    Value value = isOperand ? op->getOperand(number) : op->getResult(number);
    while (way.ops.size() < mostPassed) {
      Operation *next = isOperand ? findExpansion(value, dim, mesh)
                                  : findReduction(value, dim, mesh);
      if (!next)
        break;
      way.ops.push_back(
          {next, nd::joinAlternatives(
                     cast<nd::NamedOpInterface>(next).getPartitionRule())});
      value = isOperand ? next->getOperand(0) : next->getResult(0);
    }
    if (!way.ops.empty())
      ways.push_back(std::move(way));
  };
  for (auto [number, factor] : llvm::enumerate(rule.factors)) {
    for (auto [value, dim] : llvm::enumerate(factor.operandDims))
      if (dim && factor.getOperandAccess(value).isWindows())
        add(number, value, /*isOperand=*/true, dim);
    for (auto [value, dim] : llvm::enumerate(factor.resultDims))
      if (dim && factor.getResultAccess(value).isWindows())
        add(number, value, /*isOperand=*/false, dim);
  }
}

/// The type that operand 0 of the op has, widened, if its result has this type;
/// or, where `isOperand` is false, the one that its result has before it is
/// narrowed, if operand 0 has this type. Null if it is not known. A dim that is
/// cut is cut along the alternative, if ranks can exchange what that takes.
TensorType MovedWindows::follow(const Passed &passed, TensorType type,
                                bool isOperand) const {
  auto getKnownDim = [&](const Factor &factor) {
    return isOperand ? factor.resultDims[0] : factor.operandDims[0];
  };
  auto findAxes = [&](bool takesAlternatives) {
    llvm::SmallVector<AxisList> axes(passed.rule.factors.size());
    for (nd::DimAttr dim : type.getDims()) {
      std::optional<unsigned> chosen;
      for (auto [i, factor] : llvm::enumerate(passed.rule.factors))
        if (getKnownDim(factor) == dim.getName() &&
            (factor.isAlternative ? takesAlternatives : !chosen))
          chosen = i;
      if (chosen)
        axes[*chosen].assign(dim.getAxes().begin(), dim.getAxes().end());
    }
    return axes;
  };
  for (bool takesAlternatives : {true, false}) {
    llvm::SmallVector<AxisList> axes = findAxes(takesAlternatives);
    llvm::SmallVector<TensorType> operands;
    for (auto [i, operand] : llvm::enumerate(passed.op->getOperands()))
      operands.push_back(getTypeAlong(
          nd::getTensorType(operand), passed.rule, axes,
          [&, i = i](const Factor &factor) { return factor.operandDims[i]; }));
    TensorType result = getTypeAlong(
        nd::getTensorType(passed.op->getResult(0)), passed.rule, axes,
        [](const Factor &factor) { return factor.resultDims[0]; });
    if (!result || llvm::is_contained(operands, TensorType()))
      continue;
    if (auto plan =
            reshard::planExchange(passed.rule, axes, operands, {result}, mesh))
      return isOperand ? plan->operandTypes[0] : plan->resultTypes[0];
  }
  return {};
}

double MovedWindows::getShare(const BlockExchange &exchange,
                              bool isOperand) const {
  const Way *way = llvm::find_if(ways, [&](const Way &each) {
    return each.factor == exchange.factor && each.value == exchange.value &&
           each.isOperand == isOperand;
  });
  if (way == ways.end())
    return 1;
  TensorType from = isOperand ? exchange.from : exchange.to;
  auto count = double(from.getLocalElementCount(mesh)), least = count;
  for (const Passed &passed : way->ops) {
    from = follow(passed, from, isOperand);
    if (!from)
      break;
    least = std::min(least, double(from.getLocalElementCount(mesh)));
  }
  return least / count;
}

llvm::SmallVector<Operation *> MovedWindows::getOps() const {
  llvm::SmallVector<Operation *> ops;
  for (const Way &way : ways)
    for (const Passed &passed : way.ops)
      ops.push_back(passed.op);
  return ops;
}

} // namespace meshc::partition
