//===- FactorSearch.cpp - the best ways to cut an op ----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Partition/FactorSearch.h"

using namespace mlir;

namespace meshc::partition {

using nd::Factor;
using nd::FactorEffect;
using nd::TensorType;
using spmd::AxisList;

/// After so many beginnings, the search ends with the combinations that it has.
static constexpr int64_t searchLimit = 20000;

FactorSearch::FactorSearch(OpCuts &known, ArrayRef<OperandForms> operands,
                           reshard::ReshardPlanner &planner, nd::MeshAttr mesh,
                           const LinkedCuts &cuts, AxisMoves moves,
                           size_t count)
    : known(known), op(known.op), rule(known.rule), moves(moves), count(count),
      pointCost((known.isProduct ? 1 : planner.getPointCost()) *
                planner.getDearestByte()),
      operands(operands), wanted(known.wanted), planner(planner), mesh(mesh),
      cuts(cuts), chosen(known.rule.factors.size()) {}

void FactorSearch::evaluate(const Beginning &combination) {
  Found found;
  found.way = way;
  found.work = (combination.work + combination.ofRank) * pointCost;
  found.movesAxes = combination.hasMoved;
  found.staysPartial = keepsPartial;
  if (!addOperandCosts(found))
    return;
  if (known.hasWindows) {
    setTypes(found);
    if (!addHaloCosts(found))
      return;
  }
  for (unsigned i = 0; i < wanted.size(); ++i) {
    CutResult &cut = getResult(i);
    if (!cut.bytes)
      cut.bytes = wanted[i].getCost(cut.type, planner);
    found.bytes += *cut.bytes;
  }
  if (!found.movesAxes)
    leastInPlace = std::min(leastInPlace, found.getCost());
  found.chosen = chosen;
  if (best.size() == count && !isBetter(found, best.back()))
    return;
  if (!known.hasWindows)
    setTypes(found);
  best.insert(llvm::upper_bound(best, found, isBetter), std::move(found));
  if (best.size() > count)
    best.pop_back();
}

/// At equal cost, axes stay where they are, and a later reduction is better:
/// another op may join it, unless a loop overlaps the earlier one. Otherwise
/// the combination that comes first is better.
bool FactorSearch::isBetter(const Found &a, const Found &b) {
  if (a.getCost() != b.getCost())
    return a.getCost() < b.getCost();
  if (a.movesAxes != b.movesAxes)
    return b.movesAxes;
  if (a.staysPartial != b.staysPartial)
    return a.staysPartial;
  return std::tie(a.way, a.chosen) < std::tie(b.way, b.chosen);
}

//===----------------------------------------------------------------------===//
// All combinations
//===----------------------------------------------------------------------===//

/// Sets the combination at hand.
void FactorSearch::recall(const Beginning &beginning) {
  const auto *place = places.data() + beginning.first;
  std::copy_n(place, chosen.size(), chosen.begin());
  std::copy_n(place + chosen.size(), nodes.size(), nodes.begin());
}

/// Adds the least that the values send whose cut is decided now. False if an op
/// cannot have them so.
bool FactorSearch::addDecided(Beginning &beginning) {
  for (unsigned value : known.decidedBy[beginning.size]) {
    if (value >= operands.size()) {
      const CutResult &cut = getResult(value - operands.size());
      if (!cut.type)
        return false;
      beginning.leastBytes += cut.leastBytes;
      continue;
    }
    const CutOperand &cut = getOperand(value);
    if (!cut.type)
      return false;
    if (isRepeated(value))
      continue;
    beginning.work += cut.work;
    beginning.leastBytes += cut.leastBytes * operands[value].share;
  }
  return true;
}

/// Enters the beginning at hand, if it may lead to a combination that is among
/// the best.
void FactorSearch::add(Beginning beginning) {
  if (!addDecided(beginning))
    return;
  if (beginning.size == rule.factors.size() &&
      ((known.hasAlternatives && !mayTakeAlternatives()) || !reduceAlike()))
    return;
  constexpr double roundedDown = 1 - 1e-9;
  double leastWork =
      beginning.work + beginning.ofRank / mostRanks[beginning.size];
  beginning.leastCost =
      (beginning.leastBytes + leastWork * pointCost) * roundedDown;
  if (isTooDear(beginning.leastCost))
    return;
  beginning.first = places.size();
  llvm::append_range(places, chosen);
  llvm::append_range(places, nodes);
  beginnings.push_back(beginning);
  std::push_heap(beginnings.begin(), beginnings.end(), comesLater);
}

/// Of equal bounds, the one with more candidates comes first, and then the one
/// that was found first.
bool FactorSearch::comesLater(const Beginning &a, const Beginning &b) {
  return std::tuple(a.leastCost, b.size, a.first) >
         std::tuple(b.leastCost, a.size, b.first);
}

/// Gives the next factor each of its candidates.
void FactorSearch::extend(const Beginning &beginning) {
  const unsigned factor = beginning.size;
  for (auto [index, candidate] : llvm::enumerate(candidates[factor])) {
    if ((candidate.isMoved && beginning.hasMoved) ||
        (candidate.axes & beginning.used) != 0)
      continue;
    recall(beginning);
    chosen[factor] = index;
    for (unsigned value : known.valuesAlong[factor])
      nodes[value] = known.getChild(value, nodes[value], candidate.number);
    Beginning next = beginning;
    ++next.size;
    next.used |= candidate.axes;
    next.hasMoved |= candidate.isMoved;
    next.ofRank /= candidate.ranks;
    add(next);
  }
}

/// Finds the candidates, and gives each axis a bit: a mesh has at most
/// MESHC_MAX_AXES of them.
void FactorSearch::collectCandidates() {
  Movable movable = moves == AxisMoves::None ? Movable::None
                    : known.isProduct        ? Movable::All
                                             : Movable::OfWholeDims;
  for (const FactorCandidates &ofFactor :
       findCandidates(op, rule, operands, wanted, mesh, cuts, movable)) {
    auto &list = candidates.emplace_back();
    for (const FactorCandidate &candidate : ofFactor)
      list.push_back({known.getNumber(candidate.axes), getBits(candidate.axes),
                      double(mesh.getProduct(candidate.axes)),
                      candidate.isMoved});
  }
  mostRanks.assign(rule.factors.size() + 1, 1);
  for (size_t factor = rule.factors.size(); factor-- > 0;) {
    double most = 1;
    for (const Candidate &candidate : candidates[factor])
      most = std::max(most, candidate.ranks);
    mostRanks[factor] = mostRanks[factor + 1] * most;
  }
}

uint32_t FactorSearch::getBits(ArrayRef<StringAttr> axes) {
  uint32_t bits = 0;
  for (StringAttr axis : axes)
    bits |= uint32_t(1) << mesh.getAxisIndex(axis);
  return bits;
}

/// Tries all combinations where these sums stay.
void FactorSearch::search(const Kept &sums) {
  kept = &sums;
  isKept.assign(operands.size(), false);
  keepsPartial = false;
  for (unsigned operand : kept->operands) {
    isKept[operand] = true;
    keepsPartial |= !kept->axes.empty() && !operands[operand].reducesInLoop;
  }
  const size_t values = operands.size() + op->getNumResults();
  number = known.beginSearch();
  nodes.assign(values, 0);
  for (unsigned factor = 0; factor < rule.factors.size(); ++factor)
    chosen[factor] = candidates[factor].size() - 1; // not cut
  beginnings.clear();
  places.clear();
  tried = 0;
  add({0, 0, getBits(kept->axes), false, known.points, 0, 0, 0});
  while (!beginnings.empty() && (tried < searchLimit || best.empty())) {
    std::pop_heap(beginnings.begin(), beginnings.end(), comesLater);
    const Beginning next = beginnings.back();
    beginnings.pop_back();
    if (isTooDear(next.leastCost))
      break;
    ++tried;
    if (next.size < rule.factors.size()) {
      extend(next);
      continue;
    }
    recall(next);
    evaluate(next);
  }
}

FactorChoice FactorSearch::getChoice(const Found &found) {
  chosen = found.chosen;
  FactorChoice choice;
  choice.axesOfFactor = getAxesOfFactors();
  choice.operandTypes.assign(found.operandTypes.begin(),
                             found.operandTypes.end());
  choice.resultTypes.assign(found.resultTypes.begin(), found.resultTypes.end());
  choice.bytes = found.bytes;
  choice.haloBytes = found.haloBytes;
  choice.work = found.work;
  choice.movesAxes = found.movesAxes;
  return choice;
}

llvm::SmallVector<FactorChoice> FactorSearch::run() {
  // The sum of a product, say, may cost more to reduce than its operands to
  // move.
  collectCandidates();
  for (const Kept &sums : collectKept()) {
    search(sums);
    ++way;
  }
  llvm::SmallVector<FactorChoice> choices;
  for (const Found &found : best)
    if (!found.movesAxes || found.getCost() < leastInPlace)
      choices.push_back(getChoice(found));
  return choices;
}

llvm::SmallVector<FactorChoice>
findFactorChoices(OpCuts &known, ArrayRef<OperandForms> operands,
                  reshard::ReshardPlanner &planner, nd::MeshAttr mesh,
                  const LinkedCuts &cuts, AxisMoves moves, size_t count) {
  return FactorSearch(known, operands, planner, mesh, cuts, moves, count).run();
}

} // namespace meshc::partition
