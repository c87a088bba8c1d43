//===- GroupBuilder.cpp - splits and merges of uneven blocks --------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Partition/GroupBuilder.h"
#include "dialects/Nd/Ops/ShapeOps.h"
#include "dialects/Nd/TensorAttributes.h"
#include "dialects/Spmd/SpmdOps.h"
#include "lib/Partition/CauseName.h"

using namespace mlir;

namespace meshc::partition {

using nd::TensorType;

bool isExchanged(Operation &op, const nd::Factor &factor,
                 ArrayRef<StringAttr> axes, nd::MeshAttr mesh) {
  return factor.isGrouped && !axes.empty() &&
         !nd::mayCut(&op, factor, mesh.getProduct(axes));
}

/// A window that gives the dim of the value another size. It has no name and no
/// cause.
static Operation *buildWindow(Value value, TensorType type, StringAttr dim,
                              Location loc, OpBuilder &builder) {
  TensorType known = nd::getTensorType(value);
  nd::Segment all = spmd::getCommonSegment(known.getSize(dim.getValue()),
                                           type.getSize(dim.getValue()));
  return spmd::WindowOp::create(
      builder, loc, type, dim,
      builder.getDenseI64ArrayAttr({0, all.at, all.from, all.size}),
      /*repeat=*/nullptr, builder.getF64FloatAttr(0), value);
}

/// Sets the size of the part `part`.
static void setSizes(nd::SplitDimOp split, StringAttr part, int64_t size) {
  llvm::SmallVector<int64_t> sizes(split.getSizes());
  for (auto [name, known] :
       llvm::zip(split.getInto().getAsRange<StringAttr>(), sizes))
    if (name == part)
      known = size;
  split.setSizes(sizes);
}

Operation *buildGroups(Operation &op, const nd::Factor &factor,
                       const FactorChoice &choice, Value block,
                       OpBuilder &builder, nd::MeshAttr mesh) {
  TensorType result = choice.resultTypes[0];
  auto plan = spmd::planGroups(factor, choice.operandTypes[0], result, mesh);
  if (plan->operand != block.getType()) {
    Operation *padded = buildWindow(block, plan->operand, factor.operandDims[0],
                                    op.getLoc(), builder);
    setCause(padded, op.getOperand(0));
    block = padded->getResult(0);
  }
  Operation *local = builder.clone(op);
  local->setOperands(block);
  local->getResult(0).setType(plan->result);
  StringAttr part = factor.resultDims[0];
  if (auto split = dyn_cast<nd::SplitDimOp>(local))
    setSizes(split, part, plan->result.getSize(part.getValue()));
  if (plan->result == result)
    return local;
  Operation *last =
      buildWindow(local->getResult(0), result, part, op.getLoc(), builder);
  moveAttributes(local, last);
  setCause(last, op.getResult(0));
  return last;
}

} // namespace meshc::partition
