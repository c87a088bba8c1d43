//===- EvaluationSteps.cpp - the steps of evaluations ---------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Steps/Statistics/EvaluationSteps.h"
#include "dialects/Nd/Interfaces/ReductionKinds.h"
#include "dialects/Nd/ModelPlaces.h"
#include "dialects/Nd/Ops/CustomGradientOps.h"
#include "dialects/Nd/Ops/LoopEdit.h"
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/Ops/SourceOps.h"
#include "dialects/Nd/Ops/StatisticOps.h"
#include "dialects/Nd/Ops/ValueBuilder.h"
#include "lib/Steps/CloneModel.h"
#include "lib/Steps/MicroBatches.h"
#include "lib/Steps/Statistics/MaskExamples.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/CSE.h"
#include <cmath>
#include <limits>

using namespace mlir;

namespace meshc::steps {

SmallVector<StringAttr> getExampleDims(const ModelParts &parts) {
  SmallVector<StringAttr> dims;
  for (const StepTensor &input : parts.inputs)
    if (auto dim = cast<StringAttr>(input.order[0]);
        !llvm::is_contained(dims, dim))
      dims.push_back(dim);
  return dims;
}

/// Examples of a micro-batch.
static int64_t countExamples(const ModelParts &parts) {
  const StepTensor &input = parts.inputs.front();
  auto dim = cast<StringAttr>(input.order[0]);
  return cast<nd::TensorType>(input.type).getSize(dim.getValue());
}

/// "gpt.mesh:14:13: 'slice'": where the op is in the model's text, and its
/// name.
static std::string describe(Operation *op) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (auto places = nd::getModelPlaces(op->getLoc()); !places.empty())
    stream << places.front().getFilename().getValue() << ':'
           << places.front().getLine() << ':' << places.front().getColumn()
           << ": ";
  stream << '\'' << op->getName().stripDialect() << '\'';
  return text;
}

static StepTensor makeState(MLIRContext *context, const Twine &name,
                            nd::TensorType type, nd::TensorRole role) {
  SmallVector<Attribute> order;
  for (nd::DimAttr dim : type.getDims())
    order.push_back(dim.getName());
  return {StringAttr::get(context, name), type, ArrayAttr::get(context, order),
          role};
}

/// The type in which a statistic is combined: sums in f32.
static nd::TensorType getTotalType(Value value, const Statistic &statistic) {
  nd::TensorType type = nd::getTensorType(value);
  bool isSum = statistic.kind == Statistic::Kind::Mean ||
               statistic.reduction == nd::ReductionKind::Sum;
  return isSum ? type.withElementType(Float32Type::get(type.getContext()))
               : type;
}

/// The dims along which entries of the model's values belong to examples:
/// `counting`, and what they were merged into, split into or renamed to.
static llvm::SmallSetVector<StringAttr, 4>
findExampleDims(func::FuncOp model, ArrayRef<StringAttr> counting) {
  ExampleDims dims(model, counting);
  llvm::SmallSetVector<StringAttr, 4> found(counting.begin(), counting.end());
  auto add = [&](Value value) {
    for (const ExampleNumber &number : dims.of(value))
      found.insert_range(number.dims);
  };
  model.walk([&](Block *block) { llvm::for_each(block->getArguments(), add); });
  model.walk([&](Operation *op) { llvm::for_each(op->getResults(), add); });
  return found;
}

/// Whether the model looks at the places of examples in a batch, by their
/// indices or by a parameter that has an entry for each.
static bool readsExamplePositions(func::FuncOp model,
                                  ArrayRef<StringAttr> counting,
                                  size_t parameterCount) {
  auto dims = findExampleDims(model, counting);
  auto counts = [&](Value value) {
    return llvm::any_of(dims, [&](StringAttr dim) {
      return nd::getTensorType(value).hasDim(dim.getValue());
    });
  };
  if (llvm::any_of(model.getArguments().take_front(parameterCount), counts))
    return true;
  return model
      .walk([&](Operation *op) {
        return op->hasTrait<nd::ReadsPosition>() &&
                       llvm::any_of(op->getResults(), counts)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Copies the model to a function whose arguments are the parameters, the
/// inputs and the number of examples.
void EvaluationSteps::makeModel() {
  OpBuilder builder(module.getContext());
  builder.setInsertionPointToEnd(module.getBody());
  SmallVector<Type> types;
  SmallVector<Location> locations;
  for (nd::ParameterOp op : parts.parameterOps) {
    types.push_back(op.getType());
    locations.push_back(op.getLoc());
  }
  func::FuncOp text = parts.model;
  for (BlockArgument argument : text.getArguments()) {
    types.push_back(argument.getType());
    locations.push_back(argument.getLoc());
  }
  types.push_back(nd::TensorType::get(builder.getI32Type(), {}));
  locations.push_back(text.getLoc());
  SmallVector<Type> results;
  for (Value value : parts.metricValues)
    results.push_back(value.getType());
  model = func::FuncOp::create(builder, text.getLoc(), "evaluation",
                               builder.getFunctionType(types, results));
  Block *block = builder.createBlock(&model.getBody(), {}, types, locations);
  IRMapping mapping;
  auto arguments = ValueRange(block->getArguments());
  for (auto [op, value] : llvm::zip(parts.parameterOps, arguments))
    mapping.map(nd::ParameterOp(op).getResult(), value);
  mapping.map(text.getArguments(),
              arguments.drop_front(parts.parameterOps.size()).drop_back());
  cloneModel(builder, text, mapping, /*inGeneration=*/false);
  SmallVector<Value> metrics;
  for (Value value : parts.metricValues)
    metrics.push_back(mapping.lookup(value));
  func::ReturnOp::create(builder, text.getLoc(), metrics);
  fixEvalValues(model);
  dropCustomGradients(model);
}

/// Why all batches of an evaluation have to be complete; empty if they need
/// not be.
std::string EvaluationSteps::findObstacle(ArrayRef<StringAttr> counting) {
  if (Operation *op = maskExamples(model, counting, {}))
    return "an operation combines entries of different examples (" +
           describe(op) + ")";
  if (countExamples(parts) >
      std::numeric_limits<int32_t>::max() / parts.microBatches)
    return "a batch has more than 2^31 - 1 of them";
  return "";
}

EvaluationSteps::EvaluationSteps(ModuleOp module, const ModelParts &parts)
    : module(module), parts(parts) {
  makeModel();
  SmallVector<StringAttr> counting = getExampleDims(parts);
  bool readsPositions =
      readsExamplePositions(model, counting, parts.parameterOps.size());
  if (std::string obstacle = findObstacle(counting); !obstacle.empty())
    nd::setWholeBatches(module, StringAttr::get(module.getContext(), obstacle));
  else
    maskExamples(model, counting, model.getArguments().back());
  divideLoops(model, counting);
  // Metrics share what they count.
  IRRewriter rewriter(module.getContext());
  DominanceInfo dominance(model);
  eliminateCommonSubExpressions(rewriter, dominance, model);
  dims.emplace(model, counting);
  division.emplace(model.getBody().front(), *dims);
  slice = division->getSlice(
      model.getBody().front().getTerminator()->getOperands());
  if (readsPositions ||
      division->dependsOnBatches(slice, parts.microBatches > 1))
    nd::setDependsOnBatches(module);
  for (auto [index, value] : llvm::enumerate(slice.statistics))
    states.push_back(makeState(module.getContext(), "statistic." + Twine(index),
                               getTotalType(value, *division->find(value)),
                               nd::TensorRole::Statistic));
  warnOfMeans();
  warnOfSizes();
}

/// Warns where a sum over the examples is divided by the size of a batch, as if
/// there were only one: that of an evaluation counts all examples.
void EvaluationSteps::warnOfSizes() {
  auto size = static_cast<double>(countExamples(parts));
  for (Operation *op : slice.rest) {
    auto division = dyn_cast<nd::DivOp>(op);
    auto divisor = division ? division.getRhs().getDefiningOp<nd::ConstantOp>()
                            : nd::ConstantOp();
    const Statistic *sum =
        divisor ? this->division->find(division.getLhs()) : nullptr;
    auto number =
        divisor ? dyn_cast<FloatAttr>(divisor.getValue()) : FloatAttr();
    if (!sum || sum->kind != Statistic::Kind::Combined || !number ||
        size == 1 || number.getValueAsDouble() < size ||
        std::fmod(number.getValueAsDouble(), size) != 0)
      continue;
    op->emitWarning("this divides a sum over the examples by ")
        << static_cast<int64_t>(number.getValueAsDouble())
        << ", which looks like the size of a batch; the sum of an evaluation, "
           "and of a step with 'accumulate', is that of all its examples: "
           "'mean' divides it by their number";
  }
}

EvaluationSteps::~EvaluationSteps() { model.erase(); }

void EvaluationSteps::warnOfMeans() {
  for (Value value : slice.statistics)
    if (!division->find(value)->isExact)
      emitWarning(value.getLoc())
          << "this value is computed within a batch, and not from sums, means "
             "or extrema over the examples: an evaluation of several batches "
             "uses the mean of their values";
}

/// Copies the model's ops; returns the statistics of the slice.
SmallVector<Value> EvaluationSteps::copyModel(OpBuilder &builder,
                                              ValueRange parameters,
                                              ValueRange inputs, Value count) {
  IRMapping mapping;
  SmallVector<Value> values(parameters);
  llvm::append_range(values, inputs);
  values.push_back(count);
  mapping.map(model.getArguments(), values);
  for (Operation &op : model.getBody().front().without_terminator())
    builder.clone(op, mapping);
  SmallVector<Value> statistics;
  for (Value value : slice.statistics)
    statistics.push_back(
        prepare(builder, mapping.lookup(value), *division->find(value), count));
  return statistics;
}

/// The value as it is combined: in the type of its total; one that is to be
/// averaged, times the number of examples.
Value EvaluationSteps::prepare(OpBuilder &builder, Value value,
                               const Statistic &statistic, Value count) {
  nd::ValueBuilder build(builder, value.getLoc());
  value = build.castTo(value, getTotalType(value, statistic).getElementType());
  if (statistic.kind != Statistic::Kind::Mean)
    return value;
  // Without examples, there may be no value.
  Value weight = build.castTo(count, builder.getF32Type());
  return build.make<nd::SelectOp>(
      build.compare(nd::Predicate::Gt, count, build.scalar(count, 0)),
      build.make<nd::MulOp>(value, weight), build.scalar(value, 0));
}

static nd::ReductionKind getReduction(const Statistic &statistic) {
  return statistic.kind == Statistic::Kind::Mean ? nd::ReductionKind::Sum
                                                 : statistic.reduction;
}

/// The statistics of the batch; with `accumulate`, of its micro-batches
/// together.
SmallVector<Value> EvaluationSteps::computeStatistics(StepFunction &step,
                                                      ValueRange parameters,
                                                      ValueRange inputs,
                                                      Value count) {
  if (parts.microBatches == 1)
    return copyModel(step.builder, parameters, inputs, count);
  SmallVector<Value> whole(parameters);
  whole.push_back(count);
  MicroBatchLoop loop(step.builder, parts, inputs, whole);
  OpBuilder body = loop.getBuilder();
  nd::ValueBuilder build(body, count.getLoc());
  // Of `count` examples, those i with i mod n = number are in the micro-batch.
  Value number = loop.getNumber(), all = loop.getWhole().back();
  double n = static_cast<double>(parts.microBatches);
  Value own = build.make<nd::DivOp>(
      build.make<nd::SubOp>(
          build.make<nd::AddOp>(all, build.scalar(all, n - 1)), number),
      build.scalar(all, n));
  SmallVector<Value> values =
      copyModel(body, loop.getWhole().drop_back(), loop.getInputs(), own);
  loop.getEnd()->setOperands(values);
  SmallVector<nd::ReductionKind> kinds;
  for (Value value : slice.statistics)
    kinds.push_back(getReduction(*division->find(value)));
  return loop.combine(kinds);
}

/// Adds a running sum; returns it.
Value EvaluationSteps::addSum(StepFunction &step, const StepTensor &state,
                              Value part) {
  StepTensor low = state;
  low.name = step.builder.getStringAttr(state.name.getValue() + ".low");
  Location loc = part.getLoc();
  Value before = step.addArgument(state, loc);
  Value lowBefore = step.addArgument(low, loc);
  auto add = [&](bool remainder) -> Value {
    auto sum =
        nd::RunningSumOp::create(step.builder, loc, before, lowBefore, part);
    sum.setRemainder(remainder);
    return sum;
  };
  Value sum = add(false);
  step.addResult(state, sum);
  step.addResult(low, add(true));
  return sum;
}

/// Adds the total of a statistic, whose value of this batch is `part`; returns
/// the total.
Value EvaluationSteps::addTotal(StepFunction &step, const StepTensor &state,
                                const Statistic &statistic, Value part,
                                Value isFirst) {
  if (getReduction(statistic) == nd::ReductionKind::Sum)
    return addSum(step, state, part);
  Location loc = part.getLoc();
  Value before = step.addArgument(state, loc);
  Value total = nd::SelectOp::create(
      step.builder, loc, isFirst, part,
      combine(step.builder, loc, statistic.reduction, before, part));
  step.addResult(state, total);
  return total;
}

/// How many examples the batch has. Where all batches are complete, the number
/// serves only as the weight of a batch: then each micro-batch counts as one.
Value EvaluationSteps::addExamples(StepFunction &step) {
  if (!nd::getWholeBatches(module))
    return countBatch(step);
  return nd::ValueBuilder(step.builder, parts.model->getLoc())
      .scalar(step.builder.getI32Type(),
              static_cast<double>(parts.microBatches));
}

/// The number of real examples: of a complete batch as long as such follow.
Value EvaluationSteps::countBatch(StepFunction &step) {
  nd::ValueBuilder build(step.builder, parts.model->getLoc());
  Type i32 = step.builder.getI32Type();
  auto scalar = nd::TensorType::get(i32, {});
  auto size = static_cast<double>(countExamples(parts) * parts.microBatches);
  Value complete = build.scalar(i32, size);
  MLIRContext *context = module.getContext();
  StepTensor batches =
      makeState(context, "batches", scalar, nd::TensorRole::Batches);
  Value open = step.addArgument(batches, parts.model->getLoc());
  Value rest =
      step.addArgument(makeState(context, "rest", scalar, nd::TensorRole::Rest),
                       parts.model->getLoc());
  step.addResult(batches, build.make<nd::SubOp>(open, build.scalar(i32, 1)));
  return build.make<nd::SelectOp>(
      build.compare(nd::Predicate::Gt, open, build.scalar(i32, 0)), complete,
      rest);
}

void EvaluationSteps::addBatch(StepFunction &step,
                               const IRMapping &parameters) {
  SmallVector<Value> values;
  for (nd::ParameterOp op : parts.parameterOps)
    values.push_back(parameters.lookup(op.getResult()));
  SmallVector<Value> inputs = addInputs(step, parts, parts.microBatches);
  Value count = addExamples(step);
  SmallVector<Value> statistics =
      computeStatistics(step, values, inputs, count);
  nd::ValueBuilder build(step.builder, parts.model->getLoc());
  // Its name, for messages: the model has no division there.
  nd::ValueBuilder average(
      step.builder,
      NameLoc::get(step.builder.getStringAttr("mean"), parts.model->getLoc()));
  Type f32 = step.builder.getF32Type();
  StepTensor examples =
      makeState(module.getContext(), "statistic.examples",
                nd::TensorType::get(f32, {}), nd::TensorRole::Statistic);
  Value seen = addSum(step, examples, build.castTo(count, f32));
  Value isFirst =
      build.compare(nd::Predicate::Le, seen, build.castTo(count, f32));
  IRMapping mapping;
  for (auto [argument, value] : llvm::zip(model.getArguments(), values))
    mapping.map(argument, value);
  for (auto [value, part, state] :
       llvm::zip(slice.statistics, statistics, states)) {
    const Statistic &statistic = *division->find(value);
    Value total = addTotal(step, state, statistic, part, isFirst);
    if (statistic.kind == Statistic::Kind::Mean)
      total = average.make<nd::DivOp>(total, seen);
    mapping.map(value,
                build.castTo(total, nd::getTensorType(value).getElementType()));
  }
  mapping.map(model.getArguments().back(),
              build.castTo(seen, step.builder.getI32Type()));
  buildRest(step.builder, slice, mapping);
  unsigned stateCount = step.getResultCount();
  Operation *end = model.getBody().front().getTerminator();
  for (auto [metric, value] : llvm::zip(parts.metrics, end->getOperands()))
    step.addResult(metric, mapping.lookup(value));
  step.moveToEnd(stateCount);
}

void EvaluationSteps::build(bool ofAverages) {
  StepFunction step(module, parts.model->getLoc(),
                    ofAverages ? nd::Step::EvalAverages : nd::Step::Eval);
  IRMapping mapping;
  addParameters(step, parts, mapping, ofAverages);
  addBatch(step, mapping);
  step.finish();
}

} // namespace meshc::steps
