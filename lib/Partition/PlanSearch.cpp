//===- PlanSearch.cpp - the best plans of a program -----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Partition/PlanSearch.h"
#include "dialects/Spmd/ParameterGathers.h"
#include "lib/Partition/ChoosePlans.h"
#include "lib/Partition/LoopCopies.h"
#include "lib/Partition/MoveLimit.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/DebugLog.h"
#include <utility>

#define DEBUG_TYPE "meshc-search-plans"

using namespace mlir;

namespace meshc::partition {

using cost::Outcome;

/// A step that is not shorter than this is no reason to move axes: prices are
/// not that exact, and the usual plans have fewer kinds of collectives.
static constexpr double mostOfStep = 0.99;
/// What loops carry changes all that their bodies send: a plan that sends more
/// than the usual one must also take at most this share of its step.
static constexpr double mostOfStepCarried = 0.9;
/// Of a step, that an axis' collectives take. Less is not worth a trial.
static constexpr double leastWait = 0.02;
/// Bytes that count as no more.
static constexpr double mostBytes = 1.005;
/// The small moves together let the arena grow by at most a fourth.
static constexpr double mostOfArena = 1.25;
/// Only points that cost at most this are worth a move. Less than the least
/// cost counts as that: of two programs that send equally much, the one that
/// computes less is better.
static constexpr double mostPointCost = 0.25, leastPointCost = 0.01;
static constexpr int mostMoves = 3;
/// The ratio of two prices may be wrong by so much. Where it is closer to what
/// matters, the programs are compiled. Where a machine computes while
/// collectives run, prices know less of what is hidden.
static constexpr double errorOfPrice = 0.05, errorOfOverlap = 0.1;

namespace {
/// Plans, and what is known of them.
struct Candidate {
  PlanOptions options; ///< with which they were chosen
  ChosenPlans chosen;
  bool isComplete = false; ///< of all functions, not only of the compared one
  std::optional<Outcome> outcome = {}; ///< once they have been compiled

  double getSeconds() const {
    return chosen.price ? chosen.price->time.seconds : 0;
  }
  /// Whether a step sends more bytes, over all axes together.
  bool sendsMore(const Candidate &than) const {
    return getBytes() > mostBytes * than.getBytes();
  }

private:
  double getBytes() const {
    double bytes = 0;
    if (chosen.price)
      for (const AxisPrice &sent : chosen.price->axes)
        bytes += sent.bytes;
    return bytes;
  }
};

class PlanSearch {
public:
  PlanSearch(ModuleOp layout, const SearchGoals &goals)
      : layout(layout), compared(findCompared(layout)),
        mesh(nd::MeshAttr::of(layout)), goals(goals),
        planner(reshard::ReshardPlanner::of(layout)) {}

  LogicalResult takeUsual();
  void improve();
  DictionaryAttr finish();

private:
  /// How much better a candidate must be: shorter than the best one, also much
  /// shorter than the usual one, or worth what it changes.
  enum class Judge { Shorter, MuchShorter, WorthIt };
  enum class Tried { Refused, Same, Taken };

  bool isBetter(Candidate &other, Judge judge);
  bool isShorter(Candidate &other, Candidate &than, double most);
  double getError() const {
    return errorOfPrice + errorOfOverlap * goals.model.getMachine().overlap;
  }
  bool isWorthIt(Candidate &other);
  bool complete(Candidate &candidate);
  bool compile(Candidate &candidate);
  Tried tryOther(PlanOptions options, Judge judge);

  /// Whether what loops carry follows the axes that move, or stays as it is.
  enum class Carried { Follows, Stays };
  void tryMoves(Carried carried = Carried::Follows);
  void tryUncut();
  void tryCarriedOver(ArrayRef<StringAttr> axes);
  void tryCarried();
  void tryKept(KeptForm form);
  void tryCopies();
  void tryGatherOnce();
  bool tryPointCost();
  spmd::AxisList findAxesToCut() const;

  ModuleOp layout;
  func::FuncOp compared; ///< whose price decides; null if there is none
  nd::MeshAttr mesh;
  const SearchGoals &goals;
  reshard::ReshardPlanner planner;
  Candidate best;
  std::optional<Candidate> usual; ///< once it is not the best one any more
  /// The arena before the moves that may let it grow.
  std::optional<int64_t> arenaBefore;
  /// What the last search has refused, if anything: the share that the next
  /// move of axes may allow.
  std::optional<double> refusedShare;
  bool cutsCarried = false; ///< whether `best` does
  bool gathersOnce = false; ///< whether `best` does; its arena has grown
};
} // namespace

//===----------------------------------------------------------------------===//
// What is better
//===----------------------------------------------------------------------===//

/// Chooses the plans of all functions unless it has been done. Returns whether
/// there are any.
bool PlanSearch::complete(Candidate &candidate) {
  if (candidate.isComplete)
    return true;
  auto chosen = choosePlans(layout, candidate.options, &goals.model);
  if (failed(chosen))
    return false;
  candidate.chosen = std::move(*chosen);
  return candidate.isComplete = true;
}

/// Compiles the candidate unless it has been. Returns whether its outcome is
/// known.
bool PlanSearch::compile(Candidate &candidate) {
  if (!candidate.outcome && complete(candidate))
    candidate.outcome = goals.compile(candidate.chosen.plans);
  return candidate.outcome.has_value();
}

/// Whether the candidate's step takes less than this share of another one's.
bool PlanSearch::isShorter(Candidate &other, Candidate &than, double most) {
  const double share = other.getSeconds() / than.getSeconds();
  if (std::abs(share - most) > getError())
    return share < most;
  return compile(than) && compile(other) &&
         other.outcome->seconds < most * than.outcome->seconds;
}

/// Whether the candidate is worth what it changes, memory included.
bool PlanSearch::isWorthIt(Candidate &other) {
  if (other.getSeconds() > (1 + getError()) * best.getSeconds())
    return false;
  if (!compile(best))
    return false;
  if (!arenaBefore)
    arenaBefore = best.outcome->arenaBytes;
  if (!compile(other))
    return false;
  if (best.outcome->arenaBytes == 0)
    return other.outcome->getSaved(*best.outcome) >= Outcome::leastGain;
  return other.outcome->isWorthItsArena(*best.outcome) &&
         double(other.outcome->arenaBytes) <=
             mostOfArena * double(*arenaBefore);
}

bool PlanSearch::isBetter(Candidate &other, Judge judge) {
  if (!goals.hasMemoryBudget) {
    if (judge == Judge::WorthIt)
      return isWorthIt(other);
    Candidate &before = usual ? *usual : best;
    return isShorter(other, best, mostOfStep) &&
           (judge == Judge::Shorter || !other.sendsMore(before) ||
            isShorter(other, before, mostOfStepCarried));
  }
  if (!compile(best) || !compile(other))
    return false;
  const double most =
      judge == Judge::MuchShorter ? mostOfStepCarried : mostOfStep;
  const double saved = other.outcome->getSaved(*best.outcome);
  const bool isPreferred =
      judge == Judge::WorthIt ? saved >= Outcome::leastGain : saved > 1 - most;
  return other.outcome->isBetterThan(*best.outcome, isPreferred);
}

/// Whether the plans of the compared function are the same, as far as their
/// prices tell: steps may be in another order, or name another of two equal
/// forms.
static bool areAlike(const ChosenPlans &a, const ChosenPlans &b) {
  return a.price && b.price && a.price->arenaBytes == b.price->arenaBytes &&
         a.price->time.seconds == b.price->time.seconds &&
         a.price->time.kernels == b.price->time.kernels &&
         a.price->axes == b.price->axes;
}

/// Chooses plans with other options. If they are better than the best ones,
/// they become these. If they are like them, the options stay: what they change
/// may matter together with later moves.
PlanSearch::Tried PlanSearch::tryOther(PlanOptions options, Judge judge) {
  refusedShare.reset();
  auto chosen = choosePlans(layout, options, &goals.model, Planned::Compared);
  if (failed(chosen))
    return Tried::Refused;
  refusedShare = chosen->refusedShare;
  if (areAlike(*chosen, best.chosen)) {
    best.options = std::move(options);
    return Tried::Same;
  }
  Candidate other{std::move(options), std::move(*chosen)};
  if (best.getSeconds() <= 0)
    return Tried::Refused;
  const bool isTaken = isBetter(other, judge) && complete(other);
  LDBG() << "a step of " << other.getSeconds() << " s by its price; the best "
         << "one so far " << best.getSeconds() << " s; "
         << (isTaken ? "taken" : "refused");
  if (!isTaken)
    return Tried::Refused;
  if (!usual)
    usual = std::move(best);
  best = std::move(other);
  return Tried::Taken;
}

//===----------------------------------------------------------------------===//
// Moves
//===----------------------------------------------------------------------===//

/// The axes along which a step of the best plans may be much shorter if they
/// cut what loops carry: ranks repeat work, or wait for collectives.
spmd::AxisList PlanSearch::findAxesToCut() const {
  spmd::AxisList axes;
  for (const FunctionPlan &each : best.chosen.functions)
    if (each.function == compared)
      axes = findRepeatedAxes(*each.plan, mesh);
  const double least = leastWait * best.getSeconds();
  if (best.chosen.price)
    for (const AxisPrice &sent : best.chosen.price->axes)
      if (std::min(sent.seconds, best.chosen.price->time.exposed) > least &&
          !llvm::is_contained(axes, sent.axis))
        axes.push_back(sent.axis);
  spmd::sortByMesh(axes, mesh);
  return axes;
}

void PlanSearch::tryMoves(Carried carried) {
  refusedShare = best.chosen.refusedShare;
  for (int move = 0; move < mostMoves && refusedShare; ++move) {
    LDBG() << "blocks that send up to " << *refusedShare
           << " of their bytes where axes move";
    PlanOptions options = best.options;
    if (carried == Carried::Stays &&
        !keepCarried(best.chosen.functions, options.ties))
      break;
    options.moveShare = *refusedShare;
    options.mayCutFurther = true;
    tryOther(std::move(options), Judge::Shorter);
  }
  if (!gathersOnce)
    arenaBefore.reset();
}

/// Loops carry open dims whole, and the axes move in their bodies.
void PlanSearch::tryUncut() {
  PlanOptions options = best.options;
  if (!uncutCarried(best.chosen.functions, options.ties))
    return;
  LDBG() << "loops carry open dims whole";
  options.moveShare = std::max(options.moveShare, 1.0);
  options.mayCutFurther = true;
  tryOther(std::move(options), Judge::Shorter);
}

/// Cuts each dim over these axes together.
void PlanSearch::tryCarriedOver(ArrayRef<StringAttr> axes) {
  const PlanOptions before = best.options;
  auto attempt = [&](ArrayRef<StringAttr> dims) {
    PlanOptions options = before;
    for (StringAttr axis : axes)
      cutCarried(compared, dims, axis, options.ties);
    options.mayCutFurther = true;
    auto take = [&] {
      const Judge judge = cutsCarried ? Judge::Shorter : Judge::MuchShorter;
      if (tryOther(options, judge) == Tried::Taken)
        cutsCarried = true;
    };
    take();
    // Axes that move in the bodies may pay off only with it.
    if (refusedShare && options.moveShare < 1) {
      options.moveShare = 1;
      take();
    }
  };
  const spmd::AxisList dims =
      findCarriedDims(compared, axes.front(), before.ties);
  // Loops that share no dim, each along a dim of its own.
  if (dims.size() > 1)
    attempt(dims);
  for (StringAttr dim : dims)
    attempt(dim);
}

void PlanSearch::tryCarried() {
  // Each round makes the step much shorter, or is the last one.
  double before;
  do {
    before = best.getSeconds();
    const spmd::AxisList axes = findAxesToCut();
    if (axes.size() > 1)
      tryCarriedOver(axes);
    for (StringAttr axis : axes)
      tryCarriedOver(axis);
  } while (best.getSeconds() < mostOfStepCarried * before);
  if (cutsCarried)
    tryMoves();
  tryMoves(Carried::Stays);
  tryUncut();
}

void PlanSearch::tryKept(KeptForm form) {
  PlanOptions options = best.options;
  if (!keepAsUsed(best.chosen.functions, form, planner, options.ties))
    return;
  LDBG() << "values kept as other loops use them";
  tryOther(std::move(options), Judge::WorthIt);
}

void PlanSearch::tryCopies() {
  const double most = getMostForCopies(best.chosen.functions, planner, mesh);
  if (most <= 0 || !compile(best) || best.outcome->arenaBytes == 0)
    return;
  double step = best.outcome->seconds * goals.model.getFastestBandwidth();
  double usualCost =
      Outcome::priceOfArena * step / double(best.outcome->arenaBytes);
  // Within a budget, copies need not be worth their memory.
  llvm::SmallVector<double> costs = {usualCost};
  if (goals.hasMemoryBudget)
    costs.insert(costs.begin(), usualCost / 100);
  for (double cost : costs) {
    if (cost >= most)
      return;
    LDBG() << "copies of what several loops move, at the cost of " << cost
           << " bytes";
    PlanOptions options = best.options;
    options.keptByteCost = cost;
    if (tryOther(std::move(options), Judge::WorthIt) != Tried::Refused)
      return;
  }
}

/// Whether a loop over micro-batches gathers parameters in the plans.
static bool gathersForMicroBatches(FunctionPlans plans, nd::MeshAttr mesh) {
  bool gathers = false;
  auto look = [&](nd::ScanOp loop, const BlockPlan &body, const BlockPlan &) {
    while (loop && !loop.getMicroBatches())
      loop = loop->getParentOfType<nd::ScanOp>();
    if (loop)
      gathers |= llvm::any_of(body.steps, [&](const PlanStep &step) {
        return step.kind == spmd::StepKind::Move &&
               step.results[0].getLocalBytes(mesh) >
                   step.operands[0].getLocalBytes(mesh) &&
               spmd::isOfParameter(step.value);
      });
  };
  for (const FunctionPlan &each : plans)
    forEachLoop(*each.plan, look);
  return gathers;
}

void PlanSearch::tryGatherOnce() {
  if (!gathersForMicroBatches(best.chosen.functions, mesh))
    return;
  LDBG() << "parameters gathered once for all micro-batches";
  PlanOptions options = best.options;
  options.gathersOnce = true;
  gathersOnce = tryOther(std::move(options), Judge::WorthIt) == Tried::Taken;
}

/// Returns whether the plans are now other ones.
bool PlanSearch::tryPointCost() {
  if (!mesh || mesh.getRankCount() == 1)
    return false;
  double cost = goals.model.getPointCost();
  if (cost > mostPointCost)
    return false;
  cost = std::max(cost, leastPointCost);
  LDBG() << "points of pointwise ops at the cost of " << cost << " bytes";
  PlanOptions options = best.options;
  options.pointCost = cost;
  return tryOther(std::move(options), Judge::WorthIt) == Tried::Taken;
}

//===----------------------------------------------------------------------===//
// The search
//===----------------------------------------------------------------------===//

LogicalResult PlanSearch::takeUsual() {
  auto chosen = choosePlans(layout, best.options, &goals.model);
  if (failed(chosen))
    return failure();
  best.chosen = std::move(*chosen);
  best.isComplete = true;
  return success();
}

void PlanSearch::improve() {
  ScopedDiagnosticHandler silent(layout.getContext(),
                                 [](Diagnostic &) { return success(); });
  tryGatherOnce();
  tryMoves();
  tryCarried();
  tryKept(KeptForm::Placed);
  tryCopies();
  tryKept(KeptForm::Exact);
  if (tryPointCost())
    tryKept(KeptForm::Exact);
}

/// The best plans that can be compiled, and that keep what their prices say.
DictionaryAttr PlanSearch::finish() {
  if (!usual)
    return best.chosen.plans;
  const bool isBetter =
      compile(*usual) && compile(best) &&
      best.outcome->isBetterThan(*usual->outcome, /*isPreferred=*/true) &&
      (goals.hasMemoryBudget ||
       best.outcome->seconds <= usual->outcome->seconds ||
       best.outcome->isWorthItsArena(*usual->outcome));
  return (isBetter ? best : *usual).chosen.plans;
}

FailureOr<DictionaryAttr> searchPlans(ModuleOp layout,
                                      const SearchGoals &goals) {
  PlanSearch search(layout, goals);
  if (failed(search.takeUsual()))
    return failure();
  search.improve();
  return search.finish();
}

} // namespace meshc::partition
