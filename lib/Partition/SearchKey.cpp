//===- SearchKey.cpp - what a search depends on ---------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Partition/SearchKey.h"
#include "dialects/Nd/RoundedParts.h"
#include "lib/Partition/LastUses.h"
#include "lib/Partition/MovedWindows.h"

using namespace mlir;

namespace meshc::partition {

void SearchKey::add(const OperandForms &forms) {
  addAll(forms.types);
  add(forms.settled);
  add(size_t(forms.isRecomputed) | size_t(forms.willBeReduced) << 1 |
      size_t(forms.mayStayPartial) << 2 | size_t(forms.reducesInLoop) << 3);
  add(forms.share);
}

void SearchKey::add(const DesiredSharding &desired) {
  add(desired.type);
  add(desired.preferred);
  addAll(desired.open);
  add(size_t(desired.mayCutFurther));
}

void SearchKey::add(const WantedResult &wanted) {
  add(wanted.desired);
  add(wanted.share);
  add(wanted.scattered);
}

void SearchKey::add(const nd::Access &access) {
  add(size_t(access.kind));
  add(size_t(access.stride));
  add(size_t(access.low));
  add(size_t(access.high));
}

void SearchKey::add(const nd::Factor &factor) {
  add(size_t(factor.effect));
  add(size_t(factor.reduction));
  add(size_t(factor.size));
  addAll(factor.operandDims);
  addAll(factor.resultDims);
  addAll(factor.operandAccesses);
  addAll(factor.resultAccesses);
  add(factor.indices ? size_t(*factor.indices) + 1 : size_t(0));
  add(factor.segments.size());
  for (const nd::Segment &segment : factor.segments) {
    add(size_t(segment.operand));
    add(size_t(segment.at));
    add(size_t(segment.from));
    add(size_t(segment.size));
  }
  add(factor.fill);
  add(size_t(factor.isAlternative));
  add(size_t(factor.isSelection));
}

static nd::PartitionRule getRule(Operation *op) {
  return nd::joinAlternatives(
      cast<nd::NamedOpInterface>(op).getPartitionRule());
}

void SearchKey::add(Operation *op) {
  addAll(op->getOperandTypes());
  addAll(op->getResultTypes());
  nd::PartitionRule rule = getRule(op);
  add(rule.factors.size());
  for (const nd::Factor &factor : rule.factors)
    add(factor);
  addAll(llvm::map_range(rule.linearOperands,
                         [](unsigned operand) { return size_t(operand); }));
  add(size_t(rule.jointlyLinear));
  add(size_t(rule.isZero));
  add(size_t(nd::hasRoundedParts(op)));
  add(countPoints(op));
  // What windows send depends on the ops that they pass.
  auto passed = MovedWindows(op, rule, nd::MeshAttr::of(op)).getOps();
  add(passed.size());
  for (Operation *other : passed)
    add(other);
}

void SearchKey::add(Operation *op, const LinkedCuts &cuts) {
  add(op);
  for (const nd::Factor &factor : getRule(op).factors) {
    ArrayRef<spmd::AxisList> linked = cuts.get(op, factor);
    add(linked.size());
    for (const spmd::AxisList &axes : linked)
      addAll(axes);
  }
}

namespace {
/// Writes the key of a block. Values have numbers, in the order in which they
/// are met; what is known of each is written once.
class BlockKey {
public:
  BlockKey(BlockPlanner &block, ArrayRef<Operation *> ops)
      : block(block), ops(ops), inside(ops.begin(), ops.end()) {}
  SearchKey run(double pointCost, AxisMoves moves);

private:
  void addNumber(Value value);
  void addOp(Operation *op);
  void addMoves(AxisMoves moves);
  void addUses();
  void addEnds();
  void addValue(Value value);

  BlockPlanner &block;
  ArrayRef<Operation *> ops;
  llvm::SmallPtrSet<Operation *, 32> inside;
  llvm::DenseMap<Value, size_t> numbers;
  std::vector<Value> values; ///< by number
  SearchKey key;
};
} // namespace

void BlockKey::addNumber(Value value) {
  auto [it, isNew] = numbers.try_emplace(value, values.size());
  if (isNew)
    values.push_back(value);
  key.add(it->second);
}

void BlockKey::addOp(Operation *op) {
  key.add(op, block.getLinkedCuts());
  for (Value operand : op->getOperands())
    addNumber(operand);
  for (OpResult result : op->getResults()) {
    addNumber(result);
    key.add(block.getWanted(result));
    key.add(size_t(result.use_empty()));
  }
}

/// When values are used for the last time.
void BlockKey::addUses() {
  auto dying = findLastUses(ops);
  for (Operation *op : ops) {
    auto known = dying.find(op);
    if (known == dying.end()) {
      key.add(size_t(0));
      continue;
    }
    // In no order of their own.
    key.add(known->second.size());
    for (Value value : known->second)
      addNumber(value);
  }
}

void BlockKey::addEnds() {
  auto operands = block.getTerminator()->getOperands();
  auto types = block.getFixedEnds();
  key.add(std::min<size_t>(operands.size(), types.size()));
  for (auto [operand, type] : llvm::zip(operands, types)) {
    addNumber(operand);
    key.add(type);
  }
}

/// What is known of the value before the search.
void BlockKey::addValue(Value value) {
  key.add(value.getType());
  auto built = block.getPlanned().get(value);
  key.addAll(built);
  key.add(block.describe(value, block.getPlanned()));
  // Where a value settles follows from its first form, and is described.
  if (built.empty())
    key.add(block.getDesired(value));
  key.add(size_t(hasOneUser(value)) | size_t(block.isZero(value)) << 1 |
          size_t(isStack(value)) << 2 | size_t(block.isOuter(value)) << 3);
  auto kept = block.getKept(value);
  key.add(kept.size());
  for (const OfferedForm &form : kept) {
    key.add(form.type);
    key.add(form.cost);
  }
  auto sources = block.getCopySources(value);
  key.add(sources.size());
  for (const CopySource &source : sources) {
    addNumber(source.value);
    key.add(source.op);
    key.add(size_t(source.isResult));
  }
  // Only what an op makes is a part of a sum that is reduced later.
  Value sum = value.getDefiningOp() ? followLinearUse(value) : Value();
  key.add(size_t(bool(sum)));
  if (sum)
    addNumber(sum);
}

/// What moves of axes change: the choices for products, and the costs of what
/// others use.
void BlockKey::addMoves(AxisMoves moves) {
  llvm::SmallVector<Value> outgoing;
  if (moves == AxisMoves::One)
    outgoing = findOutgoing(block, ops);
  bool movesProducts =
      moves == AxisMoves::One && llvm::any_of(ops, hasMostPoints);
  key.add(size_t(movesProducts));
  key.add(outgoing.size());
  for (Value value : outgoing)
    addNumber(value);
}

SearchKey BlockKey::run(double pointCost, AxisMoves moves) {
  key.add(pointCost);
  addMoves(moves);
  key.addAll(block.getLinkedCuts().getAxes());
  key.add(ops.size());
  for (Operation *op : ops)
    addOp(op);
  addUses();
  addEnds();
  // Each may name further ones.
  for (size_t number = 0; number < values.size(); ++number)
    addValue(values[number]);
  return std::move(key);
}

SearchKey getSearchKey(BlockPlanner &block,
                       const reshard::ReshardPlanner &planner, AxisMoves moves,
                       ArrayRef<Operation *> ops) {
  return BlockKey(block, ops).run(planner.getPointCost(), moves);
}

} // namespace meshc::partition
