//===- BlockSearch.cpp - the shardings of the ops of a block --------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Partition/BlockSearch.h"
#include "lib/Partition/LastUses.h"
#include <unordered_map>
#include <unordered_set>

using namespace mlir;

namespace meshc::partition {

using nd::TensorType;

/// Products count as recent for so many ops, and so many of the states that cut
/// them alike are followed beside the best ones.
static constexpr size_t recentOps = 32, mostAlike = 4;
/// A value is large if it has at least a 16th of the elements of the smallest
/// operand or result of a product.
static constexpr int64_t partsOfLarge = 16;

SearchBounds SearchBounds::of(size_t ops, size_t axes) {
  // Without those of the others. On more axes a step has more reshards to plan.
  constexpr double stepsPerSearch = 150000;
  double steps = stepsPerSearch / double(std::max<size_t>(ops, 1)) /
                 std::max(double(axes * axes) / 8, 1.0);
  auto choices = size_t(std::clamp(std::sqrt(steps / 8), 6.0, 64.0));
  auto states =
      size_t(std::clamp(steps / double(choices), 8.0, 8.0 * double(choices)));
  return {states, states / 2, choices};
}

static size_t hashForm(Value value, TensorType type) {
  return llvm::hash_combine(value.getAsOpaquePointer(),
                            type.getAsOpaquePointer());
}

/// The forms of a state, and those that a step adds to them.
class BlockSearch::StepForms final : public AvailableForms {
public:
  StepForms(const BlockSearch &search, const State &state,
            llvm::SmallVectorImpl<Form> &added)
      : search(search), state(state), added(added) {}

  llvm::SmallVector<TensorType> get(Value value) const override {
    auto types = search.partitioner.getBuilt().get(value);
    for (const FormMap *map : {&search.common, &state.forms})
      if (auto known = map->find(value); known != map->end())
        types.append(known->second);
    for (auto [other, type] : added)
      if (other == value)
        types.push_back(type);
    return types;
  }
  void add(Value value, TensorType type) override {
    added.emplace_back(value, type);
  }

private:
  const BlockSearch &search;
  const State &state;
  llvm::SmallVectorImpl<Form> &added;
};

/// Decides which values are large. Of several products, the one counts whose
/// smallest operand or result is the largest. If the block has no product, all
/// values are large.
void BlockSearch::findLarge(ArrayRef<Operation *> ops) {
  leastOfLarge = 0;
  for (Operation *op : ops) {
    if (!hasMostPoints(op))
      continue;
    int64_t least = std::numeric_limits<int64_t>::max();
    for (Value value : llvm::concat<Value>(llvm::to_vector(op->getOperands()),
                                           llvm::to_vector(op->getResults())))
      least = std::min(least, nd::getTensorType(value).getElementCount());
    leastOfLarge = std::max(leastOfLarge, least / partsOfLarge);
  }
}

void BlockSearch::findOutgoing(ArrayRef<Operation *> ops) {
  Operation *terminator = partitioner.getTerminator();
  llvm::SmallPtrSet<Operation *, 32> inside(ops.begin(), ops.end());
  auto isRead = [&](OpOperand &use) {
    return use.getOwner() == terminator
               ? partitioner.isStackForOps(use.getOperandNumber())
               : !inside.contains(use.getOwner());
  };
  for (Operation *op : ops)
    for (Value result : op->getResults())
      if (!partitioner.isRecomputed(result) &&
          llvm::any_of(result.getUses(), isRead))
        outgoing.push_back(result);
}

//===----------------------------------------------------------------------===//
// One op
//===----------------------------------------------------------------------===//

BlockSearch::Choices BlockSearch::findChoices(Operation *op,
                                              const AvailableForms &forms) {
  llvm::SmallVector<OperandForms> operands;
  for (Value operand : op->getOperands()) {
    operands.push_back(partitioner.describe(operand, forms));
    auto &types = operands.back().types;
    for (const OfferedForm &kept : partitioner.getKept(operand))
      types.push_back(kept.type);
    for (const CopySource &source : partitioner.getCopySources(operand))
      for (const OfferedForm &kept : partitioner.getKept(source.value))
        if (TensorType copied = source.getCopied(kept.type))
          types.push_back(copied);
  }
  return Choices(findFactorChoices(op, operands, wantedResults, planner, mesh,
                                   partitioner.getLinkedCuts(), moves,
                                   bounds.choices));
}

/// The choices for the op, of all states. Those that know its operands in the
/// same forms have the same ones: `ofState` has their number for each state.
std::vector<BlockSearch::Choices>
BlockSearch::findChoices(Operation *op,
                         llvm::SmallVectorImpl<size_t> &ofState) {
  std::vector<Choices> choices;
  std::vector<llvm::SmallVector<Type>> keys;
  llvm::SmallVector<Form> none;
  for (const State &state : states) {
    StepForms forms(*this, state, none);
    llvm::SmallVector<Type> key;
    auto addKey = [&](Value value) {
      for (TensorType type : forms.get(value))
        key.push_back(type);
      key.push_back({});
    };
    for (Value operand : op->getOperands()) {
      addKey(operand);
      for (const CopySource &source : partitioner.getCopySources(operand))
        addKey(source.value);
    }
    ofState.push_back(llvm::find(keys, key) - keys.begin());
    if (ofState.back() < keys.size())
      continue;
    keys.push_back(std::move(key));
    choices.push_back(findChoices(op, forms));
  }
  return choices;
}

/// The value that the only user of `value` makes, if it is linear in it; null
/// otherwise.
static Value followLinearUse(Value value) {
  if (!hasOneUser(value))
    return {};
  auto user = dyn_cast<nd::NamedOpInterface>(*value.user_begin());
  if (!user || user->getNumResults() != 1 || user->getNumRegions() != 0)
    return {};
  nd::PartitionRule rule = user.getPartitionRule();
  bool isLinear = rule.jointlyLinear ||
                  llvm::any_of(rule.linearOperands, [&](unsigned operand) {
                    return operand < user->getNumOperands() &&
                           user->getOperand(operand) == value;
                  });
  return isLinear ? user->getResult(0) : Value();
}

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

/// The pending cost of the value in the state after the step.
BlockSearch::PendingCost &BlockSearch::getPendingCost(Step &step, Value value) {
  Value root = getSumRoot(value);
  return step.pendingCosts
      .try_emplace(root, step.state->pendingCosts.lookup(root))
      .first->second;
}

/// The value is reduced now, or its cost is that of the result of the op.
void BlockSearch::resolve(Step &step, Value value) {
  if (!step.state->pending.contains(value) ||
      llvm::is_contained(step.resolved, value))
    return;
  step.resolved.push_back(value);
  PendingCost &cost = getPendingCost(step, value);
  if (--cost.values == 0) {
    step.total -= cost.bytes;
    cost.bytes = 0;
  }
}

void BlockSearch::defer(Step &step, Value value, double bytes) {
  step.pending.push_back(value);
  PendingCost &cost = getPendingCost(step, value);
  ++cost.values;
  step.total += std::max(0.0, bytes - cost.bytes);
  cost.bytes = std::max(bytes, cost.bytes);
}

/// Enters what an op made. What is not partial is moved to where it is wanted
/// now or, if it is a part of something larger, later.
void BlockSearch::addResult(Step &step, OpResult result, TensorType made) {
  StepForms forms(*this, *step.state, step.added);
  forms.add(result, made);
  if (partitioner.isRecomputed(result) || result.use_empty())
    return;
  const WantedResult &wanted = wantedResults[result.getResultNumber()];
  if (made.isPartial() || wanted.share != 1) {
    defer(step, result, wanted.getCost(made, planner));
    return;
  }
  TensorType &settled = settledResults[{result.getResultNumber(), made}];
  if (!settled)
    settled = wanted.desired.settle(made);
  step.total += partitioner.obtain(result, settled, forms);
}

BlockSearch::Step BlockSearch::makeStep(const State &state, Operation *op,
                                        const FactorChoice &choice) {
  Step step;
  step.state = &state;
  step.choice = &choice;
  StepForms forms(*this, state, step.added);
  step.total = state.total + choice.work + choice.haloBytes;
  for (auto [operand, type] :
       llvm::zip(op->getOperands(), choice.operandTypes)) {
    step.total += partitioner.obtain(operand, type, forms);
    resolve(step, operand);
  }
  for (auto [result, type] : llvm::zip(op->getResults(), choice.resultTypes))
    addResult(step, result, type);
  hashStep(step, op);
  return step;
}

bool BlockSearch::isLarge(Value value) const {
  return nd::getTensorType(value).getElementCount() >= leastOfLarge;
}

/// Computes the hashes of the forms that are used after the op.
void BlockSearch::hashStep(Step &step, Operation *op) {
  ArrayRef<Value> dead;
  if (auto values = dying.find(op); values != dying.end())
    dead = values->second;
  step.hash = step.state->hash;
  step.largeHash = step.state->largeHash;
  auto add = [&](Value value, TensorType type, size_t factor) {
    size_t hash = factor * hashForm(value, type);
    step.hash += hash;
    if (isLarge(value))
      step.largeHash += hash;
  };
  for (auto [value, type] : step.added)
    if (!llvm::is_contained(dead, value))
      add(value, type, 1);
  for (Value value : dead)
    if (auto known = step.state->forms.find(value);
        known != step.state->forms.end())
      for (TensorType type : known->second)
        add(value, type, size_t(-1));
}

/// The recent products after the step, whose op may be one.
BlockSearch::ProductCuts BlockSearch::getProducts(const Step &step,
                                                  Operation *op,
                                                  bool isProduct) const {
  ProductCuts products;
  for (auto [number, cut] : step.state->products)
    if (number + recentOps > steps)
      products.emplace_back(number, cut);
  if (!isProduct)
    return products;
  size_t cut = llvm::hash_value(op);
  for (TensorType type : llvm::concat<const TensorType>(
           step.choice->operandTypes, step.choice->resultTypes))
    cut = llvm::hash_combine(cut, type.getAsOpaquePointer());
  products.emplace_back(steps, cut);
  return products;
}

/// A hash of how they are cut.
size_t BlockSearch::hashProducts(const ProductCuts &products) {
  size_t hash = 0;
  for (auto [number, cut] : products)
    hash += cut;
  return hash;
}

/// The state after the step.
BlockSearch::State BlockSearch::apply(Step &step, Operation *op) {
  State next = *step.state;
  next.total = step.total;
  next.work += step.choice->work;
  for (Value value : step.resolved)
    next.pending.erase(value);
  next.pending.insert(step.pending.begin(), step.pending.end());
  for (auto [root, cost] : step.pendingCosts)
    if (cost.values == 0)
      next.pendingCosts.erase(root);
    else
      next.pendingCosts[root] = cost;
  for (auto [value, type] : step.added)
    next.forms[value].push_back(type);
  dropDead(next.forms, op);
  next.hash = step.hash;
  next.largeHash = step.largeHash;
  next.last = std::make_shared<Decision>(
      Decision{*step.choice, std::move(step.added), std::move(next.last)});
  return next;
}

/// Forgets the values that nothing uses after the op.
void BlockSearch::dropDead(FormMap &forms, Operation *op) {
  if (auto values = dying.find(op); values != dying.end())
    for (Value value : values->second)
      forms.erase(value);
}

/// The steps to follow, the best one first: those of the least cost, with other
/// forms of large values in each unless there is room for more, and some that
/// cut the last products otherwise. Of those with equal forms the first.
std::vector<BlockSearch::Step *>
BlockSearch::selectSteps(std::vector<Step> &next, Operation *op,
                         bool isProduct) const {
  std::vector<Step *> sorted, best, left;
  for (Step &step : next)
    sorted.push_back(&step);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](Step *a, Step *b) { return a->total < b->total; });
  std::unordered_set<size_t> hashes, large;
  for (Step *step : sorted) {
    if (!hashes.insert(step->hash).second)
      continue;
    bool isBest =
        best.size() < bounds.states && large.insert(step->largeHash).second;
    (isBest ? best : left).push_back(step);
  }
  auto rest = left.begin();
  for (; rest != left.end() && best.size() < bounds.states; ++rest)
    best.push_back(*rest);
  std::unordered_map<size_t, size_t> alike; // of the best, by their products
  auto countAlike = [&](Step *step) -> size_t & {
    return alike[hashProducts(getProducts(*step, op, isProduct))];
  };
  if (rest != left.end())
    for (Step *step : best)
      ++countAlike(step);
  for (; rest != left.end() && best.size() < bounds.states + bounds.others;
       ++rest)
    if (size_t &count = countAlike(*rest); count < mostAlike) {
      ++count;
      best.push_back(*rest);
    }
  std::stable_sort(best.begin(), best.end(),
                   [](Step *a, Step *b) { return a->total < b->total; });
  return best;
}

/// Goes on to the states after the op.
void BlockSearch::advance(Operation *op) {
  settledResults.clear();
  wantedResults.clear();
  for (OpResult result : op->getResults())
    wantedResults.push_back(partitioner.getWanted(result));
  llvm::SmallVector<size_t> ofState;
  std::vector<Choices> choices = findChoices(op, ofState);
  std::vector<Step> next;
  for (auto [state, index] : llvm::zip(states, ofState))
    for (const FactorChoice &choice : choices[index])
      next.push_back(makeStep(state, op, choice));
  std::vector<State> best;
  const bool isProduct = hasMostPoints(op);
  std::vector<Step *> selected = selectSteps(next, op, isProduct);
  best.reserve(selected.size());
  for (Step *step : selected) {
    ProductCuts products = getProducts(*step, op, isProduct);
    best.push_back(apply(*step, op));
    best.back().products = std::move(products);
  }
  states = std::move(best);
  dropDead(common, op);
  ++steps;
}

//===----------------------------------------------------------------------===//
// The block
//===----------------------------------------------------------------------===//

/// Makes the choice for the op that lies `lookahead` ops back final: that of
/// the best state. The states that chose otherwise are given up.
void BlockSearch::decideFirst() {
  auto getFirst = [&](const State &state) {
    const Decision *decision = state.last.get();
    for (size_t back = 1; back < steps - decided.size(); ++back)
      decision = decision->previous.get();
    return decision;
  };
  const Decision *first = getFirst(states.front());
  std::erase_if(states,
                [&](const State &state) { return getFirst(state) != first; });
  decided.push_back(first->choice);
  first->previous.reset();
  for (auto [value, type] : first->added) {
    if (!states.front().forms.contains(value))
      continue; // nothing uses it any more
    common[value].push_back(type);
    for (State &state : states) {
      auto known = state.forms.find(value);
      if (known == state.forms.end())
        continue;
      auto *form = llvm::find(known->second, type);
      if (form == known->second.end())
        continue;
      known->second.erase(form);
      if (known->second.empty())
        state.forms.erase(known);
      state.hash -= hashForm(value, type);
      if (isLarge(value))
        state.largeHash -= hashForm(value, type);
    }
  }
}

/// Adds the cost of the ends of the block, as far as they are known.
void BlockSearch::finish(State &state) {
  Step step;
  step.state = &state;
  StepForms forms(*this, state, step.added);
  step.total = state.total;
  for (auto [operand, type] :
       llvm::zip(partitioner.getTerminator()->getOperands(),
                 partitioner.getFixedEnds())) {
    if (forms.get(operand).empty())
      continue; // made by an op after those of this search
    step.total += partitioner.obtain(operand, type, forms);
    resolve(step, operand);
  }
  // Whether others can use these values as they lie is not known yet.
  if (moves == AxisMoves::One)
    for (Value value : outgoing)
      step.total += planner.getCost(partitioner.getSettled(value, forms),
                                    partitioner.getDesired(value).preferred);
  state.total = step.total;
}

llvm::SmallVector<FactorChoice> BlockSearch::run(ArrayRef<Operation *> ops) {
  if (ops.empty())
    return {};
  dying = findLastUses(ops);
  findOutgoing(ops);
  findLarge(ops);
  bounds = SearchBounds::of(ops.size(), mesh.getAxes().size());
  states.assign(1, State());
  for (Operation *op : ops) {
    advance(op);
    if (steps - decided.size() > bounds.lookahead)
      decideFirst();
  }
  llvm::for_each(states, [&](State &state) { finish(state); });
  auto best = llvm::min_element(
      states, [](const State &a, const State &b) { return a.total < b.total; });
  cost = best->total;
  bytes = best->total - best->work;
  llvm::SmallVector<FactorChoice> rest;
  for (const Decision *decision = best->last.get();
       decided.size() + rest.size() < ops.size();
       decision = decision->previous.get())
    rest.push_back(decision->choice);
  decided.append(std::make_move_iterator(rest.rbegin()),
                 std::make_move_iterator(rest.rend()));
  return std::move(decided);
}

} // namespace meshc::partition
