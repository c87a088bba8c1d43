//===- LossScale.cpp - gradients within the range of f16 ------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Steps/LossScale.h"
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/Ops/ReductionOps.h"
#include "dialects/Nd/Ops/ValueBuilder.h"
#include "lib/Steps/StepValues.h"
#include <limits>

using namespace mlir;

namespace meshc::steps {

SmallVector<StepTensor> LossScale::getState(MLIRContext *context) {
  Type scalar = nd::TensorType::get(Float32Type::get(context), {});
  SmallVector<StepTensor> state;
  // No parameter has a name that begins so.
  for (StringRef name : {"@loss_scale", "@good_steps"})
    state.push_back({StringAttr::get(context, name), scalar,
                     ArrayAttr::get(context, {}), nd::TensorRole::Optimizer,
                     nd::TensorClass::Optimizer});
  return state;
}

void LossScale::unscale(MutableArrayRef<Value> gradients,
                        ArrayRef<StepTensor> parameters) {
  nd::ValueBuilder build(builder, loc);
  Type f32 = builder.getF32Type();
  Value inverse = build.make<nd::ReciprocalOp>(scale);
  Value largest;
  for (auto [gradient, parameter] : llvm::zip(gradients, parameters)) {
    if (!gradient)
      continue;
    auto named = [&](StringRef what, Value value) {
      std::string text =
          (what + " gradient of " + parameter.name.getValue()).str();
      markOptimizerValue(value, builder.getStringAttr(text), parameter.name);
      return value;
    };
    if (Value wide = build.castTo(gradient, f32); wide != gradient)
      gradient = named("wide", wide);
    gradient = named("unscaled", build.make<nd::MulOp>(gradient, inverse));
    Value size = named("absolute", build.make<nd::AbsOp>(gradient));
    SmallVector<StringAttr> dims;
    for (nd::DimAttr dim : nd::getTensorType(size).getDims())
      dims.push_back(dim.getName());
    size = build.reduce<nd::ReduceMaxOp>(size, dims);
    largest = largest ? build.make<nd::MaximumOp>(largest, size) : size;
  }
  // A maximum with NaN is NaN, which is not below infinity.
  isFinite =
      build.compare(nd::Predicate::Lt, largest,
                    build.scalar(f32, std::numeric_limits<double>::infinity()));
  skipped = build.make<nd::SelectOp>(isFinite, build.scalar(f32, 0),
                                     build.scalar(f32, 1));
}

Value LossScale::choose(Value updated, Value before, StringAttr name,
                        StringAttr parameter) {
  Value chosen = nd::ValueBuilder(builder, loc)
                     .make<nd::SelectOp>(isFinite, updated, before);
  markOptimizerValue(chosen, name, parameter);
  return chosen;
}

StepTensor LossScale::describeSkipped(MLIRContext *context) {
  return {StringAttr::get(context, "skipped"),
          nd::TensorType::get(Float32Type::get(context), {}),
          ArrayAttr::get(context, {}), nd::TensorRole::Skipped};
}

SmallVector<Value> LossScale::getNext(int64_t interval) {
  nd::ValueBuilder build(builder, loc);
  auto number = [&](double value) {
    return build.scalar(builder.getF32Type(), value);
  };
  Value good = build.make<nd::AddOp>(goodSteps, number(1));
  Value isLong = build.compare(nd::Predicate::Ge, good,
                               number(static_cast<double>(interval)));
  Value larger = build.make<nd::SelectOp>(
      isLong, build.make<nd::MulOp>(scale, number(2)), scale);
  // The inverse of larger ones is not a normal number.
  larger = build.make<nd::MinimumOp>(larger, number(0x1p126));
  Value smaller = build.make<nd::MaximumOp>(
      build.make<nd::MulOp>(scale, number(0.5)), number(1));
  Value counted = build.make<nd::SelectOp>(isLong, number(0), good);
  return {build.make<nd::SelectOp>(isFinite, larger, smaller),
          build.make<nd::SelectOp>(isFinite, counted, number(0))};
}

} // namespace meshc::steps
