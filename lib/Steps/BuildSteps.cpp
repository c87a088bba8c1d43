//===- BuildSteps.cpp - initialize, train_step and eval_step --------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/Ops/SourceOps.h"
#include "dialects/Nd/Ops/ValueBuilder.h"
#include "lib/Steps/Autodiff/ReverseMode.h"
#include "lib/Steps/ClipGradients.h"
#include "lib/Steps/CloneModel.h"
#include "lib/Steps/LossScale.h"
#include "lib/Steps/MicroBatchStep.h"
#include "lib/Steps/ModelParts.h"
#include "lib/Steps/ParameterAverages.h"
#include "lib/Steps/ParameterUpdates.h"
#include "lib/Steps/Passes.h"
#include "lib/Steps/Statistics/EvaluationSteps.h"
#include "lib/Steps/StepFunction.h"
#include "lib/Steps/StepValues.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace meshc::steps {

#define GEN_PASS_DEF_BUILDSTEPS
#include "lib/Steps/Passes.h.inc"

namespace {

/// The step functions made from a model's parts.
class StepBuilder : ModelParts {
public:
  StepBuilder(ModuleOp module, func::FuncOp model, nd::TrainOp train,
              nd::GenerateOp generate)
      : ModelParts{model, train, generate}, module(module) {}

  LogicalResult run();

private:
  void buildInitialize();
  LogicalResult buildTrainStep();
  void buildGenerateStep();
  SmallVector<Value> addCopy(OpBuilder &builder, ValueRange inputValues,
                             IRMapping &mapping, bool inGeneration = false);
  FailureOr<SmallVector<Value>> addModel(StepFunction &step, IRMapping &mapping,
                                         Value factor);
  SmallVector<Value> getParameters(const IRMapping &mapping);
  void cloneSettings(StepFunction &step, IRMapping &mapping);
  Value clip(StepFunction &step, const IRMapping &mapping,
             MutableArrayRef<Value> gradients);
  void declareSettings();

  ModuleOp module;
};

} // namespace

void StepBuilder::buildInitialize() {
  StepFunction step(module, model.getLoc(), nd::Step::Initialize);
  SmallVector<Value> values;
  for (auto [op, tensor] : llvm::zip(parameterOps, parameters)) {
    Block &block = op.getInitializer().front();
    IRMapping mapping;
    for (Operation &inner : block.without_terminator())
      step.builder.clone(inner, mapping);
    Value value = block.getTerminator()->getOperand(0);
    values.push_back(mapping.lookupOrDefault(value));
    step.addResult(tensor, values.back());
  }
  addInitialState(step, *this, values);
  step.finish();
}

/// Copies the model; returns the loss and the metrics.
SmallVector<Value> StepBuilder::addCopy(OpBuilder &builder,
                                        ValueRange inputValues,
                                        IRMapping &mapping, bool inGeneration) {
  mapping.map(model.getArguments(), inputValues);
  cloneModel(builder, model, mapping, inGeneration);
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
/// parameters, times `factor`.
FailureOr<SmallVector<Value>>
StepBuilder::addModel(StepFunction &step, IRMapping &mapping, Value factor) {
  if (microBatches > 1)
    return MicroBatchStep(*this, step, getParameters(mapping)).build(factor);
  SmallVector<Value> inputValues = addInputs(step, *this, microBatches);
  SmallVector<Value> values = addCopy(step.builder, inputValues, mapping);
  for (auto [metric, value] : llvm::zip(metrics, values))
    step.addResult(metric, value);
  return buildGradients(step.builder, step.getResult(0), getParameters(mapping),
                        factor);
}

/// The logits of all positions, of a micro-batch if there are such;
/// DecodePositions makes them those of one position, of the whole batch.
void StepBuilder::buildGenerateStep() {
  StepFunction step(module, generate.getLoc(), nd::Step::Generate);
  IRMapping mapping;
  addParameters(step, *this, mapping);
  addCopy(step.builder, addInputs(step, *this, /*count=*/1), mapping,
          /*inGeneration=*/true);
  step.addResult(*logits, mapping.lookup(logitsValue));
  step.finish();
  fixEvalValues(step.getFunction());
}

/// Copies the ops that compute settings.
void StepBuilder::cloneSettings(StepFunction &step, IRMapping &mapping) {
  for (Operation &op : train.getBody().front())
    if (!isa<nd::SettingOp, nd::ClipOp, nd::AverageOp>(op))
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
    bound = nd::SettingValueOp::create(step.builder, loc, clipSetting,
                                       clipOp.getConstant()->convertToDouble());
  SmallVector<StringAttr> names;
  for (const StepTensor &parameter : parameters)
    names.push_back(parameter.name);
  return clipGradients(step.builder, loc, gradients, names, bound);
}

LogicalResult StepBuilder::buildTrainStep() {
  StepFunction step(module, model.getLoc(), nd::Step::Train);
  IRMapping mapping;
  addParameters(step, *this, mapping);
  ParameterUpdates updates(step, *this, mapping);
  LossScale *scale = updates.getScale();
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
  updates.addResults(*gradients);
  step.moveToEnd(metrics.size());
  if (normMetric)
    step.addResult(*normMetric, norm);
  if (scale) {
    step.addResult(*scaleMetric, scale->getScale());
    step.addResult(LossScale::describeSkipped(module.getContext()),
                   scale->getSkipped());
  }
  step.finish();
  return success();
}

/// Says what numbers of the training there are, and which a run may change.
void StepBuilder::declareSettings() {
  OpBuilder builder(train);
  settings.declare(builder, train);
  if (clipOp)
    nd::RunSettingOp::create(builder, clipOp.getLoc(), clipSetting,
                             clipOp.getConstantAttr(), /*limit=*/FloatAttr(),
                             /*positive=*/true, /*fixed=*/false);
  if (averageOp)
    nd::RunSettingOp::create(builder, averageOp.getLoc(), averageSetting,
                             averageOp.getConstantAttr(),
                             builder.getF64FloatAttr(1), /*positive=*/false,
                             /*fixed=*/false);
}

LogicalResult StepBuilder::run() {
  if (failed(collect()))
    return failure();
  buildInitialize();
  if (microBatches > 1)
    divideModelLoops(*this);
  if (train && failed(buildTrainStep()))
    return failure();
  EvaluationSteps evaluation(module, *this);
  evaluation.build(/*ofAverages=*/false);
  if (averageOp)
    evaluation.build(/*ofAverages=*/true);
  if (generate)
    buildGenerateStep();
  dropCustomGradients(module);
  nd::setModelName(module, model.getSymNameAttr());
  if (train) {
    declareSettings();
    train.erase();
  }
  model.erase();
  return success();
}

/// The op of the module that says something of the model; null if there is
/// none. `twice` is the error for several.
template <typename Op>
static FailureOr<Op> findOnly(func::FuncOp model, StringRef twice) {
  auto module = model->getParentOfType<ModuleOp>();
  auto found = llvm::to_vector(module.getOps<Op>());
  if (found.empty())
    return Op();
  if (found.size() > 1) {
    found[1].emitError(twice).attachNote(found[0].getLoc())
        << "the first is here";
    return failure();
  }
  if (found[0].getModel() == model.getName())
    return found[0];
  return found[0].emitError()
         << "there is no model '" << found[0].getModel() << "'";
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
    FailureOr<nd::TrainOp> train =
        findOnly<nd::TrainOp>(functions[0], "the model is trained in two ways");
    FailureOr<nd::GenerateOp> generate = findOnly<nd::GenerateOp>(
        functions[0], "text is generated from the model in two ways");
    if (failed(train) || failed(generate))
      return signalPassFailure();
    if (failed(StepBuilder(module, functions[0], *train, *generate).run()))
      signalPassFailure();
  }
};
} // namespace

} // namespace meshc::steps
