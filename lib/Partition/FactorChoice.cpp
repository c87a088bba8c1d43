//===- FactorChoice.cpp - which axes cut which factor of an op ------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Partition/FactorChoice.h"

using namespace mlir;

namespace meshc::partition {

using nd::Factor;
using nd::FactorKind;
using nd::PartitionRule;
using nd::TensorType;
using spmd::AxisList;

/// More combinations than this are not searched; the first candidates are those
/// that the results want.
static constexpr int64_t searchLimit = 20000;

double getWorkCost(const FactorChoice &choice) {
  constexpr double bytesPerPoint = 1;
  return choice.work * bytesPerPoint;
}

double getCost(const FactorChoice &choice) {
  return choice.bytes + getWorkCost(choice);
}

TensorType getTypeAlong(TensorType type, const PartitionRule &rule,
                        ArrayRef<AxisList> axesOfFactor,
                        llvm::function_ref<StringAttr(const Factor &)> dimOf) {
  TensorType cut = type.getGlobal();
  for (auto [factor, axes] : llvm::zip(rule.factors, axesOfFactor))
    if (StringAttr dim = dimOf(factor); dim && !axes.empty() && cut)
      cut = spmd::addAxes(cut, dim.getValue(), axes);
  return cut;
}

namespace {

class Search {
public:
  Search(Operation *op, ArrayRef<OperandForms> operands,
         ArrayRef<WantedResult> wanted, spmd::ReshardPlanner &planner,
         nd::MeshAttr mesh, size_t count)
      : op(op), count(count),
        rule(cast<nd::NamedOpInterface>(op).getPartitionRule()),
        operands(operands), wanted(wanted), planner(planner), mesh(mesh),
        axesOfFactor(rule.factors.size()) {}

  llvm::SmallVector<FactorChoice> run();

private:
  /// Axes over which operands stay partial, and which operands do.
  struct Kept {
    AxisList axes;
    llvm::SmallVector<unsigned> operands;
  };

  void collectCandidates(unsigned factor);
  void addCandidate(unsigned factor, ArrayRef<StringAttr> axes);
  llvm::SmallVector<Kept> collectKept() const;
  void visit(unsigned factor, const Kept &kept, AxisList &used);
  void evaluate(const Kept &kept);
  bool getResultTypes(const Kept &kept, FactorChoice &choice) const;
  bool addOperandCosts(const Kept &kept, FactorChoice &choice);

  bool staysPartial(const FactorChoice &choice) const;
  bool isBetter(const FactorChoice &a, const FactorChoice &b) const;

  Operation *op;
  size_t count;
  PartitionRule rule;
  ArrayRef<OperandForms> operands;
  ArrayRef<WantedResult> wanted;
  spmd::ReshardPlanner &planner;
  nd::MeshAttr mesh;
  llvm::SmallVector<llvm::SmallVector<AxisList>> candidates;
  llvm::SmallVector<AxisList> axesOfFactor; ///< of the combination at hand
  llvm::SmallVector<FactorChoice> best; ///< at most `count`, the best one first
  int64_t evaluated = 0;
};

} // namespace

void Search::addCandidate(unsigned factor, ArrayRef<StringAttr> axes) {
  // Every beginning of the list may do as well: where the factor is too small
  // for all of it, or a minor axis is needed elsewhere.
  for (size_t count = axes.size(); count > 0; --count) {
    AxisList list(axes.take_front(count));
    if (nd::mayCut(op, rule.factors[factor], mesh.getProduct(list)) &&
        !llvm::is_contained(candidates[factor], list))
      candidates[factor].push_back(list);
  }
}

void Search::collectCandidates(unsigned index) {
  const Factor &factor = rule.factors[index];
  if (factor.kind == FactorKind::Parallel ||
      factor.kind == FactorKind::Reduce) {
    for (auto [result, dim] : llvm::zip(wanted, factor.resultDims))
      if (dim)
        addCandidate(index,
                     spmd::getAxesOf(result.desired.preferred, dim.getValue()));
    for (auto [forms, dim] : llvm::zip(operands, factor.operandDims))
      if (dim && !forms.isRecomputed) {
        for (TensorType type : forms.types)
          addCandidate(index, spmd::getAxesOf(type, dim.getValue()));
        if (forms.settled)
          addCandidate(index, spmd::getAxesOf(forms.settled, dim.getValue()));
      }
  }
  candidates[index].push_back({});
}

llvm::SmallVector<Search::Kept> Search::collectKept() const {
  llvm::SmallVector<Kept> ways(1); // nothing stays partial
  auto staysPartial = [&](unsigned i) {
    TensorType type =
        operands[i].types.empty() ? TensorType() : operands[i].types.front();
    return type && operands[i].mayStayPartial && type.isPartial() &&
           type.getPartialKind() == nd::ReductionKind::Sum;
  };
  if (rule.jointlyLinear) {
    Kept all;
    for (unsigned i = 0; i < operands.size(); ++i) {
      if (!staysPartial(i))
        return ways;
      ArrayRef<StringAttr> axes = operands[i].types.front().getPartialAxes();
      if (i == 0)
        all.axes.assign(axes.begin(), axes.end());
      llvm::erase_if(all.axes, [&](StringAttr axis) {
        return !llvm::is_contained(axes, axis);
      });
      all.operands.push_back(i);
    }
    if (!all.axes.empty())
      ways.push_back(all);
    return ways;
  }
  for (unsigned i : rule.linearOperands)
    if (i < operands.size() && staysPartial(i))
      ways.push_back(
          {AxisList(operands[i].types.front().getPartialAxes()), {i}});
  return ways;
}

void Search::visit(unsigned factor, const Kept &kept, AxisList &used) {
  if (evaluated >= searchLimit && !best.empty())
    return;
  if (factor == rule.factors.size())
    return evaluate(kept);
  for (const AxisList &axes : candidates[factor]) {
    if (llvm::any_of(axes, [&](StringAttr axis) {
          return llvm::is_contained(used, axis);
        }))
      continue;
    axesOfFactor[factor] = axes;
    used.append(axes);
    visit(factor + 1, kept, used);
    used.truncate(used.size() - axes.size());
  }
}

bool Search::getResultTypes(const Kept &kept, FactorChoice &choice) const {
  std::optional<nd::ReductionKind> kind;
  if (!kept.axes.empty())
    kind = nd::ReductionKind::Sum;
  for (auto [factor, axes] : llvm::zip(rule.factors, axesOfFactor)) {
    if (factor.kind != FactorKind::Reduce || axes.empty())
      continue;
    if (kind && *kind != factor.reduction)
      return false;
    kind = factor.reduction;
  }
  for (unsigned i = 0; i < op->getNumResults(); ++i) {
    AxisList partial(kept.axes);
    for (auto [factor, axes] : llvm::zip(rule.factors, axesOfFactor))
      if (factor.kind == FactorKind::Reduce && !factor.resultDims[i])
        partial.append(axes);
    // The order has no meaning; with one order, equal shardings are one type.
    llvm::sort(partial, [&](StringAttr a, StringAttr b) {
      return mesh.getAxisIndex(a.getValue()) < mesh.getAxisIndex(b.getValue());
    });
    TensorType type = getTypeAlong(
        nd::getTensorType(op->getResult(i)), rule, axesOfFactor,
        [&](const Factor &factor) { return factor.resultDims[i]; });
    if (!type)
      return false;
    choice.resultTypes.push_back(
        partial.empty() ? type : type.withPartial(*kind, partial));
  }
  return true;
}

bool Search::addOperandCosts(const Kept &kept, FactorChoice &choice) {
  llvm::SmallVector<std::pair<Value, TensorType>> moved;
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    TensorType type = getTypeAlong(
        nd::getTensorType(op->getOperand(i)), rule, axesOfFactor,
        [&](const Factor &factor) { return factor.operandDims[i]; });
    if (!type)
      return false;
    if (llvm::is_contained(kept.operands, i))
      type = type.withPartial(nd::ReductionKind::Sum, kept.axes);
    choice.operandTypes.push_back(type);
    // An operand that is there twice moves once.
    std::pair<Value, TensorType> move(op->getOperand(i), type);
    if (operands[i].isRecomputed || llvm::is_contained(moved, move))
      continue;
    moved.push_back(move);
    std::optional<double> least;
    if (operands[i].willBeReduced && operands[i].settled && !type.isPartial())
      least = planner.getBytes(operands[i].settled, type);
    for (TensorType form : operands[i].types) {
      if ((type.isPartial() && !form.isPartial()) ||
          (form.isPartial() && operands[i].willBeReduced))
        continue;
      double bytes = planner.getBytes(form, type);
      least = least ? std::min(*least, bytes) : bytes;
    }
    if (!least)
      return false;
    choice.bytes += *least * operands[i].share;
  }
  return true;
}

void Search::evaluate(const Kept &kept) {
  ++evaluated;
  FactorChoice choice;
  if (!getResultTypes(kept, choice) || !addOperandCosts(kept, choice))
    return;
  for (auto [made, result] : llvm::zip(choice.resultTypes, wanted))
    choice.bytes +=
        planner.getBytes(made, result.desired.settle(made)) * result.share;
  choice.work = 1;
  for (auto [factor, axes] : llvm::zip(rule.factors, axesOfFactor))
    choice.work *= double(factor.size) / double(mesh.getProduct(axes));
  if (best.size() == count && !isBetter(choice, best.back()))
    return;
  choice.axesOfFactor = axesOfFactor;
  auto *place = llvm::find_if(
      best, [&](const FactorChoice &other) { return isBetter(choice, other); });
  best.insert(place, std::move(choice));
  if (best.size() > count)
    best.pop_back();
}

/// Whether operands stay partial that no loop reduces while it goes on.
bool Search::staysPartial(const FactorChoice &choice) const {
  return llvm::any_of(llvm::zip(choice.operandTypes, operands), [](auto pair) {
    const auto &[type, forms] = pair;
    return type.isPartial() && !forms.reducesInLoop;
  });
}

/// At equal cost a later reduction is better: another op may join it, unless a
/// loop overlaps the earlier one.
bool Search::isBetter(const FactorChoice &a, const FactorChoice &b) const {
  if (getCost(a) != getCost(b))
    return getCost(a) < getCost(b);
  return staysPartial(a) && !staysPartial(b);
}

llvm::SmallVector<FactorChoice> Search::run() {
  candidates.resize(rule.factors.size());
  for (unsigned i = 0; i < rule.factors.size(); ++i)
    collectCandidates(i);
  for (const Kept &kept : collectKept()) {
    AxisList used(kept.axes);
    visit(0, kept, used);
  }
  return std::move(best);
}

llvm::SmallVector<FactorChoice>
findFactorChoices(Operation *op, ArrayRef<OperandForms> operands,
                  ArrayRef<WantedResult> wanted, spmd::ReshardPlanner &planner,
                  nd::MeshAttr mesh, size_t count) {
  return Search(op, operands, wanted, planner, mesh, count).run();
}

} // namespace meshc::partition
