//===- Trial.h - a program compiled to see what it costs ------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_PIPELINE_TRIAL_H
#define MESHC_LIB_PIPELINE_TRIAL_H

#include "lib/Pipeline/Compile.h"
#include "lib/Report/Report.h"
#include "mlir/IR/OwningOpRef.h"

namespace meshc {

/// A program with an arena.
struct Trial {
  mlir::OwningOpRef<mlir::ModuleOp> program; ///< after the phase schedule
  report::Json report;                       ///< report::buildReport
  int64_t arenaBytes = 0;                    ///< of each rank
};

/// Takes a copy of the program through the phases from `first` to schedule,
/// without a message. Nothing if a phase refuses it.
std::optional<Trial> tryPhases(mlir::ModuleOp program, llvm::StringRef first,
                               const CompileOptions &options);

} // namespace meshc

#endif // MESHC_LIB_PIPELINE_TRIAL_H
