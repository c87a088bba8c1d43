//===- Window.cpp - parts and enlargements along a dim --------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/DimNames.h"
#include "dialects/Nd/Ops/WindowOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <cmath>

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/Nd/Ops/Window.cpp.inc"

namespace meshc::nd {

void NdDialect::registerWindow() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Nd/Ops/Window.cpp.inc"
      >();
}

/// Infers `input` with another size of `dim`.
static LogicalResult appendResized(std::optional<Location> location,
                                   TensorType input, StringAttr dim,
                                   int64_t size, SmallVectorImpl<Type> &types) {
  SmallVector<DimAttr> dims(input.getDims());
  dims[input.getDimIndex(dim.getValue())] =
      DimAttr::get(input.getContext(), dim.getValue(), size);
  return appendTensorType(location, input.getElementType(), dims, types);
}

/// Copies entry i of the first `count` of `dim` of `input` to entry i + shift
/// of `result`, where the result has it.
static void copyShifted(const HostTensor &input, StringRef dim, int64_t count,
                        int64_t shift, HostTensor &result) {
  int64_t along = result.type.getDimIndex(dim);
  SmallVector<SmallVector<int64_t>> strides = {input.getStrides(),
                                               result.getStrides()};
  int64_t stride = strides[1][along], size = result.sizes[along];
  SmallVector<int64_t> counts(input.sizes);
  counts[along] = count;
  forEachIndex(
      counts, strides, [&](ArrayRef<int64_t> index, ArrayRef<int64_t> offsets) {
        int64_t to = index[along] + shift;
        if (to >= 0 && to < size)
          result.data[offsets[1] + shift * stride] = input.data[offsets[0]];
      });
}

/// Whether the result is the operand, entry by entry.
static bool isWhole(SliceOp op) {
  DimAttr dim = op.getInput().getType().getDim(op.getDim());
  return dim.getSize() == static_cast<int64_t>(op.getSize()) &&
         dim.getAxes().empty();
}
static bool isWhole(ConcatOp op) { return op.getInputs().size() == 1; }
static bool isWhole(PadOp op) { return op.getLow() == 0 && op.getHigh() == 0; }

/// Where the result of a concatenation is cut, operands with fewer entries than
/// this part of the result, rounded down, may be whole.
static constexpr int64_t partsOfWhole = 8;

/// Adds to the rule of a window the alternative in which the result is cut and
/// these operands are not: each rank takes what it needs of them.
static void addWithWholeOperands(PartitionRule &rule,
                                 llvm::function_ref<bool(unsigned)> isWhole) {
  Factor halo = *llvm::find_if(rule.factors, [](const Factor &factor) {
    return !factor.segments.empty();
  });
  bool hasWhole = false;
  for (auto [operand, name] : llvm::enumerate(halo.operandDims))
    if (isWhole(operand)) {
      name = StringAttr();
      hasWhole = true;
    }
  if (hasWhole)
    rule.alternatives.push_back(std::move(halo));
}

/// What a window op along `window` asks for as the index along `dim` moves;
/// `isWhole`: the window is all of the operand and nothing else.
static OperandDim getWindowDim(Operation *op, StringRef window, bool isWhole,
                               StringRef dim) {
  auto name = StringAttr::get(op->getContext(), dim);
  return dim == window && !isWhole ? OperandDim::other(name)
                                   : OperandDim::same(name);
}

/// `index` with the position along `dim` moved by `shift`, and kept among the
/// first `size` entries.
static ElementIndex shiftIndex(ElementEmitter &emitter,
                               const ElementIndex &index, StringRef dim,
                               int64_t shift, int64_t size) {
  OpBuilder &builder = emitter.builder;
  auto makeIndex = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, emitter.loc, value);
  };
  ElementIndex inner = index;
  DimIndex &at = inner.dims[dim.str()];
  int64_t last = size - (at.lanes ? emitter.getLanes() : 1);
  Value moved =
      arith::AddIOp::create(builder, emitter.loc, at.base, makeIndex(shift));
  Value atLeast =
      arith::MaxSIOp::create(builder, emitter.loc, moved, makeIndex(0));
  at.base =
      arith::MinSIOp::create(builder, emitter.loc, atLeast, makeIndex(last));
  return inner;
}

/// Whether `base` (index type) is less than `bound`.
static Value isBefore(ElementEmitter &emitter, Value base, int64_t bound) {
  Value limit =
      arith::ConstantIndexOp::create(emitter.builder, emitter.loc, bound);
  return arith::CmpIOp::create(emitter.builder, emitter.loc,
                               arith::CmpIPredicate::slt, base, limit);
}

//===----------------------------------------------------------------------===//
// SliceOp
//===----------------------------------------------------------------------===//

LogicalResult SliceOp::inferReturnTypes(
    MLIRContext *context, std::optional<Location> location, ValueRange operands,
    DictionaryAttr attributes, OpaqueProperties properties, RegionRange regions,
    SmallVectorImpl<Type> &types) {
  Adaptor adaptor(operands, attributes, properties, regions);
  auto input = cast<TensorType>(adaptor.getInput().getType());
  StringAttr dim = adaptor.getDimAttr();
  if (!input.hasDim(dim.getValue()))
    return reportMissingDim(location, "slice", dim, input);
  int64_t start = adaptor.getStart(), size = adaptor.getSize();
  int64_t whole = input.getSize(dim.getValue());
  if (size < 1)
    return emitOptionalError(location, "slice: size must be positive, got ",
                             size);
  if (start < 0 || start > whole || size > whole - start)
    return emitOptionalError(location, "slice: ", size, " entries from ", start,
                             " do not lie within dim '", dim.getValue(),
                             "' of size ", whole);
  return appendResized(location, input, dim, size, types);
}

SmallVector<HostTensor> SliceOp::evaluate(ArrayRef<const HostTensor *> operands,
                                          const EvaluationContext &context) {
  HostTensor result = context.makeTensor(getType());
  const HostTensor &input = *operands[0];
  copyShifted(input, getDim(), context.getCount(input.type, getDim()),
              context.getOffset(input.type, getDim()) -
                  static_cast<int64_t>(getStart()),
              result);
  return {std::move(result)};
}

LogicalResult SliceOp::buildGradient(OpBuilder &builder,
                                     ArrayRef<Value> resultGrads,
                                     SmallVectorImpl<Value> &operandGrads) {
  if (!resultGrads[0] || !getType().isFloat())
    return success();
  int64_t start = getStart(), size = getSize();
  int64_t high = getInput().getType().getSize(getDim()) - start - size;
  operandGrads[0] = PadOp::create(
      builder, getLoc(), resultGrads[0], getDimAttr(),
      builder.getI64IntegerAttr(start), builder.getI64IntegerAttr(high),
      builder.getF64FloatAttr(0.0));
  return success();
}

PartitionRule SliceOp::getPartitionRule() {
  PartitionRule rule = getWindowRule(*this, getDim(),
                                     {{0, 0, static_cast<int64_t>(getStart()),
                                       static_cast<int64_t>(getSize())}});
  rule.linearOperands.push_back(0);
  // Or a rank contributes the entries that it has, and 0 for all others.
  Factor &parts = rule.alternatives.emplace_back();
  parts.effect = FactorEffect::Reduce;
  parts.isSelection = true;
  parts.size = getInput().getType().getSize(getDim());
  parts.operandDims = {getDimAttr()};
  parts.resultDims = {StringAttr()};
  return rule;
}

OpCost SliceOp::getCost() { return getPartCost(*this); }

Value SliceOp::emitElement(ElementEmitter &emitter, const ElementIndex &index) {
  if (isWhole(*this))
    return emitter.getElement(getInput(), index);
  TensorType input = getInput().getType();
  bool isCut = !input.getDim(getDim()).getAxes().empty();
  ElementIndex inner = index;
  DimIndex &at = inner.dims[getDim().str()];
  if (at.lanes && (isCut || getStart() % emitter.getLanes() != 0))
    return {};
  OpBuilder &builder = emitter.builder;
  Location loc = emitter.loc;
  Value start = arith::ConstantIndexOp::create(builder, loc, getStart());
  at.base = arith::AddIOp::create(builder, loc, at.base, start);
  if (!isCut)
    return emitter.getElement(getInput(), inner);
  LocalEntry entry = emitter.findLocalEntry(input, getDim(), at.base);
  at.base = entry.index;
  Value element = emitter.getElement(getInput(), inner);
  return element ? emitter.selectIfHere(entry, element, input.getElementType())
                 : Value();
}

bool SliceOp::supportsLanes(StringRef dim, int64_t lanes, MeshAttr) {
  return dim != getDim() ||
         (getStart() % lanes == 0 &&
          getInput().getType().getDim(dim).getAxes().empty());
}

OperandDim SliceOp::getOperandDim(unsigned, StringRef dim) {
  return getWindowDim(*this, getDim(), isWhole(*this), dim);
}

//===----------------------------------------------------------------------===//
// ConcatOp
//===----------------------------------------------------------------------===//

LogicalResult ConcatOp::inferReturnTypes(
    MLIRContext *context, std::optional<Location> location, ValueRange operands,
    DictionaryAttr attributes, OpaqueProperties properties, RegionRange regions,
    SmallVectorImpl<Type> &types) {
  Adaptor adaptor(operands, attributes, properties, regions);
  StringAttr dim = adaptor.getDimAttr();
  if (operands.empty())
    return emitOptionalError(location,
                             "concat: no operands; give at least one");
  auto first = cast<TensorType>(operands[0].getType());
  int64_t size = 0;
  for (Value operand : operands) {
    auto type = cast<TensorType>(operand.getType());
    if (!type.hasDim(dim.getValue()))
      return reportMissingDim(location, "concat", dim, type);
    if (type.getElementType() != first.getElementType())
      return emitOptionalError(
          location, "concat: element types differ: ", first.getElementType(),
          " and ", type.getElementType(), "; cast one of them");
    if (type.withoutDims(dim).getGlobal() != first.withoutDims(dim).getGlobal())
      return emitOptionalError(location, "concat: dims other than '",
                               dim.getValue(), "' differ: ", first.getGlobal(),
                               " and ", type.getGlobal());
    size += type.getSize(dim.getValue());
  }
  return appendResized(location, first, dim, size, types);
}

SmallVector<HostTensor>
ConcatOp::evaluate(ArrayRef<const HostTensor *> operands,
                   const EvaluationContext &context) {
  HostTensor result = context.makeTensor(getType());
  int64_t start = 0;
  for (const HostTensor *operand : operands) {
    int64_t size = operand->sizes[operand->type.getDimIndex(getDim())];
    copyShifted(*operand, getDim(), size, start, result);
    start += size;
  }
  return {std::move(result)};
}

LogicalResult ConcatOp::buildGradient(OpBuilder &builder,
                                      ArrayRef<Value> resultGrads,
                                      SmallVectorImpl<Value> &operandGrads) {
  if (!resultGrads[0] || !getType().isFloat())
    return success();
  int64_t start = 0;
  for (auto [number, operand] : llvm::enumerate(getInputs())) {
    int64_t size = getTensorType(operand).getSize(getDim());
    operandGrads[number] = SliceOp::create(
        builder, getLoc(), resultGrads[0], getDimAttr(),
        builder.getI64IntegerAttr(start), builder.getI64IntegerAttr(size));
    start += size;
  }
  return success();
}

PartitionRule ConcatOp::getPartitionRule() {
  SmallVector<Segment> segments;
  int64_t at = 0;
  for (auto [number, operand] : llvm::enumerate(getInputs())) {
    int64_t size = getTensorType(operand).getSize(getDim());
    segments.push_back({static_cast<unsigned>(number), at, 0, size});
    at += size;
  }
  PartitionRule rule = getWindowRule(*this, getDim(), segments);
  rule.jointlyLinear = true;
  addWithWholeOperands(rule, [&](unsigned operand) {
    return segments[operand].size < at / partsOfWhole;
  });
  return rule;
}

OpCost ConcatOp::getCost() { return getElementwiseCost(*this, 0); }

Value ConcatOp::emitElement(ElementEmitter &emitter,
                            const ElementIndex &index) {
  if (isWhole(*this))
    return emitter.getElement(getInputs()[0], index);
  const DimIndex &at = index.at(getDim());
  if (at.lanes &&
      !supportsLanes(getDim(), emitter.getLanes(), emitter.getMesh()))
    return {};
  // The dim is whole on every rank, so local and global sizes are the same.
  // From the last operand to the first: each one overrules where the index
  // lies before its end.
  int64_t end = getType().getSize(getDim());
  Value element;
  for (Value operand : llvm::reverse(getInputs())) {
    int64_t size = getTensorType(operand).getSize(getDim());
    Value part = emitter.getElement(
        operand, shiftIndex(emitter, index, getDim(), size - end, size));
    if (!part)
      return {};
    if (element)
      part = arith::SelectOp::create(emitter.builder, emitter.loc,
                                     isBefore(emitter, at.base, end), part,
                                     element);
    element = part;
    end -= size;
  }
  return element;
}

bool ConcatOp::supportsLanes(StringRef dim, int64_t lanes, MeshAttr) {
  // Along the dim itself only where no vector straddles two operands.
  return dim != getDim() || llvm::all_of(getInputs(), [&](Value operand) {
           return getTensorType(operand).getSize(dim) % lanes == 0;
         });
}

OperandDim ConcatOp::getOperandDim(unsigned, StringRef dim) {
  return getWindowDim(*this, getDim(), isWhole(*this), dim);
}

//===----------------------------------------------------------------------===//
// PadOp
//===----------------------------------------------------------------------===//

LogicalResult
PadOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                        ValueRange operands, DictionaryAttr attributes,
                        OpaqueProperties properties, RegionRange regions,
                        SmallVectorImpl<Type> &types) {
  Adaptor adaptor(operands, attributes, properties, regions);
  auto input = cast<TensorType>(adaptor.getInput().getType());
  StringAttr dim = adaptor.getDimAttr();
  int64_t low = adaptor.getLow(), high = adaptor.getHigh();
  if (!input.hasDim(dim.getValue()))
    return reportMissingDim(location, "pad", dim, input);
  int64_t limit = int64_t(1) << 48;
  if (low < 0 || high < 0 || low > limit || high > limit)
    return emitOptionalError(
        location, "pad: cannot add ", low, " entries before and ", high,
        " after dim '", dim.getValue(), "'; both must be between 0 and 2^48");
  double value = adaptor.getValue().convertToDouble();
  // What is infinite as written, and what is no number, every float type has.
  bool isHeld =
      input.isFloat()
          ? !std::isfinite(value) ||
                std::isfinite(roundToElementType(value, input.getElementType()))
          : value >= INT32_MIN && value <= INT32_MAX &&
                value == std::trunc(value);
  if (!isHeld)
    return emitOptionalError(location, "pad: value ", adaptor.getValueAttr(),
                             " is not a number of element type ",
                             input.getElementType());
  return appendResized(location, input, dim,
                       input.getSize(dim.getValue()) + low + high, types);
}

SmallVector<HostTensor> PadOp::evaluate(ArrayRef<const HostTensor *> operands,
                                        const EvaluationContext &context) {
  HostTensor result = context.makeTensor(getType());
  double value =
      context.round(getValue().convertToDouble(), getType().getElementType());
  std::fill(result.data.begin(), result.data.end(), value);
  copyShifted(*operands[0], getDim(), getInput().getType().getSize(getDim()),
              getLow(), result);
  return {std::move(result)};
}

LogicalResult PadOp::buildGradient(OpBuilder &builder,
                                   ArrayRef<Value> resultGrads,
                                   SmallVectorImpl<Value> &operandGrads) {
  if (!resultGrads[0] || !getType().isFloat())
    return success();
  int64_t size = getInput().getType().getSize(getDim());
  operandGrads[0] =
      SliceOp::create(builder, getLoc(), resultGrads[0], getDimAttr(),
                      getLowAttr(), builder.getI64IntegerAttr(size));
  return success();
}

PartitionRule PadOp::getPartitionRule() {
  PartitionRule rule = getWindowRule(*this, getDim(),
                                     {{0, static_cast<int64_t>(getLow()), 0,
                                       getInput().getType().getSize(getDim())}},
                                     getValue().convertToDouble());
  // Any other value would be counted once per rank.
  if (getValue().isZero())
    rule.linearOperands.push_back(0);
  addWithWholeOperands(rule, [](unsigned) { return true; });
  return rule;
}

OpCost PadOp::getCost() { return getElementwiseCost(*this, 0); }

Value PadOp::emitElement(ElementEmitter &emitter, const ElementIndex &index) {
  if (isWhole(*this))
    return emitter.getElement(getInput(), index);
  const DimIndex &at = index.at(getDim());
  if (at.lanes)
    return {};
  int64_t low = getLow(), size = getInput().getType().getSize(getDim());
  Value element = emitter.getElement(
      getInput(), shiftIndex(emitter, index, getDim(), -low, size));
  if (!element)
    return {};
  OpBuilder &builder = emitter.builder;
  Value padding = emitter.constant(getType().getElementType(),
                                   getValue().convertToDouble(), element);
  Value inFront = isBefore(emitter, at.base, low);
  Value beforeEnd = isBefore(emitter, at.base, low + size);
  element = arith::SelectOp::create(builder, emitter.loc, beforeEnd, element,
                                    padding);
  return arith::SelectOp::create(builder, emitter.loc, inFront, padding,
                                 element);
}

bool PadOp::supportsLanes(StringRef dim, int64_t, MeshAttr) {
  return dim != getDim() || isWhole(*this);
}

OperandDim PadOp::getOperandDim(unsigned, StringRef dim) {
  return getWindowDim(*this, getDim(), isWhole(*this), dim);
}

} // namespace meshc::nd
