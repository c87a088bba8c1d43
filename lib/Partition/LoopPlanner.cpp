//===- LoopPlanner.cpp - how the body of a loop is partitioned ------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Partition/LoopPlanner.h"
#include "dialects/Nd/Ops/LoopEdit.h"
#include "dialects/Nd/TensorAttributes.h"
#include "dialects/Spmd/ParameterGathers.h"
#include "lib/Partition/BuildOp.h"
#include "lib/Partition/WideSums.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "meshc-choose-plan"

using namespace mlir;

namespace meshc::partition {

using nd::TensorType;
using spmd::StepKind;

LoopPlanner::LoopPlanner(nd::ScanOp loop, BlockPlanner &parent,
                         reshard::ReshardPlanner &planner, nd::MeshAttr mesh,
                         MoveLimit &limit)
    : BlockPlanner(loop.getBlock(), planner, mesh, limit), loop(loop),
      parent(parent) {
  bool gathersInside = loop.getMicroBatches() && !limit.options.gathersOnce;
  for (nd::Tie tie : loop.getTies())
    switch (tie.kind) {
    case nd::TieKind::Carried: {
      TensorType type =
          parent.getSettled(tie.operand, parent.getDesired(tie.result));
      addArgument(tie.argument, type);
      // A stack of the value lies as the value does.
      desired[tie.argument].mayCutFurther = true;
      plan->ends.push_back(type);
      findSum(tie.result.getResultNumber());
      break;
    }
    case nd::TieKind::StackedOperand:
      addArgument(tie.argument,
                  nd::getEntryType(getStackType(tie.operand), loop.getDim()));
      break;
    case nd::TieKind::Whole: {
      TensorType type = parent.getSettled(tie.operand, parent.getPlanned());
      desired[tie.argument] = DesiredSharding(type);
      if (gathersInside && !tie.argument.use_empty() &&
          spmd::isOfParameter(tie.operand)) {
        parameters.insert(tie.argument);
        parent.needForm(tie.operand, type);
        enter(tie.argument, type);
      }
      break;
    }
    case nd::TieKind::StackedResult:
      plan->ends.push_back(nd::getEntryType(
          parent.getDesired(tie.result).preferred, loop.getDim()));
      break;
    }
  findKept();
}

/// The sharding in which a stacked operand enters the loop, whole along its
/// dim.
TensorType LoopPlanner::getStackType(Value stack) {
  TensorType type = parent.getSettled(stack, parent.getPlanned());
  return spmd::dropAxes(type, loop.getDim(),
                        spmd::getAxesOf(type, loop.getDim()));
}

/// The operand of the loop that is whole inside as `value`, and resharded
/// outside; null for other values.
Value LoopPlanner::getOuter(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument)
    return {};
  nd::Tie tie = loop.getTie(argument);
  return tie.kind == nd::TieKind::Whole && !parameters.contains(value)
             ? tie.operand
             : Value();
}

bool LoopPlanner::isZero(Value value) {
  Value outer = getOuter(value);
  return outer ? parent.isZero(outer) : BlockPlanner::isZero(value);
}

OperandForms LoopPlanner::describe(Value value,
                                   const AvailableForms &available) {
  Value outer = getOuter(value);
  if (!outer)
    return BlockPlanner::describe(value, available);
  OperandForms described = parent.describe(outer, parent.getPlanned());
  described.mayStayPartial = false;
  described.willBeReduced = llvm::all_of(
      described.types, [](TensorType type) { return type.isPartial(); });
  described.types.append(available.get(value));
  described.share /= static_cast<double>(loop.getSize());
  return described;
}

double LoopPlanner::obtain(Value value, TensorType type,
                           AvailableForms &available) {
  if (!getOuter(value))
    return BlockPlanner::obtain(value, type, available);
  OperandForms known = describe(value, available);
  if (known.isRecomputed || llvm::is_contained(known.types, type))
    return 0;
  double least = std::numeric_limits<double>::infinity();
  if (known.willBeReduced)
    least = planner.getCost(known.settled, type);
  for (TensorType from : known.types)
    if (!from.isPartial())
      least = std::min(least, planner.getCost(from, type));
  available.add(value, type);
  return least * known.share;
}

/// Lets the body have a whole operand in a form that the parent has.
void LoopPlanner::enter(Value argument, TensorType type) {
  PlanStep step{StepKind::Enter, /*op=*/nullptr, argument};
  step.results = {type};
  plan->add(std::move(step));
  addForm(argument, type);
}

void LoopPlanner::needForm(Value value, TensorType type) {
  Value outer = getOuter(value);
  if (!outer)
    return BlockPlanner::needForm(value, type);
  if (llvm::is_contained(forms[value], type))
    return;
  // The iterations may ask for several forms. All come from one that is
  // reduced.
  if (describe(value, planned).willBeReduced && !type.isPartial())
    parent.needForm(outer, parent.getSettled(outer, parent.getPlanned()));
  parent.needForm(outer, type);
  enter(value, type);
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// Enters the carried value as a sum if it is one.
void LoopPlanner::findSum(unsigned carried) {
  nd::NamedOpInterface op = nd::findAddition(loop, carried);
  if (!op || !parent.isZero(loop.getCarried()[carried]))
    return;
  BlockArgument total = loop.getBlock().getArgument(carried);
  Value summand = op->getOperand(op->getOperand(0) == total ? 1 : 0);
  sums[op] = {carried, total, summand};
  if (hasOneUser(summand))
    summands[summand] = carried;
}

/// How the layout cuts what is added to a sum, if it is the gradient of a
/// parameter; null otherwise. What one of several layers adds to the gradient
/// of a parameter that they share is not marked as a gradient.
TensorType LoopPlanner::getScattered(Value summand) const {
  auto known = nd::TensorAttributes::of(summand);
  return known.hasClass(nd::TensorClass::Gradient) ? getDesired(summand).type
                                                   : TensorType();
}

/// The sharding of what is added, once it is scattered as getScattered says. It
/// is the wanted one where something else needs a partial value reduced, and
/// where the wanted one is a part of it.
TensorType LoopPlanner::chooseSharding(const Sum &sum) {
  TensorType pinned = plan->ends[sum.carried];
  OperandForms known = describe(sum.summand, planned);
  if (known.isRecomputed)
    return pinned;
  TensorType type = known.types.front();
  if (type.isPartial() && (type.getPartialKind() != nd::ReductionKind::Sum ||
                           !summands.contains(sum.summand)))
    return pinned;
  if (TensorType scattered = getScattered(sum.summand))
    type = scatterSum(type, scattered);
  return planner.getCost(type, pinned) > 0 ? type : pinned;
}

void LoopPlanner::planSum(Operation &op, const Sum &sum) {
  // What is added may be a part that is not rounded, and the sum is none then.
  TensorType part = chooseSharding(sum);
  TensorType type = widenParts(part, &op, /*adds=*/true, /*isWide=*/false);
  LDBG() << "carried sum " << sum.carried << " of the loop at " << loop.getLoc()
         << ": " << type;
  // Carried values are the first arguments. The addition is the only user.
  plan->ends[sum.carried] = plan->arguments[sum.carried] = type;
  forms[sum.total].front() = type;
  PlanStep step{StepKind::Make, &op};
  step.axes.resize(countFactors(&op));
  for (Value operand : op.getOperands()) {
    step.operands.push_back(operand == sum.total ? type : part);
    needForm(operand, step.operands.back());
  }
  step.results = {type};
  plan->add(std::move(step));
  forms[op.getResult(0)] = {type};
}

bool LoopPlanner::isPlannedLast(Operation &op) { return sums.contains(&op); }

void LoopPlanner::planLast(Operation &op) {
  planSum(op, sums.find(&op)->second);
}

/// The result of a linear op on this value alone, which stays partial where the
/// value does; null if the value is used otherwise.
static OpResult getLinearUse(OpResult value) {
  if (!value.hasOneUse())
    return {};
  auto user = dyn_cast<nd::NamedOpInterface>(*value.user_begin());
  if (!user || user->getNumOperands() != 1 || user->getNumResults() != 1 ||
      user.getPartitionRule().linearOperands.empty())
    return {};
  return user->getResult(0);
}

/// A summand is scattered in each iteration, where the layout cuts it, and
/// otherwise resharded as a part of the sum, after the loop. An entry is
/// resharded as often as the stack is, which may be a summand of a loop around
/// this one.
WantedResult LoopPlanner::getWanted(OpResult result) {
  WantedResult wanted = BlockPlanner::getWanted(result);
  while (OpResult next = getLinearUse(result))
    result = next;
  if (auto sum = summands.find(result); sum != summands.end()) {
    wanted.share = parent.getWanted(loop->getResult(sum->second)).share /
                   static_cast<double>(loop.getSize());
    wanted.scattered = getScattered(result);
    return wanted;
  }
  if (!result.hasOneUse() || *result.user_begin() != loop.getYield())
    return wanted;
  unsigned index = result.use_begin()->getOperandNumber();
  if (index < loop.getCarriedCount())
    return wanted;
  WantedResult stack = parent.getWanted(loop->getResult(index));
  wanted.share = stack.share;
  if (stack.scattered)
    wanted.scattered = nd::getEntryType(stack.scattered, loop.getDim());
  return wanted;
}

/// Those of carried values, sums excepted.
llvm::ArrayRef<TensorType> LoopPlanner::getFixedEnds() {
  return ArrayRef(plan->ends).take_front(loop.getCarriedCount());
}

bool LoopPlanner::isStackForOps(unsigned end) {
  return end >= loop.getCarriedCount() &&
         llvm::any_of(loop->getResult(end).getUsers(),
                      [](Operation *user) { return !isa<nd::ScanOp>(user); });
}

/// Stacked entries keep their shardings along open dims, and along placed ones
/// where the body may cut them further. Entries that are partial and only
/// yielded stay so: the user of the stack may add it to others before they are
/// reduced. Otherwise the parent reduces the entries in this loop when it asks
/// for the stack (BlockPlanner::reshard).
void LoopPlanner::chooseEnds() {
  for (nd::Tie tie : loop.getTies()) {
    if (tie.kind != nd::TieKind::StackedResult)
      continue;
    TensorType &end = plan->ends[tie.result.getResultNumber()];
    OperandForms entry = describe(tie.yielded, planned);
    if (entry.isRecomputed || entry.types.empty())
      continue;
    if (limit.options.ties.isExact(tie.result))
      continue;
    TensorType made = entry.types.front();
    if (made.isPartial() && tie.yielded.hasOneUse()) {
      end = made;
      continue;
    }
    TensorType stack = nd::getStackedType(made, loop.getDim(),
                                          static_cast<int64_t>(loop.getSize()));
    DesiredSharding wanted = parent.getDesired(tie.result);
    wanted.mayCutFurther = getDesired(tie.yielded).mayCutFurther;
    end = nd::getEntryType(wanted.settle(stack), loop.getDim());
  }
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// Enters what earlier loops offer of values that both bodies have. A stack is
/// kept once, while a move is paid for at each run of the body: in loops around
/// this one, too.
void LoopPlanner::findKept() {
  double costOfByte =
      limit.options.keptByteCost.value_or(0) / double(nd::countRuns(loop));
  for (const LoopCopies &copies : parent.getCopies())
    for (auto [value, twin] : findLoopTwins(copies.loop, loop))
      for (const Form &offered : copies.offered)
        if (offered.value == twin)
          kept[value].push_back(
              {offered.type,
               costOfByte * double(offered.type.getLocalBytes(mesh)),
               copies.loop, twin});
}

ArrayRef<OfferedForm> LoopPlanner::getKept(Value value) {
  auto known = kept.find(value);
  return known == kept.end() ? ArrayRef<OfferedForm>() : known->second;
}

void LoopPlanner::takeKept(Value value, TensorType type) {
  const OfferedForm *form =
      llvm::find_if(getKept(value),
                    [&](const OfferedForm &each) { return each.type == type; });
  PlanStep step{StepKind::Take, /*op=*/nullptr, value};
  step.results = {type};
  step.loop = form->loop;
  step.source = form->source;
  plan->add(std::move(step));
  addForm(value, type);
}

/// Whether the loop stacks the entry already.
bool LoopPlanner::isStacked(const Form &form) {
  for (const nd::Tie &tie : loop.getTies())
    if (tie.kind == nd::TieKind::StackedResult &&
        plan->resolve(
            {tie.yielded, plan->ends[tie.result.getResultNumber()]}) == form)
      return true;
  return false;
}

/// Appends those of the value's forms that are `movedForms`, unless they take
/// more of a rank's memory than the form that the layout wants, or than the one
/// that its op makes without a move: what the layout cuts is not kept gathered.
/// A value that has the loop's dim itself cannot be an entry of a stack.
void LoopPlanner::addMoved(Value value, const FormSet &movedForms,
                           SmallVectorImpl<Form> &moved) {
  auto known = forms.find(value);
  if (known == forms.end() || known->second.empty() || getOuter(value) ||
      isRecomputed(value) || nd::getTensorType(value).hasDim(loop.getDim()))
    return;
  TensorType made = known->second.front();
  if (made.isPartial())
    return;
  bool isMade = !movedForms.contains({value, made});
  int64_t most = getDesired(value).type.getLocalBytes(mesh);
  if (isMade)
    most = std::max(most, made.getLocalBytes(mesh));
  for (TensorType type : known->second)
    if (movedForms.contains({value, type}) && !type.isPartial() &&
        type.getLocalBytes(mesh) <= most &&
        !(isMade && planner.getCost(made, type) == 0))
      moved.push_back({value, type});
}

/// The values that later loops have as well.
llvm::DenseSet<Value> LoopPlanner::findTwins() {
  llvm::DenseSet<Value> twins;
  for (Operation *later = loop->getNextNode(); later;
       later = later->getNextNode())
    if (auto other = dyn_cast<nd::ScanOp>(later))
      twins.insert_range(llvm::make_second_range(findLoopTwins(loop, other)));
  return twins;
}

void LoopPlanner::offerCopies(SmallVectorImpl<LoopCopies> &copies) {
  LoopCopies offers{loop, {}};
  const llvm::DenseSet<Value> twins = findTwins();
  const FormSet movedForms = findMoved(*plan, planner, mesh);
  auto add = [&](Value value) {
    if (twins.contains(value))
      addMoved(value, movedForms, offers.offered);
  };
  llvm::for_each(block.getArguments(), add);
  for (Operation &op : block.without_terminator())
    llvm::for_each(op.getResults(), add);
  llvm::erase_if(offers.offered, [&](const Form &each) {
    return isStacked(plan->resolve(each));
  });
  if (!offers.offered.empty())
    copies.push_back(std::move(offers));
}

void LoopPlanner::needOperands() {
  for (const nd::Tie &tie : loop.getTies())
    if (tie.kind == nd::TieKind::Carried)
      parent.needForm(tie.operand, plan->ends[tie.result.getResultNumber()]);
    else if (tie.kind == nd::TieKind::StackedOperand)
      parent.needForm(tie.operand, getStackType(tie.operand));
}

} // namespace meshc::partition
