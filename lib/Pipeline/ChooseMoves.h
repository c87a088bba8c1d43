//===- ChooseMoves.h - the partition of the least predicted time -*- C++ -*-==//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_PIPELINE_CHOOSEMOVES_H
#define MESHC_LIB_PIPELINE_CHOOSEMOVES_H

#include "lib/Cost/Machine.h"
#include "lib/Pipeline/Compile.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace meshc {

/// Runs the phase partition, as tryPhase does, on a program after the phase
/// layout. If the axes of a block could have moved to other dims, but not at
/// half of its bytes (partition::MoveLimit), they move where this shortens the
/// step: a search of a block knows neither what other blocks then send nor what
/// is hidden behind computation. So the phases up to the schedule run on both
/// programs, and the one of the shorter time on `machine` stays, if it is
/// shorter by 1 %. At most three shares are tried, the least one that was
/// refused first; each also moves what those before it do. A program that fits
/// the memory budget is better than one that does not.
ExitCode partitionProgram(mlir::OwningOpRef<mlir::ModuleOp> &program,
                          const CompileOptions &options,
                          const cost::Machine &machine);

} // namespace meshc

#endif // MESHC_LIB_PIPELINE_CHOOSEMOVES_H
