//===- ParameterAverages.cpp - moving averages of parameters --------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Steps/ParameterAverages.h"
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/Ops/SourceOps.h"
#include "dialects/Nd/Ops/ValueBuilder.h"
#include "lib/Steps/StepValues.h"

using namespace mlir;

namespace meshc::steps {

bool ModelParts::isAveraged(const StepTensor &parameter) const {
  return averageOp && cast<nd::TensorType>(parameter.type).isFloat();
}

StepTensor getAverage(const StepTensor &parameter) {
  MLIRContext *context = parameter.name.getContext();
  return {StringAttr::get(context, parameter.name.getValue() + ".average"),
          cast<nd::TensorType>(parameter.type)
              .withElementType(Float32Type::get(context)),
          parameter.order,
          nd::TensorRole::Average,
          nd::TensorClass::Optimizer,
          parameter.name};
}

AverageStep::AverageStep(OpBuilder &builder, nd::AverageOp op, Value decay)
    : builder(builder), loc(op.getLoc()) {
  nd::ValueBuilder build(builder, loc);
  Type f32 = builder.getF32Type();
  weight = decay ? build.make<nd::SubOp>(build.scalar(f32, 1), decay)
                 : build.make<nd::SettingValueOp>(
                       averageSetting, op.getConstant()->convertToDouble(),
                       nd::SettingForm::Complement);
}

Value AverageStep::move(Value before, Value updated, const StepTensor &state) {
  nd::ValueBuilder build(builder, loc);
  auto name = [&](Value value) {
    markOptimizerValue(value, state.name, state.parameter);
    return value;
  };
  if (Value wide = build.castTo(updated, builder.getF32Type()); wide != updated)
    updated = name(wide);
  Value difference = name(build.make<nd::SubOp>(updated, before));
  Value change = name(build.make<nd::MulOp>(difference, weight));
  return name(build.make<nd::AddOp>(before, change));
}

} // namespace meshc::steps
