//===- Trial.h - a program compiled to see what it costs ------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_PIPELINE_TRIAL_H
#define MESHC_LIB_PIPELINE_TRIAL_H

#include "lib/Cost/Outcome.h"
#include "lib/Pipeline/Compile.h"
#include "lib/Report/Report.h"
#include "mlir/IR/OwningOpRef.h"

namespace meshc {

/// A program with an arena.
struct Trial {
  mlir::OwningOpRef<mlir::ModuleOp> program; ///< after the phase schedule
  report::Json report;                       ///< report::buildReport
  int64_t arenaBytes = 0;                    ///< of each rank
  /// The same, if nothing outside of loops were computed again.
  int64_t keptBytes = 0;

  /// The report of the function whose costs are compared: the training step, if
  /// there is one.
  const report::Json &getStep() const;
  /// What decides whether this program is better than another one: the time
  /// that the machine takes for that function, 0 if there is none, and the
  /// arena, which may have to fit a memory budget. Adds times to the report.
  cost::Outcome getOutcome(const CompileOptions &options,
                           const cost::Machine &machine);
};

/// Takes a copy of the program through the phases from `first` to schedule,
/// without a message. Nothing if a phase refuses it. The machine is that of
/// partitionProgram.
std::optional<Trial> tryPhases(mlir::ModuleOp program, llvm::StringRef first,
                               const CompileOptions &options,
                               const cost::Machine &machine);

} // namespace meshc

#endif // MESHC_LIB_PIPELINE_TRIAL_H
