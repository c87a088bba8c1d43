//===- ChooseSchedule.h - what is computed again in a block -----*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_PIPELINE_CHOOSESCHEDULE_H
#define MESHC_LIB_PIPELINE_CHOOSESCHEDULE_H

#include "lib/Cost/Machine.h"
#include "lib/Pipeline/Compile.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace meshc {

/// Runs the phase schedule, as tryPhase does, on a program after the phase
/// kernels. Where a peak of memory would fall, it plans another program, which
/// computes fusions again (meshc-recompute-fusions), and keeps that one
///
/// - with a memory budget, if the usual one does not fit and this one is
///   smaller;
/// - with --recompute=full, if it is smaller;
/// - otherwise if it is worth its time on `machine` (Outcome::isWorthItsArena).
///
/// With --recompute=none it plans none. Sets `keptBytes`, if given, to the
/// arena of the usual program.
ExitCode scheduleProgram(mlir::OwningOpRef<mlir::ModuleOp> &program,
                         const CompileOptions &options,
                         const cost::Machine &machine,
                         int64_t *keptBytes = nullptr);

} // namespace meshc

#endif // MESHC_LIB_PIPELINE_CHOOSESCHEDULE_H
