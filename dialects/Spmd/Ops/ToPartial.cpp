//===- ToPartial.cpp - a whole value as a partial sum ---------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Spmd/Sharding.h"
#include "dialects/Spmd/SpmdOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace meshc::spmd {

/// A tensor with one entry for each rank of the op's group: the entry that a
/// rank has is its number.
static nd::TensorType getNumbers(ToPartialOp op, nd::MeshAttr mesh) {
  Builder builder(op.getContext());
  AxisList axes = getNames(op.getAxes());
  auto dim = nd::DimAttr::get(op.getContext(), builder.getStringAttr("rank"),
                              mesh.getProduct(axes), axes);
  return nd::TensorType::get(builder.getI32Type(), {dim});
}

SmallVector<nd::HostTensor>
ToPartialOp::evaluate(ArrayRef<const nd::HostTensor *> operands,
                      const nd::EvaluationContext &context) {
  SmallVector<nd::HostTensor> results;
  nd::HostTensor &result = results.emplace_back(context.makeTensor(getType()));
  if (context.getOffset(getNumbers(*this, context.mesh), "rank") == 0)
    result.data = operands[0]->data;
  return results;
}

LogicalResult ToPartialOp::buildGradient(OpBuilder &, ArrayRef<Value>,
                                         SmallVectorImpl<Value> &) {
  return emitOpError("is made after the gradients and has none");
}

nd::PartitionRule ToPartialOp::getPartitionRule() {
  return nd::getRuleByNames(*this);
}

nd::OpCost ToPartialOp::getCost() { return nd::getElementwiseCost(*this, 0); }

Value ToPartialOp::emitElement(nd::ElementEmitter &emitter,
                               const nd::ElementIndex &index) {
  Value element = emitter.getElement(getInput(), index);
  if (!element)
    return {};
  Value number =
      emitter.getGlobalOffset(getNumbers(*this, emitter.getMesh()), "rank");
  Value isFirst = arith::CmpIOp::create(
      emitter.builder, emitter.loc, arith::CmpIPredicate::eq, number,
      arith::ConstantIndexOp::create(emitter.builder, emitter.loc, 0));
  Value zero = emitter.constant(
      cast<nd::TensorType>(getType()).getElementType(), 0, element);
  return arith::SelectOp::create(emitter.builder, emitter.loc, isFirst, element,
                                 zero);
}

bool ToPartialOp::supportsLanes(StringRef, int64_t, nd::MeshAttr) {
  return true;
}

nd::OperandDim ToPartialOp::getOperandDim(unsigned, StringRef dim) {
  return nd::OperandDim::same(StringAttr::get(getContext(), dim));
}

} // namespace meshc::spmd
