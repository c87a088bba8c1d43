//===- Pointwise.cpp - one element from one element of each operand -------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What unary and binary ops share, and the ops that change or mix element
// types: compare, select, cast.
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/Pointwise.h"
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/Ops/Predicates.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>

#define GET_OP_CLASSES
#include "dialects/Nd/Ops/Pointwise.cpp.inc"

using namespace mlir;

namespace meshc::nd {

void NdDialect::registerPointwise() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Nd/Ops/Pointwise.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// What all share
//===----------------------------------------------------------------------===//

LogicalResult checkDomain(std::optional<Location> location, StringRef op,
                          Type elementType, Domain domain) {
  bool isFloat = isa<FloatType>(elementType);
  bool isBoolean = elementType.isInteger(1);
  StringRef wanted;
  if (domain == Domain::Float && !isFloat)
    wanted = "floats (f32, bf16 or f16; 'cast' converts)";
  if (domain == Domain::Number && isBoolean)
    wanted = "floats or i32 ('cast' converts)";
  if (domain == Domain::Boolean && !isBoolean)
    wanted = "i1 (a comparison gives it)";
  if (wanted.empty())
    return success();
  return emitOptionalError(location, op, ": expected ", wanted, ", got ",
                           elementType);
}

/// Reports operands of two element types.
static LogicalResult checkSameElementType(std::optional<Location> location,
                                          StringRef op, Value a, Value b) {
  Type first = getTensorType(a).getElementType();
  Type second = getTensorType(b).getElementType();
  if (first == second)
    return success();
  return emitOptionalError(location, op,
                           ": operands must have one element type, got ", first,
                           " and ", second, "; 'cast' converts");
}

LogicalResult inferPointwise(std::optional<Location> location, StringRef op,
                             ValueRange operands, Domain domain,
                             SmallVectorImpl<Type> &types) {
  FailureOr<SmallVector<DimAttr>> dims = uniteDims(location, op, operands);
  if (failed(dims))
    return failure();
  for (Value operand : operands.drop_front())
    if (failed(checkSameElementType(location, op, operands[0], operand)))
      return failure();
  Type elementType = getTensorType(operands[0]).getElementType();
  if (failed(checkDomain(location, op, elementType, domain)))
    return failure();
  return appendTensorType(location, elementType, *dims, types);
}

SmallVector<HostTensor>
evaluatePointwise(Operation *op, ArrayRef<const HostTensor *> operands,
                  const EvaluationContext &context,
                  function_ref<double(ArrayRef<double>)> compute) {
  SmallVector<HostTensor> results;
  HostTensor &result =
      results.emplace_back(context.makeTensor(op->getResult(0).getType()));
  SmallVector<SmallVector<int64_t>> strides;
  for (const HostTensor *operand : operands)
    strides.push_back(operand->getStridesAlong(result.type));
  SmallVector<double, 3> x(operands.size());
  int64_t position = 0;
  forEachIndex(result.sizes, strides,
               [&](ArrayRef<int64_t>, ArrayRef<int64_t> offsets) {
                 for (size_t i = 0; i < operands.size(); ++i)
                   x[i] = operands[i]->data[offsets[i]];
                 result.data[position++] =
                     context.round(compute(x), result.type.getElementType());
               });
  return results;
}

Value widen(ValueBuilder &build, Value value) {
  return getTensorType(value).isShortFloat()
             ? build.castTo(value, Float32Type::get(value.getContext()))
             : value;
}

void roundToOperands(ValueBuilder &build, Operation *op,
                     SmallVectorImpl<Value> &operandGrads) {
  for (auto [operand, grad] : llvm::zip(op->getOperands(), operandGrads))
    if (grad)
      grad = build.castTo(grad, getTensorType(operand).getElementType());
}

void sumToOperands(ValueBuilder &build, Operation *op,
                   SmallVectorImpl<Value> &operandGrads) {
  for (auto [grad, operand] : llvm::zip(operandGrads, op->getOperands()))
    if (grad)
      grad = build.sumTo(grad, operand.getType());
}

PartitionRule getPointwiseRule(Operation *op, Linear linear) {
  PartitionRule rule = getRuleByNames(op);
  if (linear == Linear::First || (linear == Linear::FirstOfFloats &&
                                  getTensorType(op->getResult(0)).isFloat()))
    rule.linearOperands.push_back(0);
  if (linear == Linear::Each)
    for (unsigned i = 0; i < op->getNumOperands(); ++i)
      rule.linearOperands.push_back(i);
  rule.jointlyLinear = linear == Linear::Joint;
  return rule;
}

SmallVector<Value, 3> getOperandElements(Operation *op, ElementEmitter &emitter,
                                         const ElementIndex &index) {
  SmallVector<Value, 3> x;
  for (Value operand : op->getOperands()) {
    x.push_back(emitter.getElement(operand, index));
    if (!x.back())
      return {};
  }
  // The second round reaches those before the first vector.
  for (int round = 0; round < 2; ++round)
    for (size_t i = 1; i < x.size(); ++i)
      emitter.unify(x[0], x[i]);
  return x;
}

std::optional<double> getConstantNumber(Attribute constant) {
  if (auto real = dyn_cast_or_null<FloatAttr>(constant))
    return real.getValueAsDouble();
  if (auto integer = dyn_cast_or_null<IntegerAttr>(constant))
    return integer.getType().isInteger(1) ? integer.getValue().getBoolValue()
                                          : integer.getInt();
  return std::nullopt;
}

Attribute makeConstant(double number, Type elementType) {
  number = roundToElementType(number, elementType);
  if (isa<FloatType>(elementType))
    return FloatAttr::get(elementType, number);
  return IntegerAttr::get(elementType, static_cast<int64_t>(number));
}

//===----------------------------------------------------------------------===//
// CompareOp
//===----------------------------------------------------------------------===//

LogicalResult CompareOp::inferReturnTypes(MLIRContext *context,
                                          std::optional<Location> location,
                                          ValueRange operands, DictionaryAttr,
                                          OpaqueProperties, RegionRange,
                                          SmallVectorImpl<Type> &types) {
  FailureOr<SmallVector<DimAttr>> dims =
      uniteDims(location, getShortName<CompareOp>(), operands);
  if (failed(dims) ||
      failed(checkSameElementType(location, getShortName<CompareOp>(),
                                  operands[0], operands[1])))
    return failure();
  return appendTensorType(location, IntegerType::get(context, 1), *dims, types);
}

SmallVector<HostTensor>
CompareOp::evaluate(ArrayRef<const HostTensor *> operands,
                    const EvaluationContext &context) {
  return evaluatePointwise(*this, operands, context,
                           [&](ArrayRef<double> x) -> double {
                             return holds(getPredicate(), x[0], x[1]);
                           });
}

LogicalResult CompareOp::buildGradient(OpBuilder &, ArrayRef<Value>,
                                       SmallVectorImpl<Value> &) {
  return success();
}

PartitionRule CompareOp::getPartitionRule() {
  return getPointwiseRule(*this, Linear::None);
}

OpCost CompareOp::getCost() { return getElementwiseCost(*this, 1); }

Value CompareOp::emitElement(ElementEmitter &emitter,
                             const ElementIndex &index) {
  auto x = getOperandElements(*this, emitter, index);
  if (x.empty())
    return {};
  ElementCode code{emitter};
  if (isFloatElement(x[0]))
    return code.make<arith::CmpFOp>(getFloatPredicate(getPredicate()), x[0],
                                    x[1]);
  bool isSigned = !getElementTypeOrSelf(x[0]).isInteger(1);
  return code.make<arith::CmpIOp>(getIntegerPredicate(getPredicate(), isSigned),
                                  x[0], x[1]);
}

bool CompareOp::supportsLanes(StringRef, int64_t, MeshAttr) { return true; }

OperandDim CompareOp::getOperandDim(unsigned operand, StringRef dim) {
  return getSameDim(getOperation()->getOperand(operand), dim);
}

//===----------------------------------------------------------------------===//
// SelectOp
//===----------------------------------------------------------------------===//

LogicalResult SelectOp::inferReturnTypes(MLIRContext *,
                                         std::optional<Location> location,
                                         ValueRange operands, DictionaryAttr,
                                         OpaqueProperties, RegionRange,
                                         SmallVectorImpl<Type> &types) {
  StringRef name = getShortName<SelectOp>();
  FailureOr<SmallVector<DimAttr>> dims = uniteDims(location, name, operands);
  if (failed(dims) ||
      failed(checkSameElementType(location, name, operands[1], operands[2])))
    return failure();
  Type condition = getTensorType(operands[0]).getElementType();
  if (!condition.isInteger(1))
    return emitOptionalError(
        location, name,
        ": the condition must be i1 (a comparison gives it), got ", condition);
  return appendTensorType(location, getTensorType(operands[1]).getElementType(),
                          *dims, types);
}

SmallVector<HostTensor>
SelectOp::evaluate(ArrayRef<const HostTensor *> operands,
                   const EvaluationContext &context) {
  return evaluatePointwise(*this, operands, context, [](ArrayRef<double> x) {
    return x[0] != 0 ? x[1] : x[2];
  });
}

LogicalResult SelectOp::buildGradient(OpBuilder &builder,
                                      ArrayRef<Value> resultGrads,
                                      SmallVectorImpl<Value> &operandGrads) {
  Value g = resultGrads[0];
  if (!g || !getType().isFloat())
    return success();
  ValueBuilder build(builder, getLoc());
  Value zero = build.scalar(g, 0.0);
  operandGrads[1] = build.make<SelectOp>(getCondition(), g, zero);
  operandGrads[2] = build.make<SelectOp>(getCondition(), zero, g);
  sumToOperands(build, *this, operandGrads);
  return success();
}

PartitionRule SelectOp::getPartitionRule() {
  PartitionRule rule = getRuleByNames(*this);
  // Linear in one choice where the other is zero.
  if (isConstantOf(getOnFalse(), 0))
    rule.linearOperands.push_back(1);
  if (isConstantOf(getOnTrue(), 0))
    rule.linearOperands.push_back(2);
  return rule;
}

OpCost SelectOp::getCost() { return getElementwiseCost(*this, 1); }

Value SelectOp::emitElement(ElementEmitter &emitter,
                            const ElementIndex &index) {
  auto x = getOperandElements(*this, emitter, index);
  if (x.empty())
    return {};
  return ElementCode{emitter}.make<arith::SelectOp>(x[0], x[1], x[2]);
}

bool SelectOp::supportsLanes(StringRef, int64_t, MeshAttr) { return true; }

OperandDim SelectOp::getOperandDim(unsigned operand, StringRef dim) {
  return getSameDim(getOperation()->getOperand(operand), dim);
}

//===----------------------------------------------------------------------===//
// CastOp
//===----------------------------------------------------------------------===//

LogicalResult CastOp::verify() {
  TensorType to = getType();
  if (haveSameGlobalType(
          getInput().getType().withElementType(to.getElementType()), to))
    return success();
  return emitOpError("changes the element type only, got dims of ")
         << getInput().getType() << " and of " << to;
}

SmallVector<HostTensor> CastOp::evaluate(ArrayRef<const HostTensor *> operands,
                                         const EvaluationContext &context) {
  bool truncates = getInput().getType().isFloat() &&
                   getType().getElementType().isInteger(32);
  return evaluatePointwise(
      *this, operands, context, [&](ArrayRef<double> x) -> double {
        if (!truncates)
          return getType().getElementType().isInteger(1) ? x[0] != 0 : x[0];
        return std::isnan(x[0])
                   ? 0
                   : std::clamp(std::trunc(x[0]), -2147483648.0, 2147483647.0);
      });
}

LogicalResult CastOp::buildGradient(OpBuilder &builder,
                                    ArrayRef<Value> resultGrads,
                                    SmallVectorImpl<Value> &operandGrads) {
  TensorType from = getInput().getType();
  if (resultGrads[0] && from.isFloat() && getType().isFloat())
    operandGrads[0] = ValueBuilder(builder, getLoc())
                          .castTo(resultGrads[0], from.getElementType());
  return success();
}

PartitionRule CastOp::getPartitionRule() {
  Type from = getInput().getType().getElementType();
  Type to = getType().getElementType();
  // Partial sums are not rounded to a shorter type before they are added.
  bool widens = isa<FloatType>(from) && isa<FloatType>(to) &&
                from.getIntOrFloatBitWidth() < to.getIntOrFloatBitWidth();
  return getPointwiseRule(*this,
                          widens || from == to ? Linear::First : Linear::None);
}

OpCost CastOp::getCost() { return getElementwiseCost(*this, 1); }

/// Truncates f32 toward zero; saturates; NaN gives 0. arith.fptosi alone is
/// undefined out of range.
static Value emitToI32(ElementCode code, Value x) {
  using P = arith::CmpFPredicate;
  Value limit = code.constant(x, 2147483648.0), zero = code.constant(x, 0.0);
  Value isInside =
      code.make<arith::CmpFOp>(P::OLT, code.make<math::AbsFOp>(x), limit);
  Value inside = code.make<arith::SelectOp>(isInside, x, zero);
  Type i32 =
      code.emitter.getComputeType(IntegerType::get(x.getContext(), 32), x);
  Value number = code.make<arith::FPToSIOp>(i32, inside);
  Value isAbove = code.make<arith::CmpFOp>(P::OGE, x, limit);
  Value isBelow =
      code.make<arith::CmpFOp>(P::OLE, x, code.constant(x, -2147483648.0));
  Value most = code.constant(number, 2147483647);
  Value least = code.constant(number, -2147483648.0);
  number = code.make<arith::SelectOp>(isAbove, most, number);
  return code.make<arith::SelectOp>(isBelow, least, number);
}

/// Rounds a float as a 16-bit float holds it; it stays f32.
static Value emitRounding(ElementCode code, Value x, Type elementType) {
  Type narrow = elementType;
  if (auto vector = dyn_cast<VectorType>(x.getType()))
    narrow = VectorType::get(vector.getShape(), elementType);
  return code.make<arith::ExtFOp>(x.getType(),
                                  code.make<arith::TruncFOp>(narrow, x));
}

Value CastOp::emitElement(ElementEmitter &emitter, const ElementIndex &index) {
  Value x = emitter.getElement(getInput(), index);
  if (!x)
    return {};
  ElementCode code{emitter};
  Type from = getInput().getType().getElementType();
  Type to = getType().getElementType();
  if (from == to)
    return x;
  if (to.isInteger(1)) {
    Value zero = code.constant(x, 0);
    if (isFloatElement(x))
      return code.make<arith::CmpFOp>(arith::CmpFPredicate::UNE, x, zero);
    return code.make<arith::CmpIOp>(arith::CmpIPredicate::ne, x, zero);
  }
  Type computed = emitter.getComputeType(to, x);
  if (to.isInteger(32))
    return isFloatElement(x) ? emitToI32(code, x)
                             : code.make<arith::ExtUIOp>(computed, x);
  if (from.isInteger(1))
    x = code.make<arith::UIToFPOp>(computed, x);
  if (from.isInteger(32))
    x = code.make<arith::SIToFPOp>(computed, x);
  return to.isF32() ? x : emitRounding(code, x, to);
}

bool CastOp::supportsLanes(StringRef, int64_t, MeshAttr) { return true; }

OperandDim CastOp::getOperandDim(unsigned operand, StringRef dim) {
  return getSameDim(getInput(), dim);
}

OpFoldResult CastOp::fold(FoldAdaptor) {
  return getInput().getType() == getType() ? getInput() : Value();
}

} // namespace meshc::nd
