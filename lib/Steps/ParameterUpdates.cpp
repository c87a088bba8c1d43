//===- ParameterUpdates.cpp - the state of a training and its updates -----===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Steps/ParameterUpdates.h"
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/Ops/SourceOps.h"
#include "dialects/Nd/Ops/ValueBuilder.h"
#include "lib/Steps/ParameterAverages.h"
#include "lib/Steps/StepValues.h"

using namespace mlir;

namespace meshc::steps {

/// The number of updates so far: a scalar i32.
static StepTensor getCountState(MLIRContext *context) {
  // No parameter has a name that begins so.
  return {StringAttr::get(context, "@updates"),
          nd::TensorType::get(IntegerType::get(context, 32), {}),
          ArrayAttr::get(context, {}), nd::TensorRole::Optimizer,
          nd::TensorClass::Optimizer};
}

/// What a model in f16 has besides.
static SmallVector<StepTensor> getScaleState(const ModelParts &parts) {
  if (!parts.scaleMetric)
    return {};
  return LossScale::getState(parts.scaleMetric->name.getContext());
}

void addInitialState(StepFunction &step, const ModelParts &parts,
                     ArrayRef<Value> values) {
  MLIRContext *context = step.builder.getContext();
  auto addConstant = [&](const StepTensor &state, Location loc, double value) {
    step.addResult(
        state, nd::ConstantOp::create(step.builder, loc,
                                      cast<nd::TensorType>(state.type), value));
  };
  auto addWide = [&](const StepTensor &state, Location loc, Value value) {
    step.addResult(state, nd::ValueBuilder(step.builder, loc)
                              .castTo(value, step.builder.getF32Type()));
  };
  for (auto [index, value] : llvm::enumerate(values))
    for (const nd::OptimizerSlot &slot : parts.settings.getSlots(index)) {
      Location loc = nd::ParameterOp(parts.parameterOps[index]).getLoc();
      if (slot.isMaster)
        addWide(parts.getSlot(index, slot), loc, value);
      else
        addConstant(parts.getSlot(index, slot), loc, 0);
    }
  nd::TrainOp train = parts.train;
  if (train && parts.settings.countsUpdates())
    addConstant(getCountState(context), train.getLoc(), 0);
  double value = parts.scaleMetric ? train.getLossScale().convertToDouble() : 0;
  for (const StepTensor &state : getScaleState(parts)) {
    addConstant(state, train.getLoc(), value);
    value = 0; // of the steps so far
  }
  for (auto [parameter, initial] : llvm::zip(parts.parameters, values))
    if (parts.isAveraged(parameter))
      addWide(getAverage(parameter), nd::AverageOp(parts.averageOp).getLoc(),
              initial);
}

ParameterUpdates::ParameterUpdates(StepFunction &step, const ModelParts &parts,
                                   const IRMapping &mapping)
    : step(step), parts(parts), mapping(mapping) {
  Location loc = nd::TrainOp(parts.train).getLoc();
  for (auto [index, op] : llvm::enumerate(parts.parameterOps)) {
    slots.emplace_back();
    for (const nd::OptimizerSlot &slot : parts.settings.getSlots(index))
      slots.back().push_back(step.addArgument(parts.getSlot(index, slot),
                                              nd::ParameterOp(op).getLoc()));
  }
  if (parts.settings.countsUpdates())
    count = step.addArgument(getCountState(step.builder.getContext()), loc);
  SmallVector<Value> ofScale;
  for (const StepTensor &state : getScaleState(parts))
    ofScale.push_back(step.addArgument(state, loc));
  if (!ofScale.empty())
    scale.emplace(step.builder, loc, ofScale);
  for (const StepTensor &parameter : parts.parameters)
    if (parts.isAveraged(parameter))
      averages.push_back(step.addArgument(
          getAverage(parameter), nd::AverageOp(parts.averageOp).getLoc()));
}

Value ParameterUpdates::getParameter(unsigned index) const {
  return mapping.lookup(nd::ParameterOp(parts.parameterOps[index]).getResult());
}

Operation *ParameterUpdates::update(unsigned index, Value gradient) {
  const UpdateSettings &settings = parts.settings;
  OperationState state(nd::TrainOp(parts.train).getLoc(),
                       settings.getUpdateName());
  MLIRContext *context = state.getContext();
  Value value = getParameter(index);
  state.addOperands({value, gradient, count});
  state.addOperands(slots[index]);
  SmallVector<Attribute> computed;
  for (auto [name, source] : settings.getComputed(index)) {
    computed.push_back(name);
    state.addOperands(mapping.lookup(source));
  }
  state.addTypes(value.getType());
  state.addTypes(ValueRange(slots[index]).getTypes());
  if (DictionaryAttr constants = settings.getConstants(index);
      !constants.empty())
    state.addAttribute("settings", constants);
  if (DictionaryAttr names = settings.getAdjustable(index); !names.empty())
    state.addAttribute("adjustable", names);
  if (!computed.empty())
    state.addAttribute("computed", ArrayAttr::get(context, computed));
  if (ArrayAttr stacked =
          nd::ParameterOp(parts.parameterOps[index]).getStackedAttr())
    state.addAttribute("stacked", stacked);
  StringAttr name = parts.parameters[index].name;
  nd::setClass(state.attributes, context, nd::TensorClass::Optimizer);
  nd::setName(state.attributes, name);
  nd::setParameter(state.attributes, name);
  return step.builder.create(state);
}

/// Replaces the results of an update by the values before it where a gradient
/// is not finite.
void ParameterUpdates::keepIfInfinite(unsigned index,
                                      MutableArrayRef<Value> updated) {
  StringAttr parameter = parts.parameters[index].name;
  updated[0] =
      scale->choose(updated[0], getParameter(index), parameter, parameter);
  for (auto [slot, before, after] : llvm::zip(
           parts.settings.getSlots(index), slots[index], updated.drop_front()))
    after = scale->choose(after, before, parts.getSlot(index, slot).name,
                          parameter);
}

void ParameterUpdates::updateParameters(ArrayRef<Value> gradients) {
  nd::TrainOp train = parts.train;
  newSlots = slots;
  // An optimizer that does not depend on the count takes any number.
  if (!parts.settings.countsUpdates())
    count =
        nd::StepOp::create(step.builder, train.getLoc(),
                           nd::TensorType::get(step.builder.getI32Type(), {}));
  for (auto [index, gradient] : llvm::enumerate(gradients)) {
    if (!gradient) {
      nd::ParameterOp(parts.parameterOps[index]).emitWarning()
          << "loss '" << train.getLoss() << "' does not depend on parameter '"
          << parts.parameters[index].name.getValue()
          << "', which stays as it is";
      updated.push_back(getParameter(index));
      step.addResult(parts.parameters[index], updated.back());
      continue;
    }
    SmallVector<Value> results(update(index, gradient)->getResults());
    if (scale)
      keepIfInfinite(index, results);
    step.addResult(parts.parameters[index], results.front());
    updated.push_back(results.front());
    newSlots[index].assign(results.begin() + 1, results.end());
    for (auto [slot, value] :
         llvm::zip(parts.settings.getSlots(index), newSlots[index]))
      if (slot.isMaster)
        updated.back() = value;
  }
}

void ParameterUpdates::addSlots() {
  for (auto [index, values] : llvm::enumerate(newSlots))
    for (auto [slot, value] : llvm::zip(parts.settings.getSlots(index), values))
      step.addResult(parts.getSlot(index, slot), value);
}

/// The number of updates after the step.
void ParameterUpdates::addCount() {
  if (!parts.settings.countsUpdates())
    return;
  nd::ValueBuilder build(step.builder, nd::TrainOp(parts.train).getLoc());
  StepTensor state = getCountState(step.builder.getContext());
  Value next = build.make<nd::AddOp>(count, build.scalar(count, 1));
  step.addResult(state,
                 scale ? scale->choose(next, count, state.name, {}) : next);
}

/// The averages after the step. Those of parameters that no step changes stay
/// as they are.
void ParameterUpdates::moveAverages() {
  nd::AverageOp op = parts.averageOp;
  if (!op)
    return;
  AverageStep average(step.builder, op, mapping.lookupOrNull(op.getValue()));
  const auto *before = averages.begin();
  for (auto [index, parameter] : llvm::enumerate(parts.parameters)) {
    if (!parts.isAveraged(parameter))
      continue;
    StepTensor state = getAverage(parameter);
    Value value = *before++, moved = value;
    if (updated[index] != getParameter(index))
      moved = average.move(value, updated[index], state);
    if (scale && moved != value)
      moved = scale->choose(moved, value, state.name, parameter.name);
    step.addResult(state, moved);
  }
}

void ParameterUpdates::addResults(ArrayRef<Value> gradients) {
  updateParameters(gradients);
  addSlots();
  addCount();
  if (scale)
    for (auto [state, value] :
         llvm::zip(getScaleState(parts),
                   scale->getNext(nd::TrainOp(parts.train).getScaleInterval())))
      step.addResult(state, value);
  moveAverages();
}

} // namespace meshc::steps
