//===- BlockSearch.cpp - the shardings of the ops of a block --------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Partition/BlockSearch.h"
#include "lib/Partition/LastUses.h"

using namespace mlir;

namespace meshc::partition {

using nd::TensorType;

/// Products count as recent for so many ops, and so many of the states that cut
/// them alike are followed beside the best ones.
static constexpr size_t recentOps = 32, mostAlike = 4;
/// A value is large if it has at least a 16th of the elements of the smallest
/// operand or result of a product, or of the largest value of a block without
/// products.
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

/// Decides which values are large. Of several products, the one counts whose
/// smallest operand or result is the largest. If the block has no product, as
/// behind the last loop of a training step, the largest value counts.
void BlockSearch::findLarge(ArrayRef<Operation *> ops) {
  int64_t ofProducts = 0, ofAll = 0;
  for (Operation *op : ops) {
    int64_t least = std::numeric_limits<int64_t>::max();
    for (Value value : llvm::concat<Value>(llvm::to_vector(op->getOperands()),
                                           llvm::to_vector(op->getResults()))) {
      int64_t elements = nd::getTensorType(value).getElementCount();
      least = std::min(least, elements);
      ofAll = std::max(ofAll, elements);
    }
    if (hasMostPoints(op))
      ofProducts = std::max(ofProducts, least);
  }
  hasProducts = ofProducts > 0;
  leastOfLarge = (hasProducts ? ofProducts : ofAll) / partsOfLarge;
}

//===----------------------------------------------------------------------===//
// From states to states
//===----------------------------------------------------------------------===//

/// A hash of how the recent products are cut after the step.
size_t BlockSearch::hashProducts(const Step &step, bool isProduct) const {
  size_t hash = isProduct ? step.effect->cut : 0;
  for (auto [number, cut] : step.state->products)
    if (number + recentOps > steps)
      hash += cut;
  return hash;
}

/// All choices in all states.
std::vector<BlockSearch::Step>
BlockSearch::makeSteps(Operation *op, const Sums &sums,
                       ArrayRef<size_t> ofState,
                       ArrayRef<Effects> effects) const {
  std::vector<Step> next;
  for (auto [state, number] : llvm::zip(states, ofState)) {
    const Before before = getBefore(state, op, sums);
    auto [dead, largeDead] = hashDying(state, op);
    for (const Effect &effect : effects[number]) {
      Before changed = before;
      double total = addCosts(state.total, effect, sums, changed);
      next.push_back({&state, &effect, total, state.hash - dead + effect.hash,
                      state.largeHash - largeDead + effect.largeHash});
    }
  }
  return next;
}

/// The state after the step.
BlockSearch::State BlockSearch::apply(const Step &step, Operation *op,
                                      const Sums &sums, bool isProduct) const {
  State next = *step.state;
  Before pending = getBefore(next, op, sums);
  next.total = addCosts(next.total, *step.effect, sums, pending);
  next.work += step.effect->choice->work;
  llvm::erase_if(next.pending, [&](Value value) {
    return llvm::is_contained(op->getOperands(), value);
  });
  for (auto [result, cost] : llvm::zip(op->getResults(), step.effect->results))
    if (cost.second)
      next.pending.push_back(result);
  setPendingCosts(next, sums, pending.costs);
  llvm::append_range(next.forms, step.effect->added);
  // Forgets the values that nothing uses after the op.
  std::erase_if(next.forms, [&](const Form &form) {
    return llvm::is_contained(getDying(op), form.first);
  });
  next.hash = step.hash;
  next.largeHash = step.largeHash;
  llvm::erase_if(next.products, [&](auto product) {
    return product.first + recentOps <= steps;
  });
  if (isProduct)
    next.products.emplace_back(steps, step.effect->cut);
  next.last = std::make_shared<Decision>(
      Decision{step.effect->choice, step.effect->added, std::move(next.last)});
  return next;
}

namespace {
/// Totals of steps in their order, with their numbers: of equal ones the first
/// number first. Sorts no more than is asked for.
class SortedTotals {
public:
  using Entry = std::pair<double, size_t>;
  explicit SortedTotals(std::vector<Entry> entries)
      : entries(std::move(entries)) {}
  /// The next entry; null after the last one.
  const Entry *next() {
    if (taken == entries.size())
      return nullptr;
    if (taken == sorted) {
      size_t end = std::min(entries.size(), 3 * sorted + 128);
      auto begin = entries.begin() + sorted;
      if (end < entries.size())
        std::nth_element(begin, entries.begin() + end, entries.end());
      std::sort(begin, entries.begin() + end);
      sorted = end;
    }
    return &entries[taken++];
  }

private:
  std::vector<Entry> entries;
  size_t sorted = 0, taken = 0;
};
} // namespace

/// The steps to follow, the best one first: those of the least cost, with other
/// forms of large values in each unless there is room for more, and some that
/// cut the last products otherwise. Of those with equal forms the first.
llvm::SmallVector<const BlockSearch::Step *>
BlockSearch::selectSteps(ArrayRef<Step> next, bool isProduct) const {
  std::vector<SortedTotals::Entry> totals;
  totals.reserve(next.size());
  for (auto [number, step] : llvm::enumerate(next))
    totals.emplace_back(step.total, number);
  SortedTotals sorted(std::move(totals));
  llvm::DenseSet<size_t> hashes, large;
  auto takeNext = [&]() -> const Step * {
    while (const SortedTotals::Entry *entry = sorted.next())
      if (const Step &step = next[entry->second];
          hashes.insert(step.hash).second)
        return &step;
    return nullptr;
  };
  llvm::SmallVector<const Step *> best, left;
  // Without products, small values such as the norms of gradients decide, too.
  size_t distinct = hasProducts ? bounds.states : (bounds.states + 1) / 2;
  while (best.size() < distinct) {
    const Step *step = takeNext();
    if (!step)
      break;
    (large.insert(step->largeHash).second ? best : left).push_back(step);
  }
  size_t room = std::min(bounds.states - best.size(), left.size());
  best.append(left.begin(), left.begin() + room);
  left.erase(left.begin(), left.begin() + room);
  while (best.size() < bounds.states) {
    const Step *step = takeNext();
    if (!step)
      break;
    best.push_back(step);
  }
  auto isCheaper = [](const Step *a, const Step *b) {
    return a->total < b->total;
  };
  std::unordered_map<size_t, size_t> alike; // of the best, by their products
  for (const Step *step : best)
    ++alike[hashProducts(*step, isProduct)];
  for (size_t i = 0; best.size() < bounds.states + bounds.others; ++i) {
    const Step *step = i < left.size() ? left[i] : takeNext();
    if (!step)
      break;
    if (size_t &count = alike[hashProducts(*step, isProduct)];
        count < mostAlike) {
      ++count;
      best.push_back(step);
    }
  }
  llvm::stable_sort(best, isCheaper);
  return best;
}

/// Goes on to the states after the op.
void BlockSearch::advance(Operation *op) {
  settledResults.clear();
  wantedResults.clear();
  for (OpResult result : op->getResults())
    wantedResults.push_back(block.getWanted(result));
  keyOfOp = getKeyOfOp(op);
  cutsOfOp.reset();
  const bool isProduct = hasMostPoints(op);
  const Sums sums = findSums(op);
  llvm::SmallVector<size_t> ofState;
  std::vector<Effects> effects = findEffects(op, ofState);
  std::vector<Step> next = makeSteps(op, sums, ofState, effects);
  llvm::SmallVector<const Step *> selected = selectSteps(next, isProduct);
  std::vector<State> best;
  best.reserve(selected.size());
  for (const Step *step : selected)
    best.push_back(apply(*step, op, sums, isProduct));
  states = std::move(best);
  for (Value value : getDying(op))
    common.erase(value);
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
  decided.push_back(*first->choice);
  first->previous.reset();
  for (auto [value, type] : first->added) {
    auto isOfValue = [&](const Form &form) { return form.first == value; };
    if (llvm::none_of(states.front().forms, isOfValue))
      continue; // nothing uses it any more
    common[value].push_back(type);
    for (State &state : states) {
      auto form = llvm::find(state.forms, Form(value, type));
      if (form == state.forms.end())
        continue;
      state.forms.erase(form);
      state.hash -= hashForm(value, type);
      if (isLarge(value))
        state.largeHash -= hashForm(value, type);
    }
  }
}

/// Adds the cost of the ends of the block, as far as they are known.
void BlockSearch::finish(State &state) {
  llvm::SmallVector<Form, 4> added;
  StepForms forms(*this, state, added);
  for (auto [operand, type] :
       llvm::zip(block.getTerminator()->getOperands(), block.getFixedEnds())) {
    if (forms.get(operand).empty())
      continue; // made by an op after those of this search
    state.total += block.obtain(operand, type, forms);
    auto *pending = llvm::find(state.pending, operand);
    if (pending == state.pending.end())
      continue;
    state.pending.erase(pending);
    Value root = getSumRoot(operand);
    for (auto &[sum, cost] : state.pendingCosts)
      if (sum == root && --cost.values == 0)
        state.total -= std::exchange(cost.bytes, 0);
  }
  // Whether others can use these values as they lie is not known yet.
  if (moves == AxisMoves::One)
    for (Value value : outgoing)
      state.total += planner.getCost(block.getSettled(value, forms),
                                     block.getDesired(value).preferred);
}

llvm::SmallVector<FactorChoice> BlockSearch::run(ArrayRef<Operation *> ops) {
  if (ops.empty())
    return {};
  dying = findLastUses(ops);
  outgoing = findOutgoing(block, ops);
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
    rest.push_back(*decision->choice);
  decided.append(std::make_move_iterator(rest.rbegin()),
                 std::make_move_iterator(rest.rend()));
  return std::move(decided);
}

} // namespace meshc::partition
