//===- Flatten.cpp - several dims of a rank's block as one ----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/ElementCopy.h"
#include "dialects/Spmd/Sharding.h"
#include "dialects/Spmd/SpmdOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace meshc::spmd {

nd::TensorType FlattenOp::getFlattened(nd::TensorType input,
                                       ArrayRef<StringAttr> dims,
                                       StringAttr into, nd::MeshAttr mesh) {
  int64_t size = 1;
  SmallVector<StringAttr> axes;
  for (StringAttr name : dims) {
    int64_t index = input.getDimIndex(name.getValue());
    ArrayRef<StringAttr> own = input.getDims()[index].getAxes();
    size *= input.getLocalSize(index, mesh) * mesh.getProduct(own);
    llvm::append_range(axes, own);
  }
  SmallVector<nd::DimAttr> result = {
      nd::DimAttr::get(into.getContext(), into, size, axes)};
  for (nd::DimAttr dim : input.getDims())
    if (!llvm::is_contained(dims, dim.getName()))
      result.push_back(dim);
  return nd::TensorType::get(input.getElementType(), result,
                             input.getPartialKind(), input.getPartialAxes());
}

LogicalResult FlattenOp::verify() {
  auto input = cast<nd::TensorType>(getInput().getType());
  SmallVector<StringAttr> dims = getNames(getDims());
  if (dims.empty())
    return emitOpError("needs at least one dim");
  for (auto [index, name] : llvm::enumerate(dims))
    if (!input.hasDim(name.getValue()) ||
        llvm::is_contained(ArrayRef(dims).take_front(index), name))
      return emitOpError() << "needs distinct dims of " << input << ", got "
                           << getDims();
  if (input.hasDim(getInto()) && !llvm::is_contained(dims, getIntoAttr()))
    return emitOpError() << "makes a dim '" << getInto()
                         << "', which the operand has";
  nd::TensorType expected =
      getFlattened(input, dims, getIntoAttr(), nd::MeshAttr::of(*this));
  if (getType() != expected)
    return emitOpError() << "gives its result type " << expected << ", got "
                         << getType();
  return success();
}

SmallVector<nd::HostTensor>
FlattenOp::evaluate(ArrayRef<const nd::HostTensor *> operands,
                    const nd::EvaluationContext &context) {
  const nd::HostTensor &input = *operands[0];
  nd::HostTensor shape = context.makeTensor(getType());
  SmallVector<int64_t> strides = shape.getStridesAlong(input.type);
  int64_t stride = shape.getStrideOf(getInto());
  SmallVector<StringAttr> dims = getNames(getDims());
  for (StringAttr name : llvm::reverse(dims)) {
    int64_t index = input.type.getDimIndex(name.getValue());
    strides[index] = stride;
    stride *= input.sizes[index];
  }
  return nd::copyElements(context, getType(), input, /*walkResult=*/false,
                          strides);
}

LogicalResult FlattenOp::buildGradient(OpBuilder &, ArrayRef<Value>,
                                       SmallVectorImpl<Value> &) {
  return emitOpError("is made after the gradients and has none");
}

nd::PartitionRule FlattenOp::getPartitionRule() {
  return nd::getRuleByNames(*this);
}

nd::OpCost FlattenOp::getCost() { return nd::getElementwiseCost(*this, 0); }

Value FlattenOp::emitElement(nd::ElementEmitter &emitter,
                             const nd::ElementIndex &index) {
  if (index.at(getInto()).lanes)
    return {};
  auto input = cast<nd::TensorType>(getInput().getType());
  nd::ElementIndex inner = index;
  inner.dims.erase(getInto().str());
  Value rest = index.at(getInto()).base;
  SmallVector<StringAttr> dims = getNames(getDims());
  for (StringAttr name : llvm::reverse(llvm::drop_begin(dims))) {
    Value size = arith::ConstantIndexOp::create(
        emitter.builder, emitter.loc,
        input.getLocalSize(input.getDimIndex(name.getValue()),
                           emitter.getMesh()));
    inner.dims[name.str()] = {
        arith::RemUIOp::create(emitter.builder, emitter.loc, rest, size),
        /*lanes=*/false};
    rest = arith::DivUIOp::create(emitter.builder, emitter.loc, rest, size);
  }
  inner.dims[dims.front().str()] = {rest, /*lanes=*/false};
  return emitter.getElement(getInput(), inner);
}

bool FlattenOp::supportsLanes(StringRef dim, int64_t, nd::MeshAttr) {
  return dim != getInto();
}

nd::OperandDim FlattenOp::getOperandDim(unsigned, StringRef dim) {
  if (dim == getInto())
    return nd::OperandDim::other(getNames(getDims()).back());
  return nd::OperandDim::same(StringAttr::get(getContext(), dim));
}

} // namespace meshc::spmd
