//===- ModelParts.cpp - a model taken apart -------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Steps/ModelParts.h"
#include "dialects/Nd/MetricNames.h"
#include "dialects/Nd/Ops/ModelOps.h"

using namespace mlir;

namespace meshc::steps {

DictionaryAttr StepTensor::getAttributes(MLIRContext *context) const {
  NamedAttrList attributes;
  nd::setName(attributes, name);
  nd::setRole(attributes, context, role);
  nd::setOrder(attributes, order);
  if (tensorClass != nd::TensorClass::Activation)
    nd::setClass(attributes, context, tensorClass);
  if (parameter)
    nd::setParameter(attributes, parameter);
  return attributes.getDictionary(context);
}

static StringAttr getResultName(func::FuncOp model, unsigned index) {
  return nd::TensorAttributes::ofResult(model, index).getName();
}

/// Whether `order` names each dim of the type once.
static bool isOrderOf(ArrayAttr order, Type type) {
  auto tensor = dyn_cast<nd::TensorType>(type);
  if (!tensor || order.size() != static_cast<size_t>(tensor.getRank()))
    return false;
  llvm::SmallDenseSet<StringAttr> seen;
  return llvm::all_of(order, [&](Attribute name) {
    auto dim = dyn_cast<StringAttr>(name);
    return dim && tensor.hasDim(dim.getValue()) && seen.insert(dim).second;
  });
}

LogicalResult ModelParts::collectParameters() {
  if (model.isDeclaration())
    return model.emitError() << "model '" << model.getName() << "' has no body";
  auto collect = [&](nd::ParameterOp parameter) {
    if (parameter->getParentOp() != model) {
      parameter.emitError()
          << "parameter '" << parameter.getName()
          << "' is declared in a loop; declare it before the loop, with the "
             "loop's dim, and pass it as a stacked operand";
      return WalkResult::interrupt();
    }
    parameterOps.push_back(parameter);
    parameters.push_back({parameter.getNameAttr(), parameter.getType(),
                          parameter.getOrder(), nd::TensorRole::Parameter,
                          nd::TensorClass::Parameter});
    return WalkResult::advance();
  };
  return failure(model.walk(collect).wasInterrupted());
}

LogicalResult ModelParts::collectInputs() {
  for (BlockArgument argument : model.getArguments()) {
    unsigned index = argument.getArgNumber();
    auto tensor = nd::TensorAttributes::ofArgument(model, index);
    StringAttr name = tensor.getName();
    ArrayAttr order = tensor.getOrder();
    if (!name || !order)
      return model.emitError() << "argument " << index
                               << " of the model needs nd.name and nd.order";
    if (!isOrderOf(order, argument.getType()))
      return model.emitError()
             << "argument '" << name.getValue()
             << "' of the model is a tensor whose nd.order names each dim "
                "once; got "
             << argument.getType() << " and " << order;
    inputs.push_back({name, argument.getType(), order, nd::TensorRole::Input});
  }
  return success();
}

/// Programs count examples along the first dim of each input.
LogicalResult ModelParts::checkExamples() {
  if (inputs.empty())
    return model.emitError()
           << "model '" << model.getName()
           << "' has no inputs; a program reads its examples from files and "
              "counts them along the first dim of each input: give it one, as "
              "in "
           << model.getName() << "(x[batch])";
  int64_t count = 0;
  for (auto [argument, input] : llvm::zip(model.getArguments(), inputs)) {
    if (input.order.empty())
      return emitError(argument.getLoc())
             << "input '" << input.name.getValue()
             << "' is a scalar; the first dim of an input counts examples, so "
                "it needs one";
    auto dim = cast<StringAttr>(input.order[0]);
    int64_t size = cast<nd::TensorType>(input.type).getSize(dim.getValue());
    if (count && size != count) {
      InFlightDiagnostic error = emitError(argument.getLoc());
      error << "the first dim of an input counts examples: '" << dim.getValue()
            << "' of input '" << input.name.getValue() << "' is of size "
            << size << ", and that of input '" << inputs.front().name.getValue()
            << "' of size " << count;
      error.attachNote(model.getArgument(0).getLoc())
          << "input '" << inputs.front().name.getValue() << "' is here";
      return error;
    }
    count = size;
  }
  return success();
}

LogicalResult ModelParts::collectMetrics() {
  auto returned = cast<func::ReturnOp>(model.getBody().front().getTerminator());
  for (auto [index, value] : llvm::enumerate(returned.getOperands())) {
    StringAttr name = getResultName(model, index);
    if (!name)
      return model.emitError()
             << "result " << index << " of the model needs nd.name";
    if (nd::TensorAttributes::ofResult(model, index)
            .hasRole(nd::TensorRole::Logits)) {
      logits = {name, value.getType(), ArrayAttr::get(model.getContext(), {}),
                nd::TensorRole::Logits};
      logitsValue = value;
      continue;
    }
    auto type = cast<nd::TensorType>(value.getType());
    if (type.getRank() != 0 || !type.getElementType().isF32())
      return emitError(value.getLoc())
             << "result '" << name.getValue()
             << "' of the model must be a scalar f32, got " << type
             << "; reduce it, for example by mean(…)";
    metrics.push_back({name, type, ArrayAttr::get(model.getContext(), {}),
                       nd::TensorRole::Metric});
    metricValues.push_back(value);
  }
  SmallVector<StringRef> names;
  for (const StepTensor &metric : metrics)
    names.push_back(metric.name.getValue());
  for (auto [index, name] : llvm::enumerate(names)) {
    std::string clash = nd::findLogClash(name, names);
    if (clash.empty() &&
        llvm::is_contained(ArrayRef(names).take_front(index), name))
      clash = "two results of the model are called '" + name.str() + "'";
    if (!clash.empty())
      return emitError(metricValues[index].getLoc()) << clash;
  }
  return success();
}

LogicalResult ModelParts::findLoss() {
  for (auto [index, metric] : llvm::enumerate(metrics))
    if (metric.name == train.getLossAttr()) {
      std::rotate(metrics.begin(), metrics.begin() + index,
                  metrics.begin() + index + 1);
      std::rotate(metricValues.begin(), metricValues.begin() + index,
                  metricValues.begin() + index + 1);
      return success();
    }
  return train.emitError() << "model '" << model.getName()
                           << "' has no result '" << train.getLoss() << "'";
}

LogicalResult ModelParts::findClip() {
  auto clips = llvm::to_vector(train.getBody().getOps<nd::ClipOp>());
  if (clips.size() > 1)
    return clips[1].emitError("the norm of the gradients is bounded twice");
  if (clips.empty())
    return success();
  clipOp = clips.front();
  StringAttr name = clipOp.getMetricAttr();
  if (!name)
    return success();
  if (std::string clash = findClash(name.getValue()); !clash.empty())
    return clipOp.emitError() << clash;
  normMetric = makeTrainingMetric(name);
  return success();
}

LogicalResult ModelParts::findAverage() {
  auto averages = llvm::to_vector(train.getBody().getOps<nd::AverageOp>());
  if (averages.size() > 1)
    return averages[1].emitError("the parameters are averaged in two ways");
  if (!averages.empty())
    averageOp = averages.front();
  return success();
}

/// What is wrong with `name` for a further metric; empty if nothing is.
std::string ModelParts::findClash(StringRef name) const {
  SmallVector<StringRef> names = {name};
  for (const StepTensor &metric : metrics)
    names.push_back(metric.name.getValue());
  if (normMetric)
    names.push_back(normMetric->name.getValue());
  std::string clash = nd::findLogClash(name, names);
  if (clash.empty() && llvm::is_contained(ArrayRef(names).drop_front(), name))
    clash = "a result of the model is called '" + name.str() +
            "', too; choose another name for one of them";
  return clash;
}

StepTensor ModelParts::makeTrainingMetric(StringAttr name) const {
  MLIRContext *context = name.getContext();
  return {name, nd::TensorType::get(Float32Type::get(context), {}),
          ArrayAttr::get(context, {}), nd::TensorRole::TrainingMetric};
}

LogicalResult ModelParts::findScale() {
  if (!train.getPrecision() || !train.getPrecision()->isF16())
    return success();
  auto name = StringAttr::get(train.getContext(), "loss_scale");
  if (std::string clash = findClash(name.getValue()); !clash.empty())
    return train.emitError()
           << "'precision f16' prints the scale of the loss: " << clash;
  scaleMetric = makeTrainingMetric(name);
  return success();
}

/// The tokens have the positions and one dim that counts texts; the logits have
/// these and the vocabulary.
LogicalResult ModelParts::checkGenerate() {
  StringRef positions = generate.getPositions(), vocab = generate.getVocab();
  const auto *tokens = llvm::find_if(inputs, [&](const StepTensor &input) {
    return input.name == generate.getTokensAttr();
  });
  if (tokens == inputs.end())
    return generate.emitError()
           << "model '" << model.getName() << "' has no input '"
           << generate.getTokens() << "'";
  auto type = cast<nd::TensorType>(tokens->type);
  if (!type.getElementType().isInteger(32) || type.getRank() != 2 ||
      !type.hasDim(positions))
    return generate.emitError()
           << "the tokens must be i32 with two dims, '" << positions
           << "' and one that counts texts, got " << type;
  if (!logits || logits->name != generate.getLogitsAttr())
    return generate.emitError()
           << "model '" << model.getName() << "' has no result '"
           << generate.getLogits() << "' with the role \"logits\"";
  auto wanted = cast<nd::TensorType>(logits->type);
  bool fits = wanted.isFloat() && wanted.getRank() == 3 &&
              wanted.hasDim(vocab) && !type.hasDim(vocab) &&
              llvm::all_of(type.getDims(), [&](nd::DimAttr dim) {
                return wanted.getDim(dim.getName().getValue()) == dim;
              });
  if (!fits)
    return generate.emitError()
           << "the logits must be floats with the dims of the tokens and '"
           << vocab << "', got " << wanted << " for tokens " << type;
  return success();
}

LogicalResult ModelParts::collect() {
  if (failed(collectParameters()) || failed(collectInputs()) ||
      failed(collectMetrics()) || (generate && failed(checkGenerate())))
    return failure();
  if (train)
    microBatches = train.getMicroBatches();
  if (train &&
      (failed(findLoss()) || failed(findClip()) || failed(findAverage()) ||
       failed(findScale()) || failed(settings.collect(train, parameterOps))))
    return failure();
  return checkExamples();
}

StepTensor ModelParts::getSlot(unsigned index,
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

} // namespace meshc::steps
