//===- IndexOverlap.cpp - affine indices and the blocks they need ---------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/IndexOverlap.h"

using namespace mlir;

namespace meshc::nd {

std::optional<IndexOverlap> findOverlap(Value indices, TensorType table,
                                        StringRef dim) {
  auto index = findAffineIndex(indices);
  if (!index)
    return std::nullopt;
  TensorType type = getTensorType(indices);
  std::optional<IndexOverlap> found;
  int64_t mostGrowth = 0;
  for (auto [name, step] : index->steps) {
    int64_t size = type.getSize(name.getValue());
    if (table.hasDim(name.getValue()) || step * (size - 1) <= mostGrowth)
      continue;
    mostGrowth = step * (size - 1);
    found = IndexOverlap{Overlap{step}, name, size};
  }
  if (!found)
    return std::nullopt;
  AffineIndex others = *index;
  if (!others.add({0, {{found->line, 1}}}, -found->overlap.stride))
    return std::nullopt;
  auto range = getRange(others, type);
  if (!range)
    return std::nullopt;
  // Where all indices are beyond the table, there is nothing to exchange.
  if (range->greatest + mostGrowth < 0 || range->least >= table.getSize(dim))
    return std::nullopt;
  found->overlap.low = range->least;
  found->overlap.high = range->greatest;
  return found;
}

static Factor makeFactor(const IndexOverlap &overlap) {
  Factor factor;
  factor.kind = FactorKind::Overlap;
  factor.size = overlap.size;
  factor.overlap = overlap.overlap;
  return factor;
}

Factor makeGatherFactor(const IndexOverlap &overlap, StringAttr dim) {
  Factor factor = makeFactor(overlap);
  factor.operandDims = {dim, overlap.line};
  factor.resultDims = {overlap.line};
  return factor;
}

Factor makeScatterFactor(const IndexOverlap &overlap, StringAttr dim) {
  Factor factor = makeFactor(overlap);
  factor.operandDims = {overlap.line, overlap.line};
  factor.resultDims = {dim};
  factor.overlap.isOfResult = true;
  return factor;
}

LogicalResult verifyAlong(OverlapOpInterface op, TensorType indices,
                          TensorType table, StringRef dim) {
  StringAttr along = op.getAlongAttr();
  if (!along)
    return success();
  if (!indices.hasDim(along.getValue()) || table.hasDim(along.getValue()))
    return op->emitOpError("needs 'along' to name a dim of the indices that "
                           "the table lacks, got '")
           << along.getValue() << "'";
  DimAttr line = indices.getDim(along.getValue()), row = table.getDim(dim);
  if (line.getAxes() != row.getAxes())
    return op->emitOpError("needs dim '")
           << dim << "' of the table to be cut as dim '" << along.getValue()
           << "' of the indices is: they are " << table << " and " << indices;
  return success();
}

} // namespace meshc::nd
