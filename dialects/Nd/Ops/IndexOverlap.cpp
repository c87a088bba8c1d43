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
    found = IndexOverlap{Access::windows(step, 0, 0), name, size};
  }
  if (!found)
    return std::nullopt;
  AffineIndex others = *index;
  if (!others.add({0, {{found->line, 1}}}, -found->windows.stride))
    return std::nullopt;
  auto range = getRange(others, type);
  if (!range)
    return std::nullopt;
  // Where all indices are beyond the table, there is nothing to exchange.
  if (range->greatest + mostGrowth < 0 || range->least >= table.getSize(dim))
    return std::nullopt;
  found->windows.low = range->least;
  found->windows.high = range->greatest;
  return found;
}

/// Both have the indices as their second operand.
static Factor makeFactor(const IndexOverlap &overlap) {
  Factor factor;
  factor.size = overlap.size;
  factor.indices = 1;
  return factor;
}

Factor makeGatherFactor(const IndexOverlap &overlap, StringAttr dim) {
  Factor factor = makeFactor(overlap);
  factor.operandDims = {dim, overlap.line};
  factor.operandAccesses = {overlap.windows};
  factor.resultDims = {overlap.line};
  return factor;
}

Factor makeScatterFactor(const IndexOverlap &overlap, StringAttr dim) {
  Factor factor = makeFactor(overlap);
  factor.operandDims = {overlap.line, overlap.line};
  factor.resultDims = {dim};
  factor.resultAccesses = {overlap.windows};
  return factor;
}

Factor makeWidenedFactor(Factor factor) {
  factor.operandAccesses.clear();
  factor.resultAccesses.clear();
  factor.isOfWidenedBlocks = true;
  return factor;
}

LogicalResult verifyAlong(Operation *op, StringAttr along, TensorType indices,
                          TensorType table, StringRef dim) {
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
