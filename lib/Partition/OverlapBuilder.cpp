//===- OverlapBuilder.cpp - gathers and scatters cut along overlaps -------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Partition/OverlapBuilder.h"
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/TensorAttributes.h"
#include "dialects/Spmd/SpmdOps.h"
#include "lib/Partition/CauseName.h"

using namespace mlir;

namespace meshc::partition {

using nd::TensorType;

OverlapBuilder::OverlapBuilder(Operation &op, const nd::Factor &overlap,
                               const FactorChoice &choice, OpBuilder &builder,
                               nd::MeshAttr mesh)
    : op(op), overlap(overlap), line(overlap.operandDims[1]), builder(builder),
      plan(*spmd::planOverlap(overlap, choice.operandTypes, choice.resultTypes,
                              mesh)) {
  bool isOfResult = overlap.overlap.isOfResult;
  row = isOfResult ? overlap.resultDims[0] : overlap.operandDims[0];
  table = isOfResult ? choice.resultTypes[0] : choice.operandTypes[0];
}

Value OverlapBuilder::reindex(Value indices) {
  return spmd::ReindexOp::create(
      builder, op.getLoc(), indices.getType(), line,
      builder.getI64IntegerAttr(overlap.overlap.stride),
      builder.getI64IntegerAttr(overlap.overlap.low),
      builder.getI64IntegerAttr(table.getSize(row.getValue())),
      builder.getI64IntegerAttr(plan.block), indices);
}

Operation *OverlapBuilder::buildLocal(ValueRange operands) {
  Operation *local = builder.clone(op);
  local->setOperands(operands);
  nd::removeShardings(local);
  cast<nd::OverlapOpInterface>(local).setAlongAttr(line);
  return local;
}

Operation *OverlapBuilder::buildWindow(Value from, TensorType to,
                                       const spmd::WindowSegments &segments) {
  const nd::Segment &only = segments.list[0];
  return spmd::WindowOp::create(
      builder, op.getLoc(), to, row,
      builder.getDenseI64ArrayAttr(
          {only.operand, only.at, only.from, only.size}),
      builder.getDenseI64ArrayAttr(
          {segments.repeat->at, segments.repeat->from}),
      builder.getF64FloatAttr(0), from);
}

/// The sum of the parts of the widened blocks that are of a rank's own block.
Operation *OverlapBuilder::narrow(Value widened) {
  Operation *sum = nullptr;
  for (const spmd::WindowSegments &part : plan.windows) {
    Operation *window = buildWindow(widened, table, part);
    setCause(window, op.getResult(0));
    sum = sum ? nd::AddOp::create(builder, op.getLoc(), table,
                                  sum->getResult(0), window->getResult(0))
              : window;
  }
  return sum;
}

Operation *OverlapBuilder::build(ValueRange blocks) {
  Value indices = reindex(blocks[1]);
  if (!overlap.overlap.isOfResult) {
    Operation *window = buildWindow(blocks[0], plan.widened, plan.windows[0]);
    setCause(window, op.getOperand(0));
    return buildLocal({window->getResult(0), indices});
  }
  Operation *local = buildLocal({blocks[0], indices});
  local->getResult(0).setType(plan.widened);
  Operation *result = narrow(local->getResult(0));
  moveAttributes(local, result);
  if (isa<spmd::WindowOp>(result))
    setCause(result, op.getResult(0));
  return result;
}

} // namespace meshc::partition
