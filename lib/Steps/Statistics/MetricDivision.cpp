//===- MetricDivision.cpp - metrics as functions of statistics ------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Steps/Statistics/MetricDivision.h"
#include "dialects/Nd/Ops/ContractionOps.h"
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/Ops/ReductionOps.h"
#include "dialects/Nd/Ops/SourceOps.h"
#include "lib/Steps/CloneModel.h"

using namespace mlir;

namespace meshc::steps {

MetricDivision::MetricDivision(Block &block, const ExampleDims &dims,
                               ArrayRef<Value> undividedArguments)
    : block(block), dims(dims),
      undivided(undividedArguments.begin(), undividedArguments.end()) {
  for (Operation &op : block.without_terminator())
    divide(&op);
}

const Statistic *MetricDivision::find(Value value) const {
  auto found = statistics.find(value);
  return found == statistics.end() ? nullptr : &found->second;
}

/// The kind of the op's result if it reduces over all examples of its operands.
std::optional<Statistic> MetricDivision::classify(Operation *op) const {
  if (auto cast = dyn_cast<nd::CastOp>(op)) {
    // Whole numbers are summed as floats, which do not wrap around.
    const Statistic *counted = find(cast.getInput());
    if (counted && counted->kind == Statistic::Kind::Combined &&
        counted->reduction == nd::ReductionKind::Sum &&
        cast.getInput().getType().getElementType().isInteger(32) &&
        cast.getType().isFloat())
      return *counted;
    return std::nullopt;
  }
  if (isa<nd::ReduceMeanOp>(op))
    return Statistic{Statistic::Kind::Mean};
  if (!isa<nd::ReduceOpInterface, nd::EinsumOp>(op))
    return std::nullopt;
  std::optional<nd::ReductionKind> kind;
  nd::PartitionRule rule = cast<nd::NamedOpInterface>(op).getPartitionRule();
  for (const nd::Factor &factor : rule.factors)
    if (factor.effect == nd::FactorEffect::Reduce)
      kind = factor.reduction;
  if (!kind)
    return std::nullopt;
  return Statistic{Statistic::Kind::Combined, *kind};
}

/// Whether the op needs totals of statistics alone.
bool MetricDivision::isOfTotals(Operation *op) const {
  auto isNeeded = [&](Value value) {
    return dims.isPerExample(value) || undivided.contains(value);
  };
  if (llvm::any_of(op->getOperands(), isNeeded))
    return false;
  return !op->walk([&](Operation *inner) {
              return llvm::any_of(inner->getResults(), isNeeded)
                         ? WalkResult::interrupt()
                         : WalkResult::advance();
            }).wasInterrupted();
}

/// Stacked statistics of a loop's iterations are statistics.
void MetricDivision::divideLoop(nd::ScanOp scan) {
  MetricDivision body(scan.getBlock(), dims);
  for (const nd::Tie &tie : scan.getTies())
    if (tie.kind == nd::TieKind::StackedResult)
      if (const Statistic *entry = body.find(tie.yielded))
        statistics[tie.result] = *entry;
}

void MetricDivision::divide(Operation *op) {
  if (auto scan = dyn_cast<nd::ScanOp>(op))
    divideLoop(scan);
  bool isReduction =
      llvm::any_of(op->getOperands(),
                   [&](Value value) { return dims.isPerExample(value); }) ||
      isa<nd::CastOp>(op);
  for (Value result : op->getResults()) {
    if (dims.isPerExample(result) || find(result))
      continue;
    bool isDependent = dims.dependsOnExamples(result);
    std::optional<Statistic> kind =
        isReduction && isDependent ? classify(op) : std::nullopt;
    if (kind)
      statistics[result] = *kind;
    else if (isOfTotals(op))
      continue;
    else if (nd::getTensorType(result).isFloat())
      // What a loop computes beside its examples is the same in all batches.
      statistics[result] = {Statistic::Kind::Mean, nd::ReductionKind::Sum,
                            /*isExact=*/!isDependent};
    else
      undivided.insert(result);
  }
}

MetricDivision::Slice MetricDivision::getSlice(ValueRange values) const {
  Slice slice;
  llvm::SmallDenseSet<Operation *> needed;
  SmallVector<Value> open(values.begin(), values.end());
  while (!open.empty()) {
    Value value = open.pop_back_val();
    Operation *maker = value.getDefiningOp();
    if (find(value)) {
      slice.statistics.insert(value);
      continue;
    }
    if (!maker || !needed.insert(maker).second)
      continue;
    llvm::append_range(open, maker->getOperands());
  }
  for (Operation &op : block)
    if (needed.contains(&op))
      slice.rest.insert(&op);
  return slice;
}

static bool drawsNumbers(Operation *op) {
  return op->walk([](nd::RandomOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

bool MetricDivision::dependsOnBatches(const Slice &slice,
                                      bool hasMicroBatches) const {
  if (llvm::any_of(slice.statistics,
                   [&](Value value) { return !find(value)->isExact; }))
    return true;
  // The examples that the statistics see.
  llvm::SmallDenseSet<Value> seen;
  SmallVector<Value> open;
  bool draws = false;
  auto follow = [&](Operation *op) {
    draws |= drawsNumbers(op);
    llvm::append_range(open, op->getOperands());
    op->walk([&](Operation *inner) {
      if (inner != op && isa<nd::NamedOpInterface>(inner))
        llvm::append_range(open, inner->getOperands());
    });
  };
  for (Value value : slice.statistics)
    follow(value.getDefiningOp());
  while (!open.empty()) {
    Value value = open.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    if (dims.dependsOnExamples(value) && !dims.isPerExample(value))
      return true;
    // Pairs of examples are within a batch.
    if (dims.of(value).size() > 1)
      return true;
    Operation *maker = value.getDefiningOp();
    if (!maker)
      continue;
    bool isCombined = false;
    if (dims.isPerExample(value))
      dims.forEachCombined(maker, [&](auto...) { isCombined = true; });
    if (isCombined)
      return true;
    follow(maker);
  }
  // Each micro-batch draws numbers of its own.
  return draws && hasMicroBatches;
}

void buildRest(OpBuilder &builder, const MetricDivision::Slice &slice,
               IRMapping &mapping) {
  for (Operation *op : slice.rest)
    if (!llvm::all_of(op->getResults(),
                      [&](Value value) { return mapping.contains(value); }))
      cloneModelOp(builder, *op, mapping, /*inGeneration=*/false);
}

Value combine(OpBuilder &builder, Location loc, nd::ReductionKind kind, Value a,
              Value b) {
  switch (kind) {
  case nd::ReductionKind::Sum:
    return nd::AddOp::create(builder, loc, a, b);
  case nd::ReductionKind::Max:
    return nd::MaximumOp::create(builder, loc, a, b);
  case nd::ReductionKind::Min:
    return nd::MinimumOp::create(builder, loc, a, b);
  case nd::ReductionKind::Prod:
    return nd::MulOp::create(builder, loc, a, b);
  }
  llvm_unreachable("all kinds are above");
}

} // namespace meshc::steps
