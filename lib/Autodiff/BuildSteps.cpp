//===- BuildSteps.cpp - initialize, train_step and eval_step from a model -
//---===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/MetricNames.h"
#include "dialects/Nd/NdOps.h"
#include "lib/Autodiff/Passes.h"
#include "lib/Autodiff/ReverseMode.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include <cmath>

using namespace mlir;

namespace meshc::autodiff {

#define GEN_PASS_DEF_BUILDSTEPS
#include "lib/Autodiff/Passes.h.inc"

namespace {

/// A tensor that crosses the border of a step function.
struct StepTensor {
  StringAttr name;
  Type type;
  ArrayAttr order;
  StringRef role;
  StringRef tensorClass; ///< empty: activation

  DictionaryAttr getAttributes(MLIRContext *context) const {
    Builder builder(context);
    NamedAttrList attributes;
    attributes.append("nd.name", name);
    attributes.append("nd.role", builder.getStringAttr(role));
    attributes.append("nd.order", order);
    if (!tensorClass.empty())
      attributes.append("nd.class", builder.getStringAttr(tensorClass));
    return attributes.getDictionary(context);
  }
};

/// A step function under construction: its arguments and results are added
/// together with what they are.
class StepFunction {
public:
  StepFunction(ModuleOp module, Location loc, StringRef name)
      : builder(module.getContext()) {
    builder.setInsertionPointToEnd(module.getBody());
    function = func::FuncOp::create(builder, loc, name,
                                    builder.getFunctionType({}, {}));
    builder.setInsertionPointToStart(function.addEntryBlock());
  }

  Value addArgument(const StepTensor &tensor, Location loc) {
    arguments.push_back(tensor);
    return function.getBody().front().addArgument(tensor.type, loc);
  }

  void addResult(const StepTensor &tensor, Value value) {
    results.push_back(tensor);
    values.push_back(value);
  }

  void finish() {
    MLIRContext *context = builder.getContext();
    builder.setInsertionPointToEnd(&function.getBody().front());
    func::ReturnOp::create(builder, function.getLoc(), values);
    function.setFunctionType(
        FunctionType::get(context, function.getBody().getArgumentTypes(),
                          ValueRange(values).getTypes()));
    SmallVector<DictionaryAttr> attributes;
    for (const StepTensor &argument : arguments)
      attributes.push_back(argument.getAttributes(context));
    function.setAllArgAttrs(attributes);
    attributes.clear();
    for (const StepTensor &result : results)
      attributes.push_back(result.getAttributes(context));
    function.setAllResultAttrs(attributes);
  }

  func::FuncOp getFunction() const { return function; }

  OpBuilder builder;

private:
  func::FuncOp function;
  SmallVector<StepTensor> arguments, results;
  SmallVector<Value> values;
};

/// The model taken apart, and the step functions made from it.
class StepBuilder {
public:
  StepBuilder(ModuleOp module, func::FuncOp model, nd::TrainOp train)
      : module(module), model(model), train(train) {}

  LogicalResult run();

private:
  LogicalResult collect();
  LogicalResult collectInputs();
  LogicalResult collectMetrics();
  LogicalResult findOptimizer();
  LogicalResult findLoss();
  StepTensor getSlot(const StepTensor &parameter, StringRef slot) const;
  void buildInitialize();
  LogicalResult buildTrainStep();
  void buildEvalStep();
  void addParameters(StepFunction &step, IRMapping &mapping);
  void addModel(StepFunction &step, IRMapping &mapping);
  void addMetrics(StepFunction &step, const IRMapping &mapping);
  void addUpdate(StepFunction &step, unsigned parameter, Value value,
                 Value gradient, Value rate, Value number, ValueRange slots);

  ModuleOp module;
  func::FuncOp model;
  nd::TrainOp train; ///< may be null
  SmallVector<nd::ParameterOp> parameterOps;
  SmallVector<StepTensor> parameters, inputs, metrics;
  SmallVector<Value> metricValues; ///< in the model, the loss first
  std::string updateName;
  SmallVector<StringRef> slotNames;
};

} // namespace

static StringAttr getResultName(func::FuncOp model, unsigned index) {
  return model.getResultAttrOfType<StringAttr>(index, "nd.name");
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

/// An attribute that the steps are built from, on any op of the model.
static LogicalResult checkEvalValue(Operation *op) {
  Attribute value = op->getAttr("nd.eval_value");
  if (!value)
    return success();
  auto tensor = op->getNumResults() == 1
                    ? dyn_cast<nd::TensorType>(op->getResult(0).getType())
                    : nd::TensorType();
  if (!isa<FloatAttr>(value) || !tensor || !tensor.isFloat())
    return op->emitError() << "'nd.eval_value' must be a float, on an op whose "
                              "result is a tensor of floats; got "
                           << value;
  return success();
}

LogicalResult StepBuilder::collect() {
  if (model.isDeclaration())
    return model.emitError() << "model '" << model.getName() << "' has no body";
  if (model
          .walk([](Operation *op) {
            return failed(checkEvalValue(op)) ? WalkResult::interrupt()
                                              : WalkResult::advance();
          })
          .wasInterrupted())
    return failure();
  for (auto parameter : model.getOps<nd::ParameterOp>()) {
    parameterOps.push_back(parameter);
    parameters.push_back({parameter.getNameAttr(), parameter.getType(),
                          parameter.getOrder(), "parameter", "parameter"});
  }
  return success(succeeded(collectInputs()) && succeeded(collectMetrics()));
}

LogicalResult StepBuilder::collectInputs() {
  for (BlockArgument argument : model.getArguments()) {
    unsigned index = argument.getArgNumber();
    auto name = model.getArgAttrOfType<StringAttr>(index, "nd.name");
    auto order = model.getArgAttrOfType<ArrayAttr>(index, "nd.order");
    if (!name || !order)
      return model.emitError() << "argument " << index
                               << " of the model needs nd.name and nd.order";
    if (!isOrderOf(order, argument.getType()))
      return model.emitError()
             << "argument '" << name.getValue()
             << "' of the model is a tensor whose nd.order names each dim "
                "once; got "
             << argument.getType() << " and " << order;
    inputs.push_back({name, argument.getType(), order, "input", ""});
  }
  if (inputs.empty())
    return model.emitError()
           << "model '" << model.getName()
           << "' has no inputs; a program reads its examples from files and "
              "counts them along the first dim of each input: give it one, as "
              "in "
           << model.getName() << "(x[batch])";
  return success();
}

LogicalResult StepBuilder::collectMetrics() {
  auto returned = cast<func::ReturnOp>(model.getBody().front().getTerminator());
  for (auto [index, value] : llvm::enumerate(returned.getOperands())) {
    StringAttr name = getResultName(model, index);
    if (!name)
      return model.emitError()
             << "result " << index << " of the model needs nd.name";
    auto type = cast<nd::TensorType>(value.getType());
    if (type.getRank() != 0 || !type.getElementType().isF32())
      return emitError(value.getLoc())
             << "result '" << name.getValue()
             << "' of the model must be a scalar f32, got " << type
             << "; reduce it, for example by mean(…)";
    metrics.push_back(
        {name, type, ArrayAttr::get(model.getContext(), {}), "metric", ""});
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

LogicalResult StepBuilder::findLoss() {
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

/// A setting is used in f32, where it must be finite, not negative, and 0 only
/// if it is.
static LogicalResult checkSetting(nd::TrainOp train, StringRef name,
                                  Attribute value) {
  auto number = dyn_cast<FloatAttr>(value);
  if (!number || !number.getType().isF64())
    return train.emitError()
           << "setting '" << name << "' of optimizer '" << train.getOptimizer()
           << "' must be an f64, got " << value;
  double wanted = number.getValueAsDouble();
  auto used = static_cast<float>(wanted);
  if (std::isfinite(used) && wanted >= 0 && (used != 0 || wanted == 0))
    return success();
  return train.emitError() << "setting '" << name << "' of optimizer '"
                           << train.getOptimizer() << "' is " << value
                           << ", and must be a number of f32, 0 or 1.2e-38 to "
                              "3.4e+38";
}

LogicalResult StepBuilder::findOptimizer() {
  updateName = ("nd." + train.getOptimizer() + "_update").str();
  auto info = RegisteredOperationName::lookup(updateName, module.getContext());
  auto *optimizer =
      info ? info->getInterface<nd::OptimizerOpInterface>() : nullptr;
  if (!optimizer)
    return train.emitError()
           << "there is no optimizer '" << train.getOptimizer() << "'";
  slotNames = optimizer->getSlotNames();
  if (failed(checkSetting(train, "lr", train.getRateAttr())))
    return failure();
  auto known = optimizer->getHyperParameters();
  for (NamedAttribute given : train.getHyper())
    if (llvm::none_of(known, [&](const auto &parameter) {
          return parameter.first == given.getName().getValue();
        })) {
      InFlightDiagnostic error =
          train.emitError() << "optimizer '" << train.getOptimizer()
                            << "' has no hyper-parameter '"
                            << given.getName().getValue() << "'; it has lr";
      for (const auto &parameter : known)
        error << ", " << parameter.first;
      return error;
    }
  for (NamedAttribute given : train.getHyper())
    if (failed(checkSetting(train, given.getName(), given.getValue())))
      return failure();
  return success();
}

StepTensor StepBuilder::getSlot(const StepTensor &parameter,
                                StringRef slot) const {
  auto name = StringAttr::get(parameter.name.getContext(),
                              parameter.name.getValue() + "." + slot);
  auto type = cast<nd::TensorType>(parameter.type);
  return {name, type.withElementType(Float32Type::get(name.getContext())),
          parameter.order, "optimizer", "optimizer"};
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
  for (auto [op, tensor] : llvm::zip(parameterOps, parameters))
    for (StringRef slotName : slotNames) {
      StepTensor slot = getSlot(tensor, slotName);
      step.addResult(
          slot, nd::ConstantOp::create(step.builder, op.getLoc(),
                                       cast<nd::TensorType>(slot.type), 0.0));
    }
  step.finish();
}

void StepBuilder::addParameters(StepFunction &step, IRMapping &mapping) {
  for (auto [op, tensor] : llvm::zip(parameterOps, parameters))
    mapping.map(op.getResult(), step.addArgument(tensor, op.getLoc()));
}

void StepBuilder::addModel(StepFunction &step, IRMapping &mapping) {
  for (auto [argument, tensor] : llvm::zip(model.getArguments(), inputs))
    mapping.map(argument, step.addArgument(tensor, argument.getLoc()));
  for (Operation &op : model.getBody().front().without_terminator())
    if (!isa<nd::ParameterOp>(op))
      step.builder.clone(op, mapping);
}

void StepBuilder::addMetrics(StepFunction &step, const IRMapping &mapping) {
  for (auto [metric, value] : llvm::zip(metrics, metricValues))
    step.addResult(metric, mapping.lookup(value));
}

/// Replaces ops that are for training only (the factors of a dropout) by the
/// value that they stand for in evaluation: their `nd.eval_value`.
static void fixEvalValues(func::FuncOp function) {
  SmallVector<Operation *> trained;
  function.walk([&](Operation *op) {
    if (op->hasAttr("nd.eval_value"))
      trained.push_back(op);
  });
  for (Operation *op : trained) {
    OpBuilder builder(op);
    double value =
        op->getAttrOfType<FloatAttr>("nd.eval_value").getValueAsDouble();
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
  addModel(step, mapping);
  addMetrics(step, mapping);
  step.finish();
  fixEvalValues(step.getFunction());
}

/// Marks the op that makes the gradient of a parameter, unless it makes a named
/// value of the model too.
static void markGradient(Value gradient, const StepTensor &parameter) {
  Operation *op = gradient.getDefiningOp();
  if (!op || op->hasAttr("nd.name") || op->hasAttr("nd.class"))
    return;
  Builder builder(op->getContext());
  op->setAttr("nd.class", builder.getStringAttr("gradient"));
  op->setAttr("nd.name", builder.getStringAttr("gradient of " +
                                               parameter.name.getValue()));
}

void StepBuilder::addUpdate(StepFunction &step, unsigned index, Value value,
                            Value gradient, Value rate, Value number,
                            ValueRange slots) {
  OperationState state(train.getLoc(), updateName);
  state.addOperands({value, gradient, rate, number});
  state.addOperands(slots);
  state.addTypes(value.getType());
  state.addTypes(slots.getTypes());
  state.addAttributes(train.getHyper().getValue());
  state.addAttribute("nd.class", step.builder.getStringAttr("optimizer"));
  state.addAttribute("nd.name", parameters[index].name);
  Operation *update = step.builder.create(state);
  step.addResult(parameters[index], update->getResult(0));
}

LogicalResult StepBuilder::buildTrainStep() {
  StepFunction step(module, model.getLoc(), "train_step");
  IRMapping mapping;
  addParameters(step, mapping);
  SmallVector<SmallVector<Value>> slots;
  for (auto [op, parameter] : llvm::zip(parameterOps, parameters)) {
    slots.emplace_back();
    for (StringRef slot : slotNames)
      slots.back().push_back(
          step.addArgument(getSlot(parameter, slot), op.getLoc()));
  }
  addModel(step, mapping);

  SmallVector<Value> values;
  for (nd::ParameterOp op : parameterOps)
    values.push_back(mapping.lookup(op.getResult()));
  FailureOr<SmallVector<Value>> gradients =
      buildGradients(step.builder, mapping.lookup(metricValues[0]), values);
  if (failed(gradients))
    return failure();
  if (llvm::none_of(*gradients, [](Value gradient) { return !!gradient; }))
    return emitError(metricValues[0].getLoc())
           << "no gradient of loss '" << train.getLoss()
           << "' reaches a parameter; there is nothing to train: each way to "
              "one is through what has no gradient, as floor, a comparison or "
              "a whole number";

  OpBuilder &builder = step.builder;
  auto scalar = [&](Type type) { return nd::TensorType::get(type, {}); };
  Value rate = nd::ConstantOp::create(builder, train.getLoc(),
                                      scalar(builder.getF32Type()),
                                      train.getRate().convertToDouble());
  Value number =
      nd::StepOp::create(builder, train.getLoc(), scalar(builder.getI32Type()));
  SmallVector<SmallVector<Value>> newSlots = slots;
  for (auto [index, gradient] : llvm::enumerate(*gradients)) {
    if (!gradient) {
      parameterOps[index].emitWarning()
          << "loss '" << train.getLoss() << "' does not depend on parameter '"
          << parameters[index].name.getValue() << "', which stays as it is";
      step.addResult(parameters[index], values[index]);
      continue;
    }
    markGradient(gradient, parameters[index]);
    addUpdate(step, index, values[index], gradient, rate, number, slots[index]);
    Operation *update = &step.builder.getBlock()->back();
    newSlots[index].assign(update->result_begin() + 1, update->result_end());
  }
  for (auto [index, parameter] : llvm::enumerate(parameters))
    for (auto [slot, value] : llvm::zip(slotNames, newSlots[index]))
      step.addResult(getSlot(parameter, slot), value);
  addMetrics(step, mapping);
  step.finish();
  return success();
}

LogicalResult StepBuilder::run() {
  if (failed(collect()))
    return failure();
  if (train && (failed(findLoss()) || failed(findOptimizer())))
    return failure();
  buildInitialize();
  if (train && failed(buildTrainStep()))
    return failure();
  buildEvalStep();
  module->setAttr("nd.model", model.getSymNameAttr());
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
    nd::TrainOp train = trains.empty() ? nd::TrainOp() : trains.front();
    if (train && train.getModel() != functions[0].getName()) {
      train.emitError() << "there is no model '" << train.getModel() << "'";
      return signalPassFailure();
    }
    if (failed(StepBuilder(module, functions[0], train).run()))
      signalPassFailure();
  }
};
} // namespace

} // namespace meshc::autodiff
