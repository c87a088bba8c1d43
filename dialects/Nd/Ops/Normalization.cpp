//===- Normalization.cpp - softmax and cross-entropy ----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/DimNames.h"
#include "dialects/Nd/Ops/NormalizationOps.h"
#include "dialects/Nd/Ops/Pointwise.h"
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/Ops/ReductionOps.h"
#include "dialects/Nd/Ops/SourceOps.h"
#include <cmath>
#include <limits>

#define GET_OP_CLASSES
#include "dialects/Nd/Ops/Normalization.cpp.inc"

using namespace mlir;

namespace meshc::nd {

void NdDialect::registerNormalization() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Nd/Ops/Normalization.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// What all share
//===----------------------------------------------------------------------===//

/// Checks that the first operand is of floats and has the dim.
static LogicalResult checkRows(std::optional<Location> location, StringRef op,
                               ValueRange operands, StringAttr dim) {
  TensorType type = getTensorType(operands[0]);
  if (!type)
    return emitOptionalError(location, op,
                             ": operand must be an nd tensor, got ",
                             operands[0].getType());
  if (!type.hasDim(dim.getValue()))
    return reportMissingDim(location, op, dim, type);
  return checkDomain(location, op, type.getElementType(), Domain::Float);
}

/// The result of softmax and log-softmax: of the operand's dims and type.
static LogicalResult inferRows(std::optional<Location> location, StringRef op,
                               ValueRange operands, StringAttr dim,
                               SmallVectorImpl<Type> &types) {
  if (failed(checkRows(location, op, operands, dim)))
    return failure();
  TensorType type = getTensorType(operands[0]);
  return appendTensorType(location, type.getElementType(), type.getDims(),
                          types);
}

/// The largest entry of a row and log(sum(exp(entry - largest))).
static std::pair<double, double> getLogSum(const double *row, int64_t count,
                                           int64_t stride) {
  double largest = row[0], sum = 0;
  for (int64_t i = 1; i < count; ++i)
    largest = std::fmax(largest, row[i * stride]);
  for (int64_t i = 0; i < count; ++i)
    sum += exponential(row[i * stride] - largest);
  return {largest, std::log(sum)};
}

/// A tensor of the operand's dims whose entries are `finish` of
/// log_softmax(operand) along `dim`.
static SmallVector<HostTensor>
evaluateRows(const HostTensor &input, StringRef dim,
             const EvaluationContext &context, Type resultType,
             function_ref<double(double)> finish) {
  SmallVector<HostTensor> results;
  HostTensor &result = results.emplace_back(context.makeTensor(resultType));
  int64_t position = input.type.getDimIndex(dim);
  int64_t count = input.sizes[position];
  SmallVector<SmallVector<int64_t>> strides = {input.getStrides()};
  int64_t stride = strides[0][position];
  SmallVector<int64_t> rows(input.sizes);
  rows[position] = 1;
  forEachIndex(rows, strides,
               [&](ArrayRef<int64_t>, ArrayRef<int64_t> offsets) {
                 const double *row = &input.data[offsets[0]];
                 auto [largest, logSum] = getLogSum(row, count, stride);
                 for (int64_t i = 0; i < count; ++i)
                   result.data[offsets[0] + i * stride] =
                       context.round(finish(row[i * stride] - largest - logSum),
                                     result.type.getElementType());
               });
  return results;
}

/// A maximum, a subtraction and a sum for each entry of the first operand.
static OpCost getRowCost(Operation *op, double transcendentals) {
  double entries =
      getTensorType(op->getOperand(0)).getLocalElementCount(MeshAttr::of(op));
  OpCost cost;
  cost.flops = 4 * entries;
  cost.transcendentals = transcendentals * entries;
  cost.bytes = getTrafficBytes(op);
  return cost;
}

namespace {
/// The primitives that the three ops start with, in f32. Equal for all ops over
/// the same rows, so that forward and backward share them.
struct Rows {
  Value shifted, exponentials, sums;

  Rows(ValueBuilder &build, OpBuilder &builder, Value input, StringAttr dim) {
    Value x = build.castTo(input, builder.getF32Type());
    ArrayAttr dims = builder.getArrayAttr({dim});
    shifted = build.make<SubOp>(x, build.make<ReduceMaxOp>(x, dims));
    exponentials = build.make<ExpOp>(shifted);
    sums = build.make<ReduceSumOp>(exponentials, dims);
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// SoftmaxOp
//===----------------------------------------------------------------------===//

LogicalResult
SoftmaxOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                            ValueRange operands, DictionaryAttr attributes,
                            OpaqueProperties properties, RegionRange regions,
                            SmallVectorImpl<Type> &types) {
  Adaptor adaptor(operands, attributes, properties, regions);
  return inferRows(location, getShortName<SoftmaxOp>(), operands,
                   adaptor.getDimAttr(), types);
}

SmallVector<HostTensor>
SoftmaxOp::evaluate(ArrayRef<const HostTensor *> operands,
                    const EvaluationContext &context) {
  return evaluateRows(*operands[0], getDim(), context, getType(), exponential);
}

// y·(g - sum(g·y)).
LogicalResult SoftmaxOp::buildGradient(OpBuilder &builder,
                                       ArrayRef<Value> resultGrads,
                                       SmallVectorImpl<Value> &operandGrads) {
  Value g = resultGrads[0], y = getResult();
  if (!g)
    return success();
  ValueBuilder build(builder, getLoc());
  Value sum = build.make<ReduceSumOp>(build.make<MulOp>(g, y),
                                      builder.getArrayAttr({getDimAttr()}));
  operandGrads[0] = build.make<MulOp>(y, build.make<SubOp>(g, sum));
  return success();
}

PartitionRule SoftmaxOp::getPartitionRule() {
  return getRuleByNames(*this, getDim());
}

OpCost SoftmaxOp::getCost() { return getRowCost(*this, 1); }

SmallVector<Value> SoftmaxOp::decompose(OpBuilder &builder) {
  ValueBuilder build(builder, getLoc());
  Rows rows(build, builder, getInput(), getDimAttr());
  // One division per row, one product per entry.
  Value scale = build.make<ReciprocalOp>(rows.sums);
  Value result = build.make<MulOp>(rows.exponentials, scale);
  return {build.castTo(result, getType().getElementType())};
}

//===----------------------------------------------------------------------===//
// LogSoftmaxOp
//===----------------------------------------------------------------------===//

LogicalResult
LogSoftmaxOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                               ValueRange operands, DictionaryAttr attributes,
                               OpaqueProperties properties, RegionRange regions,
                               SmallVectorImpl<Type> &types) {
  Adaptor adaptor(operands, attributes, properties, regions);
  return inferRows(location, getShortName<LogSoftmaxOp>(), operands,
                   adaptor.getDimAttr(), types);
}

SmallVector<HostTensor>
LogSoftmaxOp::evaluate(ArrayRef<const HostTensor *> operands,
                       const EvaluationContext &context) {
  return evaluateRows(*operands[0], getDim(), context, getType(),
                      [](double x) { return x; });
}

// g - exp(y)·sum(g).
LogicalResult
LogSoftmaxOp::buildGradient(OpBuilder &builder, ArrayRef<Value> resultGrads,
                            SmallVectorImpl<Value> &operandGrads) {
  Value g = resultGrads[0];
  if (!g)
    return success();
  ValueBuilder build(builder, getLoc());
  Value sum = build.make<ReduceSumOp>(g, builder.getArrayAttr({getDimAttr()}));
  Value share = build.make<MulOp>(build.make<ExpOp>(getResult()), sum);
  operandGrads[0] = build.make<SubOp>(g, share);
  return success();
}

PartitionRule LogSoftmaxOp::getPartitionRule() {
  return getRuleByNames(*this, getDim());
}

OpCost LogSoftmaxOp::getCost() { return getRowCost(*this, 1); }

SmallVector<Value> LogSoftmaxOp::decompose(OpBuilder &builder) {
  ValueBuilder build(builder, getLoc());
  Rows rows(build, builder, getInput(), getDimAttr());
  Value result = build.make<SubOp>(rows.shifted, build.make<LogOp>(rows.sums));
  return {build.castTo(result, getType().getElementType())};
}

//===----------------------------------------------------------------------===//
// CrossEntropyOp
//===----------------------------------------------------------------------===//

LogicalResult CrossEntropyOp::inferReturnTypes(
    MLIRContext *, std::optional<Location> location, ValueRange operands,
    DictionaryAttr attributes, OpaqueProperties properties, RegionRange regions,
    SmallVectorImpl<Type> &types) {
  Adaptor adaptor(operands, attributes, properties, regions);
  StringRef name = getShortName<CrossEntropyOp>();
  StringAttr dim = adaptor.getDimAttr();
  FailureOr<SmallVector<DimAttr>> dims = uniteDims(location, name, operands);
  if (failed(dims) || failed(checkRows(location, name, operands, dim)))
    return failure();
  if (failed(checkNumbered(location, name,
                           getTensorType(operands[0]).getDim(dim))))
    return failure();
  TensorType targets = getTensorType(operands[1]);
  if (!targets.getElementType().isInteger(32))
    return emitOptionalError(
        location, name, ": targets must be i32 class numbers, got ", targets);
  if (targets.hasDim(dim.getValue()))
    return emitOptionalError(location, name, ": targets are entries of dim '",
                             dim.getValue(), "' and must not have it, got ",
                             targets);
  llvm::erase_if(*dims, [&](DimAttr d) { return d.getName() == dim; });
  return appendTensorType(location, getTensorType(operands[0]).getElementType(),
                          *dims, types);
}

/// The number of targets that do not count, if the op has one.
static std::optional<double> getIgnored(CrossEntropyOp op) {
  if (IntegerAttr ignored = op.getIgnoredAttr())
    return static_cast<double>(ignored.getInt());
  return std::nullopt;
}

SmallVector<HostTensor>
CrossEntropyOp::evaluate(ArrayRef<const HostTensor *> operands,
                         const EvaluationContext &context) {
  const HostTensor &logits = *operands[0], &targets = *operands[1];
  SmallVector<HostTensor> results;
  HostTensor &result = results.emplace_back(context.makeTensor(getType()));
  SmallVector<SmallVector<int64_t>> strides = {
      logits.getStridesAlong(result.type),
      targets.getStridesAlong(result.type)};
  int64_t count = logits.sizes[logits.type.getDimIndex(getDim())];
  int64_t stride = logits.getStrideOf(getDim()), position = 0;
  forEachIndex(
      result.sizes, strides, [&](ArrayRef<int64_t>, ArrayRef<int64_t> offsets) {
        const double *row = &logits.data[offsets[0]];
        double target = targets.data[offsets[1]];
        double value = std::numeric_limits<double>::quiet_NaN();
        if (target == meshc::nd::getIgnored(*this))
          value = 0;
        else if (target >= 0 && target < count) {
          auto [largest, logSum] = getLogSum(row, count, stride);
          value = logSum + largest - row[static_cast<int64_t>(target) * stride];
        }
        result.data[position++] =
            context.round(value, result.type.getElementType());
      });
  return results;
}

/// i1: the entry along `dim` is the target.
static Value isTarget(ValueBuilder &build, OpBuilder &builder, DimAttr dim,
                      Value targets) {
  auto type = TensorType::get(builder.getI32Type(), {dim});
  return build.compare(Predicate::Eq, build.make<IotaOp>(type), targets);
}

/// `value` where the target counts, else 0.
static Value selectCounted(ValueBuilder &build, CrossEntropyOp op,
                           Value value) {
  std::optional<double> number = getIgnored(op);
  if (!number)
    return value;
  Value ignored = build.scalar(op.getTargets(), *number);
  return build.make<SelectOp>(
      build.compare(Predicate::Eq, op.getTargets(), ignored),
      build.scalar(value, 0), value);
}

// (softmax(logits) - one_hot(targets))·g.
LogicalResult
CrossEntropyOp::buildGradient(OpBuilder &builder, ArrayRef<Value> resultGrads,
                              SmallVectorImpl<Value> &operandGrads) {
  Value g = resultGrads[0];
  if (!g)
    return success();
  ValueBuilder build(builder, getLoc());
  g = selectCounted(build, *this, g);
  DimAttr dim = getLogits().getType().getDim(getDim());
  Value share = build.make<SoftmaxOp>(getLogits(), getDimAttr());
  Value less = build.make<SubOp>(share, build.scalar(g, 1.0));
  Value slope = build.make<SelectOp>(
      isTarget(build, builder, dim, getTargets()), less, share);
  operandGrads[0] =
      build.sumTo(build.make<MulOp>(slope, g), getLogits().getType());
  return success();
}

PartitionRule CrossEntropyOp::getPartitionRule() {
  return getRuleByNames(*this, getDim());
}

OpCost CrossEntropyOp::getCost() { return getRowCost(*this, 1); }

SmallVector<Value> CrossEntropyOp::decompose(OpBuilder &builder) {
  ValueBuilder build(builder, getLoc());
  Rows rows(build, builder, getLogits(), getDimAttr());
  DimAttr dim = getLogits().getType().getDim(getDim());
  Value isPicked = isTarget(build, builder, dim, getTargets());
  Value zero = build.scalar(rows.shifted, 0.0);
  Value picked = build.make<ReduceSumOp>(
      build.make<SelectOp>(isPicked, rows.shifted, zero),
      builder.getArrayAttr({getDimAttr()}));
  Value loss = build.make<SubOp>(build.make<LogOp>(rows.sums), picked);
  // A target that is no entry would give a number that looks like a loss.
  Value first = build.scalar(getTargets(), 0);
  Value end = build.scalar(getTargets(), dim.getSize());
  Value isInside =
      build.make<AndOp>(build.compare(Predicate::Ge, getTargets(), first),
                        build.compare(Predicate::Lt, getTargets(), end));
  Value undefined =
      build.scalar(loss, std::numeric_limits<double>::quiet_NaN());
  Value result = build.make<SelectOp>(isInside, loss, undefined);
  result = selectCounted(build, *this, result);
  return {build.castTo(result, getType().getElementType())};
}

} // namespace meshc::nd
