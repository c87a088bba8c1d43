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

/// More combinations than this are not searched; the first candidates are those
/// that the results want.
static constexpr int64_t searchLimit = 20000;

FactorSearch::FactorSearch(Operation *op, ArrayRef<OperandForms> operands,
                           ArrayRef<WantedResult> wanted,
                           spmd::ReshardPlanner &planner, nd::MeshAttr mesh,
                           const LinkedCuts &cuts, AxisMoves moves,
                           size_t count)
    : op(op), moves(moves), count(count),
      rule(nd::joinAlternatives(
          cast<nd::NamedOpInterface>(op).getPartitionRule())),
      movedWindows(op, rule, mesh), points(countPoints(op)),
      isProduct(hasMostPoints(op)),
      pointCost((isProduct ? 1 : planner.getPointCost()) *
                planner.getDearestByte()),
      operands(operands), wanted(wanted), planner(planner), mesh(mesh),
      cuts(cuts), chosen(rule.factors.size()) {}

void FactorSearch::evaluate(const Combination &combination) {
  const auto *place = places.data() + combination.first;
  std::copy_n(place, chosen.size(), chosen.begin());
  std::copy_n(place + chosen.size(), trees.size(), nodes.back().begin());
  Found found;
  found.number = combination.number;
  found.work = combination.work;
  found.movesAxes = combination.hasMoved;
  found.staysPartial = keepsPartial;
  if (!addOperandCosts(found))
    return;
  if (hasWindows) {
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
  if (best.size() == count && !isBetter(found, best.back()))
    return;
  if (!hasWindows)
    setTypes(found);
  found.chosen = chosen;
  best.insert(llvm::upper_bound(best, found, isBetter), std::move(found));
  if (best.size() > count)
    best.pop_back();
}

/// Evaluates the combinations that may be among the best.
void FactorSearch::evaluateAll() {
  auto comesBefore = [](const Combination &a, const Combination &b) {
    return std::pair(a.leastCost, a.number) < std::pair(b.leastCost, b.number);
  };
  if (best.size() + combinations.size() > count)
    llvm::sort(combinations, comesBefore);
  for (const Combination &combination : combinations)
    if (!isTooDear(combination.leastCost))
      evaluate(combination);
  combinations.clear();
  places.clear();
}

/// Enters the combination at hand, if it is possible.
void FactorSearch::collect(bool hasMoved, double ofRank) {
  if (hasAlternatives && !mayTakeAlternatives())
    return;
  const int64_t number = tried++;
  double bytes = 0, work = 0;
  if (!reduceAlike())
    return;
  for (unsigned i = 0; i < operands.size(); ++i) {
    const CutOperand &cut = getOperand(i);
    if (!cut.type)
      return;
    if (isRepeated(i))
      continue;
    work += cut.work;
    bytes += cut.leastBytes * operands[i].share;
  }
  for (unsigned i = 0; i < op->getNumResults(); ++i) {
    const CutResult &cut = getResult(i);
    if (!cut.type)
      return;
    bytes += cut.leastBytes;
  }
  work += ofRank;
  work *= pointCost;
  constexpr double roundedDown = 1 - 1e-9;
  combinations.push_back(
      {(bytes + work) * roundedDown, work, number, hasMoved, places.size()});
  llvm::append_range(places, chosen);
  llvm::append_range(places, nodes.back());
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
  return a.number < b.number;
}

//===----------------------------------------------------------------------===//
// All combinations
//===----------------------------------------------------------------------===//

void FactorSearch::visit(unsigned factor, uint32_t used, bool hasMoved,
                         double ofRank) {
  if (tried >= searchLimit) {
    evaluateAll();
    if (!best.empty())
      return;
  }
  if (factor == rule.factors.size())
    return collect(hasMoved, ofRank);
  for (auto [number, candidate] : llvm::enumerate(numbered[factor])) {
    if ((candidate.isMoved && hasMoved) || (candidate.axes & used) != 0)
      continue;
    chosen[factor] = number;
    nodes[factor + 1] = nodes[factor];
    for (unsigned value : valuesAlong[factor]) {
      unsigned &node = nodes[factor + 1][value];
      node = trees[value].getChild(node, number, numbered[factor].size());
    }
    visit(factor + 1, used | candidate.axes, hasMoved || candidate.isMoved,
          ofRank / candidate.ranks);
  }
}

/// Finds the candidates, and gives each axis a bit: a mesh has at most
/// MESHC_MAX_AXES of them.
void FactorSearch::collectCandidates() {
  Movable movable = moves == AxisMoves::None ? Movable::None
                    : isProduct              ? Movable::All
                                             : Movable::OfWholeDims;
  candidates = findCandidates(op, rule, operands, wanted, mesh, cuts, movable);
  for (const FactorCandidates &ofFactor : candidates) {
    auto &list = numbered.emplace_back();
    for (const FactorCandidate &candidate : ofFactor)
      list.push_back({getBits(candidate.axes),
                      double(mesh.getProduct(candidate.axes)),
                      candidate.isMoved});
  }
}

uint32_t FactorSearch::getBits(ArrayRef<StringAttr> axes) {
  uint32_t bits = 0;
  for (StringAttr axis : axes)
    bits |= uint32_t(1) << mesh.getAxisIndex(axis);
  return bits;
}

void FactorSearch::collectValues() {
  for (const Factor &factor : rule.factors) {
    auto &along = valuesAlong.emplace_back();
    for (unsigned i = 0; i < operands.size(); ++i)
      if (factor.operandDims[i])
        along.push_back(i);
    for (unsigned i = 0; i < op->getNumResults(); ++i)
      if (factor.resultDims[i] || factor.effect == FactorEffect::Reduce)
        along.push_back(operands.size() + i);
    hasAlternatives |= factor.isAlternative;
    hasWindows |= factor.needsNeighbours() || factor.isGrouped();
  }
  for (unsigned i = 0; i < operands.size(); ++i) {
    auto &earlier = same.emplace_back();
    for (unsigned other = 0; other < i; ++other)
      if (op->getOperand(other) == op->getOperand(i))
        earlier.push_back(other);
  }
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
  trees.assign(values, {});
  cutOperands.assign(operands.size(), {});
  cutResults.assign(op->getNumResults(), {});
  nodes.assign(rule.factors.size() + 1, {});
  nodes.front().assign(values, 0);
  visit(0, getBits(kept->axes), /*hasMoved=*/false, points);
  evaluateAll();
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
  collectValues();
  for (const Kept &sums : collectKept())
    search(sums);
  llvm::SmallVector<FactorChoice> choices;
  for (const Found &found : best)
    if (!found.movesAxes || found.getCost() < leastInPlace)
      choices.push_back(getChoice(found));
  return choices;
}

llvm::SmallVector<FactorChoice>
findFactorChoices(Operation *op, ArrayRef<OperandForms> operands,
                  ArrayRef<WantedResult> wanted, spmd::ReshardPlanner &planner,
                  nd::MeshAttr mesh, const LinkedCuts &cuts, AxisMoves moves,
                  size_t count) {
  return FactorSearch(op, operands, wanted, planner, mesh, cuts, moves, count)
      .run();
}

} // namespace meshc::partition
