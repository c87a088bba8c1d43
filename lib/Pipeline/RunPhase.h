//===- RunPhase.h - the passes of one phase -------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_PIPELINE_RUNPHASE_H
#define MESHC_LIB_PIPELINE_RUNPHASE_H

#include "lib/Pipeline/Compile.h"
#include "lib/Pipeline/Pipeline.h"
#include "mlir/IR/BuiltinOps.h"

namespace meshc {

/// Runs a phase over the program. Input where one of its judges
/// (Phase::judges) refuses the model; Internal where any other pass fails, or a
/// verifier. Errors go to the context's diagnostic engine. With --unroll, loops
/// are unrolled before.
ExitCode tryPhase(const Phase &phase, mlir::ModuleOp program,
                  const CompileOptions &options);

/// With --unroll, the part of tryPhase before the phase's own passes.
ExitCode unrollLoops(const Phase &phase, mlir::ModuleOp program,
                     const CompileOptions &options);

/// The same as tryPhase, and calls reportDefect where the result is Internal.
ExitCode runPhase(const Phase &phase, mlir::ModuleOp program,
                  const CompileOptions &options);

/// Whether a program that was read keeps the promise of the phase, after which
/// it is: runs the phase's verifier. Errors go to the context's diagnostic
/// engine.
llvm::LogicalResult verifyPromise(const Phase &phase, mlir::ModuleOp program);

/// Says on standard error that `what` failed, which is a defect of meshc, and
/// what to do.
ExitCode reportDefect(llvm::StringRef what);

} // namespace meshc

#endif // MESHC_LIB_PIPELINE_RUNPHASE_H
