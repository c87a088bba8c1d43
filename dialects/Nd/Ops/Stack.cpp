//===- Stack.cpp - entries of a tensor, apart and together ----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/DimNames.h"
#include "dialects/Nd/Ops/ElementCopy.h"
#include "dialects/Nd/Ops/LoopOps.h"
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/Ops/SourceOps.h"
#include "dialects/Nd/Ops/StackOps.h"
#include "dialects/Nd/Ops/ValueBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/Nd/Ops/Stack.cpp.inc"

namespace meshc::nd {

void NdDialect::registerStack() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Nd/Ops/Stack.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// EntryOp
//===----------------------------------------------------------------------===//

LogicalResult
EntryOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                          ValueRange operands, DictionaryAttr attributes,
                          OpaqueProperties properties, RegionRange regions,
                          SmallVectorImpl<Type> &types) {
  Adaptor adaptor(operands, attributes, properties, regions);
  auto input = cast<TensorType>(adaptor.getInput().getType());
  StringAttr dim = adaptor.getDimAttr();
  if (!input.hasDim(dim.getValue()))
    return reportMissingDim(location, "entry", dim, input);
  int64_t index = adaptor.getIndex(), size = input.getSize(dim.getValue());
  if (index < 0 || index >= size)
    return emitOptionalError(location, "entry: ", index,
                             " is not an entry of dim '", dim.getValue(),
                             "' of size ", size);
  types.push_back(getEntryType(input.getGlobal(), dim));
  return success();
}

SmallVector<HostTensor> EntryOp::evaluate(ArrayRef<const HostTensor *> operands,
                                          const EvaluationContext &context) {
  const HostTensor &input = *operands[0];
  auto local = static_cast<int64_t>(getIndex()) -
               context.getOffset(input.type, getDim());
  if (local < 0 || local >= context.getCount(input.type, getDim()))
    return {context.makeTensor(getType())};
  return {takeEntry(input, getDim(), local, getType())};
}

/// A zero tensor of the type.
static Value makeZeros(OpBuilder &builder, Location loc, Type type) {
  return ConstantOp::create(builder, loc, cast<TensorType>(type).getGlobal(),
                            0.0);
}

LogicalResult EntryOp::buildGradient(OpBuilder &builder,
                                     ArrayRef<Value> resultGrads,
                                     SmallVectorImpl<Value> &operandGrads) {
  if (!resultGrads[0] || !getType().isFloat())
    return success();
  // The gradient of the result at the entry, and zeros elsewhere: computed in
  // place, also where the layout cuts the dim.
  ValueBuilder b(builder, getLoc());
  TensorType input = getInput().getType().getGlobal();
  Type i32 = builder.getI32Type();
  Value places = b.make<IotaOp>(
      TensorType::get(i32, input.getDims()[input.getDimIndex(getDim())]));
  Value isEntry =
      b.compare(Predicate::Eq, places, b.scalar(i32, double(getIndex())));
  operandGrads[0] =
      b.make<SelectOp>(isEntry, resultGrads[0], b.scalar(resultGrads[0], 0));
  return success();
}

PartitionRule EntryOp::getPartitionRule() {
  // A rank that has not got the entry contributes 0.
  return makeLinear(getRuleByNames(*this));
}

OpCost EntryOp::getCost() { return getPartCost(*this); }

Value EntryOp::emitElement(ElementEmitter &emitter, const ElementIndex &index) {
  OpBuilder &builder = emitter.builder;
  Location loc = emitter.loc;
  TensorType input = getInput().getType();
  ElementIndex inner = index;
  Value entry = arith::ConstantIndexOp::create(builder, loc, getIndex());
  if (input.getDim(getDim()).getAxes().empty()) {
    inner.dims[getDim().str()] = {entry, /*lanes=*/false};
    return emitter.getElement(getInput(), inner);
  }
  LocalEntry found = emitter.findLocalEntry(input, getDim(), entry);
  inner.dims[getDim().str()] = {found.index, /*lanes=*/false};
  Value element = emitter.getElement(getInput(), inner);
  return element ? emitter.selectIfHere(found, element, input.getElementType())
                 : Value();
}

bool EntryOp::supportsLanes(StringRef, int64_t, MeshAttr) { return true; }

OperandDim EntryOp::getOperandDim(unsigned, StringRef dim) {
  return getSameDim(getInput(), dim);
}

OpFoldResult EntryOp::fold(FoldAdaptor adaptor) {
  // Every element of a constant tensor is the same.
  return getInput().getType().isPartial() ? Attribute() : adaptor.getInput();
}

//===----------------------------------------------------------------------===//
// StackOp
//===----------------------------------------------------------------------===//

LogicalResult
StackOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                          ValueRange operands, DictionaryAttr attributes,
                          OpaqueProperties properties, RegionRange regions,
                          SmallVectorImpl<Type> &types) {
  Adaptor adaptor(operands, attributes, properties, regions);
  StringAttr dim = adaptor.getDimAttr();
  if (operands.empty())
    return emitOptionalError(location, "stack: no operands; give at least one");
  auto first = cast<TensorType>(operands[0].getType()).getGlobal();
  for (Value operand : operands)
    if (TensorType type = getTensorType(operand).getGlobal(); type != first)
      return emitOptionalError(
          location, "stack: operands differ in type: ", first, " and ", type);
  if (first.hasDim(dim.getValue()))
    return reportTakenDim(location, "stack", dim);
  TensorType stacked = getStackedType(first, dim, operands.size());
  return appendTensorType(location, stacked.getElementType(), stacked.getDims(),
                          types);
}

SmallVector<HostTensor> StackOp::evaluate(ArrayRef<const HostTensor *> operands,
                                          const EvaluationContext &context) {
  HostTensor result = context.makeTensor(getType());
  for (auto [index, operand] : llvm::enumerate(operands))
    putEntry(*operand, getDim(), index, result);
  return {std::move(result)};
}

LogicalResult StackOp::buildGradient(OpBuilder &builder,
                                     ArrayRef<Value> resultGrads,
                                     SmallVectorImpl<Value> &operandGrads) {
  if (!resultGrads[0] || !getType().isFloat())
    return success();
  auto entries =
      UnstackOp::create(builder, getLoc(), resultGrads[0], getDimAttr());
  llvm::copy(entries.getResults(), operandGrads.begin());
  return success();
}

PartitionRule StackOp::getPartitionRule() {
  PartitionRule rule = getRuleByNames(*this, getDim());
  rule.jointlyLinear = true;
  return rule;
}

OpCost StackOp::getCost() { return getElementwiseCost(*this, 0); }

Value StackOp::emitElement(ElementEmitter &emitter, const ElementIndex &index) {
  OpBuilder &builder = emitter.builder;
  const DimIndex &at = index.at(getDim());
  if (at.lanes)
    return {};
  // From the last operand to the first: each one overrules the later ones where
  // the index is its own.
  Value element;
  for (int64_t number = getInputs().size() - 1; number >= 0; --number) {
    Value entry = emitter.getElement(getInputs()[number], index);
    if (!entry)
      return {};
    if (element) {
      Value own = arith::ConstantIndexOp::create(builder, emitter.loc, number);
      Value isOwn = arith::CmpIOp::create(
          builder, emitter.loc, arith::CmpIPredicate::eq, at.base, own);
      entry =
          arith::SelectOp::create(builder, emitter.loc, isOwn, entry, element);
    }
    element = entry;
  }
  return element;
}

bool StackOp::supportsLanes(StringRef dim, int64_t, MeshAttr) {
  return dim != getDim();
}

OperandDim StackOp::getOperandDim(unsigned operand, StringRef dim) {
  return getSameDim(getInputs()[operand], dim);
}

//===----------------------------------------------------------------------===//
// UnstackOp
//===----------------------------------------------------------------------===//

LogicalResult
UnstackOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                            ValueRange operands, DictionaryAttr attributes,
                            OpaqueProperties properties, RegionRange regions,
                            SmallVectorImpl<Type> &types) {
  Adaptor adaptor(operands, attributes, properties, regions);
  auto input = cast<TensorType>(adaptor.getInput().getType());
  StringAttr dim = adaptor.getDimAttr();
  if (!input.hasDim(dim.getValue()))
    return reportMissingDim(location, "unstack", dim, input);
  // The number of results is that of the entries; a larger one would not fit.
  constexpr int64_t limit = 1 << 20;
  int64_t size = input.getSize(dim.getValue());
  if (size > limit)
    return emitOptionalError(location, "unstack: dim '", dim.getValue(),
                             "' has ", size, " entries, more than ", limit);
  types.assign(size, getEntryType(input.getGlobal(), dim));
  return success();
}

SmallVector<HostTensor>
UnstackOp::evaluate(ArrayRef<const HostTensor *> operands,
                    const EvaluationContext &) {
  SmallVector<HostTensor> entries;
  for (auto [index, result] : llvm::enumerate(getResults()))
    entries.push_back(
        takeEntry(*operands[0], getDim(), index, getTensorType(result)));
  return entries;
}

LogicalResult UnstackOp::buildGradient(OpBuilder &builder,
                                       ArrayRef<Value> resultGrads,
                                       SmallVectorImpl<Value> &operandGrads) {
  if (!getInput().getType().isFloat())
    return success();
  SmallVector<Value> entries(resultGrads);
  Value zeros;
  for (auto [entry, result] : llvm::zip(entries, getResults())) {
    if (entry)
      continue;
    if (!zeros)
      zeros = makeZeros(builder, getLoc(), result.getType());
    entry = zeros;
  }
  operandGrads[0] = StackOp::create(builder, getLoc(), entries, getDimAttr());
  return success();
}

PartitionRule UnstackOp::getPartitionRule() {
  return makeLinear(getRuleByNames(*this, getDim()));
}

OpCost UnstackOp::getCost() { return getElementwiseCost(*this, 0); }

SmallVector<Value> UnstackOp::decompose(OpBuilder &builder) {
  SmallVector<Value> entries;
  for (unsigned index = 0; index < getNumResults(); ++index)
    entries.push_back(EntryOp::create(builder, getLoc(), getInput(),
                                      getDimAttr(),
                                      builder.getI64IntegerAttr(index)));
  return entries;
}

} // namespace meshc::nd
