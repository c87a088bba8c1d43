//===- BlockPartitioner.cpp - the ops of one block on shards --------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Partition/BlockPartitioner.h"
#include "dialects/Nd/TensorAttributes.h"
#include "dialects/Spmd/SpmdOps.h"
#include "lib/Partition/CauseName.h"
#include "lib/Partition/LoopPartitioner.h"
#include "lib/Partition/OverlapBuilder.h"
#include "lib/Partition/SearchBlock.h"
#include "lib/Partition/SinkToUses.h"
#include "llvm/Support/DebugLog.h"
#include "llvm/Support/InterleavedRange.h"

#define DEBUG_TYPE "meshc-partition-program"

using namespace mlir;

namespace meshc::partition {

using nd::Factor;
using nd::PartitionRule;
using nd::TensorType;

/// Whether the value is a stacked result of a loop.
static bool isStack(Value value) {
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

void BlockPartitioner::addArgument(BlockArgument argument,
                                   TensorType sharding) {
  forms[argument] = {made.addArgument(sharding, argument.getLoc())};
  desired[argument] = DesiredSharding(sharding);
}

//===----------------------------------------------------------------------===//
// What is known of values
//===----------------------------------------------------------------------===//

llvm::SmallVector<TensorType> BlockPartitioner::Built::get(Value value) const {
  return llvm::map_to_vector(block.forms.lookup(value), nd::getTensorType);
}

const BlockPartitioner::Facts &BlockPartitioner::getFacts(Value value) {
  auto [it, isNew] = facts.try_emplace(value);
  if (isNew) {
    Operation *op = value.getDefiningOp();
    it->second = {
        isRecomputable(op), isCopy(op), hasOneUser(value),
        nd::TensorAttributes::of(value).hasClass(nd::TensorClass::Gradient)};
  }
  return it->second;
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
  const Facts known = getFacts(value);
  OperandForms described;
  described.types = available.get(value);
  described.isRecomputed = known.isRecomputable;
  bool willBeReduced = !isReduced(described.types) && !known.hasOneUser;
  described.reducesInLoop =
      llvm::any_of(described.types,
                   [](TensorType type) { return type.isPartial(); }) &&
      isStack(value);
  described.settled = getSettled(value, available);
  if (known.isCopy) {
    Operation *op = value.getDefiningOp();
    for (TensorType type : available.get(op->getOperand(0)))
      if (!type.isPartial())
        if (TensorType copied = mapThroughCopy(op, type, /*forward=*/true))
          described.types.push_back(copied);
  }
  // Gradients of parameters lie as their class wants before the update uses
  // them: the layout may have a rule for them.
  described.mayStayPartial = known.hasOneUser && !known.isGradient;
  described.willBeReduced = willBeReduced;
  return described;
}

//===----------------------------------------------------------------------===//
// Which form comes from which
//===----------------------------------------------------------------------===//

/// The cheapest way from one of the forms to the type, without a look at the
/// operands of copies; infinite bytes if there is none.
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

BlockPartitioner::Move
BlockPartitioner::findMove(Value value, TensorType type,
                           const AvailableForms &available) {
  llvm::SmallVector<TensorType> types = available.get(value);
  if (llvm::is_contained(types, type))
    return {MoveKind::None, type, 0};
  const Facts known = getFacts(value);
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
  Move reshard = findReshard(types, type);
  for (const OfferedForm &kept : getKept(value))
    if (double bytes = kept.cost + planner.getCost(kept.type, type);
        bytes < reshard.bytes)
      reshard = {MoveKind::Kept, kept.type, bytes};
  if (!known.isCopy || type.isPartial())
    return reshard;
  // A copy made from its operand: other copies, and the operand's users, may
  // share the form.
  Operation *op = value.getDefiningOp();
  TensorType needed = mapThroughCopy(op, type, /*forward=*/false);
  if (!needed)
    return reshard;
  Move source = findReshard(available.get(op->getOperand(0)), needed);
  return source.bytes <= reshard.bytes && source.from
             ? Move{MoveKind::Copy, needed, source.bytes}
             : reshard;
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
    move.bytes =
        obtain(value.getDefiningOp()->getOperand(0), move.from, available);
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

/// The result of an op of numbers, which every rank has, once more.
Value BlockPartitioner::recompute(Operation *op, TensorType type) {
  SmallVector<Value> numbers;
  for (Value operand : op->getOperands())
    numbers.push_back(getForm(operand, nd::getTensorType(operand).getGlobal()));
  return repeat(op, numbers, type);
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
  case MoveKind::Copy: {
    Operation *op = value.getDefiningOp();
    return repeat(op, getForm(op->getOperand(0), move.from), type);
  }
  case MoveKind::Kept: {
    Value kept = takeKept(value, move.from);
    return move.from == type ? kept : reshard(value, kept, type);
  }
  case MoveKind::Reshard:
    return reshard(value, find(move.from), type);
  }
  llvm_unreachable("all moves are handled");
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// Enters the shardings that the layout wants for the op's results. Fails, with
/// an error on the op, if it cannot be partitioned.
LogicalResult BlockPartitioner::collectDesired(Operation &op) {
  if (!isa<nd::ScanOp>(op) &&
      (!isa<nd::NamedOpInterface>(op) || op.getNumRegions() != 0))
    return op.emitError() << "'" << op.getName()
                          << "' has no partition rule and cannot be cut over "
                             "the mesh";
  for (OpResult result : op.getResults()) {
    std::optional<DesiredSharding> known = readDesired(result);
    if (!known)
      return op.emitError("lacks a required sharding for each result; run the "
                          "layout phase first");
    known->mayCutFurther = limit.isRaised();
    desired[result] = std::move(*known);
  }
  return success();
}

/// Enters the form in which the result was computed. A partial value waits for
/// its first use, a stack of partial entries too, and a part of a carried sum
/// for the end of the loop; any other value is resharded as wanted.
void BlockPartitioner::addResult(OpResult result, Value computed) {
  forms[result].push_back(computed);
  TensorType type = nd::getTensorType(computed);
  if (!type.isPartial() && getWanted(result).share == 1 &&
      !getFacts(result).isRecomputable)
    getForm(result, getDesired(result).settle(type));
}

/// The op where a factor is cut along which ranks need entries of others'
/// blocks.
Operation *BlockPartitioner::buildWindow(Operation &op, const Factor &halo,
                                         ValueRange blocks) {
  llvm::SmallVector<int64_t> segments;
  for (const nd::Segment &segment : halo.segments)
    segments.append({segment.operand, segment.at, segment.from, segment.size});
  auto window = spmd::WindowOp::create(
      builder, op.getLoc(), op.getResult(0).getType(), halo.resultDims[0],
      builder.getDenseI64ArrayAttr(segments), /*repeat=*/nullptr,
      builder.getF64FloatAttr(halo.fill), blocks);
  window->setDiscardableAttrs(op.getDiscardableAttrDictionary());
  if (!nd::TensorAttributes::of(window.getOperation()).getName())
    if (StringAttr name =
            getCauseName(op.getResult(0), [](Value) { return false; }))
      nd::setName(window, name);
  return window;
}

/// The op on blocks; its results do not have their types yet.
Operation *BlockPartitioner::buildLocal(Operation &op,
                                        const FactorChoice &choice,
                                        ValueRange blocks) {
  PartitionRule rule =
      nd::joinOverlaps(cast<nd::NamedOpInterface>(op).getPartitionRule());
  for (auto [factor, axes] : llvm::zip(rule.factors, choice.axesOfFactor)) {
    if (factor.kind == nd::FactorKind::Halo && !axes.empty())
      return buildWindow(op, factor, blocks);
    if (factor.kind == nd::FactorKind::Overlap && !axes.empty())
      return OverlapBuilder(op, factor, choice, builder, mesh).build(blocks);
  }
  Operation *local = builder.clone(op);
  local->setOperands(blocks);
  return local;
}

void BlockPartitioner::build(Operation &op, const FactorChoice &choice) {
  LDBG() << op.getName() << " at " << op.getLoc() << ": operands "
         << llvm::interleaved(choice.operandTypes) << ", results "
         << llvm::interleaved(choice.resultTypes) << ", reshards send "
         << choice.bytes << " bytes";
  llvm::SmallVector<Value> blocks;
  for (auto [operand, type] : llvm::zip(op.getOperands(), choice.operandTypes))
    blocks.push_back(getForm(operand, type));
  Operation *local = buildLocal(op, choice, blocks);
  nd::removeShardings(local);
  for (auto [result, type] : llvm::zip(local->getResults(), choice.resultTypes))
    result.setType(type);
  for (auto [result, computed] :
       llvm::zip(op.getResults(), local->getResults()))
    addResult(result, computed);
}

LogicalResult BlockPartitioner::partitionLoop(nd::ScanOp loop) {
  auto body = std::make_unique<Block>();
  LoopPartitioner partitioner(loop, *body, *this, planner, mesh, limit);
  if (failed(partitioner.run()))
    return failure();
  nd::ScanOp local = partitioner.build(builder, std::move(body));
  if (limit.keptByteCost && isFollowed(loop))
    local = partitioner.offerCopies(local, copies);
  partitioner.dropUnusedCopies();
  for (auto [result, computed] :
       llvm::zip(loop->getResults(), local->getResults()))
    addResult(result, computed);
  return success();
}

void BlockPartitioner::partitionEnd(Operation &terminator) {
  llvm::SmallVector<Value> values;
  for (auto [operand, type] : llvm::zip(terminator.getOperands(), ends))
    values.push_back(getForm(operand, type));
  builder.clone(terminator)->setOperands(values);
}

LogicalResult BlockPartitioner::prepare() {
  sinkToUses(old);
  for (Operation &op : old.without_terminator())
    if (failed(collectDesired(op)))
      return failure();
  for (auto [operand, type] :
       llvm::zip(old.getTerminator()->getOperands(), ends))
    if (auto known = desired.find(operand); known != desired.end())
      known->second.prefer(type);
  propagatePreferences(old, desired);
  cuts = LinkedCuts(old, desired);
  return success();
}

void BlockPartitioner::dropUnusedCopies() {
  llvm::for_each(llvm::reverse(copies), dropUnused);
  copies.clear();
}

LogicalResult BlockPartitioner::run() {
  if (failed(prepare()))
    return failure();
  // Loops end a search: what they need and make is known when they are built.
  llvm::SmallVector<Operation *> ops, last;
  auto buildAll = [&] {
    auto choices = searchBlock(*this, planner, mesh, limit, ops);
    for (auto [op, choice] : llvm::zip(ops, choices))
      build(*op, choice);
    ops.clear();
  };
  for (Operation &op : old.without_terminator()) {
    auto loop = dyn_cast<nd::ScanOp>(op);
    if (!loop) {
      (isBuiltLast(op) ? last : ops).push_back(&op);
      continue;
    }
    buildAll();
    if (failed(partitionLoop(loop)))
      return failure();
  }
  buildAll();
  for (Operation *op : last)
    buildLast(*op);
  chooseEnds();
  partitionEnd(*old.getTerminator());
  return success();
}

} // namespace meshc::partition
