//===- PositionBuilder.cpp - values at one position of a text -------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/NdInterfaces.h"

using namespace mlir;

namespace meshc::nd {

SmallVector<StringAttr> getDimsByRule(OpResult result, unsigned operand,
                                      PositionBuilder::Dims dims) {
  SmallVector<StringAttr> same;
  auto op = cast<NamedOpInterface>(result.getOwner());
  PartitionRule rule = op.getPartitionRule();
  for (const Factor &factor : rule.factors)
    if (StringAttr dim = factor.operandDims[operand];
        dim &&
        llvm::is_contained(dims, factor.resultDims[result.getResultNumber()]))
      same.push_back(dim);
  return same;
}

bool isParallelByRule(OpResult result, PositionBuilder::Dims dims) {
  auto op = cast<NamedOpInterface>(result.getOwner());
  PartitionRule rule = op.getPartitionRule();
  return llvm::all_of(dims, [&](StringAttr dim) {
    return llvm::any_of(rule.factors, [&](const Factor &factor) {
      return factor.isLocal() &&
             factor.resultDims[result.getResultNumber()] == dim;
    });
  });
}

} // namespace meshc::nd
