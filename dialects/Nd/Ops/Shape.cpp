//===- Shape.cpp - other names for the same elements ----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/DimNames.h"
#include "dialects/Nd/Ops/ElementCopy.h"
#include "dialects/Nd/Ops/ReductionOps.h"
#include "dialects/Nd/Ops/ShapeOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/SmallSet.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/Nd/Ops/Shape.cpp.inc"

namespace meshc::nd {

void NdDialect::registerShape() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Nd/Ops/Shape.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// BroadcastOp
//===----------------------------------------------------------------------===//

LogicalResult BroadcastOp::verify() {
  TensorType from = getInput().getType(), to = getType();
  if (from.getElementType() != to.getElementType())
    return emitOpError("element types differ: operand has ")
           << from.getElementType() << ", result has " << to.getElementType();
  for (DimAttr dim : from.getDims()) {
    DimAttr other = to.getDim(dim.getName().getValue());
    if (!other)
      return emitOpError("the result lacks dim '")
             << dim.getName().getValue() << "' of the operand; reduce it first";
    if (other.getSize() != dim.getSize())
      return emitOpError("dim '")
             << dim.getName().getValue() << "' has size " << dim.getSize()
             << " in the operand and " << other.getSize() << " in the result";
  }
  return success();
}

SmallVector<HostTensor>
BroadcastOp::evaluate(ArrayRef<const HostTensor *> operands,
                      const EvaluationContext &context) {
  return copyElements(context, getType(), *operands[0], /*walkResult=*/true,
                      operands[0]->getStridesAlong(getType()));
}

LogicalResult BroadcastOp::buildGradient(OpBuilder &builder,
                                         ArrayRef<Value> resultGrads,
                                         SmallVectorImpl<Value> &operandGrads) {
  if (!resultGrads[0] || !getType().isFloat())
    return success();
  SmallVector<Attribute> added;
  for (DimAttr dim : getType().getDims())
    if (!getInput().getType().hasDim(dim.getName().getValue()))
      added.push_back(dim.getName());
  operandGrads[0] = added.empty()
                        ? resultGrads[0]
                        : ReduceSumOp::create(builder, getLoc(), resultGrads[0],
                                              builder.getArrayAttr(added))
                              .getResult();
  return success();
}

PartitionRule BroadcastOp::getPartitionRule() {
  return makeLinear(getRuleByNames(*this));
}

OpCost BroadcastOp::getCost() { return getElementwiseCost(*this, 0); }

Value BroadcastOp::emitElement(ElementEmitter &emitter,
                               const ElementIndex &index) {
  Value element = emitter.getElement(getInput(), index);
  if (!element || isa<VectorType>(element.getType()))
    return element;
  for (DimAttr dim : getType().getDims())
    if (index.at(dim.getName().getValue()).lanes)
      return vector::BroadcastOp::create(
          emitter.builder, emitter.loc,
          VectorType::get({emitter.getLanes()}, element.getType()), element);
  return element;
}

bool BroadcastOp::supportsLanes(StringRef, int64_t, MeshAttr) { return true; }

OperandDim BroadcastOp::getOperandDim(unsigned, StringRef dim) {
  return getSameDim(getInput(), dim);
}

std::optional<AffineIndex>
BroadcastOp::getAffineIndex(ArrayRef<AffineIndex> operands) {
  return operands[0];
}

OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getType())
    return getInput();
  // A constant partial result would count once per rank.
  if (getInput().getType().isPartial() || getType().isPartial())
    return {};
  return adaptor.getInput();
}

//===----------------------------------------------------------------------===//
// RenameOp
//===----------------------------------------------------------------------===//

/// The new name of a dim of the operand.
static StringAttr renameDim(StringAttr name, ArrayAttr from, ArrayAttr to) {
  for (auto [old, renamed] : llvm::zip(from, to))
    if (old == name)
      return cast<StringAttr>(renamed);
  return name;
}

LogicalResult RenameOp::inferReturnTypes(
    MLIRContext *context, std::optional<Location> location, ValueRange operands,
    DictionaryAttr attributes, OpaqueProperties properties, RegionRange regions,
    SmallVectorImpl<Type> &types) {
  Adaptor adaptor(operands, attributes, properties, regions);
  auto input = cast<TensorType>(adaptor.getInput().getType());
  ArrayAttr from = adaptor.getFrom(), to = adaptor.getTo();
  if (from.size() != to.size())
    return emitOptionalError(location, "rename: ", from.size(),
                             " dims to rename, but ", to.size(), " new names");
  if (failed(verifyDistinct(location, "rename", getNames(from))))
    return failure();
  for (StringAttr name : getNames(from))
    if (!input.hasDim(name.getValue()))
      return reportMissingDim(location, "rename", name, input);
  SmallVector<DimAttr> dims;
  llvm::SmallSet<StringRef, 4> seen;
  for (DimAttr dim : input.getDims()) {
    StringAttr name = renameDim(dim.getName(), from, to);
    if (!seen.insert(name.getValue()).second)
      return reportTakenDim(location, "rename", name);
    dims.push_back(DimAttr::get(context, name.getValue(), dim.getSize()));
  }
  return appendTensorType(location, input.getElementType(), dims, types);
}

SmallVector<HostTensor>
RenameOp::evaluate(ArrayRef<const HostTensor *> operands,
                   const EvaluationContext &context) {
  SmallVector<int64_t> strides;
  for (DimAttr dim : getType().getDims())
    strides.push_back(operands[0]->getStrideOf(
        renameDim(dim.getName(), getTo(), getFrom()).getValue()));
  return copyElements(context, getType(), *operands[0], /*walkResult=*/true,
                      strides);
}

LogicalResult RenameOp::buildGradient(OpBuilder &builder,
                                      ArrayRef<Value> resultGrads,
                                      SmallVectorImpl<Value> &operandGrads) {
  if (resultGrads[0] && getType().isFloat())
    operandGrads[0] =
        RenameOp::create(builder, getLoc(), resultGrads[0], getTo(), getFrom());
  return success();
}

PartitionRule RenameOp::getPartitionRule() {
  PartitionRule rule;
  for (DimAttr dim : getInput().getType().getDims()) {
    Factor factor;
    factor.size = dim.getSize();
    factor.operandDims = {dim.getName()};
    factor.resultDims = {renameDim(dim.getName(), getFrom(), getTo())};
    rule.factors.push_back(std::move(factor));
  }
  return makeLinear(std::move(rule));
}

OpCost RenameOp::getCost() { return getElementwiseCost(*this, 0); }

Value RenameOp::emitElement(ElementEmitter &emitter,
                            const ElementIndex &index) {
  ElementIndex inner;
  for (DimAttr dim : getInput().getType().getDims())
    inner.dims[dim.getName().str()] =
        index.at(renameDim(dim.getName(), getFrom(), getTo()).getValue());
  return emitter.getElement(getInput(), inner);
}

bool RenameOp::supportsLanes(StringRef, int64_t, MeshAttr) { return true; }

OperandDim RenameOp::getOperandDim(unsigned, StringRef dim) {
  return OperandDim::same(
      renameDim(StringAttr::get(getContext(), dim), getTo(), getFrom()));
}

std::optional<AffineIndex>
RenameOp::getAffineIndex(ArrayRef<AffineIndex> operands) {
  AffineIndex renamed = operands[0];
  for (auto &[dim, step] : renamed.steps)
    dim = renameDim(dim, getFrom(), getTo());
  return renamed;
}

bool RenameOp::isEntrywise(OpResult, ArrayRef<StringAttr>) { return true; }

SmallVector<StringAttr> RenameOp::getDimsAtPosition(OpResult, unsigned,
                                                    ArrayRef<StringAttr> dims) {
  SmallVector<StringAttr> same;
  for (auto [old, name] : llvm::zip(getFrom(), getTo()))
    if (llvm::is_contained(dims, cast<StringAttr>(name)))
      same.push_back(cast<StringAttr>(old));
  for (StringAttr dim : dims)
    if (!llvm::is_contained(getTo(), dim))
      same.push_back(dim);
  return same;
}

unsigned RenameOp::countNeededOperands() { return 1; }

/// Renames the dims that are left; the operand itself without any.
FailureOr<Value> RenameOp::buildAtPosition(PositionBuilder &builder,
                                           OpResult result,
                                           ArrayRef<StringAttr> dims) {
  SmallVector<Attribute> from, to;
  for (auto [old, name] : llvm::zip(getFrom(), getTo()))
    if (!llvm::is_contained(dims, cast<StringAttr>(name))) {
      from.push_back(old);
      to.push_back(name);
    }
  FailureOr<Value> input =
      builder.getOperand(*this, getInput(), getDimsAtPosition(result, 0, dims));
  if (failed(input) || from.empty())
    return input;
  OpBuilder inPlace = builder.getBuilder(result);
  return Value(RenameOp::create(inPlace, getLoc(), *input,
                                inPlace.getArrayAttr(from),
                                inPlace.getArrayAttr(to)));
}

OpFoldResult RenameOp::fold(FoldAdaptor adaptor) {
  if (getFrom() == getTo() && getInput().getType() == getType())
    return getInput();
  if (getInput().getType().isPartial())
    return {};
  return adaptor.getInput();
}

} // namespace meshc::nd
