//===- FactorChoice.cpp - which axes cut which factor of an op ------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Partition/FactorChoice.h"
#include "dialects/Spmd/OverlapPlan.h"
#include "lib/Partition/FactorCandidates.h"
#include <map>

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
  return planner.getCost(made, part) +
         planner.getCost(part, desired.settle(part)) * share;
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
        axesOfFactor(rule.factors.size()), chosen(rule.factors.size()) {}

  llvm::SmallVector<FactorChoice> run();

private:
  /// Axes over which operands stay partial, and which operands do.
  struct Kept {
    AxisList axes;
    llvm::SmallVector<unsigned> operands;
  };

  /// An operand as the axes at hand cut it.
  struct CutOperand {
    TensorType type; ///< without sums that stay; null if it cannot be cut so
    /// What it sends to be there, once in `OperandForms::share` executions of
    /// the op; nothing if it cannot be.
    std::optional<double> bytes;
  };

  bool mayStayPartial(unsigned operand) const;
  bool mayBecomePartial(unsigned operand) const;
  Kept keepAll() const;
  llvm::SmallVector<Kept> collectKept() const;
  void visit(unsigned factor, const Kept &kept, AxisList &used, bool hasMoved);
  void evaluate(const Kept &kept, bool hasMoved);
  bool areOverlapsAlone() const;
  bool getResultTypes(const Kept &kept, FactorChoice &choice) const;
  const CutOperand &getCutOperand(unsigned operand, const Kept &kept);
  bool addOperandCosts(const Kept &kept, FactorChoice &choice,
                       double leastWork);
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
  llvm::SmallVector<FactorCandidates> candidates; ///< of each factor
  llvm::SmallVector<AxisList> axesOfFactor; ///< of the combination at hand
  llvm::SmallVector<unsigned> chosen;       ///< the numbers of these candidates
  /// For the same sums that stay, each operand by the numbers of the candidates
  /// that cut its dims. Many combinations differ in other factors.
  using CutOperands = std::map<llvm::SmallVector<unsigned>, CutOperand>;
  llvm::SmallVector<CutOperands> cutOperands;
  llvm::SmallVector<FactorChoice> best; ///< at most `count`, the best one first
  /// The least cost of a choice that moves no axes. Choices that cost more than
  /// all of `best` do not count.
  double leastInPlace = std::numeric_limits<double>::infinity();
  int64_t evaluated = 0;
};

} // namespace

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
  for (auto [number, candidate] : llvm::enumerate(candidates[factor])) {
    if ((candidate.isMoved && hasMoved) ||
        llvm::any_of(candidate.axes, [&](StringAttr axis) {
          return llvm::is_contained(used, axis);
        }))
      continue;
    axesOfFactor[factor] = candidate.axes;
    chosen[factor] = number;
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

const Search::CutOperand &Search::getCutOperand(unsigned operand,
                                                const Kept &kept) {
  llvm::SmallVector<unsigned> key;
  for (auto [factor, number] : llvm::zip(rule.factors, chosen))
    if (factor.operandDims[operand])
      key.push_back(number);
  auto [it, isNew] = cutOperands[operand].try_emplace(std::move(key));
  CutOperand &cut = it->second;
  if (!isNew)
    return cut;
  cut.type = getTypeAlong(
      nd::getTensorType(op->getOperand(operand)), rule, axesOfFactor,
      [&](const Factor &factor) { return factor.operandDims[operand]; });
  if (!cut.type)
    return cut;
  // A whole value becomes a part of a sum where it lies.
  bool staysPartial =
      llvm::is_contained(kept.operands, operand) && mayStayPartial(operand);
  cut.bytes = getOperandBytes(
      operands[operand],
      staysPartial ? cut.type.withPartial(nd::ReductionKind::Sum, kept.axes)
                   : cut.type);
  return cut;
}

/// Adds what the operands cost. False if the op cannot have them so, or if they
/// and the work, whose cost is at least `leastWork`, cost more than the choices
/// that are known. Then the reshards of the other operands are not planned.
bool Search::addOperandCosts(const Kept &kept, FactorChoice &choice,
                             double leastWork) {
  llvm::SmallVector<std::pair<Value, TensorType>> moved;
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    if (best.size() == count && choice.bytes + leastWork > getCost(best.back()))
      return false;
    const CutOperand &cut = getCutOperand(i, kept);
    if (!cut.bytes)
      return false;
    const bool isKept = llvm::is_contained(kept.operands, i);
    TensorType type =
        isKept ? cut.type.withPartial(nd::ReductionKind::Sum, kept.axes)
               : cut.type;
    choice.operandTypes.push_back(type);
    // An operand that is there twice moves once.
    std::pair<Value, TensorType> move(op->getOperand(i), type);
    if (llvm::is_contained(moved, move))
      continue;
    moved.push_back(move);
    // To become partial takes one pass over the block.
    if (isKept && !mayStayPartial(i))
      choice.work += double(cut.type.getLocalElementCount(mesh));
    choice.bytes += *cut.bytes * operands[i].share;
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
  double ofRank = points;
  for (const AxisList &axes : axesOfFactor)
    ofRank /= double(mesh.getProduct(axes));
  const double cost =
      (isProduct ? 1 : planner.getPointCost()) * planner.getDearestByte();
  if (!addOperandCosts(kept, choice, ofRank * cost) ||
      !getResultTypes(kept, choice) || !addHaloCosts(choice))
    return;
  for (auto [made, result] : llvm::zip(choice.resultTypes, wanted))
    choice.bytes += result.getCost(made, planner);
  choice.work += ofRank;
  choice.work *= cost;
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
  // The sum of a product, say, may cost more to reduce than its operands to
  // move.
  candidates = findCandidates(op, rule, operands, wanted, mesh, cuts,
                              moves == AxisMoves::One && isProduct);
  for (const Kept &kept : collectKept()) {
    cutOperands.assign(operands.size(), {});
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
