//===- MicroBatchStep.cpp - the gradient of a batch in parts --------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Steps/MicroBatchStep.h"
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/Ops/ValueBuilder.h"
#include "lib/Steps/Autodiff/ReverseMode.h"
#include "lib/Steps/CloneModel.h"
#include "lib/Steps/MicroBatches.h"
#include "lib/Steps/Statistics/EvaluationSteps.h"
#include "lib/Steps/Statistics/MicroBatchLoss.h"

using namespace mlir;

namespace meshc::steps {

MicroBatchStep::MicroBatchStep(const ModelParts &parts, StepFunction &step,
                               ArrayRef<Value> parameters)
    : parts(parts), model(parts.model), step(step), parameters(parameters) {}

/// The first of `values` are those of the parameters.
static IRMapping mapParameters(const ModelParts &parts, ValueRange values) {
  IRMapping mapping;
  for (auto [op, value] : llvm::zip(parts.parameterOps, values))
    mapping.map(nd::ParameterOp(op).getResult(), value);
  return mapping;
}

/// Copies the model to the body of a loop; returns where its values are there.
IRMapping MicroBatchStep::copyModel(OpBuilder &body, ValueRange values,
                                    ValueRange inputs) {
  IRMapping mapping = mapParameters(parts, values);
  mapping.map(model.getArguments(), inputs);
  cloneModel(body, model, mapping, /*inGeneration=*/false);
  return mapping;
}

/// The statistic of the whole batch, from its sum over the micro-batches.
Value MicroBatchStep::complete(const Statistic &statistic, Value total) {
  if (statistic.kind == Statistic::Kind::Combined)
    return total;
  nd::ValueBuilder build(step.builder, total.getLoc());
  return build.make<nd::DivOp>(
      total, build.scalar(total, static_cast<double>(parts.microBatches)));
}

/// Statistics of the whole batch, summed over its micro-batches.
SmallVector<Value> MicroBatchStep::addStatistics(const MetricDivision &division,
                                                 ArrayRef<Value> statistics,
                                                 ValueRange batches) {
  if (statistics.empty())
    return {};
  MicroBatchLoop loop(step.builder, parts, batches, parameters);
  OpBuilder body = loop.getBuilder();
  IRMapping copies = copyModel(body, loop.getWhole(), loop.getInputs());
  SmallVector<Value> values;
  SmallVector<nd::ReductionKind> kinds;
  for (Value value : statistics) {
    values.push_back(copies.lookup(value));
    kinds.push_back(division.find(value)->reduction);
  }
  loop.getEnd()->setOperands(values);
  values = loop.combine(kinds);
  for (auto [value, total] : llvm::zip(statistics, values))
    total = complete(*division.find(value), total);
  return values;
}

/// The gradient of the mean of the micro-batches' losses is the sum of those of
/// their shares of it.
FailureOr<SmallVector<Value>> MicroBatchStep::build(Value factor) {
  ExampleDims dims(model, getExampleDims(parts));
  MetricDivision division(model.getBody().front(), dims);
  MicroBatchLoss loss(parts, division);
  SmallVector<Value> batches = addInputs(step, parts, parts.microBatches);
  SmallVector<Value> totals =
      addStatistics(division, loss.getWholeStatistics(), batches);
  SmallVector<Value> whole(parameters);
  whole.push_back(factor);
  llvm::append_range(whole, totals);
  MicroBatchLoop loop(step.builder, parts, batches, whole);
  OpBuilder body = loop.getBuilder();
  IRMapping copies = copyModel(body, loop.getWhole(), loop.getInputs());
  SmallVector<Value> values = {
      loss.build(body, copies, loop.getWhole().take_back(totals.size()))};
  SmallVector<nd::ReductionKind> kinds = {nd::ReductionKind::Sum};
  MetricDivision::Slice others =
      division.getSlice(ArrayRef(parts.metricValues).drop_front());
  for (Value value : others.statistics) {
    const Statistic &statistic = *division.find(value);
    if (!statistic.isExact)
      warnOfMicroBatches(value);
    values.push_back(copies.lookup(value));
    kinds.push_back(statistic.reduction);
  }
  loop.getEnd()->setOperands(values);
  nd::ValueBuilder build(body, parts.train->getLoc());
  Value part = build.make<nd::DivOp>(
      loop.getWhole()[parameters.size()],
      build.scalar(factor, static_cast<double>(parts.microBatches)));
  FailureOr<SmallVector<Value>> gradients = buildGradients(
      body, loop.getEnd()->getOperand(0),
      SmallVector<Value>(loop.getWhole().take_front(parameters.size())), part);
  if (failed(gradients))
    return failure();
  SmallVector<Value> sums = loop.combine(kinds, *gradients, parts.parameters);
  addMetrics(division, others, ArrayRef(sums).take_front(values.size()));
  return SmallVector<Value>(ArrayRef(sums).drop_front(values.size()));
}

/// The loss, from the first of `sums`, and the metrics, from their statistics
/// in the others.
void MicroBatchStep::addMetrics(const MetricDivision &division,
                                const MetricDivision::Slice &slice,
                                ArrayRef<Value> sums) {
  step.addResult(parts.metrics.front(),
                 complete({Statistic::Kind::Mean}, sums.front()));
  IRMapping values = mapParameters(parts, parameters);
  for (auto [value, sum] : llvm::zip(slice.statistics, sums.drop_front()))
    values.map(value, complete(*division.find(value), sum));
  buildRest(step.builder, slice, values);
  for (auto [metric, value] :
       llvm::drop_begin(llvm::zip(parts.metrics, parts.metricValues)))
    step.addResult(metric, values.lookup(value));
}

void divideModelLoops(ModelParts &parts) {
  Operation *end = parts.model.getBody().front().getTerminator();
  SmallVector<Value> before(end->getOperands());
  divideLoops(parts.model, getExampleDims(parts));
  auto update = [&](Value &value) {
    for (auto [old, now] : llvm::zip(before, end->getOperands()))
      if (old == value) {
        value = now;
        return;
      }
  };
  llvm::for_each(parts.metricValues, update);
  if (parts.logitsValue)
    update(parts.logitsValue);
}

} // namespace meshc::steps
