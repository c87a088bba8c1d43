//===- PlanForms.cpp - the forms of a block's values ----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a BlockPlanner knows of values, and how one form of a value comes from
/// another.
///
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/ShapeOps.h"
#include "dialects/Nd/TensorAttributes.h"
#include "lib/Partition/BlockPlanner.h"
#include "lib/Partition/CauseName.h"

using namespace mlir;

namespace meshc::partition {

using nd::TensorType;
using spmd::StepKind;

bool isStack(Value value) {
  auto loop = value.getDefiningOp<nd::ScanOp>();
  return loop &&
         cast<OpResult>(value).getResultNumber() >= loop.getCarriedCount();
}

bool BlockPlanner::isZero(Value value) {
  auto op = value.getDefiningOp<nd::NamedOpInterface>();
  return op && op.getPartitionRule().isZero;
}

//===----------------------------------------------------------------------===//
// What is known of values
//===----------------------------------------------------------------------===//

const BlockPlanner::Facts &BlockPlanner::getFacts(Value value) {
  std::unique_ptr<Facts> &known = facts[value];
  if (!known)
    known = std::make_unique<Facts>(Facts{
        isRecomputable(value.getDefiningOp()), hasOneUser(value),
        nd::TensorAttributes::of(value).hasClass(nd::TensorClass::Gradient),
        findCopySources(value)});
  return *known;
}

void BlockPlanner::setMayCutFurther(ArrayRef<Operation *> ops, bool mayCut) {
  for (Operation *op : ops)
    for (Value result : op->getResults())
      desired.find(result)->second.mayCutFurther = mayCut;
}

TensorType BlockPlanner::getSettled(Value value,
                                    const AvailableForms &available) const {
  const DesiredSharding &known = getDesired(value);
  llvm::SmallVector<TensorType> types = available.get(value);
  return known.settle(types.empty() ? known.preferred : types.front());
}

TensorType BlockPlanner::getSettled(Value value,
                                    const DesiredSharding &result) {
  if (!getFacts(value).isRecomputable)
    for (TensorType type : planned.get(value))
      if (!type.isPartial())
        return result.settle(type);
  return result.settle(result.preferred);
}

static bool isReduced(ArrayRef<TensorType> types) {
  return llvm::any_of(types, [](TensorType type) { return !type.isPartial(); });
}

OperandForms BlockPlanner::describe(Value value,
                                    const AvailableForms &available) {
  const Facts &known = getFacts(value);
  OperandForms described;
  described.types = available.get(value);
  described.isRecomputed = known.isRecomputable;
  bool willBeReduced = !isReduced(described.types) && !known.hasOneUser;
  described.reducesInLoop =
      llvm::any_of(described.types,
                   [](TensorType type) { return type.isPartial(); }) &&
      isStack(value);
  described.settled = getSettled(value, available);
  for (const CopySource &source : known.copySources)
    for (TensorType type : available.get(source.value))
      if (!type.isPartial())
        if (TensorType copied = source.getCopied(type))
          described.types.push_back(copied);
  // Gradients of parameters lie as their class wants before the update uses
  // them: the layout may have a rule for them.
  described.mayStayPartial = known.hasOneUser && !known.isGradient;
  described.willBeReduced = willBeReduced;
  return described;
}

//===----------------------------------------------------------------------===//
// Which form comes from which
//===----------------------------------------------------------------------===//

/// The cheapest way from one of the forms to the type; infinite bytes if there
/// is none.
BlockPlanner::Move BlockPlanner::findReshard(ArrayRef<TensorType> types,
                                             TensorType type) {
  Move best{MoveKind::Reshard, {}, std::numeric_limits<double>::infinity()};
  for (TensorType from : types) {
    if (type.isPartial() &&
        (!from.isPartial() || from.getPartialKind() != type.getPartialKind()))
      continue;
    if (double bytes = planner.getCost(from, type);
        !best.from || bytes < best.bytes)
      best = {MoveKind::Reshard, from, bytes};
  }
  return best;
}

/// The cheapest way from one of the forms to a partial sum: from another one,
/// or from a whole form, which is there if it `isRecomputable`.
BlockPlanner::Move BlockPlanner::findPartial(ArrayRef<TensorType> types,
                                             TensorType type,
                                             bool isRecomputable) {
  TensorType whole = spmd::dropPartial(type, type.getPartialAxes());
  auto reduced = llvm::to_vector(llvm::make_filter_range(
      types, [](TensorType form) { return !form.isPartial(); }));
  Move toWhole = findReshard(reduced, whole);
  if (isRecomputable)
    toWhole.bytes = 0;
  Move reshard = findReshard(types, type);
  return reshard.from && reshard.bytes < toWhole.bytes
             ? reshard
             : Move{MoveKind::ToPartial, whole, toWhole.bytes};
}

/// The cheapest way from one of the value's forms, or from one that an earlier
/// loop may keep, to the type, which is not partial.
BlockPlanner::Move BlockPlanner::findDirect(Value value, TensorType type,
                                            ArrayRef<TensorType> types) {
  Move best = findReshard(types, type);
  for (const OfferedForm &kept : getKept(value))
    if (double bytes = kept.cost + planner.getCost(kept.type, type);
        bytes < best.bytes)
      best = {MoveKind::Kept, kept.type, bytes};
  return best;
}

BlockPlanner::Move BlockPlanner::findMove(Value value, TensorType type,
                                          const AvailableForms &available) {
  llvm::SmallVector<TensorType> types = available.get(value);
  if (llvm::is_contained(types, type))
    return {MoveKind::None, type, 0};
  const Facts &known = getFacts(value);
  if (known.isRecomputable && (!type.isPartial() || isZero(value)))
    return {MoveKind::Recompute, {}, 0};
  if (type.isPartial())
    return findPartial(types, type, known.isRecomputable);
  // Whoever else uses a partial value needs it reduced as well: it is reduced
  // to what is wanted of it, and goes on from there.
  if (!isReduced(types) && !known.hasOneUser && !types.empty())
    if (TensorType settled = getSettled(value, available); settled != type)
      return {MoveKind::Settle, settled,
              planner.getCost(types.front(), settled)};
  Move best = findDirect(value, type, types);
  // Copied from another value: its users, and other copies of it, may share the
  // form. Of two equal ways the one from the operand, so that none leads back.
  for (const CopySource &source : known.copySources) {
    llvm::SmallVector<TensorType> ofSource = available.get(source.value);
    TensorType needed = source.getNeeded(type);
    if (ofSource.empty() || !needed)
      continue;
    double bytes = findDirect(source.value, needed, ofSource).bytes;
    if (source.isResult ? bytes < best.bytes : bytes <= best.bytes)
      best = {MoveKind::Copy, needed, bytes, &source};
  }
  return best;
}

double BlockPlanner::obtain(Value value, TensorType type,
                            AvailableForms &available) {
  Move move = findMove(value, type, available);
  switch (move.kind) {
  case MoveKind::None:
    return 0;
  case MoveKind::Recompute:
    break;
  case MoveKind::Settle:
    available.add(value, move.from);
    return move.bytes + obtain(value, type, available);
  case MoveKind::ToPartial:
    move.bytes = obtain(value, move.from, available);
    break;
  case MoveKind::Copy:
    move.bytes = obtain(move.source->value, move.from, available);
    break;
  case MoveKind::Kept:
    if (move.from != type)
      available.add(value, move.from);
    break;
  case MoveKind::Reshard:
    break;
  }
  available.add(value, type);
  return move.bytes;
}

//===----------------------------------------------------------------------===//
// Forms
//===----------------------------------------------------------------------===//

/// Whether the loop that stacks the value can yield its entries as those of a
/// tensor with this sharding.
static bool canYield(Value stack, TensorType type) {
  auto loop = stack.getDefiningOp<nd::ScanOp>();
  return spmd::getAxesOf(type, loop.getDim()).empty();
}

static bool isPartialStack(const Form &form) {
  return isStack(form.value) && form.type.isPartial();
}

/// Gives a stack that nothing uses yet another sharding: reshards its entries
/// in the loop that yields them, which of loops in loops is the innermost one.
/// `plan` is that of the loop's block.
static void reshardEntries(BlockPlan &plan, const Form &stack, TensorType type,
                           StringAttr cause) {
  auto loop = stack.value.getDefiningOp<nd::ScanOp>();
  auto step = llvm::find_if(
      plan.steps, [&](const PlanStep &each) { return each.op == loop; });
  BlockPlan &body = *step->body;
  unsigned index = cast<OpResult>(stack.value).getResultNumber();
  Value yielded = loop.getYield()->getOperand(index);
  TensorType &end = body.ends[index];
  TensorType before = end;
  Form entry = body.resolve({yielded, before});
  plan.retype(stack, type);
  end = nd::getEntryType(type, loop.getDim());
  if (isPartialStack(entry) && canYield(entry.value, end) &&
      body.countUses(entry, loop.getYield()) == 0)
    return reshardEntries(body, entry, end, cause);
  PlanStep move{StepKind::Move, /*op=*/nullptr, yielded};
  move.operands = {before};
  move.results = {end};
  move.cause = cause;
  body.add(std::move(move));
}

/// Gives a form, which nothing uses, another type, and those that are the same
/// value.
void BlockPlanner::retype(const Form &form, TensorType type) {
  for (auto &[value, types] : forms)
    for (TensorType &each : types)
      if (each == form.type && plan->resolve({value, each}) == form)
        each = type;
}

/// Lets a stack of partial entries, which nothing uses, be reduced in its loop:
/// this overlaps with later iterations. Returns its type then, which may be
/// another one than `type` that the loop can yield.
TensorType BlockPlanner::reduceEntries(Value value, TensorType from,
                                       TensorType type, StringAttr cause) {
  Form stack = plan->resolve({value, from});
  if (!isPartialStack(stack) ||
      llvm::any_of(plan->steps, [&](const PlanStep &step) {
        return llvm::any_of(step.getUsed(), [&](const Form &used) {
          return plan->resolve(used) == stack;
        });
      }))
    return from;
  TensorType target =
      canYield(stack.value, type) ? type : getSettled(value, planned);
  retype(stack, target);
  reshardEntries(*plan, stack, target, cause);
  return target;
}

/// Plans a form of the value with this sharding.
void BlockPlanner::reshard(Value value, TensorType from, TensorType type) {
  StringAttr cause = getCauseName(value, [&](Value other) {
    auto known = forms.find(other);
    return known != forms.end() && !known->second.empty() &&
           known->second.front().isPartial();
  });
  from = reduceEntries(value, from, type, cause);
  if (from == type)
    return;
  PlanStep step{StepKind::Move, /*op=*/nullptr, value};
  step.operands = {from};
  step.results = {type};
  step.cause = cause;
  plan->add(std::move(step));
  addForm(value, type);
}

/// Plans the result of the op once more, in another sharding, from operands of
/// these types.
void BlockPlanner::repeat(Operation *op, ArrayRef<TensorType> operands,
                          TensorType type) {
  PlanStep step{StepKind::Repeat, op};
  llvm::append_range(step.operands, operands);
  step.results = {type};
  plan->add(std::move(step));
  addForm(op->getResult(0), type);
}

/// Plans the result of an op of numbers, which every rank has, once more. Parts
/// of a sum of 16 bits are f32; they are recomputed if they are zero.
void BlockPlanner::recompute(Operation *op, TensorType type) {
  Value result = op->getResult(0);
  if (nd::getTensorType(result).getElementType() != type.getElementType()) {
    PlanStep step{StepKind::Zero, op};
    step.results = {type};
    plan->add(std::move(step));
    addForm(result, type);
    return;
  }
  llvm::SmallVector<TensorType> numbers;
  for (Value operand : op->getOperands()) {
    numbers.push_back(nd::getTensorType(operand).getGlobal());
    needForm(operand, numbers.back());
  }
  repeat(op, numbers, type);
}

/// Plans the value with this sharding, copied from the form `from` of the
/// source.
void BlockPlanner::copy(const CopySource &source, TensorType from,
                        TensorType type) {
  if (!source.isResult)
    return repeat(source.op, from, type);
  PlanStep step{StepKind::Return, source.op};
  step.operands = {from};
  step.results = {type};
  plan->add(std::move(step));
  addForm(source.op->getOperand(0), type);
}

void BlockPlanner::needForm(Value value, TensorType type) {
  Move move = findMove(value, type, planned);
  switch (move.kind) {
  case MoveKind::None:
    return;
  case MoveKind::Recompute:
    return recompute(value.getDefiningOp(), type);
  case MoveKind::Settle:
    reshard(value, forms[value].front(), move.from);
    return needForm(value, type);
  case MoveKind::ToPartial:
    needForm(value, move.from);
    return reshard(value, move.from, type);
  case MoveKind::Copy:
    needForm(move.source->value, move.from);
    return copy(*move.source, move.from, type);
  case MoveKind::Kept:
    takeKept(value, move.from);
    if (move.from != type)
      reshard(value, move.from, type);
    return;
  case MoveKind::Reshard:
    return reshard(value, move.from, type);
  }
  llvm_unreachable("all moves are handled");
}

} // namespace meshc::partition
