//===- PartitionRule.cpp - how an op may be cut ---------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Interfaces/PartitionRule.h"

using namespace mlir;

namespace meshc::nd {

PartitionRule getRuleByNames(Operation *op) {
  llvm::SmallVector<StringAttr> names;
  llvm::SmallVector<int64_t> sizes;
  auto collect = [&](Value value) {
    TensorType type = getTensorType(value);
    for (DimAttr dim : type ? type.getDims() : ArrayRef<DimAttr>())
      if (!llvm::is_contained(names, dim.getName())) {
        names.push_back(dim.getName());
        sizes.push_back(dim.getSize());
      }
  };
  llvm::for_each(op->getResults(), collect);
  llvm::for_each(op->getOperands(), collect);

  PartitionRule rule;
  for (auto [name, size] : llvm::zip(names, sizes)) {
    Factor factor;
    factor.size = size;
    auto find = [&, name = name](Value value) {
      TensorType type = getTensorType(value);
      return type && type.hasDim(name.getValue()) ? name : StringAttr();
    };
    for (Value operand : op->getOperands())
      factor.operandDims.push_back(find(operand));
    bool inResult = false;
    for (Value result : op->getResults()) {
      factor.resultDims.push_back(find(result));
      inResult |= factor.resultDims.back() != nullptr;
    }
    factor.effect = inResult ? FactorEffect::Parallel : FactorEffect::Reduce;
    rule.factors.push_back(std::move(factor));
  }
  return rule;
}

bool mayCut(Operation *op, const Factor &factor, int64_t blocks) {
  if (factor.needsNeighbours() || factor.isOfWidenedBlocks ||
      factor.size % blocks == 0)
    return true;
  auto fits = [&](Value value, StringAttr dim) {
    return !dim || getTensorType(value).getSize(dim.getValue()) == factor.size;
  };
  return llvm::all_of(llvm::zip(op->getOperands(), factor.operandDims),
                      [&](auto pair) {
                        return fits(std::get<0>(pair), std::get<1>(pair));
                      }) &&
         llvm::all_of(llvm::zip(op->getResults(), factor.resultDims),
                      [&](auto pair) {
                        return fits(std::get<0>(pair), std::get<1>(pair));
                      });
}

bool mayCutOrExchange(Operation *op, const Factor &factor, int64_t blocks) {
  return factor.isGrouped() || mayCut(op, factor, blocks);
}

PartitionRule joinAlternatives(PartitionRule rule) {
  for (Factor &factor : rule.alternatives) {
    factor.isAlternative = true;
    rule.factors.push_back(std::move(factor));
  }
  rule.alternatives.clear();
  return rule;
}

bool shareDim(const Factor &a, const Factor &b) {
  auto shareOne = [](ArrayRef<StringAttr> of, ArrayRef<StringAttr> other) {
    return llvm::any_of(llvm::zip(of, other), [](auto pair) {
      return std::get<0>(pair) && std::get<0>(pair) == std::get<1>(pair);
    });
  };
  return shareOne(a.operandDims, b.operandDims) ||
         shareOne(a.resultDims, b.resultDims);
}

void makeWhole(PartitionRule &rule, llvm::StringRef name,
               std::optional<double> neutral) {
  auto runsAlong = [&](StringAttr dim) {
    return dim && dim.getValue() == name;
  };
  for (Factor &factor : rule.factors)
    if (llvm::any_of(factor.operandDims, runsAlong) ||
        llvm::any_of(factor.resultDims, runsAlong)) {
      factor.effect = FactorEffect::Whole;
      factor.neutral = neutral;
    }
}

PartitionRule getWindowRule(Operation *op, llvm::StringRef dim,
                            ArrayRef<Segment> segments, double fill) {
  PartitionRule rule = getRuleByNames(op);
  for (Factor &factor : rule.factors)
    if (factor.resultDims[0].getValue() == dim) {
      factor.segments.assign(segments.begin(), segments.end());
      factor.fill = fill;
    }
  return rule;
}

PartitionRule getRuleByNames(Operation *op, llvm::StringRef whole) {
  PartitionRule rule = getRuleByNames(op);
  makeWhole(rule, whole);
  return rule;
}

} // namespace meshc::nd
