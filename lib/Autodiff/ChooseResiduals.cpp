//===- ChooseResiduals.cpp - what loops store for their gradients ---------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/NdInterfaces.h"
#include "dialects/Nd/Ops/LoopEdit.h"
#include "dialects/Nd/RecomputeBlock.h"
#include "lib/Autodiff/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace meshc::autodiff {

#define GEN_PASS_DEF_CHOOSERESIDUALS
#include "lib/Autodiff/Passes.h.inc"

/// A stored byte is written and read once. In the time of a byte's way to
/// memory or back, a processor of today computes about 16 operations.
static constexpr double operationsPerByte = 32;
/// A transcendental function as arithmetic.
static constexpr double operationsPerTranscendental = 16;

namespace {
/// Chooses for the stacked results of one loop, the producer, which are stored.
/// The others are recomputed in the loops that read them, the consumers.
class ResidualChoice {
public:
  ResidualChoice(nd::ScanOp producer, Recompute policy);

  /// Changes the loops. Returns the producer, which may be another op.
  nd::ScanOp run();

private:
  void chooseBlocks();
  void chooseNone();
  void chooseCheap();
  void chooseAll();
  void choose();
  void store(ValueRange values);
  bool isCheap(Operation *op);
  bool isAvailable(Value value);
  double getBytes(Value value) const;
  void recomputeIn(nd::ScanOp consumer);

  nd::ScanOp producer;
  nd::MeshAttr mesh;
  Recompute policy;
  llvm::SetVector<nd::ScanOp> consumers;
  /// Entries of stacked results that only the consumers read, in the order of
  /// the body.
  SmallVector<OpResult> candidates;
  /// Values of the body that are stacked in any case, or chosen to be.
  llvm::DenseSet<Value> stored;
  llvm::DenseSet<Value> recomputed;
};

/// Builds values of the producer's body in that of a consumer, from values that
/// are stored and from operands.
class Recomputation {
public:
  Recomputation(nd::ScanOp producer, nd::ScanOp consumer,
                const llvm::DenseSet<Value> &stored)
      : producer(producer), consumer(consumer), stored(stored),
        builder(OpBuilder::atBlockBegin(&consumer.getBlock())) {}

  Value get(Value value);

private:
  Value load(Value value);
  Value getStackedArgument(Value operand);
  Value getWholeArgument(Value operand);

  nd::ScanOp producer, consumer;
  const llvm::DenseSet<Value> &stored;
  OpBuilder builder;
  IRMapping mapping;
};
} // namespace

//===----------------------------------------------------------------------===//
// Recomputation
//===----------------------------------------------------------------------===//

Value Recomputation::getStackedArgument(Value operand) {
  unsigned first = consumer.getCarriedCount();
  for (auto [index, each] : llvm::enumerate(consumer.getStacked()))
    if (each == operand)
      return consumer.getBlock().getArgument(first + index);
  return nd::addStackedOperand(consumer, operand);
}

Value Recomputation::getWholeArgument(Value operand) {
  unsigned first = consumer.getCarriedCount() + consumer.getStackedCount();
  for (auto [index, each] : llvm::enumerate(consumer.getWhole()))
    if (each == operand)
      return consumer.getBlock().getArgument(first + index);
  return nd::addWholeOperand(consumer, operand);
}

/// The value as an argument of the consumer; null if it is to be computed.
Value Recomputation::load(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    nd::Tie tie = producer.getTie(argument);
    if (tie.kind == nd::TieKind::StackedOperand)
      return getStackedArgument(tie.operand);
    if (tie.kind == nd::TieKind::Whole)
      return getWholeArgument(tie.operand);
  }
  return stored.contains(value)
             ? getStackedArgument(nd::findStackedResult(producer, value))
             : Value();
}

Value Recomputation::get(Value value) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  if (Value loaded = load(value)) {
    mapping.map(value, loaded);
    return loaded;
  }
  Operation *op = value.getDefiningOp();
  for (Value operand : op->getOperands())
    get(operand);
  builder.clone(*op, mapping);
  return mapping.lookup(value);
}

//===----------------------------------------------------------------------===//
// ResidualChoice
//===----------------------------------------------------------------------===//

/// Whether the use takes the entries of the stacked result apart as the
/// producer puts them together.
static bool isReadByEntry(nd::ScanOp producer, OpOperand &use) {
  auto scan = dyn_cast<nd::ScanOp>(use.getOwner());
  if (!scan || scan.getDim() != producer.getDim())
    return false;
  unsigned first = scan.getCarriedCount();
  unsigned index = use.getOperandNumber();
  return index >= first && index < first + scan.getStackedCount();
}

ResidualChoice::ResidualChoice(nd::ScanOp producer, Recompute policy)
    : producer(producer), mesh(nd::MeshAttr::of(producer)), policy(policy) {
  for (OpResult result :
       producer->getResults().drop_front(producer.getCarriedCount())) {
    if (result.use_empty())
      continue;
    auto value = dyn_cast<OpResult>(producer.getTie(result).yielded);
    bool isCandidate = value != nullptr;
    for (OpOperand &use : result.getUses()) {
      if (isReadByEntry(producer, use))
        consumers.insert(cast<nd::ScanOp>(use.getOwner()));
      else
        isCandidate = false;
    }
    if (isCandidate && value.getOwner()->getNumOperands() != 0)
      candidates.push_back(value);
    else
      stored.insert(producer.getTie(result).yielded);
  }
  llvm::sort(candidates, [](OpResult a, OpResult b) {
    if (a.getOwner() == b.getOwner())
      return a.getResultNumber() < b.getResultNumber();
    return a.getOwner()->isBeforeInBlock(b.getOwner());
  });
}

double ResidualChoice::getBytes(Value value) const {
  return nd::getTensorType(value).getLocalBytes(mesh);
}

/// Whether a consumer can have the value without computing more.
bool ResidualChoice::isAvailable(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  return stored.contains(value) || recomputed.contains(value) ||
         (argument && producer.getTie(argument).kind != nd::TieKind::Carried);
}

/// Whether the op's result costs less to recompute than to store and load. All
/// ops between available values and the result must be pointwise.
bool ResidualChoice::isCheap(Operation *op) {
  llvm::SetVector<Operation *> ops;
  ops.insert(op);
  double operations = 0;
  for (size_t i = 0; i < ops.size(); ++i) {
    if (!isa<nd::ElementOpInterface>(ops[i]))
      return false;
    nd::OpCost cost = cast<nd::NamedOpInterface>(ops[i]).getCost();
    operations +=
        cost.flops + operationsPerTranscendental * cost.transcendentals;
    for (Value operand : ops[i]->getOperands()) {
      if (isAvailable(operand))
        continue;
      if (isa<BlockArgument>(operand))
        return false;
      ops.insert(operand.getDefiningOp());
    }
  }
  return operations <= operationsPerByte * getBytes(op->getResult(0));
}

/// Makes values of the body stacked results that stay.
void ResidualChoice::store(ValueRange values) {
  SmallVector<Value> added;
  for (Value value : values)
    if (!nd::findStackedResult(producer, value))
      added.push_back(value);
  if (!added.empty()) {
    IRRewriter rewriter(producer.getContext());
    producer = nd::addStackedResults(rewriter, producer, added);
  }
  stored.insert(values.begin(), values.end());
}

/// What the blocks `recompute { … }` that compute `values` use of the body
/// around each of them, and what is not stored or an operand of the loop
/// anyway.
static llvm::SetVector<Value>
findBlockInputs(nd::ScanOp producer, ArrayRef<OpResult> values,
                const llvm::DenseSet<Value> &stored) {
  llvm::SetVector<Value> reached, inputs;
  reached.insert(values.begin(), values.end());
  for (size_t i = 0; i < reached.size(); ++i) {
    Operation *op = reached[i].getDefiningOp();
    for (Value operand : op->getOperands()) {
      Operation *before = operand.getDefiningOp();
      bool isCarried =
          !before && producer.getTie(cast<BlockArgument>(operand)).kind ==
                         nd::TieKind::Carried;
      bool isSameBlock =
          before && nd::getRecomputeBlock(before) == nd::getRecomputeBlock(op);
      if (stored.contains(operand))
        continue;
      if (isSameBlock)
        reached.insert(operand);
      else if (isCarried || (before && before->getNumOperands() != 0))
        inputs.insert(operand);
    }
  }
  return inputs;
}

/// The text's blocks `recompute { … }`: their inputs are stored, and what they
/// compute is not, whatever the policy.
void ResidualChoice::chooseBlocks() {
  SmallVector<OpResult> inBlocks;
  llvm::copy_if(candidates, std::back_inserter(inBlocks), [](OpResult value) {
    return nd::getRecomputeBlock(value.getOwner()).has_value();
  });
  llvm::SetVector<Value> inputs = findBlockInputs(producer, inBlocks, stored);
  // A value with the loop's dim cannot be stored for each iteration.
  if (llvm::any_of(inputs, [&](Value value) {
        return nd::getTensorType(value).hasDim(producer.getDim());
      }))
    return;
  store(inputs.getArrayRef());
  for (OpResult value : inBlocks)
    if (!stored.contains(value))
      recomputed.insert(value);
  llvm::erase_if(candidates, [&](OpResult value) {
    return stored.contains(value) || recomputed.contains(value);
  });
}

void ResidualChoice::chooseNone() {
  stored.insert(candidates.begin(), candidates.end());
}

void ResidualChoice::chooseCheap() {
  for (OpResult candidate : candidates) {
    if (isCheap(candidate.getOwner()))
      recomputed.insert(candidate);
    else
      stored.insert(candidate);
  }
}

/// Carried values that must be stored to recompute everything else.
static llvm::SetVector<Value>
findCarriedLeaves(nd::ScanOp producer, ArrayRef<OpResult> values,
                  const llvm::DenseSet<Value> &stored) {
  llvm::SetVector<Value> reached, carried;
  reached.insert(values.begin(), values.end());
  for (size_t i = 0; i < reached.size(); ++i) {
    Value value = reached[i];
    if (stored.contains(value))
      continue;
    if (Operation *op = value.getDefiningOp())
      reached.insert(op->operand_begin(), op->operand_end());
    else if (producer.getTie(cast<BlockArgument>(value)).kind ==
             nd::TieKind::Carried)
      carried.insert(value);
  }
  return carried;
}

/// Recomputes all candidates unless the carried values that this needs are
/// larger.
void ResidualChoice::chooseAll() {
  llvm::SetVector<Value> carried =
      findCarriedLeaves(producer, candidates, stored);
  double less = 0, more = 0;
  for (OpResult candidate : candidates)
    less += getBytes(candidate);
  for (Value value : carried)
    more += getBytes(value);
  if (less <= more)
    return chooseNone();
  recomputed.insert(candidates.begin(), candidates.end());
  store(carried.getArrayRef());
}

void ResidualChoice::choose() {
  chooseBlocks();
  switch (policy) {
  case Recompute::None:
    return chooseNone();
  case Recompute::Cheap:
    return chooseCheap();
  case Recompute::Full:
    return chooseAll();
  }
}

void ResidualChoice::recomputeIn(nd::ScanOp consumer) {
  Recomputation recomputation(producer, consumer, stored);
  unsigned first = consumer.getCarriedCount();
  unsigned count = consumer.getStackedCount();
  for (unsigned index = first; index < first + count; ++index) {
    Value operand = consumer->getOperand(index);
    if (operand.getDefiningOp() != producer)
      continue;
    Value value = producer.getTie(cast<OpResult>(operand)).yielded;
    if (!recomputed.contains(value))
      continue;
    Value made = recomputation.get(value);
    consumer.getBlock().getArgument(index).replaceAllUsesWith(made);
  }
}

nd::ScanOp ResidualChoice::run() {
  choose();
  if (!recomputed.empty())
    for (nd::ScanOp consumer : consumers)
      recomputeIn(consumer);
  return producer;
}

namespace {
struct ChooseResiduals : impl::ChooseResidualsBase<ChooseResiduals> {
  using ChooseResidualsBase::ChooseResidualsBase;

  void runOnOperation() override {
    if (getOperation().isDeclaration())
      return;
    visit(getOperation().getBody().front());
    getOperation().walk(nd::removeRecomputeBlock);
  }

  /// Loops in a consumer come after those in the producer: what was computed by
  /// a loop and is now recomputed is itself a producer.
  void visit(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(block))
      if (auto scan = dyn_cast<nd::ScanOp>(op))
        visit(ResidualChoice(scan, policy).run().getBlock());
  }
};
} // namespace

} // namespace meshc::autodiff
