//===- Indexing.cpp - elements at computed places -------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/DimNames.h"
#include "dialects/Nd/Ops/IndexOverlap.h"
#include "dialects/Nd/Ops/IndexingOps.h"
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/Ops/SourceOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/Nd/Ops/Indexing.cpp.inc"

namespace meshc::nd {

void NdDialect::registerIndexing() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Nd/Ops/Indexing.cpp.inc"
      >();
}

/// Fails unless the indices are i32, which numbers all entries of dim `along`,
/// and do not have that dim.
static LogicalResult verifyIndices(std::optional<Location> location,
                                   StringRef op, TensorType indices,
                                   DimAttr along) {
  StringAttr dim = along.getName();
  if (failed(checkNumbered(location, op, along)))
    return failure();
  if (!indices.getElementType().isSignlessInteger(32))
    return emitOptionalError(location, op, ": indices must be i32, got ",
                             indices.getElementType());
  if (indices.hasDim(dim.getValue()))
    return emitOptionalError(location, op, ": the indices have dim '",
                             dim.getValue(),
                             "', along which they index; rename it");
  return success();
}

/// Adds the dims of `added` that `dims` lacks; fails where sizes differ.
static LogicalResult uniteDims(std::optional<Location> location, StringRef op,
                               SmallVector<DimAttr> &dims, TensorType added) {
  for (DimAttr dim : added.getDims()) {
    auto *found = llvm::find_if(
        dims, [&](DimAttr other) { return other.getName() == dim.getName(); });
    if (found == dims.end())
      dims.push_back(dim);
    else if (found->getSize() != dim.getSize())
      return emitOptionalError(
          location, op, ": dim '", dim.getName().getValue(), "' has sizes ",
          found->getSize(), " and ", dim.getSize(), "; rename one of them");
  }
  return success();
}

Value getChangedTable(Operation *op) {
  if (auto insert = dyn_cast_or_null<InsertOp>(op))
    return insert.getTable();
  auto scatter = dyn_cast_or_null<ScatterAddOp>(op);
  return scatter ? scatter.getTable() : Value();
}

/// The table with its entries along `dim` changed: `change` gets the element
/// and its update, one update of an entry after another.
static HostTensor
changeEntries(HostTensor table, const HostTensor &updates,
              const HostTensor &indices, StringRef dim,
              const EvaluationContext &context,
              llvm::function_ref<void(double &, double)> change) {
  SmallVector<SmallVector<int64_t>> strides = {
      updates.getStrides(), indices.getStridesAlong(updates.type),
      table.getStridesAlong(updates.type)};
  int64_t stride = table.getStrideOf(dim);
  int64_t offset = context.getOffset(table.type, dim);
  int64_t size = context.getCount(table.type, dim);
  auto apply = [&](auto, ArrayRef<int64_t> offsets) {
    int64_t local = static_cast<int64_t>(indices.data[offsets[1]]) - offset;
    if (local >= 0 && local < size)
      change(table.data[offsets[2] + local * stride], updates.data[offsets[0]]);
  };
  forEachIndex(context.getCounts(updates.type), strides, apply);
  return table;
}

/// The rule of an op that changes a table: a rank takes the updates that fall
/// into its block of the dim. Each rank with the block takes all of them.
static PartitionRule getTableRule(Operation *op) {
  PartitionRule rule = getRuleByNames(op);
  for (Factor &factor : rule.factors)
    if (!factor.resultDims[0])
      factor.effect = FactorEffect::Whole;
  return rule;
}

//===----------------------------------------------------------------------===//
// GatherOp
//===----------------------------------------------------------------------===//

LogicalResult GatherOp::verify() {
  return verifyAlong(*this, getAlongAttr(), getIndices().getType(),
                     getTable().getType(), getDim());
}

LogicalResult GatherOp::inferReturnTypes(
    MLIRContext *context, std::optional<Location> location, ValueRange operands,
    DictionaryAttr attributes, OpaqueProperties properties, RegionRange regions,
    SmallVectorImpl<Type> &types) {
  Adaptor adaptor(operands, attributes, properties, regions);
  auto table = cast<TensorType>(adaptor.getTable().getType());
  auto indices = cast<TensorType>(adaptor.getIndices().getType());
  StringAttr dim = adaptor.getDimAttr();
  if (!table.hasDim(dim.getValue()))
    return reportMissingDim(location, "gather", dim, table);
  SmallVector<DimAttr> dims(table.withoutDims(dim).getDims());
  if (failed(verifyIndices(location, "gather", indices, table.getDim(dim))) ||
      failed(uniteDims(location, "gather", dims, indices)))
    return failure();
  return appendTensorType(location, table.getElementType(), dims, types);
}

SmallVector<HostTensor>
GatherOp::evaluate(ArrayRef<const HostTensor *> operands,
                   const EvaluationContext &context) {
  const HostTensor &table = *operands[0], &indices = *operands[1];
  HostTensor result = context.makeTensor(getType());
  SmallVector<SmallVector<int64_t>> strides = {
      result.getStrides(), table.getStridesAlong(getType()),
      indices.getStridesAlong(getType())};
  int64_t stride = table.getStrideOf(getDim());
  int64_t size = context.getCount(table.type, getDim());
  int64_t offset = context.getOffset(table.type, getDim());
  forEachIndex(result.sizes, strides, [&](auto, ArrayRef<int64_t> offsets) {
    int64_t local = static_cast<int64_t>(indices.data[offsets[2]]) - offset;
    if (local >= 0 && local < size)
      result.data[offsets[0]] = table.data[offsets[1] + local * stride];
  });
  return {std::move(result)};
}

LogicalResult GatherOp::buildGradient(OpBuilder &builder,
                                      ArrayRef<Value> resultGrads,
                                      SmallVectorImpl<Value> &operandGrads) {
  if (resultGrads[0] && getType().isFloat())
    operandGrads[0] =
        ScatterAddOp::create(builder, getLoc(), getTable().getType(),
                             resultGrads[0], getIndices(), getDimAttr());
  return success();
}

PartitionRule GatherOp::getPartitionRule() {
  // A rank that has not got the entry contributes 0.
  PartitionRule rule = getRuleByNames(*this);
  for (Factor &factor : rule.factors)
    factor.isSelection = factor.effect == FactorEffect::Reduce;
  rule.linearOperands.push_back(0);
  if (auto overlap = findOverlap(getIndices(), getTable().getType(), getDim()))
    rule.alternatives.push_back(makeGatherFactor(*overlap, getDimAttr()));
  return rule;
}

void GatherOp::resizeBlock(const Factor &factor, ArrayRef<TensorType>) {
  setAlongAttr(factor.operandDims[1]);
}

SmallVector<Factor> GatherOp::getWidenedFactors() {
  StringAttr along = getAlongAttr();
  if (!along)
    return {};
  int64_t size = getIndices().getType().getSize(along.getValue());
  return {makeWidenedFactor(makeGatherFactor({{}, along, size}, getDimAttr()))};
}

OpCost GatherOp::getCost() {
  OpCost cost;
  MeshAttr mesh = MeshAttr::of(*this);
  cost.bytes = 2.0 * getType().getLocalBytes(mesh) +
               getIndices().getType().getLocalBytes(mesh);
  return cost;
}

Value GatherOp::emitElement(ElementEmitter &emitter,
                            const ElementIndex &index) {
  OpBuilder &builder = emitter.builder;
  TensorType table = getTable().getType();
  Value number = emitter.getElement(getIndices(), index);
  if (!number || isa<VectorType>(number.getType()))
    return {};
  Value global = arith::IndexCastOp::create(builder, emitter.loc,
                                            builder.getIndexType(), number);
  LocalEntry entry = emitter.findLocalEntry(table, getDim(), global);
  ElementIndex place = index;
  place.dims[getDim().str()] = {entry.index, /*lanes=*/false};
  Value element = emitter.getElement(getTable(), place);
  return element ? emitter.selectIfHere(entry, element, table.getElementType())
                 : Value();
}

bool GatherOp::supportsLanes(StringRef dim, int64_t, MeshAttr) {
  return !getIndices().getType().hasDim(dim);
}

OperandDim GatherOp::getOperandDim(unsigned operand, StringRef dim) {
  return getSameDim(getOperand(operand), dim);
}

//===----------------------------------------------------------------------===//
// ScatterAddOp
//===----------------------------------------------------------------------===//

LogicalResult ScatterAddOp::verify() {
  TensorType updates = getUpdates().getType(), result = getType();
  TensorType indices = getIndices().getType();
  if (updates.getElementType() != result.getElementType())
    return emitOpError("element types differ: updates have ")
           << updates.getElementType() << ", the result has "
           << result.getElementType();
  if (!result.hasDim(getDim()))
    return emitOpError("the result has no dim '")
           << getDim() << "'; its dims are " << listDims(result);
  if (failed(verifyIndices(getLoc(), "scatter_add", indices,
                           result.getDim(getDim()))))
    return failure();
  if (updates.hasDim(getDim()))
    return emitOpError("the updates have dim '")
           << getDim() << "', along which they are scattered; rename it";
  // Every dim of the result but `dim` is one of the updates', every dim of the
  // indices is too, and what else the updates have, the indices have.
  auto verifyIn = [&](TensorType of, StringRef what) -> LogicalResult {
    for (DimAttr dim : of.getDims()) {
      if (dim.getName() == getDimAttr())
        continue;
      DimAttr found = updates.getDim(dim.getName().getValue());
      if (!found || found.getSize() != dim.getSize())
        return emitOpError("dim '")
               << dim.getName().getValue() << "' of size " << dim.getSize()
               << " of the " << what << " is not a dim of the updates "
               << updates;
    }
    return success();
  };
  if (failed(verifyIn(result, "result")) ||
      failed(verifyIn(indices, "indices")))
    return failure();
  for (DimAttr dim : updates.getDims()) {
    StringRef name = dim.getName().getValue();
    if (!result.hasDim(name) && !indices.hasDim(name))
      return emitOpError("dim '")
             << dim.getName().getValue()
             << "' of the updates is neither the result's nor the indices'";
  }
  if (getTable() && getTable().getType().getGlobal() != result.getGlobal())
    return emitOpError("the table must be ")
           << result.getGlobal() << " like the result, got "
           << getTable().getType().getGlobal();
  if (failed(verifyAlong(*this, getAlongAttr(), indices, result, getDim())))
    return failure();
  return verifyOrder();
}

/// The order has the dims that indices and result share, and one dim for all
/// others of the indices. On a rank, it has the places of its block, padding
/// included.
LogicalResult ScatterAddOp::verifyOrder() {
  if (!getOrder())
    return success();
  TensorType order = getOrder().getType(), indices = getIndices().getType();
  MeshAttr mesh = MeshAttr::of(*this);
  int64_t summed = 1, rest = 1, shared = 0;
  for (auto [index, dim] : llvm::enumerate(indices.getDims()))
    if (getType().hasDim(dim.getName().getValue()))
      ++shared;
    else
      summed *= indices.getLocalSize(index, mesh);
  for (auto [index, dim] : llvm::enumerate(order.getDims()))
    if (indices.getDim(dim.getName().getValue()) &&
        getType().hasDim(dim.getName().getValue()))
      --shared;
    else
      rest *= order.getLocalSize(index, mesh);
  if (order.getElementType().isSignlessInteger(32) && shared == 0 &&
      rest == summed)
    return success();
  return emitOpError("the order must be i32, with the dims that the indices "
                     "share with the result and one dim of ")
         << summed << " places, got " << order;
}

SmallVector<HostTensor>
ScatterAddOp::evaluate(ArrayRef<const HostTensor *> operands,
                       const EvaluationContext &context) {
  HostTensor result =
      changeEntries(getTable() ? *operands[2] : context.makeTensor(getType()),
                    *operands[0], *operands[1], getDim(), context,
                    [](double &entry, double update) { entry += update; });
  for (double &value : result.data)
    value = context.round(value, getType().getElementType());
  return {std::move(result)};
}

LogicalResult
ScatterAddOp::buildGradient(OpBuilder &builder, ArrayRef<Value> resultGrads,
                            SmallVectorImpl<Value> &operandGrads) {
  if (!resultGrads[0] || !getType().isFloat())
    return success();
  operandGrads[0] = GatherOp::create(builder, getLoc(), resultGrads[0],
                                     getIndices(), getDimAttr());
  if (getTable())
    operandGrads[2] = resultGrads[0];
  return success();
}

PartitionRule ScatterAddOp::getPartitionRule() {
  // The sum of several ranks' results would count the table several times, and
  // the order is one of all indices.
  if (getTable() || getOrder())
    return getTableRule(*this);
  PartitionRule rule = getRuleByNames(*this);
  rule.linearOperands.push_back(0);
  if (auto overlap = findOverlap(getIndices(), getType(), getDim()))
    rule.alternatives.push_back(makeScatterFactor(*overlap, getDimAttr()));
  return rule;
}

void ScatterAddOp::resizeBlock(const Factor &factor, ArrayRef<TensorType>) {
  setAlongAttr(factor.operandDims[1]);
}

SmallVector<Factor> ScatterAddOp::getWidenedFactors() {
  StringAttr along = getAlongAttr();
  if (!along)
    return {};
  int64_t size = getIndices().getType().getSize(along.getValue());
  return {
      makeWidenedFactor(makeScatterFactor({{}, along, size}, getDimAttr()))};
}

OpCost ScatterAddOp::getCost() {
  OpCost cost;
  MeshAttr mesh = MeshAttr::of(*this);
  TensorType updates = getUpdates().getType();
  cost.flops = updates.getLocalElementCount(mesh);
  // The entries are read and written. Those of a table that do not change stay
  // where they are.
  cost.bytes = 3.0 * updates.getLocalBytes(mesh) +
               getIndices().getType().getLocalBytes(mesh);
  if (!getTable())
    cost.bytes += getType().getLocalBytes(mesh);
  return cost;
}

//===----------------------------------------------------------------------===//
// InsertOp
//===----------------------------------------------------------------------===//

LogicalResult
InsertOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                           ValueRange operands, DictionaryAttr attributes,
                           OpaqueProperties properties, RegionRange regions,
                           SmallVectorImpl<Type> &types) {
  Adaptor adaptor(operands, attributes, properties, regions);
  auto table = cast<TensorType>(adaptor.getTable().getType());
  auto updates = cast<TensorType>(adaptor.getUpdates().getType());
  auto indices = cast<TensorType>(adaptor.getIndices().getType());
  StringAttr dim = adaptor.getDimAttr();
  if (!table.hasDim(dim.getValue()))
    return reportMissingDim(location, "insert", dim, table);
  SmallVector<DimAttr> dims(table.withoutDims(dim).getGlobal().getDims());
  if (failed(verifyIndices(location, "insert", indices, table.getDim(dim))) ||
      failed(uniteDims(location, "insert", dims, indices.getGlobal())))
    return failure();
  auto wanted = TensorType::get(table.getElementType(), dims);
  if (updates.getGlobal() != wanted)
    return emitOptionalError(location, "insert: the updates must be ", wanted,
                             ", the table without dim '", dim.getValue(),
                             "' with the dims of the indices, got ",
                             updates.getGlobal());
  types.push_back(table);
  return success();
}

SmallVector<HostTensor>
InsertOp::evaluate(ArrayRef<const HostTensor *> operands,
                   const EvaluationContext &context) {
  return {changeEntries(*operands[0], *operands[1], *operands[2], getDim(),
                        context,
                        [](double &entry, double update) { entry = update; })};
}

LogicalResult InsertOp::buildGradient(OpBuilder &builder,
                                      ArrayRef<Value> resultGrads,
                                      SmallVectorImpl<Value> &operandGrads) {
  if (!resultGrads[0] || !getType().isFloat())
    return success();
  TensorType updates = getUpdates().getType();
  for (DimAttr dim : updates.getDims())
    if (!getType().hasDim(dim.getName().getValue()))
      return emitOpError("has no gradient where several updates may replace "
                         "one entry: the indices have dim '")
             << dim.getName().getValue() << "', which the table lacks";
  Value none =
      ConstantOp::create(builder, getLoc(), updates,
                         builder.getFloatAttr(getType().getElementType(), 0));
  operandGrads[0] = InsertOp::create(builder, getLoc(), resultGrads[0], none,
                                     getIndices(), getDimAttr());
  operandGrads[1] = GatherOp::create(builder, getLoc(), resultGrads[0],
                                     getIndices(), getDimAttr());
  return success();
}

PartitionRule InsertOp::getPartitionRule() { return getTableRule(*this); }

OpCost InsertOp::getCost() {
  OpCost cost;
  MeshAttr mesh = MeshAttr::of(*this);
  cost.bytes = 2.0 * getUpdates().getType().getLocalBytes(mesh) +
               getIndices().getType().getLocalBytes(mesh);
  return cost;
}

//===----------------------------------------------------------------------===//
// OneHotOp
//===----------------------------------------------------------------------===//

LogicalResult OneHotOp::verify() {
  TensorType indices = getIndices().getType(), result = getType();
  if (!result.hasDim(getDim()))
    return emitOpError("the result has no dim '")
           << getDim() << "'; its dims are " << listDims(result);
  if (failed(
          verifyIndices(getLoc(), "one_hot", indices, result.getDim(getDim()))))
    return failure();
  TensorType rest = result.withoutDims(getDimAttr()).getGlobal();
  TensorType wanted =
      indices.getGlobal().withElementType(result.getElementType());
  if (rest != wanted)
    return emitOpError("the result without dim '")
           << getDim() << "' must be " << wanted << " like the indices, got "
           << rest;
  return success();
}

SmallVector<HostTensor>
OneHotOp::evaluate(ArrayRef<const HostTensor *> operands,
                   const EvaluationContext &context) {
  HostTensor result = context.makeTensor(getType());
  SmallVector<SmallVector<int64_t>> strides = {
      result.getStrides(), operands[0]->getStridesAlong(getType())};
  int64_t along = getType().getDimIndex(getDim());
  int64_t offset = context.getOffset(getType(), getDim());
  forEachIndex(result.sizes, strides,
               [&](ArrayRef<int64_t> index, ArrayRef<int64_t> offsets) {
                 result.data[offsets[0]] =
                     operands[0]->data[offsets[1]] == offset + index[along];
               });
  return {std::move(result)};
}

LogicalResult OneHotOp::buildGradient(OpBuilder &, ArrayRef<Value>,
                                      SmallVectorImpl<Value> &) {
  return success();
}

PartitionRule OneHotOp::getPartitionRule() { return getRuleByNames(*this); }

OpCost OneHotOp::getCost() { return getElementwiseCost(*this, 1); }

SmallVector<Value> OneHotOp::decompose(OpBuilder &builder) {
  Location loc = getLoc();
  TensorType place = TensorType::get(builder.getI32Type(),
                                     getType().getGlobal().getDim(getDim()));
  Value places = IotaOp::create(builder, loc, place);
  Value equal =
      CompareOp::create(builder, loc, getIndices(), places, Predicate::Eq);
  if (equal.getType() == getType())
    return {equal};
  return {CastOp::create(builder, loc, getType(), equal)};
}

} // namespace meshc::nd
