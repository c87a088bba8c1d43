//===- Shape.cpp - other names for the same elements ----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/DimNames.h"
#include "dialects/Nd/Ops/ReductionOps.h"
#include "dialects/Nd/Ops/ShapeOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
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

/// The result is linear in the operand, whose elements it holds.
static PartitionRule makeLinear(PartitionRule rule) {
  rule.linearOperands.push_back(0);
  return rule;
}

/// A copy of `input` into a tensor of `type`, walking the dims of `walked` (the
/// type of either), with the strides of both along them.
static SmallVector<HostTensor> copyElements(const EvaluationContext &context,
                                            Type type, const HostTensor &input,
                                            bool walkResult,
                                            SmallVector<int64_t> strides) {
  HostTensor result = context.makeTensor(type);
  const HostTensor &walked = walkResult ? result : input;
  SmallVector<SmallVector<int64_t>> both = {walked.getStrides(),
                                            std::move(strides)};
  forEachIndex(walked.sizes, both, [&](auto, ArrayRef<int64_t> offsets) {
    if (walkResult)
      result.data[offsets[0]] = input.data[offsets[1]];
    else
      result.data[offsets[1]] = input.data[offsets[0]];
  });
  return {std::move(result)};
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
      return emitOpError("the result lacks dim ")
             << dim.getName() << " of the operand; reduce it first";
    if (other.getSize() != dim.getSize())
      return emitOpError("dim ")
             << dim.getName() << " has size " << dim.getSize()
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

OpFoldResult RenameOp::fold(FoldAdaptor adaptor) {
  if (getFrom() == getTo() && getInput().getType() == getType())
    return getInput();
  if (getInput().getType().isPartial())
    return {};
  return adaptor.getInput();
}

//===----------------------------------------------------------------------===//
// SplitDimOp, MergeDimsOp
//===----------------------------------------------------------------------===//

/// The dim of several (major first) that may be cut when they are seen as one:
/// the first with more than one entry.
static size_t getMajor(TensorType type, ArrayRef<StringAttr> parts) {
  for (auto [index, part] : llvm::enumerate(parts))
    if (type.getSize(part.getValue()) > 1)
      return index;
  return 0;
}

static int64_t getPartSize(TensorType type, StringAttr part, MeshAttr mesh) {
  return type.getLocalSize(type.getDimIndex(part.getValue()), mesh);
}

/// The parts with more than one entry on a rank, major first, or the last part
/// where there is none. The index along any other part is 0.
static SmallVector<StringAttr> getLongParts(TensorType type, ArrayAttr parts,
                                            MeshAttr mesh) {
  SmallVector<StringAttr> names = getNames(parts), longParts;
  for (StringAttr part : names)
    if (getPartSize(type, part, mesh) > 1)
      longParts.push_back(part);
  if (longParts.empty())
    longParts.push_back(names.back());
  return longParts;
}

/// The rule of an op that sees the dims `parts` of `split` as the one dim
/// `merged`, or the reverse: only the major part may be cut, so that a block of
/// it is a block of the merged dim.
static PartitionRule getSplitRule(TensorType split, ArrayRef<StringAttr> parts,
                                  StringAttr merged, bool splitIsResult) {
  PartitionRule rule;
  auto add = [&](FactorKind kind, int64_t size, StringAttr inSplit,
                 StringAttr inMerged) {
    Factor factor;
    factor.kind = kind;
    factor.size = size;
    factor.operandDims = {splitIsResult ? inMerged : inSplit};
    factor.resultDims = {splitIsResult ? inSplit : inMerged};
    rule.factors.push_back(std::move(factor));
  };
  size_t major = getMajor(split, parts);
  for (DimAttr dim : split.getDims()) {
    const auto *found = llvm::find(parts, dim.getName());
    if (found == parts.end())
      add(FactorKind::Parallel, dim.getSize(), dim.getName(), dim.getName());
    else if (size_t(found - parts.begin()) == major)
      add(FactorKind::Parallel, dim.getSize(), dim.getName(), merged);
    else
      add(FactorKind::Whole, dim.getSize(), dim.getName(), nullptr);
  }
  return makeLinear(std::move(rule));
}

/// Strides along the dims of `split` into a tensor that has `merged` instead of
/// `parts`.
static SmallVector<int64_t> getMergedStrides(const HostTensor &mergedTensor,
                                             StringRef merged,
                                             const HostTensor &split,
                                             ArrayRef<StringAttr> parts) {
  SmallVector<int64_t> strides = mergedTensor.getStridesAlong(split.type);
  int64_t stride = mergedTensor.getStrideOf(merged);
  for (StringAttr part : llvm::reverse(parts)) {
    int64_t index = split.type.getDimIndex(part.getValue());
    strides[index] = stride;
    stride *= split.sizes[index];
  }
  return strides;
}

LogicalResult SplitDimOp::inferReturnTypes(
    MLIRContext *context, std::optional<Location> location, ValueRange operands,
    DictionaryAttr attributes, OpaqueProperties properties, RegionRange regions,
    SmallVectorImpl<Type> &types) {
  Adaptor adaptor(operands, attributes, properties, regions);
  auto input = cast<TensorType>(adaptor.getInput().getType());
  StringAttr dim = adaptor.getDimAttr();
  SmallVector<StringAttr> into = getNames(adaptor.getInto());
  ArrayRef<int64_t> sizes = adaptor.getSizes();
  if (!input.hasDim(dim.getValue()))
    return reportMissingDim(location, "split_dim", dim, input);
  if (into.empty() || into.size() != sizes.size())
    return emitOptionalError(location, "split_dim: ", into.size(),
                             " new dims with ", sizes.size(),
                             " sizes; give one size for each, at least one");
  if (failed(verifyDistinct(location, "split_dim", into)))
    return failure();
  SmallVector<DimAttr> dims;
  for (DimAttr other : input.getDims())
    if (other.getName() != dim)
      dims.push_back(other);
  int64_t product = 1;
  for (auto [name, size] : llvm::zip(into, sizes)) {
    if (name != dim && input.hasDim(name.getValue()))
      return reportTakenDim(location, "split_dim", name);
    if (size < 1)
      return emitOptionalError(location, "split_dim: size of dim '",
                               name.getValue(), "' must be positive, got ",
                               size);
    if (llvm::MulOverflow(product, size, product))
      product = INT64_MAX;
    dims.push_back(DimAttr::get(context, name.getValue(), size));
  }
  if (product != input.getSize(dim.getValue()))
    return emitOptionalError(location, "split_dim: dim '", dim.getValue(),
                             "' has size ", input.getSize(dim.getValue()),
                             ", but the sizes given multiply to ", product);
  return appendTensorType(location, input.getElementType(), dims, types);
}

SmallVector<HostTensor>
SplitDimOp::evaluate(ArrayRef<const HostTensor *> operands,
                     const EvaluationContext &context) {
  HostTensor shape = context.makeTensor(getType());
  return copyElements(
      context, getType(), *operands[0], /*walkResult=*/true,
      getMergedStrides(*operands[0], getDim(), shape, getNames(getInto())));
}

LogicalResult SplitDimOp::buildGradient(OpBuilder &builder,
                                        ArrayRef<Value> resultGrads,
                                        SmallVectorImpl<Value> &operandGrads) {
  if (resultGrads[0] && getType().isFloat())
    operandGrads[0] = MergeDimsOp::create(builder, getLoc(), resultGrads[0],
                                          getInto(), getDimAttr());
  return success();
}

PartitionRule SplitDimOp::getPartitionRule() {
  return getSplitRule(getType(), getNames(getInto()), getDimAttr(),
                      /*splitIsResult=*/true);
}

OpCost SplitDimOp::getCost() { return getElementwiseCost(*this, 0); }

Value SplitDimOp::emitElement(ElementEmitter &emitter,
                              const ElementIndex &index) {
  OpBuilder &builder = emitter.builder;
  TensorType type = getType();
  ElementIndex inner = index;
  for (StringAttr part : getNames(getInto()))
    inner.dims.erase(part.str());
  DimIndex merged;
  SmallVector<StringAttr> parts =
      getLongParts(type, getInto(), emitter.getMesh());
  for (StringAttr part : parts) {
    const DimIndex &at = index.at(part.getValue());
    if (at.lanes && part != parts.back())
      return {};
    merged.lanes = at.lanes;
    if (!merged.base) {
      merged.base = at.base;
      continue;
    }
    Value size = arith::ConstantIndexOp::create(
        builder, emitter.loc, getPartSize(type, part, emitter.getMesh()));
    Value scaled =
        arith::MulIOp::create(builder, emitter.loc, merged.base, size);
    merged.base = arith::AddIOp::create(builder, emitter.loc, scaled, at.base);
  }
  inner.dims[getDim().str()] = merged;
  return emitter.getElement(getInput(), inner);
}

bool SplitDimOp::supportsLanes(StringRef dim, int64_t lanes, MeshAttr mesh) {
  auto name = StringAttr::get(getContext(), dim);
  if (!llvm::is_contained(getInto(), Attribute(name)))
    return true;
  SmallVector<StringAttr> parts = getLongParts(getType(), getInto(), mesh);
  return parts.back() == name &&
         (parts.size() == 1 || getPartSize(getType(), name, mesh) % lanes == 0);
}

OperandDim SplitDimOp::getOperandDim(unsigned, StringRef dim) {
  auto name = StringAttr::get(getContext(), dim);
  if (!llvm::is_contained(getInto(), Attribute(name)))
    return OperandDim::same(name);
  SmallVector<StringAttr> parts =
      getLongParts(getType(), getInto(), MeshAttr::of(*this));
  if (parts.back() != name)
    return OperandDim::other();
  return parts.size() == 1 ? OperandDim::same(getDimAttr())
                           : OperandDim::other(getDimAttr());
}

LogicalResult MergeDimsOp::inferReturnTypes(
    MLIRContext *context, std::optional<Location> location, ValueRange operands,
    DictionaryAttr attributes, OpaqueProperties properties, RegionRange regions,
    SmallVectorImpl<Type> &types) {
  Adaptor adaptor(operands, attributes, properties, regions);
  auto input = cast<TensorType>(adaptor.getInput().getType());
  SmallVector<StringAttr> parts = getNames(adaptor.getDims());
  StringAttr into = adaptor.getIntoAttr();
  if (parts.empty())
    return emitOptionalError(location,
                             "merge_dims: no dims given; name at least one");
  if (failed(verifyDistinct(location, "merge_dims", parts)))
    return failure();
  int64_t product = 1;
  for (StringAttr part : parts) {
    if (!input.hasDim(part.getValue()))
      return reportMissingDim(location, "merge_dims", part, input);
    product *= input.getSize(part.getValue());
  }
  if (input.hasDim(into.getValue()) && !llvm::is_contained(parts, into))
    return reportTakenDim(location, "merge_dims", into);
  SmallVector<DimAttr> dims = {DimAttr::get(context, into.getValue(), product)};
  for (DimAttr dim : input.getDims())
    if (!llvm::is_contained(parts, dim.getName()))
      dims.push_back(dim);
  return appendTensorType(location, input.getElementType(), dims, types);
}

SmallVector<HostTensor>
MergeDimsOp::evaluate(ArrayRef<const HostTensor *> operands,
                      const EvaluationContext &context) {
  HostTensor shape = context.makeTensor(getType());
  return copyElements(
      context, getType(), *operands[0], /*walkResult=*/false,
      getMergedStrides(shape, getInto(), *operands[0], getNames(getDims())));
}

LogicalResult MergeDimsOp::buildGradient(OpBuilder &builder,
                                         ArrayRef<Value> resultGrads,
                                         SmallVectorImpl<Value> &operandGrads) {
  if (!resultGrads[0] || !getType().isFloat())
    return success();
  SmallVector<int64_t> sizes;
  for (StringAttr part : getNames(getDims()))
    sizes.push_back(getInput().getType().getSize(part.getValue()));
  operandGrads[0] = SplitDimOp::create(builder, getLoc(), resultGrads[0],
                                       getInto(), getDims(), sizes);
  return success();
}

PartitionRule MergeDimsOp::getPartitionRule() {
  return getSplitRule(getInput().getType(), getNames(getDims()), getIntoAttr(),
                      /*splitIsResult=*/false);
}

OpCost MergeDimsOp::getCost() { return getElementwiseCost(*this, 0); }

Value MergeDimsOp::emitElement(ElementEmitter &emitter,
                               const ElementIndex &index) {
  OpBuilder &builder = emitter.builder;
  TensorType type = getInput().getType();
  ElementIndex inner = index;
  inner.dims.erase(getInto().str());
  DimIndex rest = index.at(getInto());
  if (rest.lanes &&
      !supportsLanes(getInto(), emitter.getLanes(), emitter.getMesh()))
    return {};
  for (StringAttr part : getNames(getDims()))
    inner.dims[part.str()] = {
        arith::ConstantIndexOp::create(builder, emitter.loc, 0), false};
  SmallVector<StringAttr> parts =
      getLongParts(type, getDims(), emitter.getMesh());
  for (StringAttr part : llvm::reverse(llvm::drop_begin(parts))) {
    Value size = arith::ConstantIndexOp::create(
        builder, emitter.loc, getPartSize(type, part, emitter.getMesh()));
    inner.dims[part.str()] = {
        arith::RemUIOp::create(builder, emitter.loc, rest.base, size),
        rest.lanes};
    rest = {arith::DivUIOp::create(builder, emitter.loc, rest.base, size),
            false};
  }
  inner.dims[parts.front().str()] = rest;
  return emitter.getElement(getInput(), inner);
}

bool MergeDimsOp::supportsLanes(StringRef dim, int64_t lanes, MeshAttr mesh) {
  if (dim != getInto())
    return true;
  TensorType type = getInput().getType();
  SmallVector<StringAttr> parts = getLongParts(type, getDims(), mesh);
  return parts.size() == 1 ||
         getPartSize(type, parts.back(), mesh) % lanes == 0;
}

OperandDim MergeDimsOp::getOperandDim(unsigned, StringRef dim) {
  if (dim != getInto())
    return OperandDim::same(StringAttr::get(getContext(), dim));
  SmallVector<StringAttr> parts =
      getLongParts(getInput().getType(), getDims(), MeshAttr::of(*this));
  return parts.size() == 1 ? OperandDim::same(parts.back())
                           : OperandDim::other(parts.back());
}

} // namespace meshc::nd
