//===- BuildSteps.cpp - initialize, train_step and eval_step --------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/CustomGradientOps.h"
#include "dialects/Nd/Ops/LoopOps.h"
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/Ops/SourceOps.h"
#include "dialects/Nd/Ops/ValueBuilder.h"
#include "lib/Autodiff/ClipGradients.h"
#include "lib/Autodiff/LossScale.h"
#include "lib/Autodiff/MicroBatches.h"
#include "lib/Autodiff/ModelParts.h"
#include "lib/Autodiff/Passes.h"
#include "lib/Autodiff/ReverseMode.h"
#include "lib/Autodiff/StepFunction.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace meshc::autodiff {

#define GEN_PASS_DEF_BUILDSTEPS
#include "lib/Autodiff/Passes.h.inc"

namespace {

/// The step functions made from a model's parts.
class StepBuilder : ModelParts {
public:
  StepBuilder(ModuleOp module, func::FuncOp model, nd::TrainOp train,
              nd::GenerateOp generate)
      : ModelParts{model, train, generate}, module(module) {}

  LogicalResult run();

private:
  StepTensor getSlot(unsigned parameter, const nd::OptimizerSlot &slot) const;
  void buildInitialize();
  LogicalResult buildTrainStep();
  void buildEvalStep();
  void buildGenerateStep();
  void addParameters(StepFunction &step, IRMapping &mapping);
  SmallVector<Value> addInputs(StepFunction &step, int64_t parts);
  SmallVector<Value> cloneModel(OpBuilder &builder, ValueRange inputValues,
                                IRMapping &mapping);
  FailureOr<SmallVector<Value>> addModel(StepFunction &step, IRMapping &mapping,
                                         Value factor);
  FailureOr<SmallVector<Value>>
  addMicroBatches(StepFunction &step, const IRMapping &mapping, Value factor);
  SmallVector<StepTensor> getScaleState() const;
  std::optional<LossScale> addScale(StepFunction &step);
  SmallVector<Value> getParameters(const IRMapping &mapping);
  void cloneSettings(StepFunction &step, IRMapping &mapping);
  Value clip(StepFunction &step, const IRMapping &mapping,
             MutableArrayRef<Value> gradients);
  void keepIfInfinite(LossScale &scale, unsigned index, Value value,
                      ValueRange slots, MutableArrayRef<Value> updated);
  void addUpdates(StepFunction &step, const IRMapping &mapping,
                  ArrayRef<Value> gradients, ArrayRef<SmallVector<Value>> slots,
                  std::optional<LossScale> &scale);
  Operation *addUpdate(StepFunction &step, unsigned parameter, Value value,
                       Value gradient, Value number, ValueRange slots,
                       const IRMapping &mapping);

  ModuleOp module;
};

} // namespace

StepTensor StepBuilder::getSlot(unsigned index,
                                const nd::OptimizerSlot &slot) const {
  const StepTensor &parameter = parameters[index];
  MLIRContext *context = parameter.name.getContext();
  auto name =
      StringAttr::get(context, parameter.name.getValue() + "." + slot.name);
  SmallVector<Attribute> order;
  for (Attribute dim : parameter.order)
    if (slot.type.hasDim(cast<StringAttr>(dim).getValue()))
      order.push_back(dim);
  return {name,
          slot.type,
          ArrayAttr::get(context, order),
          nd::TensorRole::Optimizer,
          nd::TensorClass::Optimizer,
          parameter.name};
}

/// What a model in f16 has besides parameters and slots.
SmallVector<StepTensor> StepBuilder::getScaleState() const {
  if (!scaleMetric)
    return {};
  return LossScale::getState(scaleMetric->name.getContext());
}

/// Adds the arguments of the scale.
std::optional<LossScale> StepBuilder::addScale(StepFunction &step) {
  SmallVector<Value> values;
  for (const StepTensor &state : getScaleState())
    values.push_back(step.addArgument(state, train.getLoc()));
  if (values.empty())
    return std::nullopt;
  return LossScale(step.builder, train.getLoc(), values);
}

void StepBuilder::buildInitialize() {
  StepFunction step(module, model.getLoc(), "initialize");
  for (auto [op, tensor] : llvm::zip(parameterOps, parameters)) {
    Block &block = op.getInitializer().front();
    IRMapping mapping;
    for (Operation &inner : block.without_terminator())
      step.builder.clone(inner, mapping);
    Value value = block.getTerminator()->getOperand(0);
    step.addResult(tensor, mapping.lookupOrDefault(value));
  }
  for (auto [index, op] : llvm::enumerate(parameterOps))
    for (const nd::OptimizerSlot &slot : settings.getSlots(index))
      step.addResult(
          getSlot(index, slot),
          nd::ConstantOp::create(step.builder, op.getLoc(), slot.type, 0.0));
  double value = scaleMetric ? train.getLossScale().convertToDouble() : 0;
  for (const StepTensor &state : getScaleState()) {
    step.addResult(
        state, nd::ConstantOp::create(step.builder, train.getLoc(),
                                      cast<nd::TensorType>(state.type), value));
    value = 0; // of the steps so far
  }
  step.finish();
}

void StepBuilder::addParameters(StepFunction &step, IRMapping &mapping) {
  for (auto [op, tensor] : llvm::zip(parameterOps, parameters))
    mapping.map(op.getResult(), step.addArgument(tensor, op.getLoc()));
}

SmallVector<Value> StepBuilder::addInputs(StepFunction &step, int64_t parts) {
  SmallVector<Value> values;
  for (auto [argument, tensor] : llvm::zip(model.getArguments(), inputs)) {
    StepTensor batch = tensor;
    batch.type = getBatchType(tensor, parts);
    values.push_back(step.addArgument(batch, argument.getLoc()));
  }
  return values;
}

/// Copies the model; returns the loss and the metrics.
SmallVector<Value> StepBuilder::cloneModel(OpBuilder &builder,
                                           ValueRange inputValues,
                                           IRMapping &mapping) {
  mapping.map(model.getArguments(), inputValues);
  for (Operation &op : model.getBody().front().without_terminator())
    if (!isa<nd::ParameterOp>(op))
      builder.clone(op, mapping);
  SmallVector<Value> values;
  for (Value value : metricValues)
    values.push_back(mapping.lookup(value));
  return values;
}

SmallVector<Value> StepBuilder::getParameters(const IRMapping &mapping) {
  SmallVector<Value> values;
  for (nd::ParameterOp op : parameterOps)
    values.push_back(mapping.lookup(op.getResult()));
  return values;
}

/// Adds the inputs, the model and its metrics. Returns the gradients of the
/// parameters, times `factor`; none if it is null.
FailureOr<SmallVector<Value>>
StepBuilder::addModel(StepFunction &step, IRMapping &mapping, Value factor) {
  if (microBatches > 1)
    return addMicroBatches(step, mapping, factor);
  SmallVector<Value> inputValues = addInputs(step, microBatches);
  SmallVector<Value> values = cloneModel(step.builder, inputValues, mapping);
  for (auto [metric, value] : llvm::zip(metrics, values))
    step.addResult(metric, value);
  if (!factor)
    return SmallVector<Value>();
  return buildGradients(step.builder, step.getResult(0), getParameters(mapping),
                        factor);
}

/// The same as a loop over micro-batches. The gradient of their mean is the sum
/// of those of their shares of it.
FailureOr<SmallVector<Value>>
StepBuilder::addMicroBatches(StepFunction &step, const IRMapping &mapping,
                             Value factor) {
  SmallVector<Value> batches = addInputs(step, microBatches);
  SmallVector<Value> whole = getParameters(mapping);
  if (factor)
    whole.push_back(factor);
  MicroBatchLoop loop(step.builder, *this, batches, whole);
  IRMapping inner;
  for (auto [op, value] : llvm::zip(parameterOps, loop.getWhole()))
    inner.map(op.getResult(), value);
  OpBuilder body = loop.getBuilder();
  SmallVector<Value> values = cloneModel(body, loop.getInputs(), inner);
  loop.getEnd()->setOperands(values);
  FailureOr<SmallVector<Value>> gradients = SmallVector<Value>();
  double share = 1.0 / static_cast<double>(microBatches);
  if (factor) {
    nd::ValueBuilder build(body, train.getLoc());
    Value part = build.make<nd::MulOp>(loop.getWhole().back(),
                                       build.scalar(factor, share));
    gradients = buildGradients(body, loop.getEnd()->getOperand(0),
                               getParameters(inner), part);
  }
  if (failed(gradients))
    return failure();
  SmallVector<Value> sums = loop.sum(*gradients);
  nd::ValueBuilder build(step.builder, train.getLoc());
  for (auto [metric, sum] : llvm::zip(metrics, sums))
    step.addResult(metric,
                   build.make<nd::MulOp>(sum, build.scalar(sum, share)));
  return SmallVector<Value>(ArrayRef(sums).drop_front(metrics.size()));
}

/// Replaces ops that are for training only (the factors of a dropout) by the
/// value that they stand for in evaluation: their `nd.eval_value`.
static void fixEvalValues(func::FuncOp function) {
  SmallVector<Operation *> trained;
  function.walk([&](Operation *op) {
    if (nd::getEvalValue(op))
      trained.push_back(op);
  });
  for (Operation *op : trained) {
    OpBuilder builder(op);
    double value = nd::getEvalValue(op).getValueAsDouble();
    op->replaceAllUsesWith(nd::ConstantOp::create(
        builder, op->getLoc(), cast<nd::TensorType>(op->getResult(0).getType()),
        value));
    op->erase();
  }
}

void StepBuilder::buildEvalStep() {
  StepFunction step(module, model.getLoc(), "eval_step");
  IRMapping mapping;
  addParameters(step, mapping);
  // Without gradients nothing fails.
  (void)addModel(step, mapping, /*factor=*/{});
  for (const std::optional<StepTensor> &metric : {normMetric, scaleMetric})
    if (metric)
      step.addResult(*metric, nd::ConstantOp::create(
                                  step.builder, train.getLoc(),
                                  cast<nd::TensorType>(metric->type), 0.0));
  step.finish();
  fixEvalValues(step.getFunction());
}

/// The logits of all positions, of a micro-batch if there are such;
/// DecodePositions makes them those of one position.
void StepBuilder::buildGenerateStep() {
  StepFunction step(module, generate.getLoc(), "generate_step");
  IRMapping mapping;
  addParameters(step, mapping);
  cloneModel(step.builder, addInputs(step, /*parts=*/1), mapping);
  step.addResult(*logits, mapping.lookup(logitsValue));
  step.finish();
  fixEvalValues(step.getFunction());
}

/// Marks the gradient of a parameter, unless it is a named value of the model
/// too.
static void markGradient(Value gradient, const StepTensor &parameter) {
  auto result = dyn_cast<OpResult>(gradient);
  if (!result)
    return;
  auto known = nd::TensorAttributes::of(gradient);
  if (known.getName() || known.getClass())
    return;
  MLIRContext *context = gradient.getContext();
  NamedAttrList attributes;
  nd::setClass(attributes, context, nd::TensorClass::Gradient);
  nd::setParameter(attributes, parameter.name);
  nd::setName(
      attributes,
      StringAttr::get(context, "gradient of " + parameter.name.getValue()));
  if (auto scan = dyn_cast<nd::ScanOp>(result.getOwner()))
    return scan.setResultAttributes(result.getResultNumber(),
                                    attributes.getDictionary(context));
  for (NamedAttribute attribute : attributes)
    result.getOwner()->setDiscardableAttr(attribute.getName(),
                                          attribute.getValue());
}

/// Copies the ops that compute settings.
void StepBuilder::cloneSettings(StepFunction &step, IRMapping &mapping) {
  for (Operation &op : train.getBody().front())
    if (!isa<nd::SettingOp, nd::ClipOp>(op))
      step.builder.clone(op, mapping);
}

/// Clips the gradients if `train` says so; returns their norm, or null.
Value StepBuilder::clip(StepFunction &step, const IRMapping &mapping,
                        MutableArrayRef<Value> gradients) {
  if (!clipOp)
    return {};
  Location loc = clipOp.getLoc();
  Value bound;
  if (clipOp.getValue())
    bound = mapping.lookup(clipOp.getValue());
  else
    bound = nd::ValueBuilder(step.builder, loc)
                .scalar(step.builder.getF32Type(),
                        clipOp.getConstant()->convertToDouble());
  SmallVector<StringAttr> names;
  for (const StepTensor &parameter : parameters)
    names.push_back(parameter.name);
  return clipGradients(step.builder, loc, gradients, names, bound);
}

Operation *StepBuilder::addUpdate(StepFunction &step, unsigned index,
                                  Value value, Value gradient, Value number,
                                  ValueRange slots, const IRMapping &mapping) {
  OperationState state(train.getLoc(), settings.getUpdateName());
  MLIRContext *context = state.getContext();
  state.addOperands({value, gradient, number});
  state.addOperands(slots);
  SmallVector<Attribute> computed;
  for (auto [name, source] : settings.getComputed(index)) {
    computed.push_back(name);
    state.addOperands(mapping.lookup(source));
  }
  state.addTypes(value.getType());
  state.addTypes(slots.getTypes());
  if (DictionaryAttr constants = settings.getConstants(index);
      !constants.empty())
    state.addAttribute("settings", constants);
  if (!computed.empty())
    state.addAttribute("computed", ArrayAttr::get(context, computed));
  if (ArrayAttr stacked = parameterOps[index].getStackedAttr())
    state.addAttribute("stacked", stacked);
  nd::setClass(state.attributes, context, nd::TensorClass::Optimizer);
  nd::setName(state.attributes, parameters[index].name);
  nd::setParameter(state.attributes, parameters[index].name);
  return step.builder.create(state);
}

/// Replaces the results of an update by the values before it where a gradient
/// is not finite.
void StepBuilder::keepIfInfinite(LossScale &scale, unsigned index, Value value,
                                 ValueRange slots,
                                 MutableArrayRef<Value> updated) {
  StringAttr parameter = parameters[index].name;
  updated[0] = scale.choose(updated[0], value, parameter, parameter);
  for (auto [slot, before, after] :
       llvm::zip(settings.getSlots(index), slots, updated.drop_front()))
    after = scale.choose(after, before, getSlot(index, slot).name, parameter);
}

/// The new parameters, and behind them the new slots. A parameter without a
/// gradient stays as it is.
void StepBuilder::addUpdates(StepFunction &step, const IRMapping &mapping,
                             ArrayRef<Value> gradients,
                             ArrayRef<SmallVector<Value>> slots,
                             std::optional<LossScale> &scale) {
  Value number =
      nd::StepOp::create(step.builder, train.getLoc(),
                         nd::TensorType::get(step.builder.getI32Type(), {}));
  SmallVector<SmallVector<Value>> newSlots(slots);
  for (auto [index, gradient] : llvm::enumerate(gradients)) {
    Value value = mapping.lookup(parameterOps[index].getResult());
    if (!gradient) {
      parameterOps[index].emitWarning()
          << "loss '" << train.getLoss() << "' does not depend on parameter '"
          << parameters[index].name.getValue() << "', which stays as it is";
      step.addResult(parameters[index], value);
      continue;
    }
    Operation *update =
        addUpdate(step, index, value, gradient, number, slots[index], mapping);
    SmallVector<Value> updated(update->getResults());
    if (scale)
      keepIfInfinite(*scale, index, value, slots[index], updated);
    step.addResult(parameters[index], updated.front());
    newSlots[index].assign(updated.begin() + 1, updated.end());
  }
  for (auto [index, values] : llvm::enumerate(newSlots))
    for (auto [slot, value] : llvm::zip(settings.getSlots(index), values))
      step.addResult(getSlot(index, slot), value);
}

LogicalResult StepBuilder::buildTrainStep() {
  StepFunction step(module, model.getLoc(), "train_step");
  IRMapping mapping;
  addParameters(step, mapping);
  SmallVector<SmallVector<Value>> slots;
  for (auto [index, op] : llvm::enumerate(parameterOps)) {
    slots.emplace_back();
    for (const nd::OptimizerSlot &slot : settings.getSlots(index))
      slots.back().push_back(
          step.addArgument(getSlot(index, slot), op.getLoc()));
  }
  std::optional<LossScale> scale = addScale(step);
  Location lossLoc = metricValues[0].getLoc();
  Value factor = scale ? scale->getScale()
                       : nd::ValueBuilder(step.builder, lossLoc)
                             .scalar(step.builder.getF32Type(), 1.0);
  FailureOr<SmallVector<Value>> gradients = addModel(step, mapping, factor);
  if (failed(gradients))
    return failure();
  if (llvm::none_of(*gradients, [](Value gradient) { return !!gradient; }))
    return emitError(lossLoc)
           << "no gradient of loss '" << train.getLoss()
           << "' reaches a parameter; there is nothing to train: each way to "
              "one is through what has no gradient, as floor, a comparison or "
              "a whole number";
  for (auto [gradient, parameter] : llvm::zip(*gradients, parameters))
    if (gradient)
      markGradient(gradient, parameter);
  if (scale)
    scale->unscale(*gradients, parameters);
  cloneSettings(step, mapping);
  Value norm = clip(step, mapping, *gradients);
  addUpdates(step, mapping, *gradients, slots, scale);
  if (scale)
    for (auto [state, value] :
         llvm::zip(getScaleState(), scale->getNext(train.getScaleInterval())))
      step.addResult(state, value);
  step.moveToEnd(metrics.size());
  if (normMetric)
    step.addResult(*normMetric, norm);
  if (scale)
    step.addResult(*scaleMetric, scale->getScale());
  step.finish();
  return success();
}

/// The gradients are built: only the values are needed.
static void dropCustomGradients(ModuleOp module) {
  module.walk([](nd::CustomGradientOp op) {
    op->replaceAllUsesWith(op.getValues());
    op->erase();
  });
}

LogicalResult StepBuilder::run() {
  if (failed(collect()))
    return failure();
  buildInitialize();
  if (train && failed(buildTrainStep()))
    return failure();
  buildEvalStep();
  if (generate)
    buildGenerateStep();
  dropCustomGradients(module);
  nd::setModelName(module, model.getSymNameAttr());
  if (train)
    train.erase();
  model.erase();
  return success();
}

namespace {
struct BuildSteps : impl::BuildStepsBase<BuildSteps> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto functions = llvm::to_vector(module.getOps<func::FuncOp>());
    if (functions.size() != 1) {
      module.emitError() << "expected one function, the model, got "
                         << functions.size();
      return signalPassFailure();
    }
    auto trains = llvm::to_vector(module.getOps<nd::TrainOp>());
    if (trains.size() > 1) {
      trains[1]
              .emitError("the model is trained in two ways")
              .attachNote(trains[0].getLoc())
          << "the first is here";
      return signalPassFailure();
    }
    auto generates = llvm::to_vector(module.getOps<nd::GenerateOp>());
    if (generates.size() > 1) {
      generates[1]
              .emitError("text is generated from the model in two ways")
              .attachNote(generates[0].getLoc())
          << "the first is here";
      return signalPassFailure();
    }
    nd::GenerateOp generate =
        generates.empty() ? nd::GenerateOp() : generates.front();
    if (generate && generate.getModel() != functions[0].getName()) {
      generate.emitError() << "there is no model '" << generate.getModel()
                           << "'";
      return signalPassFailure();
    }
    nd::TrainOp train = trains.empty() ? nd::TrainOp() : trains.front();
    if (train && train.getModel() != functions[0].getName()) {
      train.emitError() << "there is no model '" << train.getModel() << "'";
      return signalPassFailure();
    }
    if (failed(StepBuilder(module, functions[0], train, generate).run()))
      signalPassFailure();
  }
};
} // namespace

} // namespace meshc::autodiff
