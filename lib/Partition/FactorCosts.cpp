//===- FactorCosts.cpp - what it costs to cut the values of an op ---------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Partition/FactorSearch.h"
#include "lib/Partition/WideSums.h"
#include "lib/Reshard/ExchangePlan.h"

using namespace mlir;

namespace meshc::partition {

using nd::Factor;
using nd::FactorEffect;
using nd::TensorType;
using spmd::AxisList;

/// Halos of at most so many pieces from other ranks, each of which takes a
/// permute, are preferred to alternatives.
static constexpr int64_t fewPermutes = 8;

//===----------------------------------------------------------------------===//
// Sums that stay
//===----------------------------------------------------------------------===//

bool FactorSearch::mayStayPartial(unsigned operand) const {
  const OperandForms &forms = operands[operand];
  TensorType type = forms.types.empty() ? TensorType() : forms.types.front();
  return type && forms.mayStayPartial && type.isPartial() &&
         type.getPartialKind() == nd::ReductionKind::Sum;
}

/// Whether the operand is there as a whole value, or made so, which is a
/// partial sum once all ranks of a group but one have zeros instead.
bool FactorSearch::mayBecomePartial(unsigned operand) const {
  const OperandForms &forms = operands[operand];
  return forms.isRecomputed || llvm::any_of(forms.types, [](TensorType type) {
           return !type.isPartial();
         });
}

/// All operands of a jointly linear op: those that are partial stay so, over
/// the axes that they share, and the others become so.
FactorSearch::Kept FactorSearch::keepAll() const {
  Kept all;
  bool isFirst = true;
  for (unsigned i = 0; i < operands.size(); ++i) {
    all.operands.push_back(i);
    if (!mayStayPartial(i)) {
      if (!mayBecomePartial(i))
        return {};
      continue;
    }
    ArrayRef<StringAttr> axes = operands[i].types.front().getPartialAxes();
    if (std::exchange(isFirst, false))
      all.axes.assign(axes.begin(), axes.end());
    llvm::erase_if(all.axes, [&](StringAttr axis) {
      return !llvm::is_contained(axes, axis);
    });
  }
  return all;
}

llvm::SmallVector<FactorSearch::Kept> FactorSearch::collectKept() const {
  llvm::SmallVector<Kept> ways(1); // nothing stays partial
  if (rule.jointlyLinear) {
    if (Kept all = keepAll(); !all.axes.empty())
      ways.push_back(all);
    return ways;
  }
  // What is also another operand is needed whole for that.
  auto isOnce = [&](unsigned i) {
    return llvm::count(op->getOperands(), op->getOperand(i)) == 1;
  };
  for (unsigned i : rule.linearOperands)
    if (i < operands.size() && mayStayPartial(i) && isOnce(i))
      ways.push_back(
          {AxisList(operands[i].types.front().getPartialAxes()), {i}});
  return ways;
}

//===----------------------------------------------------------------------===//
// One combination
//===----------------------------------------------------------------------===//

llvm::SmallVector<AxisList> FactorSearch::getAxesOfFactors() const {
  llvm::SmallVector<AxisList> axes;
  for (unsigned i = 0; i < rule.factors.size(); ++i)
    axes.push_back(getAxes(i));
  return axes;
}

/// Whether each alternative that is cut has its dims for itself, and no
/// exchange of few halos could take its place.
bool FactorSearch::mayTakeAlternatives() {
  auto isCut = [&](size_t i) { return candidates[i][chosen[i]].axes != 0; };
  for (unsigned i = 0; i < rule.factors.size(); ++i) {
    if (!rule.factors[i].isAlternative || !isCut(i))
      continue;
    for (unsigned j = 0; j < rule.factors.size(); ++j)
      if (i != j && nd::shareDim(rule.factors[i], rule.factors[j]) &&
          (isCut(j) || sendsFewHalos(i, j)))
        return false;
  }
  return true;
}

/// Whether ranks can exchange halos along the other factor, where the axes of
/// the alternative cut that one, in few permutes. Then they shall: windows of
/// windows become one (meshc-fold-windows), which sends less than the search
/// counts.
bool FactorSearch::sendsFewHalos(unsigned alternative, unsigned halo) {
  const Factor &factor = rule.factors[halo];
  if (factor.segments.empty() || factor.isAlternative)
    return false;
  auto [few, isNew] =
      fewHalos.try_emplace({alternative, chosen[alternative]}, false);
  if (!isNew)
    return few->second;
  llvm::SmallVector<AxisList> axes(rule.factors.size());
  axes[halo] = getAxes(alternative);
  llvm::SmallVector<TensorType> types;
  for (unsigned i = 0; i < operands.size(); ++i)
    types.push_back(
        getTypeAlong(nd::getTensorType(op->getOperand(i)), rule, axes,
                     [&](const Factor &of) { return of.operandDims[i]; }));
  TensorType result =
      getTypeAlong(nd::getTensorType(op->getResult(0)), rule, axes,
                   [&](const Factor &of) { return of.resultDims[0]; });
  auto plan = reshard::planExchange(rule, axes, types, {result}, mesh);
  few->second = plan && plan->traffic[halo].permutes <= fewPermutes;
  return few->second;
}

/// Whether all sums over ranks, and those that stay, are by one reduction.
bool FactorSearch::reduceAlike() const {
  std::optional<nd::ReductionKind> kind;
  if (!kept->axes.empty())
    kind = nd::ReductionKind::Sum;
  for (auto [index, factor] : llvm::enumerate(rule.factors)) {
    if (factor.effect != FactorEffect::Reduce ||
        candidates[index][chosen[index]].axes == 0)
      continue;
    if (kind && *kind != factor.reduction)
      return false;
    kind = factor.reduction;
  }
  return true;
}

FactorSearch::CutOperand &FactorSearch::getOperand(unsigned operand) {
  CutOperand &cut = known.getOperand(operand, nodes[operand]);
  if (cut.search == number)
    return cut;
  cut = {number, {}, {}, {}};
  TensorType whole = known.getOperandType(operand, nodes[operand],
                                          [&] { return getAxesOfFactors(); });
  if (!whole)
    return cut;
  TensorType type = isKept[operand]
                        ? whole.withPartial(nd::ReductionKind::Sum, kept->axes)
                        : whole;
  // A whole value becomes a part of a sum where it lies. This takes one pass
  // over the block.
  bool staysPartial = isKept[operand] && mayStayPartial(operand);
  if (staysPartial)
    type =
        type.withElementType(operands[operand].types.front().getElementType());
  cut.moved = staysPartial ? type : whole;
  auto least = getOperandBytes(operands[operand], cut.moved,
                               [&](TensorType from, TensorType to) {
                                 return planner.getLeastCost(from, to);
                               });
  if (!least)
    return cut;
  cut.type = type;
  cut.leastBytes = *least;
  if (isKept[operand] && !staysPartial)
    cut.work = double(whole.getLocalElementCount(mesh));
  return cut;
}

/// Whether an operand stays a partial sum, of f32 instead of 16 bits.
bool FactorSearch::keepsWide() const {
  return llvm::any_of(kept->operands, [&](unsigned operand) {
    return mayStayPartial(operand) &&
           operands[operand].types.front().getElementType() !=
               nd::getTensorType(op->getOperand(operand)).getElementType();
  });
}

FactorSearch::CutResult &FactorSearch::getResult(unsigned result) {
  CutResult &cut = known.getResult(result, nodes[operands.size() + result]);
  const size_t search = kept->operands.empty() ? OpCuts::withoutSums : number;
  if (cut.search == search)
    return cut;
  cut = {search, {}, {}};
  std::optional<nd::ReductionKind> kind;
  if (!kept->axes.empty())
    kind = nd::ReductionKind::Sum;
  AxisList partial(kept->axes);
  bool adds = rule.jointlyLinear && !kept->axes.empty();
  llvm::SmallVector<AxisList> axesOfFactor = getAxesOfFactors();
  for (auto [factor, axes] : llvm::zip(rule.factors, axesOfFactor)) {
    if (factor.effect != FactorEffect::Reduce || axes.empty())
      continue;
    kind = factor.reduction;
    adds |= !factor.isSelection;
    if (!factor.resultDims[result])
      partial.append(axes);
  }
  // The order has no meaning; with one order, equal shardings are one type.
  spmd::sortByMesh(partial, mesh);
  TensorType type = getTypeAlong(
      nd::getTensorType(op->getResult(result)), rule, axesOfFactor,
      [&](const Factor &factor) { return factor.resultDims[result]; });
  if (!type)
    return cut;
  cut.type = partial.empty() ? type
                             : widenParts(type.withPartial(*kind, partial), op,
                                          adds, keepsWide());
  cut.leastBytes = wanted[result].getLeastCost(cut.type, planner);
  return cut;
}

/// The bytes to hold the operand as `type`, by what reshards cost; nothing if
/// it cannot be.
std::optional<double> FactorSearch::getOperandBytes(
    const OperandForms &forms, TensorType type,
    llvm::function_ref<double(TensorType, TensorType)> getCost) const {
  if (forms.isRecomputed)
    return 0;
  std::optional<double> least;
  if (forms.willBeReduced && forms.settled && !type.isPartial())
    least = getCost(forms.settled, type);
  for (TensorType form : forms.types) {
    if ((type.isPartial() && !form.isPartial()) ||
        (form.isPartial() && forms.willBeReduced))
      continue;
    double bytes = getCost(form, type);
    least = least ? std::min(*least, bytes) : bytes;
  }
  return least;
}

/// Whether the operand is also an earlier one, which is cut alike. It moves
/// once.
bool FactorSearch::isRepeated(unsigned operand) {
  return llvm::any_of(known.same[operand], [&](unsigned other) {
    return getOperand(other).type == getOperand(operand).type;
  });
}

/// Whether a combination that costs at least this is worse than all that are
/// known.
bool FactorSearch::isTooDear(double cost) const {
  return best.size() == count && cost > best.back().getCost();
}

/// Adds what the operands send. False if this and the work are too dear. Then
/// the reshards of the other operands are not planned.
bool FactorSearch::addOperandCosts(Found &found) {
  for (unsigned i = 0; i < operands.size(); ++i) {
    if (isTooDear(found.bytes + found.work))
      return false;
    if (isRepeated(i))
      continue;
    CutOperand &cut = getOperand(i);
    if (!cut.bytes)
      cut.bytes = getOperandBytes(operands[i], cut.moved,
                                  [&](TensorType from, TensorType to) {
                                    return planner.getCost(from, to);
                                  });
    found.bytes += *cut.bytes * operands[i].share;
  }
  return true;
}

/// Adds what the op exchanges along its factors. False if it cannot.
bool FactorSearch::addHaloCosts(Found &found) const {
  llvm::SmallVector<AxisList> axesOfFactor = getAxesOfFactors();
  bool exchanges = false, adds = false;
  for (auto [factor, axes] : llvm::zip(rule.factors, axesOfFactor)) {
    exchanges |= reshard::isExchanged(factor, axes, mesh);
    adds |= addsOverlaps(factor, axes);
  }
  if (!exchanges)
    return true;
  auto plan = reshard::planExchange(
      rule, axesOfFactor, found.operandTypes,
      getComputedTypes(*op, found.resultTypes, adds), mesh);
  if (!plan)
    return false;
  for (bool isOperand : {true, false})
    for (const reshard::BlockExchange &exchange :
         isOperand ? plan->operands : plan->results)
      plan->traffic[exchange.factor].bytes -=
          exchange.bytes *
          (1 - known.movedWindows.getShare(exchange, isOperand));
  for (auto [axes, traffic] : llvm::zip(axesOfFactor, plan->traffic))
    if (traffic.bytes > 0)
      found.haloBytes += traffic.bytes * planner.getByteCost(axes);
  found.bytes += found.haloBytes;
  return true;
}

/// The types that the op needs and makes.
void FactorSearch::setTypes(Found &found) {
  for (unsigned i = 0; i < operands.size(); ++i)
    found.operandTypes.push_back(getOperand(i).type);
  for (unsigned i = 0; i < op->getNumResults(); ++i)
    found.resultTypes.push_back(getResult(i).type);
}

} // namespace meshc::partition
