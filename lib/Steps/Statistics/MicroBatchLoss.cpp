//===- MicroBatchLoss.cpp - the loss of a batch in parts ------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Steps/Statistics/MicroBatchLoss.h"
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/Ops/ReductionOps.h"
#include "dialects/Nd/Ops/ValueBuilder.h"
#include "lib/Steps/CloneModel.h"

using namespace mlir;

namespace meshc::steps {

void warnOfMicroBatches(Value value) {
  emitWarning(value.getLoc())
      << "with 'accumulate', this value is the mean of the micro-batches' "
         "values, and not that of the whole batch: it is no linear function "
         "of sums and means over the examples";
}

MicroBatchLoss::MicroBatchLoss(const ModelParts &parts,
                               const MetricDivision &division)
    : parts(parts) {
  func::FuncOp model = parts.model;
  findTrained(model.getBody().front());
  Value loss = parts.metricValues.front();
  MetricDivision::Slice slice = division.getSlice(loss);
  // Sums that enter linearly need not be those of the whole batch.
  if (!classify(slice, division, /*wantsWhole=*/false))
    classify(slice, division, /*wantsWhole=*/true);
  for (Value value : slice.statistics) {
    if (getForm(value) == Form::Fixed)
      wholeStatistics.insert(value);
    else if (division.find(value)->kind == Statistic::Kind::Combined &&
             division.find(value)->reduction == nd::ReductionKind::Sum)
      ownSums.insert(value);
    if (getForm(value) == Form::Own)
      warnOfMicroBatches(value);
  }
  for (Operation *op : slice.rest) {
    if (!isa<nd::ParameterOp>(op))
      rest.insert(op);
    if (op->getNumResults() && getForm(op->getResult(0)) == Form::Own)
      warnOfMicroBatches(op->getResult(0));
  }
}

bool MicroBatchLoss::follow(Value to, Value from) {
  return to && from && trained.contains(from) && trained.insert(to).second;
}

/// Each tie of a loop by itself; what it carries until nothing is new.
void MicroBatchLoss::findTrainedIn(nd::ScanOp scan) {
  for (bool isNew = true; isNew;) {
    isNew = false;
    for (const nd::Tie &tie : scan.getTies()) {
      isNew |= follow(tie.argument, tie.operand);
      if (tie.kind == nd::TieKind::Carried)
        isNew |= follow(tie.argument, tie.yielded);
    }
    findTrained(scan.getBlock());
  }
  for (const nd::Tie &tie : scan.getTies())
    follow(tie.result, tie.yielded);
}

void MicroBatchLoss::findTrained(Block &block) {
  for (Operation &op : block.without_terminator())
    if (auto scan = dyn_cast<nd::ScanOp>(op))
      findTrainedIn(scan);
    else if (isa<nd::ParameterOp>(op) ||
             llvm::any_of(op.getOperands(),
                          [&](Value value) { return trained.contains(value); }))
      trained.insert(op.result_begin(), op.result_end());
}

MicroBatchLoss::Form MicroBatchLoss::getForm(Value value) const {
  auto form = forms.find(value);
  return form == forms.end() ? Form::Fixed : form->second;
}

MicroBatchLoss::Form MicroBatchLoss::combineForms(Operation *op) const {
  SmallVector<unsigned> linear;
  for (OpOperand &operand : op->getOpOperands())
    if (getForm(operand.get()) != Form::Fixed)
      linear.push_back(operand.getOperandNumber());
  if (linear.empty())
    return Form::Fixed;
  auto named = dyn_cast<nd::NamedOpInterface>(op);
  if (!named)
    return Form::Own;
  if (isa<nd::ReduceMeanOp>(op))
    return Form::Linear;
  nd::PartitionRule rule = named.getPartitionRule();
  bool isLinear = rule.jointlyLinear ||
                  (linear.size() == 1 &&
                   llvm::is_contained(rule.linearOperands, linear.front()));
  return isLinear ? Form::Linear : Form::Own;
}

/// Finds the form of each value of the slice; that of an exact statistic
/// without parameters is Fixed if `wantsWhole`. Returns whether all are exact.
/// An operand that each micro-batch computes by itself enters as one that is
/// linear: its cause is known.
bool MicroBatchLoss::classify(const MetricDivision::Slice &slice,
                              const MetricDivision &division, bool wantsWhole) {
  bool isExact = true;
  forms.clear();
  for (Value value : slice.statistics) {
    const Statistic &statistic = *division.find(value);
    bool isSum = statistic.kind == Statistic::Kind::Mean ||
                 statistic.reduction == nd::ReductionKind::Sum;
    Form form = statistic.isExact && isSum ? Form::Linear : Form::Own;
    if (wantsWhole && statistic.isExact && !trained.contains(value))
      form = Form::Fixed;
    forms[value] = form;
    isExact &= form != Form::Own;
  }
  for (Operation *op : slice.rest) {
    Form form = combineForms(op);
    isExact &= form != Form::Own;
    for (Value result : op->getResults())
      forms[result] = form;
  }
  return isExact;
}

Value MicroBatchLoss::build(OpBuilder &builder, const IRMapping &copies,
                            ValueRange totals) const {
  Value loss = parts.metricValues.front();
  if (wholeStatistics.empty() && ownSums.empty())
    return copies.lookup(loss);
  // Without the values in loops: they are to be copied again.
  IRMapping mapping;
  for (auto [value, total] : llvm::zip(wholeStatistics, totals))
    mapping.map(value, total);
  for (Value value : ownSums) {
    nd::ValueBuilder build(builder, value.getLoc());
    Value own = copies.lookup(value);
    mapping.map(
        value,
        build.make<nd::MulOp>(
            own, build.scalar(own, static_cast<double>(parts.microBatches))));
  }
  for (Operation *op : rest) {
    for (Value operand : op->getOperands())
      if (!mapping.contains(operand))
        mapping.map(operand, copies.lookup(operand));
    cloneModelOp(builder, *op, mapping, /*inGeneration=*/false);
  }
  return mapping.lookup(loss);
}

} // namespace meshc::steps
