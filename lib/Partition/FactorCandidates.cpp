//===- FactorCandidates.cpp - the axes that may cut an op -----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Partition/FactorCandidates.h"

using namespace mlir;

namespace meshc::partition {

using nd::Factor;
using nd::FactorEffect;
using nd::TensorType;
using spmd::AxisList;

namespace {
class Finder {
public:
  Finder(Operation *op, const nd::PartitionRule &rule,
         ArrayRef<OperandForms> operands, ArrayRef<WantedResult> wanted,
         nd::MeshAttr mesh, const LinkedCuts &cuts)
      : op(op), rule(rule), operands(operands), wanted(wanted), mesh(mesh),
        cuts(cuts), candidates(rule.factors.size()) {}

  llvm::SmallVector<FactorCandidates> run(Movable movable);

private:
  using Visit = llvm::function_ref<void(ArrayRef<StringAttr>)>;
  void forEachCut(Visit visit) const;
  void forEachWholeCut(Visit visit) const;
  void addCandidate(unsigned factor, ArrayRef<StringAttr> axes,
                    bool isMoved = false);
  void collectCandidates(unsigned factor);
  void collectMoves(unsigned factor, Movable movable);

  Operation *op;
  const nd::PartitionRule &rule;
  ArrayRef<OperandForms> operands;
  ArrayRef<WantedResult> wanted;
  nd::MeshAttr mesh;
  const LinkedCuts &cuts;
  llvm::SmallVector<FactorCandidates> candidates;
};
} // namespace

/// Visits the axes that cut a dim in a wanted result, or in an operand as it is
/// available or will be.
void Finder::forEachCut(Visit visit) const {
  auto visitType = [&](TensorType type) {
    if (type)
      for (nd::DimAttr dim : type.getDims())
        if (!dim.getAxes().empty())
          visit(dim.getAxes());
  };
  for (const WantedResult &result : wanted)
    visitType(result.desired.preferred);
  for (const OperandForms &forms : operands)
    if (!forms.isRecomputed) {
      llvm::for_each(forms.types, visitType);
      visitType(forms.settled);
    }
}

/// Of these, visits the axes of the dims along Whole factors, which they must
/// leave.
void Finder::forEachWholeCut(Visit visit) const {
  auto visitDim = [&](TensorType type, StringAttr dim) {
    if (!type || !dim)
      return;
    if (auto axes = spmd::getAxesOf(type, dim.getValue()); !axes.empty())
      visit(axes);
  };
  for (const Factor &factor : rule.factors) {
    if (factor.effect != FactorEffect::Whole)
      continue;
    for (auto [result, dim] : llvm::zip(wanted, factor.resultDims))
      visitDim(result.desired.preferred, dim);
    for (auto [forms, dim] : llvm::zip(operands, factor.operandDims))
      if (!forms.isRecomputed) {
        for (TensorType type : forms.types)
          visitDim(type, dim);
        visitDim(forms.settled, dim);
      }
  }
}

void Finder::addCandidate(unsigned factor, ArrayRef<StringAttr> axes,
                          bool isMoved) {
  // Every beginning of the list may do as well: where the factor is too small
  // for all of it, or a minor axis is needed elsewhere. Of axes that move,
  // these would be too many, so that only the longest one counts.
  for (size_t length = axes.size(); length > 0; --length) {
    AxisList list(axes.take_front(length));
    bool cutsAsNext =
        length < axes.size() && mesh.getAxisSize(axes[length]) == 1;
    if (cutsAsNext ||
        !nd::mayCutOrExchange(op, rule.factors[factor], mesh.getProduct(list)))
      continue;
    if (llvm::none_of(candidates[factor], [&](const FactorCandidate &known) {
          return known.axes == list;
        }))
      candidates[factor].push_back({list, isMoved});
    if (isMoved)
      return;
  }
}

void Finder::collectCandidates(unsigned index) {
  const Factor &factor = rule.factors[index];
  if (factor.effect == FactorEffect::Whole)
    return;
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
  for (const AxisList &axes : cuts.get(op, factor))
    addCandidate(index, axes);
}

/// Adds the axes of other dims, and those that cut nothing of this op but other
/// values of the block, so that ranks along them compute the same: alone, or
/// after those that the factor has.
void Finder::collectMoves(unsigned index, Movable movable) {
  const Factor &factor = rule.factors[index];
  if (factor.effect == FactorEffect::Whole || factor.needsNeighbours())
    return;
  auto own = candidates[index];
  auto add = [&](ArrayRef<StringAttr> axes) {
    addCandidate(index, axes, /*isMoved=*/true);
    for (const FactorCandidate &first : own) {
      AxisList both(first.axes);
      for (StringAttr axis : axes)
        if (!llvm::is_contained(both, axis))
          both.push_back(axis);
      addCandidate(index, both, /*isMoved=*/true);
    }
  };
  if (movable == Movable::OfWholeDims)
    return forEachWholeCut(add);
  AxisList idle(cuts.getAxes());
  forEachCut([&](ArrayRef<StringAttr> axes) {
    add(axes);
    llvm::erase_if(
        idle, [&](StringAttr axis) { return llvm::is_contained(axes, axis); });
  });
  for (StringAttr axis : idle)
    add(axis);
}

llvm::SmallVector<FactorCandidates> Finder::run(Movable movable) {
  for (unsigned i = 0; i < rule.factors.size(); ++i) {
    collectCandidates(i);
    if (movable != Movable::None)
      collectMoves(i, movable);
    candidates[i].push_back({{}, /*isMoved=*/false});
  }
  return std::move(candidates);
}

llvm::SmallVector<FactorCandidates>
findCandidates(Operation *op, const nd::PartitionRule &rule,
               ArrayRef<OperandForms> operands, ArrayRef<WantedResult> wanted,
               nd::MeshAttr mesh, const LinkedCuts &cuts, Movable movable) {
  return Finder(op, rule, operands, wanted, mesh, cuts).run(movable);
}

} // namespace meshc::partition
