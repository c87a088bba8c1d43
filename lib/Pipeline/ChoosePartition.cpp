//===- ChoosePartition.cpp - the partition of the least predicted time ----===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Pipeline/ChoosePartition.h"
#include "dialects/Spmd/ReshardPlan.h"
#include "lib/Cost/CostModel.h"
#include "lib/Partition/KeptForms.h"
#include "lib/Partition/MoveLimit.h"
#include "lib/Pipeline/Pipeline.h"
#include "lib/Pipeline/RunPhase.h"
#include "lib/Pipeline/Trial.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "meshc-choose-partition"

using namespace mlir;

namespace meshc {

/// A step that is not shorter than this is no reason to move axes: predictions
/// are not that exact, and the usual plan has fewer kinds of collectives. The
/// other trials change less, and need not save as much.
static constexpr double mostOfStep = 0.99, mostOfLikeStep = 0.998;
/// They are not kept if the arena grows by more than this: a larger batch or
/// less recomputation is a better use of the memory.
static constexpr double mostOfArena = 1.05;
/// Only points that cost at most this are worth a trial. Less than the least
/// cost counts as that: of two programs that send equally much, the one that
/// computes less is better.
static constexpr double mostPointCost = 0.25, leastPointCost = 0.01;
static constexpr int mostTrials = 3;

namespace {
/// What is known of a partitioned program.
struct Outcome {
  double seconds = 0; ///< of its step
  int64_t arenaBytes = 0;
  bool fits = true; ///< in the memory budget

  /// A program that fits; of those that do, one that takes at most these shares
  /// of the other one's time and arena; of those that do not, the smaller one.
  bool isBetterThan(const Outcome &other, double ofStep, double ofArena) const {
    if (fits != other.fits)
      return fits;
    return fits ? seconds < ofStep * other.seconds &&
                      double(arenaBytes) <= ofArena * double(other.arenaBytes)
                : arenaBytes < other.arenaBytes;
  }
};
} // namespace

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
/// The partitioned program of the least predicted step, of those that were
/// tried.
class Choice {
public:
  Choice(OwningOpRef<ModuleOp> &program, const CompileOptions &options,
         const cost::Machine &machine)
      : program(program), layout(program->clone()), options(options),
        machine(machine) {}

  /// Partitions the program with the usual limit for moves of axes. Fails, with
  /// an error, if the program cannot be partitioned.
  ExitCode takeUsual();
  /// Tries to move axes in blocks that save less.
  void tryMoves();
  /// Tries to keep values as other loops use them.
  void tryKept();
  /// Tries the cost of pointwise ops that the machine has.
  void tryPointCost();

private:
  /// Returns the share that the next trial of moves may allow, if any.
  std::optional<double> tryOther(OwningOpRef<ModuleOp> other, double ofStep,
                                 double ofArena);
  /// The same, for a smaller change.
  void tryLike(OwningOpRef<ModuleOp> other) {
    tryOther(std::move(other), mostOfLikeStep,
             options.memoryBudget ? any : mostOfArena);
  }

  OwningOpRef<ModuleOp> &program;
  /// What `program` was made from: before the phase, with what trials changed.
  OwningOpRef<ModuleOp> layout;
  const CompileOptions &options;
  const cost::Machine &machine;
  std::optional<Outcome> best;        ///< of `program`, once it is known
  std::optional<double> refusedShare; ///< by the usual limit
  static constexpr double any = std::numeric_limits<double>::infinity();
};
} // namespace

static ExitCode runPartition(ModuleOp program, const CompileOptions &options) {
  return tryPhase(getPhases()[getPhaseNumber("partition")], program, options);
}

ExitCode Choice::takeUsual() {
  ExitCode code = runPartition(*program, options);
  if (code == ExitCode::Success)
    refusedShare = partition::takeRefusedShare(*program);
  return code;
}

static bool areEqual(ModuleOp a, ModuleOp b) {
  return OperationEquivalence::isRegionEquivalentTo(
      &a.getBodyRegion(), &b.getBodyRegion(),
      OperationEquivalence::IgnoreLocations);
}

/// Partitions `other`, which is `layout` with changes. If this is better than
/// the best program, it becomes the program, and `other` becomes `layout`.
std::optional<double> Choice::tryOther(OwningOpRef<ModuleOp> other,
                                       double ofStep, double ofArena) {
  OwningOpRef<ModuleOp> partitioned = other->clone();
  if (runPartition(*partitioned, options) != ExitCode::Success)
    return {};
  std::optional<double> refused = partition::takeRefusedShare(*partitioned);
  if (areEqual(*partitioned, *program))
    return refused;
  if (!best)
    best = predict(*program, options, machine);
  if (!best)
    return {};
  std::optional<Outcome> outcome = predict(*partitioned, options, machine);
  LDBG() << "a step of " << (outcome ? outcome->seconds : -1)
         << " s, the best one so far " << best->seconds << " s";
  if (outcome && outcome->isBetterThan(*best, ofStep, ofArena)) {
    program = std::move(partitioned);
    layout = std::move(other);
    best = outcome;
  }
  return refused;
}

void Choice::tryMoves() {
  std::optional<double> share = refusedShare;
  for (int trial = 0; trial < mostTrials && share; ++trial) {
    LDBG() << "blocks that send up to " << *share
           << " of their bytes where axes move";
    OwningOpRef<ModuleOp> other = layout->clone();
    partition::setMoveShare(*other, *share);
    share = tryOther(std::move(other), mostOfStep, any);
  }
}

void Choice::tryKept() {
  OwningOpRef<ModuleOp> other = layout->clone();
  if (!partition::keepAsUsed(*other, *program))
    return;
  LDBG() << "values kept as other loops use them";
  tryLike(std::move(other));
}

void Choice::tryPointCost() {
  auto mesh = nd::MeshAttr::of(*layout);
  if (!mesh || mesh.getRankCount() == 1)
    return;
  double cost = cost::CostModel(machine, mesh).getPointCost();
  if (cost > mostPointCost)
    return;
  cost = std::max(cost, leastPointCost);
  LDBG() << "points of pointwise ops at the cost of " << cost << " bytes";
  OwningOpRef<ModuleOp> other = layout->clone();
  spmd::setPointCost(*other, cost);
  tryLike(std::move(other));
}

ExitCode partitionProgram(OwningOpRef<ModuleOp> &program,
                          const CompileOptions &options,
                          const cost::Machine &machine) {
  Choice choice(program, options, machine);
  if (ExitCode code = choice.takeUsual(); code != ExitCode::Success)
    return code;
  ScopedDiagnosticHandler silent(program->getContext(),
                                 [](Diagnostic &) { return success(); });
  choice.tryMoves();
  choice.tryKept();
  choice.tryPointCost();
  return ExitCode::Success;
}

} // namespace meshc
