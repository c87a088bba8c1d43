//===- BlockBuilder.cpp - a block from its plan ---------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Partition/BlockBuilder.h"
#include "dialects/Nd/Ops/LoopEdit.h"
#include "dialects/Nd/Ops/ShapeOps.h"
#include "dialects/Nd/Ops/SourceOps.h"
#include "dialects/Nd/TensorAttributes.h"
#include "lib/Partition/BuildOp.h"

using namespace mlir;

namespace meshc::partition {

using nd::TensorType;
using spmd::FormAttr;
using spmd::PlanAttr;
using spmd::PlanValue;
using spmd::StepAttr;
using spmd::StepKind;

BlockBuilder::BlockBuilder(Block &old, Block &made, PlanAttr plan,
                           nd::MeshAttr mesh, BlockBuilder *parent)
    : old(old), made(made), plan(plan), mesh(mesh), parent(parent),
      builder(plan.getContext()) {
  builder.setInsertionPointToEnd(&made);
  for (Operation &op : old)
    ops.push_back(&op);
}

//===----------------------------------------------------------------------===//
// Values and forms
//===----------------------------------------------------------------------===//

InFlightDiagnostic BlockBuilder::fail() {
  InFlightDiagnostic error = old.getParentOp()->emitError("the plan does not ");
  error << "fit: ";
  if (number < plan.getSteps().size()) {
    StepAttr step = plan.getSteps()[number];
    error << "step " << number << ", '" << stringifyStepKind(step.getKind())
          << (step.getValue().isArgument() ? " argument " : " op ")
          << step.getValue().number << "', ";
  } else {
    error << "its end ";
  }
  return error;
}

Operation *BlockBuilder::getOp(int64_t place) const {
  return place < static_cast<int64_t>(ops.size()) ? ops[place] : nullptr;
}

Value BlockBuilder::getValue(PlanValue place) const {
  if (place.isArgument())
    return place.number < old.getNumArguments() ? old.getArgument(place.number)
                                                : Value();
  Operation *op = getOp(place.number);
  return op && place.result < op->getNumResults() ? op->getResult(place.result)
                                                  : Value();
}

/// The type of the value in a form that the plan names.
FailureOr<TensorType> BlockBuilder::getType(Value value, FormAttr form) {
  TensorType of = nd::getTensorType(value);
  for (nd::DimAttr cut : form.getCuts())
    for (StringAttr axis : cut.getAxes())
      if (mesh.getAxisIndex(axis) < 0)
        return fail() << "names the axis '" << axis.getValue()
                      << "', which the mesh does not have";
  for (StringAttr axis : form.getPartialAxes())
    if (mesh.getAxisIndex(axis) < 0)
      return fail() << "names the axis '" << axis.getValue()
                    << "', which the mesh does not have";
  if (TensorType type = of ? form.apply(of) : TensorType())
    return type;
  return fail() << "gives a value of type " << value.getType() << " the form "
                << form
                << ": it lacks a dim, or an axis would cut it more than once";
}

FailureOr<Value> BlockBuilder::find(Value value, TensorType type) {
  auto known = forms.find(value);
  if (known != forms.end())
    for (Value form : known->second)
      if (form.getType() == type)
        return form;
  return fail() << "needs a value as " << type
                << ", which no step before it makes";
}

FailureOr<llvm::SmallVector<Value>>
BlockBuilder::findAll(ValueRange values, ArrayRef<FormAttr> ofValues) {
  if (values.size() != ofValues.size())
    return fail() << "has " << ofValues.size() << " forms for " << values.size()
                  << " values";
  llvm::SmallVector<Value> found;
  for (auto [value, form] : llvm::zip(values, ofValues)) {
    FailureOr<TensorType> type = getType(value, form);
    if (failed(type))
      return failure();
    FailureOr<Value> known = find(value, *type);
    if (failed(known))
      return failure();
    found.push_back(*known);
  }
  return found;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

LogicalResult BlockBuilder::make(StepAttr step, Operation *op) {
  if (!isa<nd::NamedOpInterface>(op) || op->getNumRegions() != 0)
    return fail() << "names '" << op->getName()
                  << "', which has no partition rule";
  if (step.getAxes().size() != countFactors(op) ||
      step.getResults().size() != op->getNumResults())
    return fail() << "must have axes for " << countFactors(op)
                  << " factors and forms for " << op->getNumResults()
                  << " results of '" << op->getName() << "'";
  FactorChoice choice;
  for (ArrayAttr axes : step.getAxes())
    choice.axesOfFactor.push_back(spmd::getNames(axes));
  auto blocks = findAll(op->getOperands(), step.getOperands());
  if (failed(blocks))
    return failure();
  for (Value block : *blocks)
    choice.operandTypes.push_back(nd::getTensorType(block));
  for (auto [result, form] : llvm::zip(op->getResults(), step.getResults())) {
    FailureOr<TensorType> type = getType(result, form);
    if (failed(type))
      return failure();
    choice.resultTypes.push_back(*type);
  }
  auto results = buildOp(*op, choice, *blocks, builder, mesh);
  if (results.size() != op->getNumResults())
    return fail() << "cuts '" << op->getName() << "' as it cannot be";
  for (auto [result, value] : llvm::zip(op->getResults(), results))
    forms[result].push_back(value);
  return success();
}

LogicalResult BlockBuilder::same(StepAttr step, Operation *op) {
  if (op->getNumOperands() != 1 || op->getNumResults() != 1)
    return fail() << "names '" << op->getName() << "', which is no cast";
  FailureOr<TensorType> type = getType(op->getResult(0), step.getResults()[0]);
  if (failed(type))
    return failure();
  FailureOr<Value> form = find(op->getOperand(0), *type);
  if (succeeded(form))
    forms[op->getResult(0)].push_back(*form);
  return form;
}

LogicalResult BlockBuilder::repeat(StepAttr step, Operation *op) {
  if (!isa<nd::NamedOpInterface>(op) || op->getNumRegions() != 0 ||
      op->getNumResults() != 1)
    return fail() << "names '" << op->getName() << "', which is not repeated";
  auto operands = findAll(op->getOperands(), step.getOperands());
  FailureOr<TensorType> type = getType(op->getResult(0), step.getResults()[0]);
  if (failed(operands) || failed(type))
    return failure();
  Operation *again = builder.clone(*op);
  again->setOperands(*operands);
  nd::removeShardings(again);
  again->getResult(0).setType(*type);
  forms[op->getResult(0)].push_back(again->getResult(0));
  return success();
}

LogicalResult BlockBuilder::giveBack(StepAttr step, Operation *op) {
  auto rename = dyn_cast<nd::RenameOp>(op);
  if (!rename)
    return fail() << "names '" << op->getName() << "', which is no rename";
  auto from = findAll(op->getResults(), step.getOperands());
  FailureOr<TensorType> type = getType(rename.getInput(), step.getResults()[0]);
  if (failed(from) || failed(type))
    return failure();
  auto back = nd::RenameOp::create(builder, rename.getLoc(), from->front(),
                                   rename.getTo(), rename.getFrom());
  back->getResult(0).setType(*type);
  forms[rename.getInput()].push_back(back);
  return success();
}

LogicalResult BlockBuilder::makeZero(StepAttr step, Operation *op) {
  auto named = dyn_cast<nd::NamedOpInterface>(op);
  if (!named || !named.getPartitionRule().isZero)
    return fail() << "names '" << op->getName() << "', which is not zero";
  FailureOr<TensorType> type = getType(op->getResult(0), step.getResults()[0]);
  if (failed(type))
    return failure();
  forms[op->getResult(0)].push_back(
      nd::ConstantOp::create(builder, op->getLoc(), *type, 0.0));
  return success();
}

LogicalResult BlockBuilder::move(StepAttr step, Value value) {
  auto from = findAll(value, step.getOperands());
  FailureOr<TensorType> type = getType(value, step.getResults()[0]);
  if (failed(from) || failed(type))
    return failure();
  auto op =
      spmd::ReshardOp::create(builder, value.getLoc(), *type, from->front());
  if (step.getName())
    nd::setName(op, step.getName());
  forms[value].push_back(op);
  return success();
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

LogicalResult BlockBuilder::enter(StepAttr step, Value argument) {
  auto loop = dyn_cast<nd::ScanOp>(old.getParentOp());
  if (!parent || !loop ||
      loop.getTie(cast<BlockArgument>(argument)).kind != nd::TieKind::Whole)
    return fail() << "names an argument that no loop has whole";
  FailureOr<TensorType> type = getType(argument, step.getResults()[0]);
  if (failed(type))
    return failure();
  FailureOr<Value> outside =
      parent->find(loop.getTie(cast<BlockArgument>(argument)).operand, *type);
  if (failed(outside))
    return failure();
  whole.push_back(*outside);
  forms[argument].push_back(made.addArgument(*type, argument.getLoc()));
  return success();
}

LogicalResult BlockBuilder::take(StepAttr step, Value value) {
  auto loop = dyn_cast<nd::ScanOp>(old.getParentOp());
  Operation *earlier = parent ? parent->getOp(step.getLoop()) : nullptr;
  if (!loop || !isa_and_nonnull<nd::ScanOp>(earlier))
    return fail() << "names no loop before this one";
  FailureOr<TensorType> type = getType(value, step.getResults()[0]);
  if (failed(type))
    return failure();
  auto *stack = llvm::find_if(parent->stacks, [&](const Kept &each) {
    return each.loop == earlier && each.source == step.getSource() &&
           nd::getEntryType(nd::getTensorType(each.value), loop.getDim()) ==
               *type;
  });
  if (stack == parent->stacks.end())
    return fail() << "takes what op " << step.getLoop() << " does not keep as "
                  << *type;
  unsigned position =
      loop.getCarriedCount() + loop.getStackedCount() + taken.size();
  taken.push_back(stack->value);
  forms[value].push_back(made.insertArgument(position, *type, value.getLoc()));
  return success();
}

LogicalResult BlockBuilder::keep(StepAttr step, Value value) {
  auto entry = findAll(value, step.getResults());
  if (failed(entry))
    return failure();
  auto loop = dyn_cast<nd::ScanOp>(old.getParentOp());
  if (!parent || !loop ||
      nd::getTensorType(entry->front()).hasDim(loop.getDim()))
    return fail() << "keeps a value that no loop can stack";
  entries.push_back({loop, step.getValue(), entry->front()});
  return success();
}

/// The new loop around its body.
FailureOr<nd::ScanOp> BlockBuilder::createLoop(nd::ScanOp loop,
                                               BlockBuilder &inside,
                                               std::unique_ptr<Block> body) {
  llvm::SmallVector<Value> carried, stacked;
  llvm::SmallVector<Type> stackedResults;
  ValueRange ends = body->getTerminator()->getOperands();
  for (const nd::Tie &tie : loop.getTies()) {
    if (tie.kind == nd::TieKind::Whole)
      continue;
    if (tie.kind == nd::TieKind::StackedResult) {
      stackedResults.push_back(nd::getStackedType(
          nd::getTensorType(ends[tie.result.getResultNumber()]), loop.getDim(),
          static_cast<int64_t>(loop.getSize())));
      continue;
    }
    TensorType type =
        nd::getTensorType(body->getArgument(tie.argument.getArgNumber()));
    const bool isCarried = tie.kind == nd::TieKind::Carried;
    if (!isCarried)
      type = nd::getStackedType(type, loop.getDim(),
                                static_cast<int64_t>(loop.getSize()));
    FailureOr<Value> operand = find(tie.operand, type);
    if (failed(operand))
      return failure();
    (isCarried ? carried : stacked).push_back(*operand);
  }
  llvm::append_range(stacked, inside.taken);
  auto local = nd::ScanOp::create(builder, loop.getLoc(), loop.getDim(),
                                  loop.getSize(), loop.getBackwards(), carried,
                                  stacked, inside.whole, stackedResults);
  local.setConditional(loop.getConditional());
  local.setMicroBatches(loop.getMicroBatches());
  local.getRegion().front().erase();
  local.getRegion().push_back(body.release());
  local.setResAttrsAttr(loop.getResAttrsAttr());
  local->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  nd::removeShardings(local);
  return local;
}

/// Lets the new loop also stack what it keeps for later ones.
void BlockBuilder::addKept(nd::ScanOp loop, BlockBuilder &inside,
                           nd::ScanOp &local) {
  if (inside.entries.empty())
    return;
  auto entries = llvm::map_to_vector(
      inside.entries, [](const Kept &each) { return each.value; });
  unsigned count = local->getNumResults();
  IRRewriter rewriter(local.getContext());
  local = nd::addStackedResults(rewriter, local, entries);
  for (auto [index, entry] : llvm::enumerate(inside.entries))
    stacks.push_back({loop, entry.source, local->getResult(count + index)});
}

LogicalResult BlockBuilder::buildLoop(StepAttr step, Operation *op) {
  auto loop = dyn_cast<nd::ScanOp>(op);
  if (!loop)
    return fail() << "names '" << op->getName() << "', which is no loop";
  auto body = std::make_unique<Block>();
  BlockBuilder inside(loop.getBlock(), *body, cast<PlanAttr>(step.getBody()),
                      mesh, this);
  if (failed(inside.run()))
    return failure();
  FailureOr<nd::ScanOp> local = createLoop(loop, inside, std::move(body));
  if (failed(local))
    return failure();
  if (!step.getAxes().empty())
    for (StringAttr axis : spmd::getNames(step.getAxes().front()))
      spmd::addSharedAxis(*local, axis);
  addKept(loop, inside, *local);
  for (auto [result, computed] :
       llvm::zip(loop->getResults(), (*local)->getResults()))
    forms[result].push_back(computed);
  return success();
}

//===----------------------------------------------------------------------===//
// The block
//===----------------------------------------------------------------------===//

/// The arguments that the plan has forms for: all, but for operands that a loop
/// has whole.
LogicalResult BlockBuilder::addArguments() {
  size_t count = old.getNumArguments();
  if (auto loop = dyn_cast<nd::ScanOp>(old.getParentOp()))
    count = loop.getCarriedCount() + loop.getStackedCount();
  number = plan.getSteps().size();
  if (plan.getArguments().size() != count)
    return fail() << "has forms for " << plan.getArguments().size() << " of "
                  << count << " arguments";
  for (auto [argument, form] :
       llvm::zip(old.getArguments(), plan.getArguments())) {
    FailureOr<TensorType> type = getType(argument, form);
    if (failed(type))
      return failure();
    forms[argument] = {made.addArgument(*type, argument.getLoc())};
  }
  return success();
}

/// Puts the old ops into the order of the plan: what is said of windows depends
/// on the first user of a value.
void BlockBuilder::sortOps() {
  for (StepAttr step : plan.getSteps()) {
    if (step.getKind() != StepKind::Make && step.getKind() != StepKind::Same &&
        step.getKind() != StepKind::Loop)
      continue;
    Operation *op = getOp(step.getValue().number);
    if (op && op != old.getTerminator())
      op->moveBefore(old.getTerminator());
  }
}

LogicalResult BlockBuilder::build(StepAttr step) {
  Value value;
  Operation *op = nullptr;
  switch (step.getKind()) {
  case StepKind::Move:
  case StepKind::Enter:
  case StepKind::Take:
  case StepKind::Keep:
    value = getValue(step.getValue());
    if (!value)
      return fail() << "names a value that the block does not have";
    break;
  default:
    op = getOp(step.getValue().number);
    if (!op || op == old.getTerminator())
      return fail() << "names an op that the block does not have";
    if (op->getName().getStringRef() != step.getName().getValue())
      return fail() << "is for '" << step.getName().getValue()
                    << "', and that op is '" << op->getName() << "'";
  }
  switch (step.getKind()) {
  case StepKind::Make:
    return make(step, op);
  case StepKind::Same:
    return same(step, op);
  case StepKind::Repeat:
    return repeat(step, op);
  case StepKind::Return:
    return giveBack(step, op);
  case StepKind::Zero:
    return makeZero(step, op);
  case StepKind::Loop:
    return buildLoop(step, op);
  case StepKind::Move:
    return move(step, value);
  case StepKind::Enter:
    return enter(step, value);
  case StepKind::Take:
    return take(step, value);
  case StepKind::Keep:
    return keep(step, value);
  }
  llvm_unreachable("all kinds are handled");
}

LogicalResult BlockBuilder::run() {
  if (failed(addArguments()))
    return failure();
  sortOps();
  for (number = 0; number < plan.getSteps().size(); ++number)
    if (failed(build(plan.getSteps()[number])))
      return failure();
  Operation *terminator = old.getTerminator();
  auto ends = findAll(terminator->getOperands(), plan.getEnds());
  if (failed(ends))
    return failure();
  builder.clone(*terminator)->setOperands(*ends);
  return success();
}

} // namespace meshc::partition
