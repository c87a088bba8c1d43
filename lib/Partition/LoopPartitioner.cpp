//===- LoopPartitioner.cpp - the body of a loop on shards -----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Partition/LoopPartitioner.h"
#include "dialects/Nd/Ops/LoopEdit.h"
#include "dialects/Nd/TensorAttributes.h"
#include "dialects/Spmd/ParameterGathers.h"
#include "dialects/Spmd/SpmdOps.h"
#include "lib/Partition/KeptForms.h"
#include "lib/Partition/WideSums.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "meshc-partition-program"

using namespace mlir;

namespace meshc::partition {

using nd::TensorType;

LoopPartitioner::LoopPartitioner(nd::ScanOp loop, Block &body,
                                 BlockPartitioner &parent,
                                 spmd::ReshardPlanner &planner,
                                 nd::MeshAttr mesh, MoveLimit &limit)
    : BlockPartitioner(loop.getBlock(), body, planner, mesh, limit), loop(loop),
      parent(parent) {
  bool gathersInside = loop.getMicroBatches() &&
                       !spmd::gathersOnce(loop->getParentOfType<ModuleOp>());
  for (nd::Tie tie : loop.getTies())
    switch (tie.kind) {
    case nd::TieKind::Carried: {
      TensorType type =
          parent.getSettled(tie.operand, parent.getDesired(tie.result));
      addArgument(tie.argument, type);
      // A stack of the value lies as the value does.
      desired[tie.argument].mayCutFurther = true;
      ends.push_back(type);
      findSum(tie.result.getResultNumber());
      break;
    }
    case nd::TieKind::StackedOperand:
      addArgument(tie.argument,
                  nd::getEntryType(getStackType(tie.operand), loop.getDim()));
      break;
    case nd::TieKind::Whole: {
      TensorType type = parent.getSettled(tie.operand, parent.getBuilt());
      desired[tie.argument] = DesiredSharding(type);
      if (gathersInside && !tie.argument.use_empty() &&
          spmd::isOfParameter(tie.operand)) {
        parameters.insert(tie.argument);
        addArgument(tie.argument, type);
        whole.push_back(parent.getForm(tie.operand, type));
      }
      break;
    }
    case nd::TieKind::StackedResult:
      ends.push_back(nd::getEntryType(parent.getDesired(tie.result).preferred,
                                      loop.getDim()));
      break;
    }
  findKept();
}

/// The sharding in which a stacked operand enters the loop, whole along its
/// dim.
TensorType LoopPartitioner::getStackType(Value stack) {
  TensorType type = parent.getSettled(stack, parent.getBuilt());
  return spmd::dropAxes(type, loop.getDim(),
                        spmd::getAxesOf(type, loop.getDim()));
}

/// The operand of the loop that is whole inside as `value`, and resharded
/// outside; null for other values.
Value LoopPartitioner::getOuter(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument)
    return {};
  nd::Tie tie = loop.getTie(argument);
  return tie.kind == nd::TieKind::Whole && !parameters.contains(value)
             ? tie.operand
             : Value();
}

bool LoopPartitioner::isZero(Value value) {
  Value outer = getOuter(value);
  return outer ? parent.isZero(outer) : BlockPartitioner::isZero(value);
}

OperandForms LoopPartitioner::describe(Value value,
                                       const AvailableForms &available) {
  Value outer = getOuter(value);
  if (!outer)
    return BlockPartitioner::describe(value, available);
  OperandForms described = parent.describe(outer, parent.getBuilt());
  described.mayStayPartial = false;
  described.willBeReduced = llvm::all_of(
      described.types, [](TensorType type) { return type.isPartial(); });
  described.types.append(available.get(value));
  described.share /= static_cast<double>(loop.getSize());
  return described;
}

double LoopPartitioner::obtain(Value value, TensorType type,
                               AvailableForms &available) {
  if (!getOuter(value))
    return BlockPartitioner::obtain(value, type, available);
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

Value LoopPartitioner::getForm(Value value, TensorType type) {
  Value outer = getOuter(value);
  if (!outer)
    return BlockPartitioner::getForm(value, type);
  for (Value form : forms[value])
    if (form.getType() == type)
      return form;
  // The iterations may ask for several forms. All come from one that is
  // reduced.
  if (describe(value, built).willBeReduced && !type.isPartial())
    parent.getForm(outer, parent.getSettled(outer, parent.getBuilt()));
  whole.push_back(parent.getForm(outer, type));
  forms[value].push_back(made.addArgument(type, value.getLoc()));
  return forms[value].back();
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

nd::NamedOpInterface findAddition(nd::ScanOp loop, unsigned carried) {
  BlockArgument total = loop.getBlock().getArgument(carried);
  if (loop.getConditional() || !total.hasOneUse())
    return {};
  auto op = dyn_cast<nd::NamedOpInterface>(*total.user_begin());
  if (!op || op->getNumOperands() != 2 || op->getNumResults() != 1 ||
      !op.getPartitionRule().jointlyLinear)
    return {};
  Value result = op->getResult(0);
  Value summand = op->getOperand(op->getOperand(0) == total ? 1 : 0);
  if (loop.getYield()->getOperand(carried) != result || !result.hasOneUse() ||
      summand.getType() != total.getType() ||
      result.getType() != total.getType())
    return {};
  return op;
}

/// Enters the carried value as a sum if it is one.
void LoopPartitioner::findSum(unsigned carried) {
  nd::NamedOpInterface op = findAddition(loop, carried);
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
TensorType LoopPartitioner::getScattered(Value summand) const {
  auto known = nd::TensorAttributes::of(summand);
  return known.hasClass(nd::TensorClass::Gradient) ? getDesired(summand).type
                                                   : TensorType();
}

/// The sharding of what is added, once it is scattered as getScattered says. It
/// is the wanted one where something else needs a partial value reduced, and
/// where the wanted one is a part of it.
TensorType LoopPartitioner::chooseSharding(const Sum &sum) {
  TensorType pinned = ends[sum.carried];
  OperandForms known = describe(sum.summand, built);
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

void LoopPartitioner::partitionSum(Operation &op, const Sum &sum) {
  // What is added may be a part that is not rounded, and the sum is none then.
  TensorType part = chooseSharding(sum);
  TensorType type = widenParts(part, &op, /*adds=*/true, /*isWide=*/false);
  LDBG() << "carried sum " << sum.carried << " of the loop at " << loop.getLoc()
         << ": " << type;
  ends[sum.carried] = type;
  // The addition is the argument's only user.
  forms[sum.total].front().setType(type);
  SmallVector<Value> operands;
  for (Value operand : op.getOperands())
    operands.push_back(getForm(operand, operand == sum.total ? type : part));
  operands = widenBlocks(op, type, operands, builder);
  Operation *local = builder.clone(op);
  local->setOperands(operands);
  nd::removeShardings(local);
  local->getResult(0).setType(type);
  forms[op.getResult(0)] = {local->getResult(0)};
}

bool LoopPartitioner::isBuiltLast(Operation &op) { return sums.contains(&op); }

void LoopPartitioner::buildLast(Operation &op) {
  partitionSum(op, sums.find(&op)->second);
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
WantedResult LoopPartitioner::getWanted(OpResult result) {
  WantedResult wanted = BlockPartitioner::getWanted(result);
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
llvm::ArrayRef<TensorType> LoopPartitioner::getFixedEnds() {
  return ArrayRef(ends).take_front(loop.getCarriedCount());
}

bool LoopPartitioner::isStackForOps(unsigned end) {
  return end >= loop.getCarriedCount() &&
         llvm::any_of(loop->getResult(end).getUsers(),
                      [](Operation *user) { return !isa<nd::ScanOp>(user); });
}

/// Stacked entries keep their shardings along open dims, and along placed ones
/// where the body may cut them further. Entries that are partial and only
/// yielded stay so: the user of the stack may add it to others before they are
/// reduced. Otherwise the parent reduces the entries in this loop when it asks
/// for the stack (BlockPartitioner::reshard).
void LoopPartitioner::chooseEnds() {
  for (nd::Tie tie : loop.getTies()) {
    if (tie.kind != nd::TieKind::StackedResult)
      continue;
    TensorType &end = ends[tie.result.getResultNumber()];
    OperandForms entry = describe(tie.yielded, built);
    if (entry.isRecomputed || entry.types.empty())
      continue;
    if (isExact(tie.result))
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
void LoopPartitioner::findKept() {
  double costOfByte =
      limit.keptByteCost.value_or(0) / double(nd::countRuns(loop));
  for (const LoopCopies &copies : parent.getCopies())
    for (auto [value, twin] : findLoopTwins(copies.loop, loop))
      for (OpResult stack : copies.stacks.lookup(twin)) {
        TensorType type =
            nd::getEntryType(nd::getTensorType(stack), loop.getDim());
        kept[value].push_back(
            {type, costOfByte * double(type.getLocalBytes(mesh)), stack});
      }
}

ArrayRef<OfferedForm> LoopPartitioner::getKept(Value value) {
  auto known = kept.find(value);
  return known == kept.end() ? ArrayRef<OfferedForm>() : known->second;
}

Value LoopPartitioner::takeKept(Value value, TensorType type) {
  const OfferedForm *form =
      llvm::find_if(getKept(value),
                    [&](const OfferedForm &each) { return each.type == type; });
  unsigned position =
      loop.getCarriedCount() + loop.getStackedCount() + taken.size();
  taken.push_back(form->stack);
  forms[value].push_back(made.insertArgument(position, type, value.getLoc()));
  return forms[value].back();
}

/// The values of the new body that cost a move: what was moved to another
/// sharding, and what ops make of it, products excepted. Results of products
/// are computed again only where the program asks for it.
llvm::DenseSet<Value> LoopPartitioner::findMoved() {
  llvm::DenseSet<Value> moved;
  auto isMoved = [&](Value value) { return moved.contains(value); };
  for (Operation &op : made.without_terminator()) {
    if (auto reshard = dyn_cast<spmd::ReshardOp>(op)) {
      TensorType from = nd::getTensorType(reshard.getOperand());
      TensorType to = nd::getTensorType(reshard.getResult());
      if (!from.isPartial() &&
          (isMoved(reshard.getOperand()) || planner.getCost(from, to) > 0))
        moved.insert(reshard.getResult());
      continue;
    }
    if (isa<nd::NamedOpInterface>(op) && op.getNumRegions() == 0 &&
        !hasMostPoints(&op) && llvm::any_of(op.getOperands(), isMoved))
      moved.insert_range(op.getResults());
  }
  return moved;
}

/// Appends those of the value's forms that are `movedForms`, unless they take
/// more of a rank's memory than the form that the layout wants, or than the one
/// that its op has made without a move: what the layout cuts is not kept
/// gathered. A value that has the loop's dim itself cannot be an entry of a
/// stack.
void LoopPartitioner::addMoved(Value value,
                               const llvm::DenseSet<Value> &movedForms,
                               SmallVectorImpl<MovedForm> &moved) {
  auto known = forms.find(value);
  if (known == forms.end() || known->second.empty() || getOuter(value) ||
      isRecomputed(value) || nd::getTensorType(value).hasDim(loop.getDim()))
    return;
  Value first = known->second.front();
  TensorType made = nd::getTensorType(first);
  if (made.isPartial())
    return;
  bool isMade = !movedForms.contains(first);
  int64_t most = getDesired(value).type.getLocalBytes(mesh);
  if (isMade)
    most = std::max(most, made.getLocalBytes(mesh));
  for (Value form : known->second) {
    TensorType type = nd::getTensorType(form);
    if (movedForms.contains(form) && !type.isPartial() &&
        type.getLocalBytes(mesh) <= most &&
        !(isMade && planner.getCost(made, type) == 0))
      moved.push_back({value, form});
  }
}

/// The values that later loops have as well.
llvm::DenseSet<Value> LoopPartitioner::findTwins() {
  llvm::DenseSet<Value> twins;
  for (Operation *later = loop->getNextNode(); later;
       later = later->getNextNode())
    if (auto other = dyn_cast<nd::ScanOp>(later))
      twins.insert_range(llvm::make_second_range(findLoopTwins(loop, other)));
  return twins;
}

nd::ScanOp LoopPartitioner::offerCopies(nd::ScanOp local,
                                        SmallVectorImpl<LoopCopies> &copies) {
  SmallVector<MovedForm> moved;
  const llvm::DenseSet<Value> twins = findTwins(), movedForms = findMoved();
  auto add = [&](Value value) {
    if (twins.contains(value))
      addMoved(value, movedForms, moved);
  };
  llvm::for_each(old.getArguments(), add);
  for (Operation &op : old.without_terminator())
    llvm::for_each(op.getResults(), add);
  llvm::erase_if(moved, [&](const MovedForm &each) {
    return nd::findStackedResult(local, each.form) != nullptr;
  });
  if (moved.empty())
    return local;
  auto entries = llvm::map_to_vector(
      moved, [](const MovedForm &each) { return each.form; });
  unsigned count = local->getNumResults();
  IRRewriter rewriter(local.getContext());
  nd::ScanOp made = nd::addStackedResults(rewriter, local, entries);
  copies.emplace_back().loop = loop;
  for (auto [index, each] : llvm::enumerate(moved))
    copies.back().stacks[each.value].push_back(made->getResult(count + index));
  return made;
}

//===----------------------------------------------------------------------===//
// The new loop
//===----------------------------------------------------------------------===//

nd::ScanOp LoopPartitioner::build(OpBuilder &parentBuilder,
                                  std::unique_ptr<Block> body) {
  SmallVector<Value> carried, stacked;
  SmallVector<Type> stackedResults;
  for (nd::Tie tie : loop.getTies())
    switch (tie.kind) {
    case nd::TieKind::Carried:
      carried.push_back(
          parent.getForm(tie.operand, ends[tie.result.getResultNumber()]));
      break;
    case nd::TieKind::StackedOperand:
      stacked.push_back(parent.getForm(tie.operand, getStackType(tie.operand)));
      break;
    case nd::TieKind::Whole:
      break;
    case nd::TieKind::StackedResult:
      stackedResults.push_back(
          nd::getStackedType(ends[tie.result.getResultNumber()], loop.getDim(),
                             static_cast<int64_t>(loop.getSize())));
      break;
    }
  llvm::append_range(stacked, taken);
  auto local = nd::ScanOp::create(parentBuilder, loop.getLoc(), loop.getDim(),
                                  loop.getSize(), loop.getBackwards(), carried,
                                  stacked, whole, stackedResults);
  local.setConditional(loop.getConditional());
  local.setMicroBatches(loop.getMicroBatches());
  local.getRegion().front().erase();
  local.getRegion().push_back(body.release());
  local.setResAttrsAttr(loop.getResAttrsAttr());
  local->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  nd::removeShardings(local);
  dropExact(local);
  return local;
}

} // namespace meshc::partition
