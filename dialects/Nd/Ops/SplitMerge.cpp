//===- SplitMerge.cpp - one dim as several, and the reverse ---------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/DimNames.h"
#include "dialects/Nd/Ops/ElementCopy.h"
#include "dialects/Nd/Ops/ShapeOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace meshc::nd {

/// The dim of several (major first) that may be cut when they are seen as one:
/// the first with more than one entry.
static size_t getMajor(TensorType type, ArrayRef<StringAttr> parts) {
  for (auto [index, part] : llvm::enumerate(parts))
    if (type.getSize(part.getValue()) > 1)
      return index;
  return 0;
}

/// The entries of the merged dim that belong to one of the major part.
static int64_t countMinor(TensorType type, ArrayRef<StringAttr> minor) {
  int64_t count = 1;
  for (StringAttr part : minor)
    count *= type.getSize(part.getValue());
  return count;
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
/// it is a block of the merged dim, or is one with a few exchanged entries.
static PartitionRule getSplitRule(TensorType split, ArrayRef<StringAttr> parts,
                                  StringAttr merged, bool splitIsResult) {
  PartitionRule rule;
  auto add = [&](FactorEffect effect, int64_t size, StringAttr inSplit,
                 StringAttr inMerged) {
    Factor factor;
    factor.effect = effect;
    factor.size = size;
    factor.operandDims = {splitIsResult ? inMerged : inSplit};
    factor.resultDims = {splitIsResult ? inSplit : inMerged};
    rule.factors.push_back(std::move(factor));
  };
  size_t major = getMajor(split, parts);
  for (DimAttr dim : split.getDims()) {
    const auto *found = llvm::find(parts, dim.getName());
    if (found == parts.end())
      add(FactorEffect::Parallel, dim.getSize(), dim.getName(), dim.getName());
    else if (size_t(found - parts.begin()) == major) {
      add(FactorEffect::Parallel, dim.getSize(), dim.getName(), merged);
      Factor &factor = rule.factors.back();
      auto &accesses =
          splitIsResult ? factor.operandAccesses : factor.resultAccesses;
      accesses = {
          Access::groups(countMinor(split, parts.drop_front(major + 1)))};
    } else
      add(FactorEffect::Whole, dim.getSize(), dim.getName(), nullptr);
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

void SplitDimOp::resizeBlock(const Factor &, ArrayRef<TensorType> resultTypes) {
  SmallVector<int64_t> sizes;
  for (StringAttr part : getNames(getInto()))
    sizes.push_back(resultTypes[0].getSize(part.getValue()));
  setSizes(sizes);
}

SmallVector<Factor> SplitDimOp::getWidenedFactors() { return {}; }

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
