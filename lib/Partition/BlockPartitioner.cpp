//===- BlockPartitioner.cpp - the ops of one block on shards --------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Partition/BlockPartitioner.h"
#include "dialects/Nd/TensorAttributes.h"
#include "dialects/Spmd/SpmdOps.h"
#include "lib/Partition/LoopPartitioner.h"
#include "llvm/Support/DebugLog.h"
#include "llvm/Support/InterleavedRange.h"

#define DEBUG_TYPE "meshc-partition-program"

using namespace mlir;

namespace meshc::partition {

using nd::TensorType;

TensorType getSharding(Attribute attribute) {
  auto type = dyn_cast_or_null<TypeAttr>(attribute);
  return type ? dyn_cast<TensorType>(type.getValue()) : TensorType();
}

bool hasOneUser(Value value) {
  Operation *user = nullptr;
  for (Operation *other : value.getUsers()) {
    if (user && user != other)
      return false;
    user = other;
  }
  return user != nullptr;
}

/// Whether the value is a whole number that every rank has, such as that of an
/// iteration.
static bool isNumber(Value value) {
  TensorType type = nd::getTensorType(value);
  return type && type.getRank() == 0 && !type.isFloat();
}

/// Whether any rank can compute any block of the op's result: the op needs
/// nothing but numbers.
static bool isRecomputable(Operation *op) {
  auto named = dyn_cast_or_null<nd::NamedOpInterface>(op);
  return named && llvm::all_of(op->getOperands(), isNumber) &&
         op->getNumResults() == 1 &&
         llvm::all_of(named.getPartitionRule().factors,
                      [](const nd::Factor &factor) {
                        return factor.kind == nd::FactorKind::Parallel;
                      });
}

/// Whether the value is a stacked result of a loop, of partial entries.
static bool isPartialStack(Value value) {
  auto loop = value.getDefiningOp<nd::ScanOp>();
  return loop && nd::getTensorType(value).isPartial() &&
         cast<OpResult>(value).getResultNumber() >= loop.getCarriedCount();
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

/// Whether the op only copies elements of its operand, each rank its own: a
/// rename, a broadcast.
static bool isCopy(Operation *op) {
  auto named = dyn_cast_or_null<nd::NamedOpInterface>(op);
  if (!named || op->getNumOperands() != 1 || op->getNumResults() != 1 ||
      op->getNumRegions() != 0)
    return false;
  nd::OpCost cost = named.getCost();
  return cost.flops == 0 && cost.transcendentals == 0 &&
         llvm::all_of(named.getPartitionRule().factors,
                      [](const nd::Factor &factor) {
                        return factor.kind == nd::FactorKind::Parallel;
                      });
}

/// The sharding of a copy's operand (or result, if `forward`) for one of its
/// result (or operand); null if there is none.
static TensorType mapThroughCopy(Operation *op, TensorType type, bool forward) {
  nd::PartitionRule rule = cast<nd::NamedOpInterface>(op).getPartitionRule();
  nd::MeshAttr mesh = nd::MeshAttr::of(op);
  auto getDim = [&](const nd::Factor &factor, bool ofResult) {
    return ofResult ? factor.resultDims[0] : factor.operandDims[0];
  };
  llvm::SmallVector<spmd::AxisList> axes;
  for (const nd::Factor &factor : rule.factors) {
    StringAttr dim = getDim(factor, !forward);
    axes.emplace_back(dim ? spmd::getAxesOf(type, dim.getValue())
                          : ArrayRef<StringAttr>());
    if (!nd::mayCut(op, factor, mesh.getProduct(axes.back())))
      return {};
  }
  auto along = [&](Value value, bool ofResult) {
    return getTypeAlong(
        nd::getTensorType(value), rule, axes,
        [&](const nd::Factor &factor) { return getDim(factor, ofResult); });
  };
  // Several factors along one dim would each claim its axes.
  Value known = forward ? op->getOperand(0) : op->getResult(0);
  Value other = forward ? op->getResult(0) : op->getOperand(0);
  return along(known, !forward) == type ? along(other, forward) : TensorType();
}

/// The form of the value that its op made, or the first reduced one if that is
/// partial; null if there is none.
Value BlockPartitioner::getReduced(Value value) const {
  for (Value form : forms.lookup(value))
    if (!nd::getTensorType(form).isPartial())
      return form;
  return {};
}

TensorType BlockPartitioner::getSettled(Value value) const {
  const DesiredSharding &known = getDesired(value);
  auto made = forms.find(value);
  return known.settle(made == forms.end() || made->second.empty()
                          ? known.preferred
                          : nd::getTensorType(made->second.front()));
}

TensorType BlockPartitioner::getSettled(Value value,
                                        const DesiredSharding &result) const {
  Value form =
      isRecomputable(value.getDefiningOp()) ? Value() : getReduced(value);
  return result.settle(form ? nd::getTensorType(form) : result.preferred);
}

OperandForms BlockPartitioner::describe(Value value) {
  OperandForms described;
  Operation *op = value.getDefiningOp();
  described.isRecomputed = isRecomputable(op);
  bool isReduced = false;
  for (Value form : forms.lookup(value)) {
    described.types.push_back(nd::getTensorType(form));
    isReduced |= !described.types.back().isPartial();
    described.reducesInLoop |= isPartialStack(form);
  }
  if (isCopy(op))
    for (Value form : forms.lookup(op->getOperand(0)))
      if (TensorType type = nd::getTensorType(form); !type.isPartial())
        if (TensorType copied = mapThroughCopy(op, type, /*forward=*/true))
          described.types.push_back(copied);
  described.settled = getSettled(value);
  // Gradients of parameters lie as their class wants before the update uses
  // them: the layout may have a rule for them.
  bool isGradient =
      nd::TensorAttributes::of(value).hasClass(nd::TensorClass::Gradient);
  described.mayStayPartial = hasOneUser(value) && !isGradient;
  described.willBeReduced = !isReduced && !hasOneUser(value);
  return described;
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// The name of the result of the function or loop that this operand of the
/// terminator becomes.
static StringAttr getNameAtEnd(OpOperand &use) {
  Operation *parent = use.getOwner()->getParentOp();
  unsigned index = use.getOperandNumber();
  if (auto function = dyn_cast<FunctionOpInterface>(parent))
    return nd::TensorAttributes::ofResult(function, index).getName();
  return nd::TensorAttributes::of(parent->getResult(index)).getName();
}

/// The first user of the value in program order, or null.
static Operation *getFirstUser(Value value) {
  Operation *first = nullptr;
  for (Operation *user : value.getUsers())
    if (!first || user->isBeforeInBlock(first))
      first = user;
  return first;
}

/// The name of the first named value on the way from this one through its first
/// users, or null. `alone`: as long as there is one user only; otherwise ops of
/// a class are passed by, since gradients of many parameters may come from one
/// value.
static StringAttr findNameAhead(Value value, bool alone) {
  for (int hops = 0; hops < 8; ++hops) {
    auto tensor = nd::TensorAttributes::of(value);
    if (tensor.getName() && (alone || !tensor.getClass()))
      return tensor.getName();
    if (alone && !hasOneUser(value))
      return {};
    Operation *user = getFirstUser(value);
    if (!user || user->getNumResults() != 1)
      return {};
    value = user->getResult(0);
  }
  return {};
}

/// The name that a reader knows the value by: its own, that of the named value
/// which it goes into, or that of the partial value which it comes from.
StringAttr BlockPartitioner::getCauseName(Value value) {
  if (isa<BlockArgument>(value))
    return nd::TensorAttributes::of(value).getName();
  if (StringAttr name = findNameAhead(value, /*alone=*/true))
    return name;
  for (OpOperand &use : value.getUses())
    if (use.getOwner()->hasTrait<OpTrait::IsTerminator>())
      return getNameAtEnd(use);
  for (Value operand : value.getDefiningOp()->getOperands())
    if (auto known = forms.find(operand);
        known != forms.end() &&
        nd::getTensorType(known->second.front()).isPartial())
      return getCauseName(operand);
  return findNameAhead(value, /*alone=*/false);
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
  StringAttr name = getCauseName(value);
  if (isPartialStack(from) && from.use_empty()) {
    bool isInside = canYield(from, type);
    reshardEntries(from, isInside ? type : getSettled(value), name);
    if (from.getType() == type)
      return from;
  }
  auto op = spmd::ReshardOp::create(builder, value.getLoc(), type, from);
  if (name)
    nd::setName(op, name);
  forms[value].push_back(op);
  return op;
}

/// The result of the op once more, in another sharding.
Value BlockPartitioner::recompute(Operation *op, TensorType type) {
  SmallVector<Value> numbers;
  for (Value operand : op->getOperands())
    numbers.push_back(getForm(operand, nd::getTensorType(operand).getGlobal()));
  Operation *again = builder.clone(*op);
  again->setOperands(numbers);
  nd::removeShardings(again);
  again->getResult(0).setType(type);
  forms[op->getResult(0)].push_back(again->getResult(0));
  return again->getResult(0);
}

Value BlockPartitioner::getForm(Value value, TensorType type) {
  llvm::SmallVector<Value> &known = forms[value];
  for (Value form : known)
    if (form.getType() == type)
      return form;
  if (Operation *op = value.getDefiningOp(); isRecomputable(op))
    return recompute(op, type);
  // Whoever else uses a partial value needs it reduced as well: it is reduced
  // to what is wanted of it, and goes on from there.
  bool isReduced = llvm::any_of(
      known, [](Value form) { return !nd::getTensorType(form).isPartial(); });
  TensorType settled = getSettled(value);
  if (!isReduced && !type.isPartial() && settled != type && !hasOneUser(value))
    reshard(value, known.front(), settled);
  if (Value copied = copyFromOperand(value, type))
    return copied;
  Value best;
  double least = 0;
  for (Value form : forms[value]) {
    TensorType from = nd::getTensorType(form);
    if (type.isPartial() && !from.isPartial())
      continue;
    double bytes = planner.getBytes(from, type);
    if (!best || bytes < least) {
      best = form;
      least = bytes;
    }
  }
  return reshard(value, best, type);
}

/// The bytes that getForm would send, without a look at the operands of copies.
double BlockPartitioner::getFormBytes(Value value, TensorType type) {
  double least = std::numeric_limits<double>::infinity();
  for (Value form : forms[value])
    if (TensorType from = nd::getTensorType(form);
        from.isPartial() || !type.isPartial())
      least = std::min(least, planner.getBytes(from, type));
  return least;
}

/// A form of a copy made from a form of its operand, if that moves no more
/// bytes than resharding the copy: other copies, and the operand's users, may
/// share it. Null otherwise.
Value BlockPartitioner::copyFromOperand(Value value, TensorType type) {
  Operation *op = value.getDefiningOp();
  if (type.isPartial() || !isCopy(op))
    return {};
  TensorType needed = mapThroughCopy(op, type, /*forward=*/false);
  if (!needed ||
      getFormBytes(op->getOperand(0), needed) > getFormBytes(value, type))
    return {};
  Value source = getForm(op->getOperand(0), needed);
  Operation *again = builder.clone(*op);
  again->setOperands(source);
  nd::removeShardings(again);
  again->getResult(0).setType(type);
  forms[value].push_back(again->getResult(0));
  return again->getResult(0);
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
  ArrayAttr shardings = nd::getShardings(&op), open = nd::getOpenDims(&op);
  for (OpResult result : op.getResults()) {
    unsigned index = result.getResultNumber();
    TensorType type = nd::getTensorType(result);
    TensorType sharding =
        shardings ? getSharding(shardings[index]) : TensorType();
    if (!type || !sharding || sharding.getGlobal() != type.getGlobal())
      return op.emitError("lacks a required sharding for each result; run the "
                          "layout phase first");
    desired[result] = DesiredSharding(
        sharding,
        open ? spmd::getNames(cast<ArrayAttr>(open[index])) : spmd::AxisList());
  }
  return success();
}

/// Enters the form in which the result was computed. A partial value waits for
/// its first use, a stack of partial entries too, and a part of a carried sum
/// for the end of the loop; any other value is resharded as wanted.
void BlockPartitioner::addResult(OpResult result, Value computed) {
  forms[result].push_back(computed);
  TensorType type = nd::getTensorType(computed);
  if (!type.isPartial() && getShare(result) == 1 &&
      !isRecomputable(result.getOwner()))
    getForm(result, getDesired(result).settle(type));
}

LogicalResult BlockPartitioner::partition(Operation &op) {
  if (auto loop = dyn_cast<nd::ScanOp>(op))
    return partitionLoop(loop);
  llvm::SmallVector<OperandForms> operands;
  for (Value operand : op.getOperands())
    operands.push_back(describe(operand));
  llvm::SmallVector<WantedResult> results;
  for (OpResult result : op.getResults())
    results.push_back({getDesired(result), getShare(result)});
  FactorChoice choice = chooseFactors(&op, operands, results, planner, mesh);
  LDBG() << op.getName() << " at " << op.getLoc() << ": operands "
         << llvm::interleaved(choice.operandTypes) << ", results "
         << llvm::interleaved(choice.resultTypes) << ", reshards send "
         << choice.bytes << " bytes";

  llvm::SmallVector<Value> blocks;
  for (auto [operand, type] : llvm::zip(op.getOperands(), choice.operandTypes))
    blocks.push_back(getForm(operand, type));
  Operation *local = builder.clone(op);
  local->setOperands(blocks);
  nd::removeShardings(local);
  for (auto [result, type] : llvm::zip(local->getResults(), choice.resultTypes))
    result.setType(type);
  for (auto [result, computed] :
       llvm::zip(op.getResults(), local->getResults()))
    addResult(result, computed);
  return success();
}

LogicalResult BlockPartitioner::partitionLoop(nd::ScanOp loop) {
  auto body = std::make_unique<Block>();
  LoopPartitioner partitioner(loop, *body, *this, planner, mesh);
  if (failed(partitioner.run()))
    return failure();
  nd::ScanOp local = partitioner.build(builder, std::move(body));
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

LogicalResult BlockPartitioner::run() {
  for (Operation &op : old.without_terminator())
    if (failed(collectDesired(op)))
      return failure();
  for (auto [operand, type] :
       llvm::zip(old.getTerminator()->getOperands(), ends))
    if (auto known = desired.find(operand); known != desired.end())
      known->second.prefer(type);
  propagatePreferences(old, desired);
  for (Operation &op : old.without_terminator())
    if (failed(partition(op)))
      return failure();
  chooseEnds();
  partitionEnd(*old.getTerminator());
  return success();
}

} // namespace meshc::partition
