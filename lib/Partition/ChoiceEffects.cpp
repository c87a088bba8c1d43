//===- ChoiceEffects.cpp - what a choice for an op adds to states ---------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The part of BlockSearch that tells what the choices for an op do. States
/// that know the same forms of its operands share the answer.
///
//===----------------------------------------------------------------------===//

#include "lib/Partition/BlockSearch.h"
#include "lib/Partition/LastUses.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace meshc::partition {

using nd::TensorType;

//===----------------------------------------------------------------------===//
// What the choices for an op do
//===----------------------------------------------------------------------===//

std::shared_ptr<const BlockSearch::Choices>
BlockSearch::findChoices(Operation *op, const AvailableForms &forms) {
  llvm::SmallVector<OperandForms> operands;
  for (Value operand : op->getOperands()) {
    operands.push_back(block.describe(operand, forms));
    auto &types = operands.back().types;
    for (const OfferedForm &kept : block.getKept(operand))
      types.push_back(kept.type);
    for (const CopySource &source : block.getCopySources(operand))
      for (const OfferedForm &kept : block.getKept(source.value))
        if (TensorType copied = source.getCopied(kept.type))
          types.push_back(copied);
  }
  SearchKey key = keyOfOp;
  for (const OperandForms &each : operands)
    key.add(each);
  return planner.getFound<SearchMemo<Choices>>().get(std::move(key), [&] {
    if (!cutsOfOp)
      cutsOfOp.emplace(op, wantedResults, mesh);
    return Choices(findFactorChoices(*cutsOfOp, operands, planner, mesh,
                                     block.getLinkedCuts(), moves,
                                     bounds.choices));
  });
}

/// What the choices for the op depend on, beside the forms of its operands.
SearchKey BlockSearch::getKeyOfOp(Operation *op) {
  SearchKey key;
  key.add(op, block.getLinkedCuts());
  for (Value operand : op->getOperands()) // which are the same value
    key.add(size_t(llvm::find(op->getOperands(), operand).getIndex()));
  for (const WantedResult &wanted : wantedResults)
    key.add(wanted);
  key.add(planner.getPointCost());
  key.add(bounds.choices);
  if (moves == AxisMoves::One && hasMostPoints(op)) // no other op moves axes
    key.addAll(block.getLinkedCuts().getAxes());
  else
    key.add(~size_t(0)); // no length
  return key;
}

/// The values whose forms decide what the op's choices are, and what they send:
/// its operands, what these may be copied from, and that from what.
llvm::SmallVector<Value> BlockSearch::findRelevant(Operation *op) {
  llvm::SetVector<Value, llvm::SmallVector<Value>> values(llvm::from_range,
                                                          op->getOperands());
  for (size_t i = 0; i < values.size(); ++i)
    for (const CopySource &source : block.getCopySources(values[i]))
      values.insert(source.value);
  return values.takeVector();
}

/// What the choices for the op do, by the forms in which states know what is
/// relevant for it: `ofState` has the number of these for each state.
std::vector<BlockSearch::Effects>
BlockSearch::findEffects(Operation *op,
                         llvm::SmallVectorImpl<size_t> &ofState) {
  std::vector<Effects> effects;
  std::unordered_map<SearchKey, size_t, SearchKey::Hash> numbers;
  llvm::SmallVector<Value> relevant = findRelevant(op);
  for (const State &state : states) {
    SearchKey key;
    for (Value value : relevant) {
      for (auto [other, type] : state.forms)
        if (other == value)
          key.add(type);
      key.add(size_t(0)); // no type
    }
    auto [it, isNew] = numbers.try_emplace(std::move(key), effects.size());
    ofState.push_back(it->second);
    if (isNew)
      effects.push_back(findEffects(op, state));
  }
  return effects;
}

BlockSearch::Effects BlockSearch::findEffects(Operation *op,
                                              const State &state) {
  llvm::SmallVector<Form, 4> none;
  std::shared_ptr<const Choices> choices =
      findChoices(op, StepForms(*this, state, none));
  Effects effects;
  for (const FactorChoice &choice : *choices)
    effects.push_back(makeEffect(state, op, {choices, &choice}));
  return effects;
}

BlockSearch::Effect
BlockSearch::makeEffect(const State &state, Operation *op,
                        std::shared_ptr<const FactorChoice> choice) {
  Effect effect;
  effect.choice = std::move(choice);
  StepForms forms(*this, state, effect.added);
  for (auto [operand, type] :
       llvm::zip(op->getOperands(), effect.choice->operandTypes))
    effect.obtained.push_back(block.obtain(operand, type, forms));
  for (auto [result, type] :
       llvm::zip(op->getResults(), effect.choice->resultTypes))
    addResult(effect, state, result, type);
  hashEffect(effect, op);
  return effect;
}

/// Enters what an op made. What is not partial is moved to where it is wanted
/// now or, if it is a part of something larger, later.
void BlockSearch::addResult(Effect &effect, const State &state, OpResult result,
                            TensorType made) {
  StepForms forms(*this, state, effect.added);
  forms.add(result, made);
  auto &cost = effect.results.emplace_back(0, false);
  if (block.isRecomputed(result) || result.use_empty())
    return;
  const WantedResult &wanted = wantedResults[result.getResultNumber()];
  if (made.isPartial() || wanted.share != 1) {
    cost = {wanted.getCost(made, planner), true};
    return;
  }
  TensorType &settled = settledResults[{result.getResultNumber(), made}];
  if (!settled)
    settled = wanted.desired.settle(made);
  cost.first = block.obtain(result, settled, forms);
}

bool BlockSearch::isLarge(Value value) const {
  return nd::getTensorType(value).getElementCount() >= leastOfLarge;
}

/// The values that nothing uses after the op.
ArrayRef<Value> BlockSearch::getDying(Operation *op) const {
  auto values = dying.find(op);
  return values == dying.end() ? ArrayRef<Value>() : values->second;
}

/// Computes the hashes of the forms that are added and used after the op, and
/// that of the cut of a product.
void BlockSearch::hashEffect(Effect &effect, Operation *op) const {
  ArrayRef<Value> dead = getDying(op);
  for (auto [value, type] : effect.added) {
    if (llvm::is_contained(dead, value))
      continue;
    size_t hash = hashForm(value, type);
    effect.hash += hash;
    if (isLarge(value))
      effect.largeHash += hash;
  }
  effect.cut = llvm::hash_value(op);
  for (TensorType type : llvm::concat<const TensorType>(
           effect.choice->operandTypes, effect.choice->resultTypes))
    effect.cut = llvm::hash_combine(effect.cut, type.getAsOpaquePointer());
}

/// The hashes of the state's forms that nothing uses after the op.
std::pair<size_t, size_t> BlockSearch::hashDying(const State &state,
                                                 Operation *op) const {
  size_t all = 0, large = 0;
  ArrayRef<Value> dead = getDying(op);
  for (auto [value, type] : state.forms) {
    if (!llvm::is_contained(dead, value))
      continue;
    size_t hash = hashForm(value, type);
    all += hash;
    if (isLarge(value))
      large += hash;
  }
  return {all, large};
}

//===----------------------------------------------------------------------===//
// Pending costs
//===----------------------------------------------------------------------===//

/// The sum that the value becomes a part of while it stays partial: the result
/// of the last of the linear ops that follow it.
Value BlockSearch::getSumRoot(Value value) {
  auto [it, isNew] = sumRoots.try_emplace(value, value);
  if (!isNew)
    return it->second;
  Value next = followLinearUse(value);
  Value root = next ? getSumRoot(next) : value;
  return sumRoots[value] = root;
}

BlockSearch::Sums BlockSearch::findSums(Operation *op) {
  Sums sums;
  auto getNumber = [&](Value value) {
    Value root = getSumRoot(value);
    auto *known = llvm::find(sums.roots, root);
    unsigned number = known - sums.roots.begin();
    if (known == sums.roots.end())
      sums.roots.push_back(root);
    return number;
  };
  for (Value operand : op->getOperands())
    sums.ofOperands.push_back(getNumber(operand));
  for (Value result : op->getResults())
    sums.ofResults.push_back(getNumber(result));
  return sums;
}

BlockSearch::Before BlockSearch::getBefore(const State &state, Operation *op,
                                           const Sums &sums) {
  Before before;
  before.costs.resize(sums.roots.size());
  for (auto [root, cost] : state.pendingCosts)
    if (const auto *known = llvm::find(sums.roots, root);
        known != sums.roots.end())
      before.costs[known - sums.roots.begin()] = cost;
  for (OpOperand &operand : op->getOpOperands())
    before.isPending.push_back(
        llvm::is_contained(state.pending, operand.get()) &&
        !llvm::is_contained(
            op->getOperands().take_front(operand.getOperandNumber()),
            operand.get()));
  return before;
}

/// Replaces the pending costs of these sums.
void BlockSearch::setPendingCosts(State &state, const Sums &sums,
                                  ArrayRef<PendingCost> costs) {
  llvm::erase_if(state.pendingCosts, [&](const auto &known) {
    return llvm::is_contained(sums.roots, known.first);
  });
  for (auto [root, cost] : llvm::zip(sums.roots, costs))
    if (cost.values != 0)
      state.pendingCosts.emplace_back(root, cost);
}

/// Adds to a total what a choice costs after `before`. Operands are reduced
/// now, or their costs are those of the results. Leaves in `before` what is
/// pending after the choice.
double BlockSearch::addCosts(double total, const Effect &effect,
                             const Sums &sums, Before &before) {
  total = total + effect.choice->work + effect.choice->haloBytes;
  for (size_t i = 0; i < effect.obtained.size(); ++i) {
    total += effect.obtained[i];
    if (!before.isPending[i])
      continue;
    PendingCost &cost = before.costs[sums.ofOperands[i]];
    if (--cost.values == 0) {
      total -= cost.bytes;
      cost.bytes = 0;
    }
  }
  for (size_t i = 0; i < effect.results.size(); ++i) {
    auto [bytes, isPending] = effect.results[i];
    if (!isPending) {
      total += bytes;
      continue;
    }
    PendingCost &cost = before.costs[sums.ofResults[i]];
    ++cost.values;
    total += std::max(0.0, bytes - cost.bytes);
    cost.bytes = std::max(bytes, cost.bytes);
  }
  return total;
}

} // namespace meshc::partition
