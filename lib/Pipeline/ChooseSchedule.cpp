//===- ChooseSchedule.cpp - what is computed again in a block -------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Pipeline/ChooseSchedule.h"
#include "dialects/Exec/ArenaAttributes.h"
#include "dialects/Nd/StepNames.h"
#include "lib/Cost/Outcome.h"
#include "lib/Cost/StepTime.h"
#include "lib/Pipeline/Pipeline.h"
#include "lib/Pipeline/RunPhase.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "meshc-choose-schedule"

using namespace mlir;

namespace meshc {

using cost::Outcome;

/// The outcome of a scheduled program.
static Outcome predictScheduled(ModuleOp program, const exec::MemoryAims &aims,
                                const cost::Machine &machine) {
  Outcome outcome;
  outcome.arenaBytes = exec::getArenaBytes(program).value_or(0);
  outcome.fits = !aims.budget || outcome.arenaBytes <= *aims.budget;
  if (auto step = nd::findComparedStep<exec::FuncOp>(program))
    outcome.seconds = cost::predictStep(step, machine).seconds;
  return outcome;
}

/// Whether the program that computes more again is better than the usual one.
static bool isBetter(const Outcome &other, const Outcome &usual,
                     const exec::MemoryAims &aims) {
  if (aims.budget)
    return other.isBetterThan(usual, /*isPreferred=*/false);
  if (aims.recomputesAll)
    return other.arenaBytes < usual.arenaBytes;
  return usual.seconds > 0 && other.isWorthItsArena(usual);
}

/// Whether it could be worth a longer step to lower the peak by so many bytes.
static bool isWorthATrial(int64_t gain, const Outcome &usual,
                          const exec::MemoryAims &aims) {
  if (gain == 0 || aims.recomputesNothing)
    return false;
  if (aims.budget)
    return !usual.fits;
  return aims.recomputesAll ||
         Outcome::priceOfArena * double(gain) >=
             Outcome::leastGain * double(usual.arenaBytes);
}

ExitCode scheduleProgram(OwningOpRef<ModuleOp> &program,
                         const CompileOptions &options,
                         const cost::Machine &machine, int64_t *keptBytes) {
  const Phase &phase = getPhases()[getPhaseNumber("schedule")];
  const exec::MemoryAims aims = exec::takeMemoryAims(*program);
  OwningOpRef<ModuleOp> other = program->clone();
  if (ExitCode code = tryPhase(phase, *program, options);
      code != ExitCode::Success)
    return code;
  int64_t gain = exec::takeRecomputeGain(*program);
  Outcome usual = predictScheduled(*program, aims, machine);
  if (keptBytes)
    *keptBytes = usual.arenaBytes;
  if (!isWorthATrial(gain, usual, aims))
    return ExitCode::Success;
  exec::setRecompute(*other);
  if (tryPhase(phase, *other, options) != ExitCode::Success)
    return ExitCode::Success; // with the usual one
  Outcome outcome = predictScheduled(*other, aims, machine);
  LDBG() << "fusions computed again: a step of " << outcome.seconds
         << " s instead of " << usual.seconds << " s, an arena of "
         << outcome.arenaBytes << " bytes instead of " << usual.arenaBytes;
  if (isBetter(outcome, usual, aims))
    program = std::move(other);
  return ExitCode::Success;
}

} // namespace meshc
