//===- Trial.cpp - a program compiled to see what it costs ----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Pipeline/Trial.h"
#include "dialects/Exec/ArenaAttributes.h"
#include "lib/Pipeline/Pipeline.h"
#include "lib/Pipeline/RunPhase.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;

namespace meshc {

std::optional<Trial> tryPhases(ModuleOp program, llvm::StringRef first,
                               const CompileOptions &options) {
  Trial trial;
  trial.program = program.clone();
  ScopedDiagnosticHandler silent(program.getContext(),
                                 [](Diagnostic &) { return success(); });
  ArrayRef<Phase> phases = getPhases();
  for (size_t number = getPhaseNumber(first);
       number <= getPhaseNumber("schedule"); ++number) {
    if (phases[number].describeTarget)
      phases[number].describeTarget(*trial.program, options);
    if (runPhase(phases[number], *trial.program, options) != ExitCode::Success)
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
