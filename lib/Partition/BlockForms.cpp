//===- BlockForms.cpp - the forms of a block's values ---------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a BlockPartitioner knows of values, and how it makes one form of a
/// value from another.
///
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/ShapeOps.h"
#include "dialects/Nd/Ops/SourceOps.h"
#include "dialects/Nd/TensorAttributes.h"
#include "dialects/Spmd/SpmdOps.h"
#include "lib/Partition/BlockPartitioner.h"
#include "lib/Partition/CauseName.h"

using namespace mlir;

namespace meshc::partition {

using nd::TensorType;

bool isStack(Value value) {
  auto loop = value.getDefiningOp<nd::ScanOp>();
  return loop &&
         cast<OpResult>(value).getResultNumber() >= loop.getCarriedCount();
}

static bool isPartialStack(Value value) {
  return isStack(value) && nd::getTensorType(value).isPartial();
}

bool BlockPartitioner::isZero(Value value) {
  auto op = value.getDefiningOp<nd::NamedOpInterface>();
  return op && op.getPartitionRule().isZero;
}

//===----------------------------------------------------------------------===//
// What is known of values
//===----------------------------------------------------------------------===//

llvm::SmallVector<TensorType> BlockPartitioner::Built::get(Value value) const {
  return llvm::map_to_vector(block.forms.lookup(value), nd::getTensorType);
}

const BlockPartitioner::Facts &BlockPartitioner::getFacts(Value value) {
  std::unique_ptr<Facts> &known = facts[value];
  if (!known)
    known = std::make_unique<Facts>(Facts{
        isRecomputable(value.getDefiningOp()), hasOneUser(value),
        nd::TensorAttributes::of(value).hasClass(nd::TensorClass::Gradient),
        findCopySources(value)});
  return *known;
}

void BlockPartitioner::setMayCutFurther(ArrayRef<Operation *> ops,
                                        bool mayCut) {
  for (Operation *op : ops)
    for (Value result : op->getResults())
      desired.find(result)->second.mayCutFurther = mayCut;
}

TensorType BlockPartitioner::getSettled(Value value,
                                        const AvailableForms &available) const {
  const DesiredSharding &known = getDesired(value);
  llvm::SmallVector<TensorType> types = available.get(value);
  return known.settle(types.empty() ? known.preferred : types.front());
}

TensorType BlockPartitioner::getSettled(Value value,
                                        const DesiredSharding &result) {
  if (!getFacts(value).isRecomputable)
    for (TensorType type : built.get(value))
      if (!type.isPartial())
        return result.settle(type);
  return result.settle(result.preferred);
}

static bool isReduced(ArrayRef<TensorType> types) {
  return llvm::any_of(types, [](TensorType type) { return !type.isPartial(); });
}

OperandForms BlockPartitioner::describe(Value value,
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
BlockPartitioner::Move BlockPartitioner::findReshard(ArrayRef<TensorType> types,
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
BlockPartitioner::Move BlockPartitioner::findPartial(ArrayRef<TensorType> types,
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
BlockPartitioner::Move
BlockPartitioner::findDirect(Value value, TensorType type,
                             ArrayRef<TensorType> types) {
  Move best = findReshard(types, type);
  for (const OfferedForm &kept : getKept(value))
    if (double bytes = kept.cost + planner.getCost(kept.type, type);
        bytes < best.bytes)
      best = {MoveKind::Kept, kept.type, bytes};
  return best;
}

BlockPartitioner::Move
BlockPartitioner::findMove(Value value, TensorType type,
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

double BlockPartitioner::obtain(Value value, TensorType type,
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

/// Gives a stack that nothing uses yet another sharding: reshards its entries
/// in the loop that yields them, which of loops in loops is the innermost one.
static void reshardEntries(Value stack, TensorType type, StringAttr name) {
  auto loop = stack.getDefiningOp<nd::ScanOp>();
  unsigned index = cast<OpResult>(stack).getResultNumber();
  Value yielded = loop.getYield()->getOperand(index);
  TensorType entry = nd::getEntryType(type, loop.getDim());
  stack.setType(type);
  if (isPartialStack(yielded) && yielded.hasOneUse() &&
      canYield(yielded, entry))
    return reshardEntries(yielded, entry, name);
  OpBuilder builder(loop.getYield());
  auto op = spmd::ReshardOp::create(builder, yielded.getLoc(), entry, yielded);
  if (name)
    nd::setName(op, name);
  loop.getYield()->setOperand(index, op);
}

/// A form of the value with this sharding. Entries of a partial stack are
/// resharded in their loop, where this overlaps with later iterations.
Value BlockPartitioner::reshard(Value value, Value from, TensorType type) {
  StringAttr name = getCauseName(value, [&](Value other) {
    auto known = forms.find(other);
    return known != forms.end() && !known->second.empty() &&
           nd::getTensorType(known->second.front()).isPartial();
  });
  if (isPartialStack(from) && from.use_empty()) {
    bool isInside = canYield(from, type);
    reshardEntries(from, isInside ? type : getSettled(value, built), name);
    if (from.getType() == type)
      return from;
  }
  auto op = spmd::ReshardOp::create(builder, value.getLoc(), type, from);
  if (name)
    nd::setName(op, name);
  forms[value].push_back(op);
  return op;
}

/// The result of the op once more, in another sharding, from these operands.
Value BlockPartitioner::repeat(Operation *op, ValueRange operands,
                               TensorType type) {
  Operation *again = builder.clone(*op);
  again->setOperands(operands);
  nd::removeShardings(again);
  again->getResult(0).setType(type);
  forms[op->getResult(0)].push_back(again->getResult(0));
  return again->getResult(0);
}

/// The result of an op of numbers, which every rank has, once more. Parts of a
/// sum of 16 bits are f32; they are recomputed if they are zero.
Value BlockPartitioner::recompute(Operation *op, TensorType type) {
  Value result = op->getResult(0);
  if (nd::getTensorType(result).getElementType() != type.getElementType()) {
    auto zero = nd::ConstantOp::create(builder, op->getLoc(), type, 0.0);
    forms[result].push_back(zero);
    return zero;
  }
  SmallVector<Value> numbers;
  for (Value operand : op->getOperands())
    numbers.push_back(getForm(operand, nd::getTensorType(operand).getGlobal()));
  return repeat(op, numbers, type);
}

/// The value with this sharding, copied from `form` of the source.
Value BlockPartitioner::copy(const CopySource &source, Value form,
                             TensorType type) {
  if (!source.isResult)
    return repeat(source.op, form, type);
  auto rename = cast<nd::RenameOp>(source.op);
  auto back = nd::RenameOp::create(builder, rename.getLoc(), form,
                                   rename.getTo(), rename.getFrom());
  back->getResult(0).setType(type);
  forms[rename.getInput()].push_back(back);
  return back;
}

Value BlockPartitioner::getForm(Value value, TensorType type) {
  auto find = [&](TensorType known) {
    return *llvm::find_if(forms[value],
                          [&](Value form) { return form.getType() == known; });
  };
  Move move = findMove(value, type, built);
  switch (move.kind) {
  case MoveKind::None:
    return find(type);
  case MoveKind::Recompute:
    return recompute(value.getDefiningOp(), type);
  case MoveKind::Settle:
    reshard(value, forms[value].front(), move.from);
    return getForm(value, type);
  case MoveKind::ToPartial:
    return reshard(value, getForm(value, move.from), type);
  case MoveKind::Copy:
    return copy(*move.source, getForm(move.source->value, move.from), type);
  case MoveKind::Kept: {
    Value kept = takeKept(value, move.from);
    return move.from == type ? kept : reshard(value, kept, type);
  }
  case MoveKind::Reshard:
    return reshard(value, find(move.from), type);
  }
  llvm_unreachable("all moves are handled");
}

} // namespace meshc::partition
