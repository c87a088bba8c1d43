//===- Slice.cpp - this rank's block, computed in place -------------------===//
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

SmallVector<nd::HostTensor>
SliceOp::evaluate(ArrayRef<const nd::HostTensor *> operands,
                  const nd::EvaluationContext &context) {
  SmallVector<nd::HostTensor> results;
  nd::HostTensor &result = results.emplace_back(context.makeTensor(getType()));
  SmallVector<SmallVector<int64_t>> strides = {
      operands[0]->getStridesAlong(result.type), result.getStrides()};
  int64_t shift = context.getOffset(result.type, getDim()) -
                  context.getOffset(operands[0]->type, getDim());
  int64_t first = shift * operands[0]->getStrideOf(getDim());
  nd::forEachIndex(context.getCounts(getType()), strides,
                   [&](ArrayRef<int64_t>, ArrayRef<int64_t> offsets) {
                     result.data[offsets[1]] =
                         operands[0]->data[first + offsets[0]];
                   });
  return results;
}

LogicalResult SliceOp::buildGradient(OpBuilder &, ArrayRef<Value>,
                                     SmallVectorImpl<Value> &) {
  return emitOpError("is made after the gradients and has none");
}

nd::PartitionRule SliceOp::getPartitionRule() {
  return nd::getRuleByNames(*this, getDim());
}

nd::OpCost SliceOp::getCost() { return nd::getElementwiseCost(*this, 0); }

/// Whether the block is all of the operand's: the axes have one rank each.
static bool isWhole(SliceOp op, nd::MeshAttr mesh) {
  return mesh.getProduct(getNames(op.getAxes())) == 1;
}

/// Whether some rank's block ends behind the operand's.
static bool mayExceed(SliceOp op, nd::MeshAttr mesh) {
  auto input = cast<nd::TensorType>(op.getInput().getType());
  auto result = cast<nd::TensorType>(op.getType());
  int64_t index = input.getDimIndex(op.getDim());
  return result.getLocalSize(index, mesh) *
             mesh.getProduct(getNames(op.getAxes())) !=
         input.getLocalSize(index, mesh);
}

Value SliceOp::emitElement(nd::ElementEmitter &emitter,
                           const nd::ElementIndex &index) {
  if (isWhole(*this, emitter.getMesh()))
    return emitter.getElement(getInput(), index);
  if (index.at(getDim()).lanes &&
      !supportsLanes(getDim(), emitter.getLanes(), emitter.getMesh()))
    return {};
  auto input = cast<nd::TensorType>(getInput().getType());
  auto result = cast<nd::TensorType>(getType());
  nd::ElementIndex inner = index;
  nd::DimIndex &at = inner.dims[getDim().str()];
  Value shift = arith::SubIOp::create(emitter.builder, emitter.loc,
                                      emitter.getGlobalOffset(result, getDim()),
                                      emitter.getGlobalOffset(input, getDim()));
  at.base = arith::AddIOp::create(emitter.builder, emitter.loc, at.base, shift);
  // Padding is read from some entry of the operand's memory.
  if (mayExceed(*this, emitter.getMesh()))
    at.base = arith::MinUIOp::create(
        emitter.builder, emitter.loc, at.base,
        arith::ConstantIndexOp::create(
            emitter.builder, emitter.loc,
            input.getLocalSize(input.getDimIndex(getDim()), emitter.getMesh()) -
                1));
  return emitter.getElement(getInput(), inner);
}

/// Blocks of a whole number of vectors keep what is aligned aligned.
bool SliceOp::supportsLanes(StringRef dim, int64_t lanes, nd::MeshAttr mesh) {
  auto type = cast<nd::TensorType>(getType());
  return dim != getDim() || isWhole(*this, mesh) ||
         (type.getLocalSize(type.getDimIndex(dim), mesh) % lanes == 0 &&
          !mayExceed(*this, mesh));
}

nd::OperandDim SliceOp::getOperandDim(unsigned, StringRef dim) {
  auto name = StringAttr::get(getContext(), dim);
  return dim != getDim() || isWhole(*this, nd::MeshAttr::of(*this))
             ? nd::OperandDim::same(name)
             : nd::OperandDim::other(name);
}

} // namespace meshc::spmd
