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

/// The value with another size of the dim, or the value itself. A window for
/// this has the location of `op` and moves entries for `cause`.
static Value buildWindow(Value value, TensorType type, StringAttr dim,
                         Operation &op, Value cause, OpBuilder &builder) {
  TensorType known = nd::getTensorType(value);
  if (known == type)
    return value;
  nd::Segment all = spmd::getCommonSegment(known.getSize(dim.getValue()),
                                           type.getSize(dim.getValue()));
  auto window = spmd::WindowOp::create(
      builder, op.getLoc(), type, dim,
      builder.getDenseI64ArrayAttr({0, all.at, all.from, all.size}),
      /*repeat=*/nullptr, builder.getF64FloatAttr(0), value);
  setCause(window, cause);
  return window;
}

/// The sizes of the parts of a split whose operand has room.
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
  Value operand = buildWindow(block, plan->operand, factor.operandDims[0], op,
                              op.getOperand(0), builder);
  Operation *local = builder.clone(op);
  local->setOperands(operand);
  local->getResult(0).setType(plan->result);
  nd::removeShardings(local);
  StringAttr part = factor.resultDims[0];
  if (auto split = dyn_cast<nd::SplitDimOp>(local))
    setSizes(split, part, plan->result.getSize(part.getValue()));
  Operation *last = buildWindow(local->getResult(0), result, part, op,
                                op.getResult(0), builder)
                        .getDefiningOp();
  if (last == local)
    return local;
  // What the op has is said of its result.
  DictionaryAttr attributes = local->getDiscardableAttrDictionary();
  local->setDiscardableAttrs(DictionaryAttr::get(op.getContext()));
  last->setDiscardableAttrs(attributes);
  setCause(last, op.getResult(0));
  return last;
}

} // namespace meshc::partition
