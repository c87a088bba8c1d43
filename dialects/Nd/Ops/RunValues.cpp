//===- RunValues.cpp - numbers that a run gives to its steps --------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/SourceOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <cmath>

using namespace mlir;

namespace meshc::nd {

//===----------------------------------------------------------------------===//
// StepOp
//===----------------------------------------------------------------------===//

LogicalResult StepOp::verify() {
  TensorType wanted = TensorType::get(IntegerType::get(getContext(), 32), {});
  if (getType() != wanted)
    return emitOpError("the result must be ")
           << wanted << ", got " << getType();
  return success();
}

SmallVector<HostTensor> StepOp::evaluate(ArrayRef<const HostTensor *>,
                                         const EvaluationContext &context) {
  HostTensor result = context.makeTensor(getType());
  result.data[0] = context.step;
  return {std::move(result)};
}

LogicalResult StepOp::buildGradient(OpBuilder &, ArrayRef<Value>,
                                    SmallVectorImpl<Value> &) {
  return success();
}

PartitionRule StepOp::getPartitionRule() { return getRuleByNames(*this); }

OpCost StepOp::getCost() { return getElementwiseCost(*this, 0); }

Value StepOp::emitElement(ElementEmitter &emitter, const ElementIndex &) {
  return arith::TruncIOp::create(emitter.builder, emitter.loc,
                                 emitter.builder.getI32Type(),
                                 emitter.getStep());
}

bool StepOp::supportsLanes(StringRef, int64_t, MeshAttr) { return true; }

OperandDim StepOp::getOperandDim(unsigned, StringRef) { return {}; }

//===----------------------------------------------------------------------===//
// SettingValueOp
//===----------------------------------------------------------------------===//

void SettingValueOp::build(OpBuilder &builder, OperationState &state,
                           StringRef name, double value, SettingForm form) {
  build(builder, state, TensorType::get(builder.getF32Type(), {}), name,
        APFloat(value), form);
}

LogicalResult SettingValueOp::verify() {
  TensorType wanted = TensorType::get(Float32Type::get(getContext()), {});
  if (getType() != wanted)
    return emitOpError("the result must be ")
           << wanted << ", got " << getType();
  return success();
}

SmallVector<HostTensor>
SettingValueOp::evaluate(ArrayRef<const HostTensor *>,
                         const EvaluationContext &context) {
  HostTensor result = context.makeTensor(getType());
  result.data[0] = context.round(computeForm(), getType().getElementType());
  return {std::move(result)};
}

double SettingValueOp::computeForm() {
  double value = getValue().convertToDouble();
  switch (getForm()) {
  case SettingForm::Value:
    return value;
  case SettingForm::Complement:
    return 1 - value;
  case SettingForm::NegativeLog:
    return -std::log(value);
  }
  llvm_unreachable("all forms are above");
}

LogicalResult SettingValueOp::buildGradient(OpBuilder &, ArrayRef<Value>,
                                            SmallVectorImpl<Value> &) {
  return success();
}

PartitionRule SettingValueOp::getPartitionRule() {
  return getRuleByNames(*this);
}

OpCost SettingValueOp::getCost() { return getElementwiseCost(*this, 0); }

Value SettingValueOp::emitElement(ElementEmitter &emitter,
                                  const ElementIndex &) {
  if (Value value = emitter.getSetting(getNameAttr(), getForm()))
    return value;
  return emitter.constant(getType().getElementType(), computeForm());
}

bool SettingValueOp::supportsLanes(StringRef, int64_t, MeshAttr) {
  return true;
}

OperandDim SettingValueOp::getOperandDim(unsigned, StringRef) { return {}; }

} // namespace meshc::nd
