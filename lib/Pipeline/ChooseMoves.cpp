//===- ChooseMoves.cpp - the partition of the least predicted time --------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Pipeline/ChooseMoves.h"
#include "lib/Partition/MoveLimit.h"
#include "lib/Pipeline/Pipeline.h"
#include "lib/Pipeline/RunPhase.h"
#include "lib/Pipeline/Trial.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "meshc-choose-moves"

using namespace mlir;

namespace meshc {

/// Of a block that saves less, a trial would take longer than it is worth.
static constexpr double mostShare = 0.99;
/// A step that is not shorter than this is no reason to move axes: predictions
/// are not that exact, and the usual plan has fewer kinds of collectives.
static constexpr double mostOfStep = 0.99;
static constexpr int mostTrials = 3;

namespace {
/// What is known of a partitioned program.
struct Outcome {
  double seconds = 0; ///< of its step
  int64_t arenaBytes = 0;
  bool fits = true; ///< in the memory budget

  /// A program that fits; of those that do, one that is clearly faster; of
  /// those that do not, the smaller one.
  bool isBetterThan(const Outcome &other) const {
    if (fits != other.fits)
      return fits;
    return fits ? seconds < mostOfStep * other.seconds
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

ExitCode partitionProgram(OwningOpRef<ModuleOp> &program,
                          const CompileOptions &options,
                          const cost::Machine &machine) {
  const Phase &phase = getPhases()[getPhaseNumber("partition")];
  OwningOpRef<ModuleOp> whole = program->clone();
  if (ExitCode code = tryPhase(phase, *program, options);
      code != ExitCode::Success)
    return code;
  ScopedDiagnosticHandler silent(program->getContext(),
                                 [](Diagnostic &) { return success(); });
  std::optional<Outcome> best;
  std::optional<double> share = partition::takeRefusedShare(*program);
  for (int trial = 0; trial < mostTrials && share && *share <= mostShare;
       ++trial) {
    if (!best)
      best = predict(*program, options, machine);
    OwningOpRef<ModuleOp> other = whole->clone();
    partition::setMoveShare(*other, *share);
    if (!best || tryPhase(phase, *other, options) != ExitCode::Success)
      break;
    std::optional<double> next = partition::takeRefusedShare(*other);
    auto outcome = predict(*other, options, machine);
    LDBG() << "blocks that send up to " << *share
           << " of their bytes where axes move: a step of "
           << (outcome ? outcome->seconds : -1) << " s, the best one so far "
           << best->seconds << " s";
    if (outcome && outcome->isBetterThan(*best)) {
      program = std::move(other);
      best = outcome;
    }
    share = next;
  }
  return ExitCode::Success;
}

} // namespace meshc
