//===- ChoosePartition.cpp - the partition of the least predicted time ----===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Pipeline/ChoosePartition.h"
#include "dialects/Spmd/FunctionPlans.h"
#include "lib/Cost/CostModel.h"
#include "lib/Partition/PlanSearch.h"
#include "lib/Pipeline/Pipeline.h"
#include "lib/Pipeline/RunPhase.h"
#include "lib/Pipeline/Trial.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;

namespace meshc {

/// Kernels are those of the host, so that programs for all targets are the same
/// up to the phase kernels, as far as the machine is the same; unless the
/// arena's size counts, which depends on the target.
static std::optional<cost::Outcome> predict(ModuleOp program,
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
  return trial->getOutcome(options, machine);
}

/// The program that the plans are of; null if they do not fit it.
static OwningOpRef<ModuleOp> build(ModuleOp layout, DictionaryAttr plans,
                                   const CompileOptions &options) {
  OwningOpRef<ModuleOp> built = layout.clone();
  const Phase &phase = getPhases()[getPhaseNumber("partition")];
  if (failed(spmd::setPlans(*built, plans)) ||
      tryPhase(phase, *built, options) != ExitCode::Success)
    return {};
  return built;
}

ExitCode partitionProgram(OwningOpRef<ModuleOp> &program,
                          const CompileOptions &options,
                          const cost::Machine &machine, DictionaryAttr *plans) {
  const Phase &phase = getPhases()[getPhaseNumber("partition")];
  if (ExitCode code = unrollLoops(phase, *program, options);
      code != ExitCode::Success)
    return code;
  const cost::CostModel model(machine, nd::MeshAttr::of(*program));
  bool hasDefect = false;
  auto compile = [&](DictionaryAttr ofTrial) -> std::optional<cost::Outcome> {
    ScopedDiagnosticHandler silent(program->getContext(),
                                   [](Diagnostic &) { return success(); });
    OwningOpRef<ModuleOp> built = build(*program, ofTrial, options);
    hasDefect |= !built;
    return built ? predict(*built, options, machine) : std::nullopt;
  };
  auto best = partition::searchPlans(
      *program, {model, options.memoryBudget.has_value(), compile});
  if (failed(best))
    return ExitCode::Input;
  OwningOpRef<ModuleOp> built = build(*program, *best, options);
  // A user is better off with the best program that could be built.
  if (!built || (hasDefect && options.verify != Verify::None))
    return ExitCode::Internal;
  program = std::move(built);
  if (plans)
    *plans = *best;
  return ExitCode::Success;
}

} // namespace meshc
