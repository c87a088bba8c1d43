//===- ChoosePartition.cpp - the partition of the least predicted time ----===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Pipeline/ChoosePartition.h"
#include "dialects/Spmd/FunctionPlans.h"
#include "dialects/Spmd/ParameterGathers.h"
#include "dialects/Spmd/ReshardPlan.h"
#include "dialects/Spmd/SpmdOps.h"
#include "lib/Cost/CostModel.h"
#include "lib/Partition/CarriedCuts.h"
#include "lib/Partition/ChoosePlans.h"
#include "lib/Partition/KeptForms.h"
#include "lib/Partition/LoopCopies.h"
#include "lib/Pipeline/Outcome.h"
#include "lib/Pipeline/Pipeline.h"
#include "lib/Pipeline/RunPhase.h"
#include "lib/Pipeline/Trial.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/DebugLog.h"
#include <utility>

#define DEBUG_TYPE "meshc-choose-partition"

using namespace mlir;

namespace meshc {

using partition::PlanOptions;

/// A step that is not shorter than this is no reason to move axes: predictions
/// are not that exact, and the usual plan has fewer kinds of collectives.
static constexpr double mostOfStep = 0.99;
/// What loops carry changes all that their bodies send. Of several such
/// programs, the shortest by `mostOfStep`.
static constexpr double mostOfStepCarried = 0.9;
/// The other trials change less, and must be worth their arena. All of them
/// together let it grow by at most a fourth.
static constexpr double mostOfArena = 1.25;
/// Only points that cost at most this are worth a trial. Less than the least
/// cost counts as that: of two programs that send equally much, the one that
/// computes less is better.
static constexpr double mostPointCost = 0.25, leastPointCost = 0.01;
static constexpr int mostTrials = 3;

/// Kernels are those of the host, so that programs for all targets are the same
/// up to the phase kernels, as far as the machine is the same; unless the
/// arena's size counts, which depends on the target.
static std::optional<Outcome> predict(ModuleOp program,
                                      const CompileOptions &options,
                                      const cost::Machine &machine) {
  CompileOptions common = options;
  if (!options.memoryBudget) {
    common.target = Target::Host;
    common.emulateGpu = false;
  }
  auto trial = tryPhases(program, "collectives", common, machine);
  if (!trial || trial->report["functions"].empty())
    return std::nullopt;
  return Outcome{trial->predictStep(machine), trial->arenaBytes,
                 !options.memoryBudget ||
                     trial->arenaBytes <= *options.memoryBudget};
}

namespace {
/// A program, and the plans from which it was built.
struct PartitionedProgram {
  OwningOpRef<ModuleOp> program;
  DictionaryAttr plans;
};

/// What plans are chosen for: the program after the phase layout, with the
/// shardings that a trial gives to some of its values, and what the search may
/// do.
struct Variant {
  OwningOpRef<ModuleOp> layout;
  PlanOptions options;

  Variant clone() const { return {layout.get().clone(), options}; }
};

/// The best partitioned program of those that were tried: that of the least
/// predicted step, as far as it is worth its memory.
class Choice {
public:
  Choice(ModuleOp layout, const CompileOptions &options,
         const cost::Machine &machine)
      : layout(layout), variant{layout.clone(), {}}, options(options),
        machine(machine) {}

  /// Partitions the program with the usual plans. Fails, with an error, if the
  /// program cannot be partitioned.
  ExitCode takeUsual();
  /// Whether what loops carry follows the axes that move, or stays as it is.
  enum class Carried { Follows, Stays };
  /// Tries to move axes in blocks that save less.
  void tryMoves(Carried carried = Carried::Follows);
  /// Tries to cut what loops carry over axes whose ranks repeat work.
  void tryCarried();
  /// Tries to keep values as other loops use them.
  void tryKept(partition::KeptForm form);
  /// Tries to keep copies of what several loops move.
  void tryCopies();
  /// Tries to gather parameters once for all micro-batches.
  void tryGatherOnce();
  /// Tries the cost of pointwise ops that the machine has. Returns whether the
  /// program is now another one.
  bool tryPointCost();
  /// The best plans, and their program.
  PartitionedProgram take() { return {std::move(program), plans}; }
  /// Whether plans of a trial could not be built, which is a defect of meshc.
  bool hasDefect() const { return isDefect; }

private:
  /// Whether the first outcome, of two that fit, is better.
  using Judge = bool (Choice::*)(const Outcome &, const Outcome &) const;
  bool isShorter(const Outcome &one, const Outcome &other) const;
  bool isMuchShorter(const Outcome &one, const Outcome &other) const;
  bool isWorthIt(const Outcome &one, const Outcome &other) const;

  /// The program that the plans are of; null, and a defect, if they cannot be
  /// built.
  OwningOpRef<ModuleOp> build(DictionaryAttr ofProgram);
  /// Predicts `best` unless it is known. Returns whether it is.
  bool knowsBest();
  /// Tries each dim over these axes together. Returns whether a program was
  /// kept.
  bool tryCarriedOver(ArrayRef<StringAttr> axes);
  enum class Tried { Refused, Same, Taken };
  /// What has become of `other`: nothing; `variant`, for the same program; or
  /// `variant` of another program.
  Tried tryOther(Variant other, Judge judge);

  ModuleOp layout; ///< after the phase layout
  Variant variant; ///< what `plans` were chosen for
  const CompileOptions &options;
  const cost::Machine &machine;
  DictionaryAttr plans;          ///< the best ones
  OwningOpRef<ModuleOp> program; ///< built from them
  std::optional<Outcome> best;   ///< of `program`, once it is known
  /// That of `program` before the trials that let its arena grow.
  int64_t arenaBefore = 0;
  /// What the last search has refused, if anything: the share that the next
  /// trial of moves may allow.
  std::optional<double> refusedShare;
  std::optional<double> shareOfBest; ///< what that of `plans` has refused
  bool cutsCarried = false;          ///< whether `program` does
  bool gathersOnce = false; ///< whether `program` does; its arena has grown
  bool isDefect = false;
};
} // namespace

OwningOpRef<ModuleOp> Choice::build(DictionaryAttr ofProgram) {
  OwningOpRef<ModuleOp> built = layout.clone();
  if (succeeded(spmd::setPlans(*built, ofProgram)) &&
      tryPhase(getPhases()[getPhaseNumber("partition")], *built, options) ==
          ExitCode::Success)
    return built;
  isDefect = true;
  return {};
}

ExitCode Choice::takeUsual() {
  auto chosen = partition::choosePlans(*variant.layout, variant.options);
  if (failed(chosen))
    return ExitCode::Input;
  plans = chosen->plans;
  refusedShare = shareOfBest = chosen->refusedShare;
  program = build(plans);
  return program ? ExitCode::Success : ExitCode::Internal;
}

static bool areEqual(ModuleOp a, ModuleOp b) {
  return spmd::gathersOnce(a) == spmd::gathersOnce(b) &&
         OperationEquivalence::isRegionEquivalentTo(
             &a.getBodyRegion(), &b.getBodyRegion(),
             OperationEquivalence::IgnoreLocations);
}

bool Choice::isShorter(const Outcome &one, const Outcome &other) const {
  return one.seconds < mostOfStep * other.seconds;
}

bool Choice::isMuchShorter(const Outcome &one, const Outcome &other) const {
  return one.seconds < mostOfStepCarried * other.seconds;
}

bool Choice::isWorthIt(const Outcome &one, const Outcome &other) const {
  if (options.memoryBudget || other.arenaBytes == 0)
    return one.getSaved(other) >= Outcome::leastGain;
  return one.isWorthItsArena(other) &&
         double(one.arenaBytes) <= mostOfArena * double(arenaBefore);
}

bool Choice::knowsBest() {
  if (!best && (best = predict(*program, options, machine)))
    arenaBefore = best->arenaBytes;
  return best.has_value();
}

/// Chooses plans for `other`, which is `variant` with changes. If their program
/// is better than the best one, it becomes the program, and `other` becomes
/// `variant`, also if the changes do nothing yet: they may with those of later
/// trials.
Choice::Tried Choice::tryOther(Variant other, Judge judge) {
  refusedShare.reset();
  auto chosen = partition::choosePlans(*other.layout, other.options);
  if (failed(chosen))
    return Tried::Refused;
  refusedShare = chosen->refusedShare;
  if (chosen->plans == plans) {
    variant = std::move(other);
    return Tried::Same;
  }
  OwningOpRef<ModuleOp> partitioned = build(chosen->plans);
  if (!partitioned)
    return Tried::Refused;
  if (areEqual(*partitioned, *program)) {
    variant = std::move(other);
    return Tried::Same;
  }
  if (!knowsBest())
    return Tried::Refused;
  std::optional<Outcome> outcome = predict(*partitioned, options, machine);
  if (!outcome)
    return Tried::Refused;
  LDBG() << "a step of " << outcome->seconds << " s, an arena of "
         << outcome->arenaBytes << " bytes; the best ones so far "
         << best->seconds << " s, " << best->arenaBytes << " bytes";
  if (!outcome->isBetterThan(*best, (this->*judge)(*outcome, *best)))
    return Tried::Refused;
  program = std::move(partitioned);
  plans = chosen->plans;
  variant = std::move(other);
  best = outcome;
  shareOfBest = refusedShare;
  return Tried::Taken;
}

void Choice::tryMoves(Carried carried) {
  refusedShare = shareOfBest;
  for (int trial = 0; trial < mostTrials && refusedShare; ++trial) {
    LDBG() << "blocks that send up to " << *refusedShare
           << " of their bytes where axes move";
    Variant other = variant.clone();
    if (carried == Carried::Stays &&
        !partition::keepCarried(*other.layout, *program))
      break;
    other.options.moveShare = *refusedShare;
    other.options.mayCutFurther = true;
    tryOther(std::move(other), &Choice::isShorter);
  }
  if (best && !gathersOnce)
    arenaBefore = best->arenaBytes;
}

bool Choice::tryCarriedOver(ArrayRef<StringAttr> axes) {
  bool isTaken = false;
  Variant base = variant.clone();
  auto cut = [&](ArrayRef<StringAttr> dims) {
    Variant other = base.clone();
    for (StringAttr axis : axes)
      partition::cutCarried(*other.layout, dims, axis);
    other.options.mayCutFurther = true;
    return other;
  };
  auto attempt = [&](Variant other) {
    Judge judge = cutsCarried ? &Choice::isShorter : &Choice::isMuchShorter;
    if (tryOther(std::move(other), judge) != Tried::Taken)
      return;
    isTaken = cutsCarried = true;
  };
  spmd::AxisList dims = partition::findCarriedDims(*base.layout, axes.front());
  for (auto [index, dim] : llvm::enumerate(dims)) {
    Variant other = cut(dim);
    // Loops that share no dim, each along a dim of its own.
    if (index == 0 && dims.size() > 1)
      if (Variant all = cut(dims); !areEqual(*all.layout, *other.layout))
        attempt(std::move(all));
    attempt(std::move(other));
  }
  return isTaken;
}

void Choice::tryCarried() {
  // Each program that is kept is shorter than the last one.
  for (bool isTaken = true; std::exchange(isTaken, false);) {
    const spmd::AxisList axes = partition::findRepeatedAxes(*program);
    if (axes.size() > 1)
      isTaken = tryCarriedOver(axes);
    for (StringAttr axis : axes)
      isTaken |= tryCarriedOver(axis);
  }
  if (cutsCarried)
    tryMoves();
  tryMoves(Carried::Stays);
}

void Choice::tryKept(partition::KeptForm form) {
  Variant other = variant.clone();
  if (!partition::keepAsUsed(*other.layout, *program, form))
    return;
  LDBG() << "values kept as other loops use them";
  tryOther(std::move(other), &Choice::isWorthIt);
}

void Choice::tryCopies() {
  const double most = partition::getMostForCopies(*program);
  if (most <= 0 || !knowsBest() || best->arenaBytes == 0)
    return;
  cost::CostModel model(machine, nd::MeshAttr::of(layout));
  double step = best->seconds * model.getFastestBandwidth();
  double usual = Outcome::priceOfArena * step / double(best->arenaBytes);
  // Within a budget, copies need not be worth their memory.
  llvm::SmallVector<double> costs = {usual};
  if (options.memoryBudget)
    costs.insert(costs.begin(), usual / 100);
  for (double cost : costs) {
    if (cost >= most)
      return;
    LDBG() << "copies of what several loops move, at the cost of " << cost
           << " bytes";
    Variant other = variant.clone();
    other.options.keptByteCost = cost;
    if (tryOther(std::move(other), &Choice::isWorthIt) != Tried::Refused)
      return;
  }
}

void Choice::tryGatherOnce() {
  bool gathers = false;
  (*program)->walk(
      [&](spmd::ReshardOp op) { gathers |= spmd::gathersForMicroBatch(op); });
  if (!gathers)
    return;
  LDBG() << "parameters gathered once for all micro-batches";
  Variant other = variant.clone();
  other.options.gathersOnce = true;
  gathersOnce = tryOther(std::move(other), &Choice::isWorthIt) == Tried::Taken;
}

bool Choice::tryPointCost() {
  auto mesh = nd::MeshAttr::of(layout);
  if (!mesh || mesh.getRankCount() == 1)
    return false;
  double cost = cost::CostModel(machine, mesh).getPointCost();
  if (cost > mostPointCost)
    return false;
  cost = std::max(cost, leastPointCost);
  LDBG() << "points of pointwise ops at the cost of " << cost << " bytes";
  Variant other = variant.clone();
  other.options.pointCost = cost;
  return tryOther(std::move(other), &Choice::isWorthIt) == Tried::Taken;
}

/// The best program for the layout, which stays as it is.
static ExitCode choose(Choice &choice, MLIRContext *context) {
  if (ExitCode code = choice.takeUsual(); code != ExitCode::Success)
    return code;
  ScopedDiagnosticHandler silent(context,
                                 [](Diagnostic &) { return success(); });
  choice.tryGatherOnce();
  choice.tryMoves();
  choice.tryCarried();
  choice.tryKept(partition::KeptForm::Placed);
  choice.tryCopies();
  choice.tryKept(partition::KeptForm::Exact);
  if (choice.tryPointCost())
    choice.tryKept(partition::KeptForm::Exact);
  return ExitCode::Success;
}

ExitCode partitionProgram(OwningOpRef<ModuleOp> &program,
                          const CompileOptions &options,
                          const cost::Machine &machine, DictionaryAttr *plans) {
  const Phase &phase = getPhases()[getPhaseNumber("partition")];
  if (ExitCode code = unrollLoops(phase, *program, options);
      code != ExitCode::Success)
    return code;
  Choice choice(*program, options, machine);
  if (ExitCode code = choose(choice, program->getContext());
      code != ExitCode::Success)
    return code;
  // A user is better off with the best program that could be built.
  if (choice.hasDefect() && options.verify != Verify::None)
    return ExitCode::Internal;
  PartitionedProgram chosen = choice.take();
  program = std::move(chosen.program);
  if (plans)
    *plans = chosen.plans;
  return ExitCode::Success;
}

} // namespace meshc
