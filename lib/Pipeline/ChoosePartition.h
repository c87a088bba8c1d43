//===- ChoosePartition.h - the least predicted time -------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_PIPELINE_CHOOSEPARTITION_H
#define MESHC_LIB_PIPELINE_CHOOSEPARTITION_H

#include "lib/Cost/Machine.h"
#include "lib/Pipeline/Compile.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace meshc {

/// Runs the phase partition, as tryPhase does, on a program after the phase
/// layout. By itself, the phase moves axes to other dims only where this halves
/// the bytes of a block (partition::MoveLimit). The search of a block knows
/// neither what other blocks then send nor what computation hides. So this
/// function allows more moves, runs both programs up to the schedule, and keeps
/// the other one if its step is shorter by 1 % on `machine`. It tries at most
/// three limits, the one nearest to a half first.
///
/// Then it lets loops keep values as the loops that use them have them
/// (partition::keepAsUsed), and partitions the program again. It keeps that one
/// if its step is shorter by 0.2 % and its arena at most 5 % larger, which does
/// not count if there is a memory budget.
///
/// On a machine where a point of a pointwise op costs less than a fourth of a
/// byte (CostModel::getPointCost), it then partitions the program at that cost.
/// It keeps that one under the same conditions.
///
/// A program that fits the memory budget is better than one that does not.
ExitCode partitionProgram(mlir::OwningOpRef<mlir::ModuleOp> &program,
                          const CompileOptions &options,
                          const cost::Machine &machine);

} // namespace meshc

#endif // MESHC_LIB_PIPELINE_CHOOSEPARTITION_H
