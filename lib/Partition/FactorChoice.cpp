//===- FactorChoice.cpp - which axes cut which factor of an op ------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Partition/FactorChoice.h"
#include "dialects/Spmd/OverlapPlan.h"

using namespace mlir;

namespace meshc::partition {

using nd::Factor;
using nd::FactorKind;
using nd::PartitionRule;
using nd::TensorType;
using spmd::AxisList;

double WantedResult::getCost(TensorType made,
                             spmd::ReshardPlanner &planner) const {
  TensorType part = scattered ? scatterSum(made, scattered) : made;
  double each = part == made ? 0 : planner.getCost(made, part);
  return each + planner.getCost(part, desired.settle(part)) * share;
}

/// More combinations than this are not searched; the first candidates are those
/// that the results want.
static constexpr int64_t searchLimit = 20000;

double getCost(const FactorChoice &choice) {
  return choice.bytes + choice.work;
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

/// Points of the iteration space of the whole op: multiply-adds of a product,
/// and at least the elements of the largest value. A dim that is looked up has
/// no points of its own.
static double countPoints(nd::NamedOpInterface op) {
  double points = op.getCost().flops / 2;
  for (Value value : llvm::concat<Value>(llvm::to_vector(op->getOperands()),
                                         llvm::to_vector(op->getResults())))
    points =
        std::max(points, double(nd::getTensorType(value).getElementCount()));
  return points;
}

bool hasMostPoints(Operation *op) {
  double points = countPoints(cast<nd::NamedOpInterface>(op));
  auto isSmaller = [&](Value value) {
    return double(nd::getTensorType(value).getElementCount()) < points;
  };
  return llvm::all_of(op->getOperands(), isSmaller) &&
         llvm::all_of(op->getResults(), isSmaller);
}

namespace {

class Search {
public:
  Search(Operation *op, ArrayRef<OperandForms> operands,
         ArrayRef<WantedResult> wanted, spmd::ReshardPlanner &planner,
         nd::MeshAttr mesh, const LinkedCuts &cuts, AxisMoves moves,
         size_t count)
      : op(op), moves(moves), count(count),
        rule(nd::joinOverlaps(
            cast<nd::NamedOpInterface>(op).getPartitionRule())),
        points(countPoints(cast<nd::NamedOpInterface>(op))),
        isProduct(hasMostPoints(op)), operands(operands), wanted(wanted),
        planner(planner), mesh(mesh), cuts(cuts),
        axesOfFactor(rule.factors.size()) {}

  llvm::SmallVector<FactorChoice> run();

private:
  /// Axes over which operands stay partial, and which operands do.
  struct Kept {
    AxisList axes;
    llvm::SmallVector<unsigned> operands;
  };

  /// Axes that may cut a factor.
  struct Candidate {
    AxisList axes;
    bool isMoved; ///< they cut no dim along the factor now
  };

  void forEachCut(llvm::function_ref<void(ArrayRef<StringAttr>)> visit) const;
  void addCandidate(unsigned factor, ArrayRef<StringAttr> axes,
                    bool isMoved = false);
  void collectCandidates(unsigned factor);
  void collectMoves(unsigned factor);
  bool mayStayPartial(unsigned operand) const;
  bool mayBecomePartial(unsigned operand) const;
  Kept keepAll() const;
  llvm::SmallVector<Kept> collectKept() const;
  void visit(unsigned factor, const Kept &kept, AxisList &used, bool hasMoved);
  void evaluate(const Kept &kept, bool hasMoved);
  bool areOverlapsAlone() const;
  bool getResultTypes(const Kept &kept, FactorChoice &choice) const;
  bool addOperandCosts(const Kept &kept, FactorChoice &choice);
  std::optional<double> getOperandBytes(const OperandForms &forms,
                                        TensorType type) const;
  bool addHaloCosts(FactorChoice &choice) const;

  bool staysPartial(const FactorChoice &choice) const;
  bool isBetter(const FactorChoice &a, const FactorChoice &b) const;

  Operation *op;
  AxisMoves moves;
  size_t count;
  PartitionRule rule;
  double points; ///< of the op on one device
  bool isProduct;
  ArrayRef<OperandForms> operands;
  ArrayRef<WantedResult> wanted;
  spmd::ReshardPlanner &planner;
  nd::MeshAttr mesh;
  const LinkedCuts &cuts;
  llvm::SmallVector<llvm::SmallVector<Candidate>> candidates;
  llvm::SmallVector<AxisList> axesOfFactor; ///< of the combination at hand
  llvm::SmallVector<FactorChoice> best; ///< at most `count`, the best one first
  /// The least cost of a choice that moves no axes.
  double leastInPlace = std::numeric_limits<double>::infinity();
  int64_t evaluated = 0;
};

} // namespace

/// Visits the axes that cut a dim in a wanted result, or in an operand as it is
/// available or will be.
void Search::forEachCut(
    llvm::function_ref<void(ArrayRef<StringAttr>)> visit) const {
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

void Search::addCandidate(unsigned factor, ArrayRef<StringAttr> axes,
                          bool isMoved) {
  // Every beginning of the list may do as well: where the factor is too small
  // for all of it, or a minor axis is needed elsewhere. Of axes that move,
  // these would be too many, so that only the longest one counts.
  for (size_t length = axes.size(); length > 0; --length) {
    AxisList list(axes.take_front(length));
    bool cutsAsNext =
        length < axes.size() && mesh.getAxisSize(axes[length]) == 1;
    if (cutsAsNext ||
        !nd::mayCut(op, rule.factors[factor], mesh.getProduct(list)))
      continue;
    if (llvm::none_of(candidates[factor], [&](const Candidate &known) {
          return known.axes == list;
        }))
      candidates[factor].push_back({list, isMoved});
    if (isMoved)
      return;
  }
}

void Search::collectCandidates(unsigned index) {
  const Factor &factor = rule.factors[index];
  if (factor.kind == FactorKind::Whole)
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
void Search::collectMoves(unsigned index) {
  const Factor &factor = rule.factors[index];
  if (factor.kind != FactorKind::Parallel && factor.kind != FactorKind::Reduce)
    return;
  auto own = candidates[index];
  auto add = [&](ArrayRef<StringAttr> axes) {
    addCandidate(index, axes, /*isMoved=*/true);
    for (const Candidate &first : own) {
      AxisList both(first.axes);
      for (StringAttr axis : axes)
        if (!llvm::is_contained(both, axis))
          both.push_back(axis);
      addCandidate(index, both, /*isMoved=*/true);
    }
  };
  AxisList idle(cuts.getAxes());
  forEachCut([&](ArrayRef<StringAttr> axes) {
    add(axes);
    llvm::erase_if(
        idle, [&](StringAttr axis) { return llvm::is_contained(axes, axis); });
  });
  for (StringAttr axis : idle)
    add(axis);
}

bool Search::mayStayPartial(unsigned operand) const {
  const OperandForms &forms = operands[operand];
  TensorType type = forms.types.empty() ? TensorType() : forms.types.front();
  return type && forms.mayStayPartial && type.isPartial() &&
         type.getPartialKind() == nd::ReductionKind::Sum;
}

/// Whether the operand is there as a whole value, or made so, which is a
/// partial sum once all ranks of a group but one have zeros instead.
bool Search::mayBecomePartial(unsigned operand) const {
  const OperandForms &forms = operands[operand];
  return forms.isRecomputed || llvm::any_of(forms.types, [](TensorType type) {
           return !type.isPartial();
         });
}

/// All operands of a jointly linear op: those that are partial stay so, over
/// the axes that they share, and the others become so.
Search::Kept Search::keepAll() const {
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

llvm::SmallVector<Search::Kept> Search::collectKept() const {
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

void Search::visit(unsigned factor, const Kept &kept, AxisList &used,
                   bool hasMoved) {
  if (evaluated >= searchLimit && !best.empty())
    return;
  if (factor == rule.factors.size())
    return evaluate(kept, hasMoved);
  for (const Candidate &candidate : candidates[factor]) {
    if ((candidate.isMoved && hasMoved) ||
        llvm::any_of(candidate.axes, [&](StringAttr axis) {
          return llvm::is_contained(used, axis);
        }))
      continue;
    axesOfFactor[factor] = candidate.axes;
    used.append(candidate.axes);
    visit(factor + 1, kept, used, hasMoved || candidate.isMoved);
    used.truncate(used.size() - candidate.axes.size());
  }
}

/// Whether each overlap that is cut has its dims for itself.
bool Search::areOverlapsAlone() const {
  auto isCut = [&](size_t i) { return !axesOfFactor[i].empty(); };
  for (auto [i, overlap] : llvm::enumerate(rule.factors)) {
    if (overlap.kind != FactorKind::Overlap || !isCut(i))
      continue;
    for (auto [j, other] : llvm::enumerate(rule.factors))
      if (i != j && isCut(j) && nd::shareDim(overlap, other))
        return false;
  }
  return true;
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
    spmd::sortByMesh(partial, mesh);
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
    TensorType whole = type;
    bool becomesPartial = false;
    if (llvm::is_contained(kept.operands, i)) {
      type = type.withPartial(nd::ReductionKind::Sum, kept.axes);
      becomesPartial = !mayStayPartial(i);
    }
    choice.operandTypes.push_back(type);
    // An operand that is there twice moves once.
    std::pair<Value, TensorType> move(op->getOperand(i), type);
    if (llvm::is_contained(moved, move))
      continue;
    moved.push_back(move);
    // To become partial takes one pass over the block.
    if (becomesPartial)
      choice.work += double(whole.getLocalElementCount(mesh));
    std::optional<double> bytes =
        getOperandBytes(operands[i], becomesPartial ? whole : type);
    if (!bytes)
      return false;
    choice.bytes += *bytes * operands[i].share;
  }
  return true;
}

/// The bytes to hold the operand as `type`; nothing if it cannot be.
std::optional<double> Search::getOperandBytes(const OperandForms &forms,
                                              TensorType type) const {
  if (forms.isRecomputed)
    return 0;
  std::optional<double> least;
  if (forms.willBeReduced && forms.settled && !type.isPartial())
    least = planner.getCost(forms.settled, type);
  for (TensorType form : forms.types) {
    if ((type.isPartial() && !form.isPartial()) ||
        (form.isPartial() && forms.willBeReduced))
      continue;
    double bytes = planner.getCost(form, type);
    least = least ? std::min(*least, bytes) : bytes;
  }
  return least;
}

/// What the op exchanges along Halo and Overlap factors. False if it cannot.
bool Search::addHaloCosts(FactorChoice &choice) const {
  for (auto [factor, axes] : llvm::zip(rule.factors, axesOfFactor)) {
    if (factor.kind != FactorKind::Halo || axes.empty())
      continue;
    auto plan = spmd::planWindow(choice.operandTypes, choice.resultTypes[0],
                                 factor.resultDims[0].getValue(),
                                 {factor.segments}, mesh);
    if (!plan)
      return false;
    choice.haloBytes += plan->bytes * planner.getByteCost(axes);
  }
  for (auto [factor, axes] : llvm::zip(rule.factors, axesOfFactor)) {
    if (factor.kind != FactorKind::Overlap || axes.empty())
      continue;
    auto plan = spmd::planOverlap(factor, choice.operandTypes,
                                  choice.resultTypes, mesh);
    if (!plan)
      return false;
    choice.haloBytes += plan->bytes * planner.getByteCost(axes);
  }
  choice.bytes += choice.haloBytes;
  return true;
}

void Search::evaluate(const Kept &kept, bool hasMoved) {
  if (!areOverlapsAlone())
    return;
  ++evaluated;
  FactorChoice choice;
  choice.movesAxes = hasMoved;
  if (!getResultTypes(kept, choice) || !addOperandCosts(kept, choice) ||
      !addHaloCosts(choice))
    return;
  for (auto [made, result] : llvm::zip(choice.resultTypes, wanted))
    choice.bytes += result.getCost(made, planner);
  double ofRank = points;
  for (const AxisList &axes : axesOfFactor)
    ofRank /= double(mesh.getProduct(axes));
  choice.work += ofRank;
  double cost = isProduct ? 1 : planner.getPointCost();
  choice.work *= cost * planner.getDearestByte();
  if (!hasMoved)
    leastInPlace = std::min(leastInPlace, getCost(choice));
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

/// At equal cost, axes stay where they are, and a later reduction is better:
/// another op may join it, unless a loop overlaps the earlier one.
bool Search::isBetter(const FactorChoice &a, const FactorChoice &b) const {
  if (getCost(a) != getCost(b))
    return getCost(a) < getCost(b);
  if (a.movesAxes != b.movesAxes)
    return b.movesAxes;
  return staysPartial(a) && !staysPartial(b);
}

llvm::SmallVector<FactorChoice> Search::run() {
  candidates.resize(rule.factors.size());
  // The sum of a product, say, may cost more to reduce than its operands to
  // move.
  bool mayMove = moves == AxisMoves::One && isProduct;
  for (unsigned i = 0; i < rule.factors.size(); ++i) {
    collectCandidates(i);
    if (mayMove)
      collectMoves(i);
    candidates[i].push_back({{}, /*isMoved=*/false});
  }
  for (const Kept &kept : collectKept()) {
    AxisList used(kept.axes);
    visit(0, kept, used, /*hasMoved=*/false);
  }
  llvm::erase_if(best, [&](const FactorChoice &choice) {
    return choice.movesAxes && getCost(choice) >= leastInPlace;
  });
  return std::move(best);
}

llvm::SmallVector<FactorChoice>
findFactorChoices(Operation *op, ArrayRef<OperandForms> operands,
                  ArrayRef<WantedResult> wanted, spmd::ReshardPlanner &planner,
                  nd::MeshAttr mesh, const LinkedCuts &cuts, AxisMoves moves,
                  size_t count) {
  return Search(op, operands, wanted, planner, mesh, cuts, moves, count).run();
}

} // namespace meshc::partition
