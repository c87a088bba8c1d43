//===- Trial.cpp - a program compiled to see what it costs ----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Pipeline/Trial.h"
#include "dialects/Exec/ArenaAttributes.h"
#include "dialects/Nd/StepNames.h"
#include "lib/Pipeline/ChoosePartition.h"
#include "lib/Pipeline/ChooseSchedule.h"
#include "lib/Pipeline/Pipeline.h"
#include "lib/Pipeline/RunPhase.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;

namespace meshc {

const report::Json &Trial::getStep() const {
  return *nd::findCompared(
      report["functions"],
      [](const report::Json &function) -> const std::string & {
        return function["name"].get_ref<const std::string &>();
      });
}

cost::Outcome Trial::getOutcome(const CompileOptions &options,
                                const cost::Machine &machine) {
  cost::Outcome outcome;
  outcome.arenaBytes = arenaBytes;
  outcome.fits = !options.memoryBudget || arenaBytes <= *options.memoryBudget;
  if (report["functions"].empty())
    return outcome;
  report::addTimes(report, *program, machine);
  outcome.seconds = getStep()["time"]["seconds"].get<double>();
  return outcome;
}

std::optional<Trial> tryPhases(ModuleOp program, llvm::StringRef first,
                               const CompileOptions &options,
                               const cost::Machine &machine) {
  Trial trial;
  trial.program = program.clone();
  ScopedDiagnosticHandler silent(program.getContext(),
                                 [](Diagnostic &) { return success(); });
  ArrayRef<Phase> phases = getPhases();
  for (size_t number = getPhaseNumber(first);
       number <= getPhaseNumber("schedule"); ++number) {
    if (phases[number].describeOptions)
      phases[number].describeOptions(*trial.program, options);
    ExitCode code;
    if (phases[number].name == "partition")
      code = partitionProgram(trial.program, options, machine);
    else if (phases[number].name == "schedule")
      code = scheduleProgram(trial.program, options, machine, &trial.keptBytes);
    else
      code = tryPhase(phases[number], *trial.program, options);
    if (code != ExitCode::Success)
      return std::nullopt;
    if (phases[number].name == "collectives")
      trial.report = report::buildReport(*trial.program);
  }
  std::optional<int64_t> bytes = exec::getArenaBytes(*trial.program);
  if (!bytes)
    return std::nullopt;
  trial.arenaBytes = *bytes;
  return trial;
}

} // namespace meshc
