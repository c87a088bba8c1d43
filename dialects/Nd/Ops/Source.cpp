//===- Source.cpp - constants, indices, random numbers --------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/DimNames.h"
#include "dialects/Nd/Ops/Philox.h"
#include "dialects/Nd/Ops/SourceOps.h"
#include "dialects/Nd/Ops/ValueBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <cmath>
#include <numbers>

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/Nd/Ops/Source.cpp.inc"

namespace meshc::nd {

void NdDialect::registerSource() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Nd/Ops/Source.cpp.inc"
      >();
}

/// The element splatted over the lanes, where a dim of `type` has them.
static Value splatOverLanes(ElementEmitter &emitter, TensorType type,
                            const ElementIndex &index, Value element) {
  for (DimAttr dim : type.getDims())
    if (index.at(dim.getName().getValue()).lanes)
      return vector::BroadcastOp::create(
          emitter.builder, emitter.loc,
          VectorType::get({emitter.getLanes()}, element.getType()), element);
  return element;
}

//===----------------------------------------------------------------------===//
// ConstantOp
//===----------------------------------------------------------------------===//

void ConstantOp::build(OpBuilder &builder, OperationState &state,
                       TensorType type, double value) {
  Type elementType = type.getElementType();
  TypedAttr attr;
  if (isa<FloatType>(elementType))
    attr = builder.getFloatAttr(elementType, value);
  else
    attr = builder.getIntegerAttr(elementType, static_cast<int64_t>(value));
  build(builder, state, type, attr);
}

/// The value as a number.
static double getNumber(TypedAttr value) {
  if (auto number = dyn_cast<FloatAttr>(value))
    return number.getValueAsDouble();
  if (value.getType().isSignlessInteger(1))
    return cast<IntegerAttr>(value).getValue().getBoolValue();
  return cast<IntegerAttr>(value).getInt();
}

LogicalResult ConstantOp::verify() {
  Type wanted = getType().getElementType();
  if (getValue().getType() != wanted)
    return emitOpError("value has type ")
           << getValue().getType() << ", but the result's elements have type "
           << wanted;
  bool isSum = getType().getPartialKind() == ReductionKind::Sum;
  if (getType().isPartial() && !(isSum && getNumber(getValue()) == 0))
    return emitOpError("the result cannot be partial unless it is a sum of "
                       "zeros: got ")
           << getType();
  return success();
}

SmallVector<HostTensor> ConstantOp::evaluate(ArrayRef<const HostTensor *>,
                                             const EvaluationContext &context) {
  HostTensor result = context.makeTensor(getType());
  std::fill(result.data.begin(), result.data.end(), getNumber(getValue()));
  return {std::move(result)};
}

LogicalResult ConstantOp::buildGradient(OpBuilder &, ArrayRef<Value>,
                                        SmallVectorImpl<Value> &) {
  return success();
}

PartitionRule ConstantOp::getPartitionRule() {
  PartitionRule rule = getRuleByNames(*this);
  rule.isZero = getNumber(getValue()) == 0;
  return rule;
}

OpCost ConstantOp::getCost() { return getElementwiseCost(*this, 0); }

Value ConstantOp::emitElement(ElementEmitter &emitter,
                              const ElementIndex &index) {
  Value element =
      emitter.constant(getType().getElementType(), getNumber(getValue()));
  return splatOverLanes(emitter, getType(), index, element);
}

bool ConstantOp::supportsLanes(StringRef, int64_t, MeshAttr) { return true; }

OperandDim ConstantOp::getOperandDim(unsigned, StringRef) { return {}; }

std::optional<AffineIndex> ConstantOp::getAffineIndex(ArrayRef<AffineIndex>) {
  auto number = dyn_cast<IntegerAttr>(getValue());
  if (!number)
    return std::nullopt;
  return AffineIndex{number.getInt()};
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

//===----------------------------------------------------------------------===//
// IotaOp
//===----------------------------------------------------------------------===//

LogicalResult IotaOp::verify() {
  TensorType type = getType();
  if (type.getRank() != 1)
    return emitOpError("the result must have one dim, got ")
           << listDims(type) << "; broadcast it to the others";
  if (type.getElementType().isSignlessInteger(1))
    return emitOpError("elements must be i32 or floats, got i1");
  if (type.isPartial())
    return emitOpError("the result cannot be partial: got ") << type;
  if (type.getElementType().isSignlessInteger(32))
    return checkNumbered(getLoc(), "iota", type.getDims().front());
  return success();
}

SmallVector<HostTensor> IotaOp::evaluate(ArrayRef<const HostTensor *>,
                                         const EvaluationContext &context) {
  HostTensor result = context.makeTensor(getType());
  int64_t offset = context.getOffset(
      getType(), getType().getDims().front().getName().getValue());
  for (auto [index, value] : llvm::enumerate(result.data))
    value = context.round(offset + index, getType().getElementType());
  return {std::move(result)};
}

LogicalResult IotaOp::buildGradient(OpBuilder &, ArrayRef<Value>,
                                    SmallVectorImpl<Value> &) {
  return success();
}

PartitionRule IotaOp::getPartitionRule() { return getRuleByNames(*this); }

OpCost IotaOp::getCost() { return getElementwiseCost(*this, 1); }

Value IotaOp::emitElement(ElementEmitter &emitter, const ElementIndex &index) {
  OpBuilder &builder = emitter.builder;
  StringRef dim = getType().getDims().front().getName().getValue();
  DimIndex at = index.at(dim);
  at.base = arith::AddIOp::create(builder, emitter.loc, at.base,
                                  emitter.getGlobalOffset(getType(), dim));
  Value number = emitter.getIndexAsI32(at);
  if (!getType().isFloat())
    return number;
  return arith::SIToFPOp::create(
      builder, emitter.loc,
      emitter.getComputeType(getType().getElementType(), number), number);
}

bool IotaOp::supportsLanes(StringRef, int64_t, MeshAttr) { return true; }

std::optional<AffineIndex> IotaOp::getAffineIndex(ArrayRef<AffineIndex>) {
  return AffineIndex{0, {{getType().getDims()[0].getName(), 1}}};
}

OperandDim IotaOp::getOperandDim(unsigned, StringRef) { return {}; }

bool IotaOp::isEntrywise(OpResult, ArrayRef<StringAttr>) { return true; }

SmallVector<StringAttr> IotaOp::getDimsAtPosition(OpResult, unsigned,
                                                  ArrayRef<StringAttr>) {
  return {};
}

unsigned IotaOp::countNeededOperands() { return 0; }

/// The position, or the op itself if the dim is another one.
FailureOr<Value> IotaOp::buildAtPosition(PositionBuilder &builder,
                                         OpResult result,
                                         ArrayRef<StringAttr> dims) {
  OpBuilder inPlace = builder.getBuilder(result);
  if (dims.empty())
    return inPlace.clone(**this)->getResult(0);
  return ValueBuilder(inPlace, getLoc())
      .castTo(builder.getPosition(result), getType().getElementType());
}

//===----------------------------------------------------------------------===//
// RandomOp
//===----------------------------------------------------------------------===//

LogicalResult RandomOp::verify() {
  if (!getType().isFloat())
    return emitOpError("elements must be floats, got ")
           << getType().getElementType();
  if (getType().isPartial())
    return emitOpError("the result cannot be partial: got ") << getType();
  TensorType number = TensorType::get(IntegerType::get(getContext(), 32), {});
  for (Value iteration : getIterations())
    if (iteration.getType() != number)
      return emitOpError("the number of an iteration must be ")
             << number << ", got " << iteration.getType();
  return success();
}

/// Row-major strides over the global sizes.
static SmallVector<int64_t> getGlobalStrides(TensorType type) {
  SmallVector<int64_t> strides(type.getRank(), 1);
  for (int64_t i = type.getRank() - 1; i > 0; --i)
    strides[i - 1] = strides[i] * type.getDims()[i].getSize();
  return strides;
}

static constexpr double uniformSpacing = 1.0 / (1 << 24);

SmallVector<HostTensor>
RandomOp::evaluate(ArrayRef<const HostTensor *> operands,
                   const EvaluationContext &context) {
  TensorType type = getType();
  HostTensor result = context.makeTensor(type);
  SmallVector<SmallVector<int64_t>> strides = {result.getStrides(),
                                               getGlobalStrides(type)};
  uint64_t first = 0;
  for (auto [dim, stride] : llvm::zip(type.getDims(), strides[1]))
    first += context.getOffset(type, dim.getName().getValue()) * stride;
  uint32_t stream = hashStream(getStream());
  for (const HostTensor *iteration : operands)
    stream = continueHash(HashNumber(), stream,
                          static_cast<uint32_t>(iteration->data[0]));
  auto step = static_cast<uint32_t>(context.step);
  std::array<uint32_t, 2> key = {uint32_t(context.seed),
                                 uint32_t(context.seed >> 32)};
  forEachIndex(result.sizes, strides, [&](auto, ArrayRef<int64_t> offsets) {
    uint64_t linear = first + offsets[1];
    std::array<uint32_t, 4> words = runPhilox(
        NumberWords(), {uint32_t(linear), uint32_t(linear >> 32), step, stream},
        key);
    double value = (words[0] >> 8) * uniformSpacing;
    if (getDistribution() == Distribution::Normal)
      value =
          std::sqrt(-2.0 * std::log(value + uniformSpacing)) *
          std::cos(2.0 * std::numbers::pi * (words[1] >> 8) * uniformSpacing);
    result.data[offsets[0]] = context.round(value, type.getElementType());
  });
  return {std::move(result)};
}

LogicalResult RandomOp::buildGradient(OpBuilder &, ArrayRef<Value>,
                                      SmallVectorImpl<Value> &) {
  return success();
}

PartitionRule RandomOp::getPartitionRule() { return getRuleByNames(*this); }

OpCost RandomOp::getCost() {
  // Ten rounds of two products and four exclusive ors.
  bool normal = getDistribution() == Distribution::Normal;
  return getElementwiseCost(*this, 64, normal ? 3 : 0);
}

namespace {
/// 32-bit words as i32 values, scalars or vectors.
struct EmittedWords {
  using Word = Value;
  ElementEmitter &emitter;

  std::pair<Value, Value> multiply(Value a, uint32_t b) const {
    auto product = arith::MulUIExtendedOp::create(emitter.builder, emitter.loc,
                                                  a, constant(b, a));
    return {product.getLow(), product.getHigh()};
  }
  Value exclusiveOr(Value a, Value b) const {
    emitter.unify(a, b);
    return arith::XOrIOp::create(emitter.builder, emitter.loc, a, b);
  }
  Value add(Value a, uint32_t b) const {
    return arith::AddIOp::create(emitter.builder, emitter.loc, a,
                                 constant(b, a));
  }
  Value constant(uint32_t value, Value like = {}) const {
    return emitter.constant(emitter.builder.getI32Type(),
                            static_cast<int32_t>(value), like);
  }
  /// The low or the high word of i64 values.
  Value getWord(Value value, bool high) const {
    OpBuilder &builder = emitter.builder;
    if (high) {
      TypedAttr shift = builder.getI64IntegerAttr(32);
      if (auto type = dyn_cast<VectorType>(value.getType()))
        shift = SplatElementsAttr::get(type, shift);
      value = arith::ShRUIOp::create(
          builder, emitter.loc, value,
          arith::ConstantOp::create(builder, emitter.loc, shift));
    }
    Type type = emitter.getComputeType(builder.getI32Type(), value);
    return arith::TruncIOp::create(builder, emitter.loc, type, value);
  }
  /// The upper 24 bits as an f32 between 0 and 1, exclusive.
  Value getFraction(Value word) const {
    OpBuilder &builder = emitter.builder;
    Value bits =
        arith::ShRUIOp::create(builder, emitter.loc, word, constant(8, word));
    Type type = emitter.getComputeType(builder.getF32Type(), word);
    Value number = arith::SIToFPOp::create(builder, emitter.loc, type, bits);
    return arith::MulFOp::create(
        builder, emitter.loc, number,
        emitter.constant(builder.getF32Type(), uniformSpacing, word));
  }
};
} // namespace

namespace {
/// Steps of the hash on emitted i32 scalars.
struct EmittedHash {
  using Word = Value;
  ElementEmitter &emitter;

  Value constant(uint32_t value) const {
    return emitter.constant(emitter.builder.getI32Type(),
                            static_cast<int32_t>(value));
  }
  /// (hash ^ byte) · prime, with byte `index` of `number`.
  Value addByte(Value hash, Value number, unsigned index,
                uint32_t prime) const {
    OpBuilder &builder = emitter.builder;
    Location loc = emitter.loc;
    Value shifted =
        arith::ShRUIOp::create(builder, loc, number, constant(8 * index));
    Value byte = arith::AndIOp::create(builder, loc, shifted, constant(255));
    Value mixed = arith::XOrIOp::create(builder, loc, hash, byte);
    return arith::MulIOp::create(builder, loc, mixed, constant(prime));
  }
};
} // namespace

/// The number of the stream, in this iteration of the loops around the op.
static Value emitStream(ElementEmitter &emitter, RandomOp op) {
  Value stream = emitter.getStream(op.getStreamAttr());
  for (Value iteration : op.getIterations())
    stream = continueHash(EmittedHash{emitter}, stream,
                          emitter.getElement(iteration, ElementIndex()));
  return stream;
}

/// The linear global index of the element(s), i64.
static Value emitLinearIndex(ElementEmitter &emitter, TensorType type,
                             const ElementIndex &index) {
  OpBuilder &builder = emitter.builder;
  Location loc = emitter.loc;
  Value linear = arith::ConstantIndexOp::create(builder, loc, 0);
  int64_t laneStride = 0;
  for (auto [dim, stride] : llvm::zip(type.getDims(), getGlobalStrides(type))) {
    StringRef name = dim.getName().getValue();
    const DimIndex &at = index.at(name);
    if (at.lanes)
      laneStride = stride;
    Value global = arith::AddIOp::create(builder, loc, at.base,
                                         emitter.getGlobalOffset(type, name));
    Value scaled = arith::MulIOp::create(
        builder, loc, global,
        arith::ConstantIndexOp::create(builder, loc, stride));
    linear = arith::AddIOp::create(builder, loc, linear, scaled);
  }
  linear =
      arith::IndexCastOp::create(builder, loc, builder.getI64Type(), linear);
  if (laneStride == 0)
    return linear;
  auto lanes = VectorType::get({emitter.getLanes()}, builder.getI64Type());
  SmallVector<int64_t> steps;
  for (int64_t lane = 0; lane < emitter.getLanes(); ++lane)
    steps.push_back(lane * laneStride);
  Value distances = arith::ConstantOp::create(
      builder, loc, DenseElementsAttr::get(lanes, ArrayRef(steps)));
  Value start = vector::BroadcastOp::create(builder, loc, lanes, linear);
  return arith::AddIOp::create(builder, loc, start, distances);
}

Value RandomOp::emitElement(ElementEmitter &emitter,
                            const ElementIndex &index) {
  OpBuilder &builder = emitter.builder;
  Location loc = emitter.loc;
  EmittedWords words{emitter};
  Value linear = emitLinearIndex(emitter, getType(), index);
  Value step = emitter.getStep(), seed = emitter.getSeed();
  std::array<Value, 4> random =
      runPhilox(words,
                {words.getWord(linear, false), words.getWord(linear, true),
                 words.getWord(step, false), emitStream(emitter, *this)},
                {words.getWord(seed, false), words.getWord(seed, true)});
  Value first = words.getFraction(random[0]);
  if (getDistribution() == Distribution::Uniform)
    return first;
  auto makeNumber = [&](double value) {
    return emitter.constant(builder.getF32Type(), value, first);
  };
  // Box-Muller, with the first number moved to (0, 1].
  Value positive =
      arith::AddFOp::create(builder, loc, first, makeNumber(uniformSpacing));
  Value logarithm = math::LogOp::create(builder, loc, positive);
  Value radius = math::SqrtOp::create(
      builder, loc,
      arith::MulFOp::create(builder, loc, logarithm, makeNumber(-2.0)));
  Value angle =
      arith::MulFOp::create(builder, loc, words.getFraction(random[1]),
                            makeNumber(2.0 * std::numbers::pi));
  return arith::MulFOp::create(builder, loc, radius,
                               math::CosOp::create(builder, loc, angle));
}

bool RandomOp::supportsLanes(StringRef, int64_t, MeshAttr) { return true; }

OperandDim RandomOp::getOperandDim(unsigned, StringRef) { return {}; }

} // namespace meshc::nd
