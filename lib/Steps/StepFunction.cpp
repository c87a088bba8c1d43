//===- StepFunction.cpp - a step function under construction --------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Steps/StepFunction.h"
#include "dialects/Nd/Ops/CustomGradientOps.h"
#include "dialects/Nd/Ops/SourceOps.h"
#include "dialects/Nd/Ops/ValueBuilder.h"
#include "lib/Steps/MicroBatches.h"
#include "lib/Steps/ParameterAverages.h"

using namespace mlir;

namespace meshc::steps {

StepFunction::StepFunction(ModuleOp module, Location loc, nd::Step step)
    : builder(module.getContext()) {
  builder.setInsertionPointToEnd(module.getBody());
  function = func::FuncOp::create(builder, loc, nd::getStepName(step),
                                  builder.getFunctionType({}, {}));
  builder.setInsertionPointToStart(function.addEntryBlock());
  terminator = func::ReturnOp::create(builder, loc);
  builder.setInsertionPoint(terminator);
}

Value StepFunction::addArgument(const StepTensor &tensor, Location loc) {
  arguments.push_back(tensor);
  return function.getBody().front().addArgument(tensor.type, loc);
}

void StepFunction::addResult(const StepTensor &tensor, Value value) {
  results.push_back(tensor);
  terminator->insertOperands(terminator->getNumOperands(), value);
}

void StepFunction::moveToEnd(unsigned count) {
  SmallVector<Value> values(terminator->getOperands());
  std::rotate(values.begin(), values.begin() + count, values.end());
  std::rotate(results.begin(), results.begin() + count, results.end());
  terminator->setOperands(values);
}

void StepFunction::finish() {
  MLIRContext *context = builder.getContext();
  function.setFunctionType(
      FunctionType::get(context, function.getBody().getArgumentTypes(),
                        terminator->getOperandTypes()));
  SmallVector<DictionaryAttr> attributes;
  for (const StepTensor &argument : arguments)
    attributes.push_back(argument.getAttributes(context));
  function.setAllArgAttrs(attributes);
  attributes.clear();
  for (const StepTensor &result : results)
    attributes.push_back(result.getAttributes(context));
  function.setAllResultAttrs(attributes);
}

void addParameters(StepFunction &step, const ModelParts &parts,
                   IRMapping &mapping, bool asAverages) {
  for (auto [op, tensor] : llvm::zip(parts.parameterOps, parts.parameters)) {
    nd::ParameterOp parameter = op;
    bool isAverage = asAverages && parts.isAveraged(tensor);
    Value value = step.addArgument(isAverage ? getAverage(tensor) : tensor,
                                   parameter.getLoc());
    mapping.map(parameter.getResult(),
                nd::ValueBuilder(step.builder, parameter.getLoc())
                    .castTo(value, parameter.getType().getElementType()));
  }
}

SmallVector<Value> addInputs(StepFunction &step, const ModelParts &parts,
                             int64_t count) {
  SmallVector<Value> values;
  func::FuncOp model = parts.model;
  for (auto [argument, tensor] :
       llvm::zip(model.getArguments(), parts.inputs)) {
    StepTensor batch = tensor;
    batch.type = getBatchType(tensor, count);
    values.push_back(step.addArgument(batch, argument.getLoc()));
  }
  return values;
}

void dropCustomGradients(Operation *within) {
  within->walk([](nd::CustomGradientOp op) {
    op->replaceAllUsesWith(op.getValues());
    op->erase();
  });
}

void fixEvalValues(func::FuncOp function) {
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

} // namespace meshc::steps
